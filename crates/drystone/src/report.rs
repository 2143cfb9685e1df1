//! What a step says of itself.

use std::time::{Duration, Instant};

use drystone_solve::certificate::Certificate;
use drystone_solve::solver::{Attempt, Status};

use crate::contact::Contact;
use crate::diagnostics::Figures;
use crate::joint::WORLD_BODY;
use crate::model::{BodyId, Model};
use crate::settings::{Integrator, Settings};

/// The timed stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Which shapes are near.
    Broadphase,
    /// Where they touch.
    Narrowphase,
    /// The problem is built, forces included.
    Assemble,
    /// Multipliers.
    Solve,
    /// Positions follow velocities.
    Integrate,
    /// Overlaps are removed.
    Correct,
    /// The judge.
    Certificate,
}

impl Stage {
    /// In the order of [`StepReport::spans`].
    pub const ALL: [Stage; 7] = [
        Stage::Broadphase,
        Stage::Narrowphase,
        Stage::Assemble,
        Stage::Solve,
        Stage::Integrate,
        Stage::Correct,
        Stage::Certificate,
    ];

    /// As reports spell it.
    pub fn name(self) -> &'static str {
        ["broadphase", "narrowphase", "assemble", "solve", "integrate", "correct", "certificate"]
            [self as usize]
    }
}

/// A contact of two bodies, or a joint with its motors and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// Slot of the joint; None for a contact.
    pub joint: Option<u32>,
    /// Slots of its bodies, without the world.
    pub bodies: Vec<u32>,
}

impl Party {
    pub(crate) fn of_joint(model: &Model, joint: u32) -> Self {
        let bodies = model.joints[joint as usize].bodies.into_iter();
        Self { joint: Some(joint), bodies: bodies.filter(|b| *b != WORLD_BODY).collect() }
    }
}

/// A joint whose bodies turn by more than this in a step, rad, is off because the step is too long: nobody's
/// iterations would hold it.
const MAX_JOINT_TURN: f64 = 0.3;

/// A joint that no longer holds its bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct JointDrift {
    /// Which one.
    pub joint: Party,
    /// By how much it is off, m.
    pub off: f64,
    /// By how much the faster of its bodies turns in a step, rad.
    pub turn: f64,
    /// The step h, s.
    pub h: f64,
}

impl JointDrift {
    /// What to do about it, in words.
    pub fn advice(&self) -> String {
        const HOLD: &str = "too few iterations for this mechanism, or not the right solver (auto eliminates joints, and stabilisation by post corrects them)";
        if self.turn <= MAX_JOINT_TURN {
            return format!("{HOLD}; or a step that is too long");
        }
        let turns = format!("its bodies turn by {:.2} rad in a step of {:e} s", self.turn, self.h);
        if self.turn <= std::f64::consts::PI {
            return format!(
                "{turns}, which no joint follows: take a step below {:.1e} s",
                self.h * MAX_JOINT_TURN / self.turn
            );
        }
        format!(
            "{turns}, which no joint follows: the step is too long, or they turn because nothing holds them ({HOLD})"
        )
    }
}

/// What one step did.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// Number of the step, from 1.
    pub step: u64,
    /// What took the step: never [`Integrator::Auto`], and [`Integrator::Euler`] where `Rattle` could not.
    pub integrator: Integrator,
    /// Dynamic bodies whose step was a smooth one: all of them under [`Integrator::Rattle`], else those of
    /// mechanisms that nothing touched.
    pub smooth_bodies: usize,
    /// Contacts in the problem: without those of bodies asleep.
    pub contacts: usize,
    /// Dynamic bodies that are asleep after the step.
    pub asleep: usize,
    /// Of those, with gap ≤ 0 at the start of the step.
    pub touching: usize,
    /// Deepest overlap at the start of the step, m.
    pub penetration_max: f64,
    /// The deepest of overlaps at the start of the step beyond half of what is inside the smaller body.
    pub deep: Option<DeepOverlap>,
    /// Mean overlap of the touching contacts at the start of the step, m.
    pub penetration_mean: f64,
    /// How the velocity solve ended.
    pub status: Status,
    /// Some island would have gained energy that nobody put in, by bounces or by joints along arcs: the least
    /// share of what they asked for that one took.
    pub bounce: Option<f64>,
    /// Contacts and joints that asked for a motion and missed most of it, because others contradict them:
    /// those that press hardest first.
    pub contradiction: Vec<Party>,
    /// The joint that is off by most at the start of the step, where that is more than a tenth of its length.
    pub apart: Option<JointDrift>,
    /// Iterations of the velocity problem.
    pub iterations: usize,
    /// Smallest relaxation factor in force at the end (the safeguard may have halved it).
    pub omega: f64,
    /// Iterations that the safeguard rejected.
    pub rejected: usize,
    /// Which solvers `auto` picked, one after the other; empty where a solver was named.
    pub attempts: Vec<Attempt>,
    /// Position problems solved.
    pub position_rounds: usize,
    /// The judge's word on the velocity problem, or on the worst of several. Several have neither a gap nor a
    /// bound on the velocity error: that of each is none on what they came to one after the other.
    pub certificate: Certificate,
    /// Velocity problems that the step was taken by, one after the other: two with restitution by impulses,
    /// and as many for each part of a step.
    pub velocity_problems: usize,
    /// Substeps of the island that took the most: 1 where all took the step as one.
    pub substeps: usize,
    /// Two bodies whose motion even the shortest substeps did not resolve.
    pub unresolved: Option<[u32; 2]>,
    /// The contact with the largest residual: its place in [`World::contacts`](crate::World::contacts).
    pub worst_contact: Option<usize>,
    /// Dynamic bodies whose centres left the bounds in this step.
    pub left: Vec<BodyId>,
    /// What fixed bodies carry over the weight of all, where the step was taken elsewhere: see
    /// [`World::support_over_weight`](crate::World::support_over_weight).
    pub support: Option<f64>,
    /// What the world is after the step, where the step was taken elsewhere and the world stayed behind.
    #[doc(hidden)]
    pub figures: Option<Figures>,
    /// Wall time by stage, in the order of [`Stage::ALL`].
    pub spans: [Duration; 7],
}

/// A step that could not be done; the state is the one before it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// A number that is not finite: where it was first seen.
    #[error("step {step}: {text}")]
    NonFinite {
        /// Step number.
        step: u64,
        /// Body, contact, quantity.
        text: String,
    },
    /// A body further away or faster than [`limits`](crate::limits) allow.
    #[error("step {step}: {text}")]
    OutOfRange {
        /// Step number.
        step: u64,
        /// Body, quantity, bound.
        text: String,
    },
    /// The solver's multipliers ran away.
    #[error(
        "step {step}: the solver diverged: multipliers not finite, or worse than none, after {iterations} iterations, worst at {text}"
    )]
    Diverged {
        /// Step number.
        step: u64,
        /// Iterations done.
        iterations: usize,
        /// The contact with the largest residual.
        text: String,
    },
    /// A joint that the steps before have left far apart.
    #[error("step {step}: the mechanism has come apart: {text}")]
    Apart {
        /// Step number.
        step: u64,
        /// Which joint of which bodies, by how much, and what to do about it.
        text: String,
    },
    /// Without compliance: constraints that no velocities satisfy.
    #[error(
        "step {step}: the rigid problem has no solution: {text} contradict each other (a compliance above 0 makes rows that ask for a motion compliant)"
    )]
    Infeasible {
        /// Step number.
        step: u64,
        /// Which contacts and joints.
        text: String,
    },
    /// Joints that do not fit together.
    #[error("step {step}: {text}")]
    Assembly {
        /// Step number.
        step: u64,
        /// Which joint, and by how much.
        text: String,
    },
    /// A loaded world lacks hooks that it had when it was saved.
    #[error(
        "step {step}: the world was saved with hooks that it lacks now: {before} before steps, {after} after steps, {contacts} on contacts (set them again, or call forgo_hooks)"
    )]
    Hooks {
        /// Step number.
        step: u64,
        /// How many of [`World::before_step`](crate::World::before_step).
        before: usize,
        /// How many of [`World::after_step`](crate::World::after_step).
        after: usize,
        /// How many of [`World::on_contacts`](crate::World::on_contacts).
        contacts: usize,
    },
    /// A body left a world whose bounds say that this is an error.
    #[error("step {step}: {text} left the bounds")]
    Left {
        /// Step number.
        step: u64,
        /// The body and where it is.
        text: String,
    },
}

/// Two bodies that are deep in each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeepOverlap {
    /// Their slots.
    pub bodies: [u32; 2],
    /// By how much they overlap, m.
    pub depth: f64,
    /// The smaller of their inner radii, m.
    pub size: f64,
}

impl DeepOverlap {
    /// The deepest, if the largest overlap of all may be one.
    pub(crate) fn of(
        model: &Model,
        contacts: &[Contact],
        largest: f64,
        gap: impl Fn(&Contact) -> f64,
    ) -> Option<Self> {
        if largest <= 0.5 * model.facts().smallest {
            return None;
        }
        let of = |c: &Contact| {
            let [i, j] = c.key.colliders;
            let (depth, size) = (-gap(c), model.pair_size(i, j));
            let deep = depth > 0.5 * size && !model.is_soft([i, j]);
            deep.then_some(Self { bodies: c.bodies, depth, size })
        };
        contacts.iter().filter_map(of).max_by(|a, b| a.depth.total_cmp(&b.depth))
    }
}

impl StepReport {
    /// That of a step in which nothing has happened yet.
    pub(crate) fn begin(settings: &Settings, step: u64) -> Self {
        let integrator = match settings.integrator {
            Integrator::Moreau { theta } => Integrator::Moreau { theta },
            _ => Integrator::Euler,
        };
        Self {
            step,
            integrator,
            smooth_bodies: 0,
            contacts: 0,
            asleep: 0,
            touching: 0,
            penetration_max: 0.0,
            deep: None,
            penetration_mean: 0.0,
            status: Status::Converged,
            bounce: None,
            contradiction: Vec::new(),
            apart: None,
            iterations: 0,
            omega: 1.0,
            rejected: 0,
            attempts: Vec::new(),
            position_rounds: 0,
            certificate: Certificate::default(),
            velocity_problems: 1,
            substeps: 1,
            unresolved: None,
            worst_contact: None,
            left: Vec::new(),
            support: None,
            figures: None,
            spans: [Duration::ZERO; 7],
        }
    }

    /// Two reports as one: sums of work, the worst of what went wrong, the last of what is.
    pub(crate) fn joined(self, last: Self) -> Self {
        let mut all = self;
        all.integrator = last.integrator;
        all.smooth_bodies = last.smooth_bodies;
        all.penetration_max = all.penetration_max.max(last.penetration_max);
        all.penetration_mean = all.penetration_mean.max(last.penetration_mean);
        all.deep = all.deep.or(last.deep);
        if badness(last.status) >= badness(all.status) {
            all.status = last.status;
        }
        all.bounce = match (all.bounce, last.bounce) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        for party in last.contradiction {
            if !all.contradiction.contains(&party) {
                all.contradiction.push(party);
            }
        }
        all.apart = all.apart.or(last.apart);
        all.substeps = all.substeps.max(last.substeps);
        all.unresolved = all.unresolved.or(last.unresolved);
        all.iterations += last.iterations;
        all.omega = all.omega.min(last.omega);
        all.rejected += last.rejected;
        all.attempts.extend(last.attempts);
        all.position_rounds += last.position_rounds;
        // Contacts of earlier parts cannot be pointed at any more.
        all.worst_contact = None;
        if !(last.certificate.residual_max < all.certificate.residual_max) {
            all.certificate = last.certificate;
            all.worst_contact = last.worst_contact;
        }
        all.velocity_problems += last.velocity_problems;
        all.certificate.has_no_bound();
        all.left.extend(last.left);
        for (sum, span) in all.spans.iter_mut().zip(last.spans) {
            *sum += span;
        }
        all
    }
}

fn badness(status: Status) -> u8 {
    match status {
        Status::Converged => 0,
        Status::Wedged => 2,
        Status::Diverged => 3,
        _ => 1,
    }
}

pub(crate) struct Clock {
    last: Instant,
    pub spans: [Duration; 7],
}

impl Clock {
    pub fn start() -> Self {
        Self { last: Instant::now(), spans: [Duration::ZERO; 7] }
    }
    pub fn stage(&mut self, stage: Stage) {
        let now = Instant::now();
        self.spans[stage as usize] += now - self.last;
        self.last = now;
    }
}
