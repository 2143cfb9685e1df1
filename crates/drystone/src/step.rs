//! The step, on one page.

use std::time::{Duration, Instant};

use drystone_solve::Malformed;
use drystone_solve::certificate::Certificate;
use drystone_solve::solver::{Attempt, Solution, Status, Stop};
use glam::DVec3;

use crate::assemble::Row;
use crate::assemble::rows::Purpose;
use crate::body::Motion;
use crate::bounds::Leaving;
use crate::contact::{Contact, Remembered, remember};
use crate::correct::Correction;
use crate::model::BodyId;
use crate::motion::{free_rotation, is_ball, rotate};
use crate::settings::{Integrator, Stabilisation};
use crate::smooth;
use crate::world::World;

/// The timed stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What one step did.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// Number of the step, from 1.
    pub step: u64,
    /// What took the step: never [`Integrator::Auto`], and [`Integrator::Euler`] where `Rattle` could not.
    pub integrator: Integrator,
    /// Contacts in the problem.
    pub contacts: usize,
    /// Of those, with gap ≤ 0 at the start of the step.
    pub touching: usize,
    /// Deepest overlap at the start of the step, m.
    pub penetration_max: f64,
    /// Mean overlap of the touching contacts at the start of the step, m.
    pub penetration_mean: f64,
    /// How the velocity solve ended.
    pub status: Status,
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
    /// The judge's word on the velocity problem.
    pub certificate: Certificate,
    /// The contact with the largest residual: its place in [`World::contacts`].
    pub worst_contact: Option<usize>,
    /// Dynamic bodies whose centres left the bounds in this step.
    pub left: Vec<BodyId>,
    /// Wall time by stage, in the order of [`Stage::ALL`].
    pub spans: [Duration; 7],
}

/// A step that could not be done; the state is the one before it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A number that is not finite: where it was first seen.
    #[error("step {step}: {text}")]
    NonFinite {
        /// Step number.
        step: u64,
        /// Body, contact, quantity.
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
    /// Joints that do not fit together.
    #[error("step {step}: {text}")]
    Assembly {
        /// Step number.
        step: u64,
        /// Which joint, and by how much.
        text: String,
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

/// Advances `w` by one step of the half-implicit scheme [TasoraAnitescu2011, eq. 47a-c].
pub(crate) fn step(w: &mut World) -> Result<StepReport, StepError> {
    let (h, number) = (w.settings.h, w.state.step + 1);
    if w.loose {
        w.assemble_joints().map_err(|e| StepError::Assembly { step: number, text: e.to_string() })?;
    }
    let envelope = w.envelope();
    let mut clock = Clock::start();

    w.state.sort(&w.model);
    free_velocities(w)?; // v + h M⁻¹ f
    clock.stage(Stage::Assemble);
    w.detector.find_pairs(&w.model, &w.state, &w.v_free, h, envelope);
    clock.stage(Stage::Broadphase);
    w.detector.find_contacts(&w.model, &w.state, &w.v_free, h, envelope, &mut w.contacts);
    remember(&mut w.contacts, &w.state.multipliers, |c| w.state.order.place(&w.model, c));
    w.laws.begin(&w.model, &w.state, &w.settings, &mut w.contacts);
    w.call_contact_hook();
    let overlap = Overlap::of(w);
    clock.stage(Stage::Narrowphase);

    if let Some(taken) = smooth_step(w) {
        clock.stage(Stage::Integrate);
        return finish(w, clock, overlap, taken);
    }
    let stabilisation = w.settings.stabilisation;
    w.laws.pose(&w.model, &w.state, &w.settings, &mut w.contacts, &mut w.v_free);
    build(w, Posed::Whole);
    w.call_problem_hook();
    clock.stage(Stage::Assemble);

    let Solved { solution, status, compression } = solve(w).map_err(|e| bad_contact(w, number, &e))?;
    clock.stage(Stage::Solve);

    if solution.status == Status::Diverged {
        let text = worst_contact(w, &solution.gamma);
        return Err(StepError::Diverged { step: number, iterations: solution.iterations, text });
    }
    w.assembler.velocities(&w.state.order, &solution.gamma, &mut w.velocity); // v = v_free + M⁻¹ D γ
    check_finite(w, number)?;
    w.assembler.hand_back(&solution.gamma, &mut w.contacts);
    w.laws.add_compression(&mut w.contacts);
    w.laws.finish(&mut w.contacts);
    w.assembler.rows.hand_back(&w.model, &solution.gamma[3 * w.assembler.order.len()..], h);
    let mut certificate = w.judge.judge(&w.assembler.problem, &solution.gamma);
    if let Some(first) = compression.filter(|first| first.residual_max > certificate.residual_max) {
        certificate = first; // Two problems were posed: the word is on the worse one.
    }
    let worst_contact = certificate.worst_block.and_then(|b| w.assembler.contact_of(b));
    clock.stage(Stage::Certificate);

    w.saved.save(&w.state);
    integrate(w); // q ← Λ(q, v, h)
    clock.stage(Stage::Integrate);

    let mut position_rounds = 0;
    if let Stabilisation::Post { tolerance, accept, reach, rounds } = stabilisation {
        let how = Correction {
            tolerance,
            accept,
            reach,
            rounds,
            iterations: w.settings.position_iterations,
            envelope,
            h,
        };
        let World { corrector, model, state, detector, assembler, solver, saved, .. } = w;
        let solver = match solver.for_positions() {
            Some(other) => other,
            None => solver.as_mut(),
        };
        let done = corrector.run(model, state, detector, assembler, solver, how);
        position_rounds =
            done.inspect_err(|_| saved.restore(state)).map_err(|e| bad_contact(w, number, &e))?;
        if w.settings.iterations == 0 {
            take_velocities_from_positions(w);
        }
    }
    let integrator = match w.settings.integrator {
        Integrator::Moreau { theta } => Integrator::Moreau { theta },
        _ => Integrator::Euler,
    };
    let Solution { iterations, omega, rejected, attempts, .. } = solution;
    let done = Done {
        integrator,
        status,
        iterations,
        omega,
        rejected,
        attempts,
        position_rounds,
        certificate,
        worst_contact,
    };
    finish(w, clock, overlap, done)
}

/// What is to be said of a step whose new positions and velocities are there.
struct Done {
    integrator: Integrator,
    status: Status,
    iterations: usize,
    omega: f64,
    rejected: usize,
    attempts: Vec<Attempt>,
    position_rounds: usize,
    certificate: Certificate,
    worst_contact: Option<usize>,
}

/// The step of a mechanism that nothing touches, where the settings ask for it and it can be had: see `smooth`.
fn smooth_step(w: &mut World) -> Option<Done> {
    let order = w.settings.integrator.smooth(w.model.joint_slots().next().is_some())?;
    if !w.contacts.is_empty() || w.settings.iterations == 0 {
        return None;
    }
    let taken = smooth::advance(w, order)?;
    if w.shows_problem() {
        build(w, Posed::Whole);
        w.call_problem_hook();
    }
    w.saved.save(&w.state);
    smooth::write_back(w);
    Some(Done {
        integrator: Integrator::Rattle { order },
        status: Status::Converged,
        iterations: taken.iterations,
        omega: 1.0,
        rejected: 0,
        attempts: Vec::new(),
        position_rounds: 0,
        certificate: taken.certificate,
        worst_contact: None,
    })
}

/// Looks at where the bodies came to, and closes the step.
fn finish(w: &mut World, mut clock: Clock, overlap: Overlap, done: Done) -> Result<StepReport, StepError> {
    let number = w.state.step + 1;
    check_positions(w, number)?;
    for i in 0..w.model.bodies.len() {
        w.state.wrap(&w.model, i);
    }
    let left = check_bounds(w, number)?;
    clock.stage(Stage::Correct);

    w.state.multipliers.clear();
    w.state.multipliers.extend(w.contacts.iter().map(|c| Remembered { key: c.key, impulse: c.impulse }));
    w.state.joints.clone_from(&w.assembler.rows.next);
    w.state.step = number;
    w.state.time += w.settings.h;
    Ok(StepReport {
        step: number,
        integrator: done.integrator,
        contacts: w.contacts.len(),
        touching: overlap.touching,
        penetration_max: overlap.max,
        penetration_mean: overlap.mean,
        status: done.status,
        iterations: done.iterations,
        omega: done.omega,
        rejected: done.rejected,
        attempts: done.attempts,
        position_rounds: done.position_rounds,
        certificate: done.certificate,
        worst_contact: done.worst_contact,
        left,
        spans: clock.spans,
    })
}

/// What the velocity problem, or the two of a step with Poisson's restitution, came to.
struct Solved {
    solution: Solution,
    /// Wedged, where a softened problem was solved instead.
    status: Status,
    /// Of the first of two problems.
    compression: Option<Certificate>,
}

/// Solves the posed problem; softens it where its contacts contradict each other, and lets what was compressed expand.
fn solve(w: &mut World) -> Result<Solved, Malformed> {
    let stop = Stop {
        tolerance: w.settings.tolerance,
        iterations: w.settings.iterations,
        budget: w.settings.budget,
        history: false,
    };
    // Without iterations a guess would be the solution.
    let warm = w.settings.warm_start && w.settings.iterations > 0;
    let guess = warm.then_some(w.assembler.guess.as_slice());
    let mut solution = w.solver.solve(&w.assembler.problem, guess, &stop)?;
    let mut status = solution.status;
    if asks_for_separation(w) && matches!(status, Status::Wedged | Status::Iterations) {
        let certificate = w.judge.judge(&w.assembler.problem, &solution.gamma);
        if wedged(w, status, &certificate) {
            // Softened: rest satisfies what is left, so that it cannot contradict itself. The overlaps stay for later steps.
            status = Status::Wedged;
            let (before, attempts) = (solution.iterations, solution.attempts);
            build(w, Posed::Softened);
            let guess = warm.then_some(w.assembler.guess.as_slice());
            solution = w.solver.solve(&w.assembler.problem, guess, &stop)?;
            solution.iterations += before;
            solution.attempts.splice(..0, attempts);
        }
    }
    let compressed = w.laws.expands() && solution.status != Status::Diverged;
    let compression = if compressed {
        let judged = w.judge.judge(&w.assembler.problem, &solution.gamma);
        solution = expand(w, &solution, &stop)?;
        if status != Status::Wedged {
            status = solution.status;
        }
        Some(judged)
    } else {
        None
    };
    Ok(Solved { solution, status, compression })
}

/// Which velocity problem is posed.
#[derive(Clone, Copy, PartialEq)]
enum Posed {
    /// The step's own.
    Whole,
    /// Nothing asks for a speed of separation: overlaps are left alone.
    Softened,
    /// The second one of a step with Poisson's restitution: see `law/expansion.rs`.
    Expansion,
}

/// Poses the velocity problem and its warm start.
fn build(w: &mut World, posed: Posed) {
    let (h, stabilisation, laws) = (w.settings.h, w.settings.stabilisation, &w.laws);
    let theta = w.settings.integrator.theta();
    w.assembler.build(&w.model, &w.state, &w.contacts, &w.v_free, |i, c| {
        let row = match laws.on() {
            true => laws.get(i),
            false => Row { bias: stabilisation.bias(c.gap, h), mu: c.mu, ..Row::default() },
        };
        Row { bias: if posed == Posed::Softened { row.bias.max(0.0) } else { row.bias }, ..row }
    });
    w.assembler.stage_rows(
        &w.model,
        &w.state,
        &w.v_free,
        Purpose::Velocity { h, stabilisation, laws: posed != Posed::Expansion, theta },
    );
    w.assembler.build_rows(&w.state.order);
    w.assembler.problem.set_model(w.settings.model);
    w.assembler.warm_start(&w.contacts, &w.state.joints);
}

/// The second problem of a step in which contacts give back a share of their compression; see `law/expansion.rs`.
fn expand(w: &mut World, compression: &Solution, stop: &Stop) -> Result<Solution, Malformed> {
    w.assembler.velocities(&w.state.order, &compression.gamma, &mut w.velocity);
    w.assembler.hand_back(&compression.gamma, &mut w.contacts);
    for i in w.model.dynamic() {
        w.v_free[i] = w.velocity[i];
    }
    // What springs, motors and friction of joints do in a step they have done.
    w.assembler.rows.keep(&w.model, &compression.gamma[3 * w.assembler.order.len()..], w.settings.h);
    w.laws.begin_compression(w.contacts.len());
    w.laws.expand(&w.model, &w.state, &mut w.contacts, &mut w.v_free);
    build(w, Posed::Expansion);
    let mut solution = w.solver.solve(&w.assembler.problem, Some(&w.assembler.guess), stop)?;
    solution.iterations += compression.iterations;
    solution.rejected += compression.rejected;
    solution.attempts.splice(..0, compression.attempts.iter().copied());
    if solution.status == Status::Converged {
        solution.status = compression.status;
    }
    Ok(solution)
}

/// v_free = v + h M⁻¹ f: gravity, applied forces, gyroscopic term; the own velocity of bodies that are not dynamic.
fn free_velocities(w: &mut World) -> Result<(), StepError> {
    let (h, g) = (w.settings.h, w.settings.gravity);
    w.v_free.clear();
    for (i, body) in w.model.bodies.iter().enumerate() {
        let s = &w.state;
        let (mut v, mut omega) = (s.velocity[i], s.omega[i]);
        if body.motion == Motion::Dynamic && body.alive {
            v += h * (g + body.inv_mass * s.force[i]);
            omega = free_rotation(&body.mass.inertia, omega, h).0;
            omega += h * (body.inv_inertia * (s.rotation[i].conjugate() * s.torque[i]));
            if let Some(plane) = &body.planar {
                v = plane.within(v);
                omega = s.rotation[i].conjugate() * plane.about(s.rotation[i] * omega);
            }
        } else if !body.alive {
            (v, omega) = (DVec3::ZERO, DVec3::ZERO);
        } else if let Some(guided) = &body.guide {
            (v, omega) = guided.velocity(s.position[i], s.rotation[i], s.time + h, h);
            omega = s.rotation[i].conjugate() * omega;
        }
        let turn = s.rotation[i] * omega;
        if !(v.is_finite() && turn.is_finite() && s.position[i].is_finite()) {
            let text = format!(
                "{} has a position, velocity or force that is not finite",
                w.model.describe(i as u32)
            );
            return Err(StepError::NonFinite { step: s.step + 1, text });
        }
        w.v_free.push([v.x, v.y, v.z, turn.x, turn.y, turn.z]);
    }
    Ok(())
}

/// q ← Λ(q, θ v⁺ + (1-θ) v, h): θ = 1 in the half-implicit scheme, any from ½ to 1 in Moreau's [RenoufAcary2006, eq. 2].
fn integrate(w: &mut World) {
    let (h, theta) = (w.settings.h, w.settings.integrator.theta());
    for i in 0..w.model.bodies.len() {
        let body = &w.model.bodies[i];
        if !body.alive || body.motion == Motion::Static {
            continue;
        }
        let s = &mut w.state;
        let theta = if body.motion == Motion::Dynamic { theta } else { 1.0 };
        let before = (s.velocity[i], s.omega[i]);
        if body.guide.is_some() {
            let v = &w.v_free[i];
            s.velocity[i] = DVec3::new(v[0], v[1], v[2]);
            s.omega[i] = s.rotation[i].conjugate() * DVec3::new(v[3], v[4], v[5]);
        }
        if body.motion == Motion::Dynamic {
            let v = &w.velocity[i];
            s.velocity[i] = DVec3::new(v[0], v[1], v[2]);
            s.omega[i] = s.rotation[i].conjugate() * DVec3::new(v[3], v[4], v[5]);
            s.force[i] = DVec3::ZERO;
            s.torque[i] = DVec3::ZERO;
        }
        if let Some(plane) = &body.planar {
            // The solver holds the lock to its tolerance; here it is exact.
            s.velocity[i] = plane.within(s.velocity[i]);
            s.omega[i] = s.rotation[i].conjugate() * plane.about(s.rotation[i] * s.omega[i]);
        }
        s.position[i] += h * (theta * s.velocity[i] + (1.0 - theta) * before.0);
        if let Some(plane) = &body.planar {
            s.position[i] = plane.nearest(s.position[i]);
        }
        if s.omega[i] == DVec3::ZERO && before.1 == DVec3::ZERO {
            continue;
        }
        let whole = body.motion != Motion::Dynamic || body.planar.is_some() || is_ball(&body.mass.inertia);
        s.rotation[i] = if whole {
            rotate(s.rotation[i], theta * s.omega[i] + (1.0 - theta) * before.1, h)
        } else {
            // As far as free motion goes, to high order; what forces and constraints changed comes on top, by θ.
            let (free, turn) = free_rotation(&body.mass.inertia, before.1, h);
            rotate(s.rotation[i] * turn, theta * (s.omega[i] - free), h)
        };
    }
}

/// Whether some contact asks for a speed in this step: only then can contacts contradict each other.
fn asks_for_separation(w: &World) -> bool {
    w.laws.asked(&w.settings, &w.contacts) > 0.0
}

/// The solver's own word, or multipliers that grow from step to step, warm start after warm start, as told by the speed
/// that any solution would need. In a free column of n bodies the last has to move at n times the speed that each contact
/// asks for: twice as much as that means that the contacts contradict each other.
fn wedged(w: &World, status: Status, certificate: &Certificate) -> bool {
    let asked = w.laws.asked(&w.settings, &w.contacts);
    status == Status::Wedged
        || certificate
            .least_feasible_speed(w.total_mass())
            .is_some_and(|needed| needed > 2.0 * asked * w.model.dynamic().count() as f64)
}

/// The contact with the largest residual, in words.
fn worst_contact(w: &mut World, gamma: &[f64]) -> String {
    let block = w.judge.judge(&w.assembler.problem, gamma).worst_block;
    match block.and_then(|b| w.assembler.contact_of(b)).map(|i| &w.contacts[i]) {
        Some(c) => {
            format!("the contact of {} with {}", w.model.describe(c.bodies[0]), w.model.describe(c.bodies[1]))
        }
        None => {
            let joint = block
                .and_then(|b| b.checked_sub(w.assembler.order.len()))
                .and_then(|b| w.assembler.rows.joint_of(b));
            joint.map_or("no contact".into(), |j| format!("the {}", w.model.describe_joint(j)))
        }
    }
}

/// Undoes the step if a body has left the range of numbers.
fn check_positions(w: &mut World, step: u64) -> Result<(), StepError> {
    let s = &w.state;
    let Some(i) = (0..s.position.len()).find(|&i| !(s.position[i].is_finite() && s.rotation[i].is_finite()))
    else {
        return Ok(());
    };
    w.saved.restore(&mut w.state);
    let text = format!("the new position of {} is not finite", w.model.describe(i as u32));
    Err(StepError::NonFinite { step, text })
}

/// The bodies that were inside the bounds before the step and are not any more; or an error, and the step undone.
fn check_bounds(w: &mut World, step: u64) -> Result<Vec<BodyId>, StepError> {
    let Some(bounds) = w.settings.bounds else { return Ok(Vec::new()) };
    let gone = |i: &usize| !bounds.contain(w.state.position[*i]) && bounds.contain(w.saved.position(*i));
    let left: Vec<BodyId> = w.model.dynamic().filter(gone).filter_map(|i| w.model.id(i as u32)).collect();
    if let (Leaving::Stop, Some(first)) = (bounds.leaving, left.first()) {
        let at = w.state.position[first.slot as usize];
        let text = format!("{} at {at}", w.model.describe(first.slot));
        w.saved.restore(&mut w.state);
        return Err(StepError::Left { step, text });
    }
    Ok(left)
}

/// The position-based limit [TasoraAnitescu2011, end of §5.2; Muller2006]: without a velocity problem, the velocities
/// follow from where the corrections put the bodies.
fn take_velocities_from_positions(w: &mut World) {
    let h = w.settings.h;
    for i in w.model.dynamic() {
        let d = &w.corrector.total[i];
        w.state.velocity[i] += DVec3::new(d[0], d[1], d[2]) / h;
        w.state.omega[i] += w.state.rotation[i].conjugate() * DVec3::new(d[3], d[4], d[5]) / h;
    }
}

/// A problem that cannot be solved as posed: names the first contact that is to blame (a hook may have changed it).
fn bad_contact(w: &World, step: u64, error: &Malformed) -> StepError {
    let finite = |c: &Contact| {
        c.point.is_finite() && c.normal.is_finite() && c.gap.is_finite() && c.mu.is_finite() && c.mu >= 0.0
    };
    let text = match w.contacts.iter().find(|c| !finite(c)) {
        Some(c) => format!(
            "the contact of {} with {} (gap {}, mu {}) has a number that is not finite or negative friction",
            w.model.describe(c.bodies[0]),
            w.model.describe(c.bodies[1]),
            c.gap,
            c.mu
        ),
        None => error.to_string(),
    };
    StepError::NonFinite { step, text }
}

/// The first body whose new velocity is not finite, with a contact of its.
fn check_finite(w: &World, step: u64) -> Result<(), StepError> {
    let Some(i) = w.velocity.iter().position(|v| v.iter().any(|x| !x.is_finite())) else { return Ok(()) };
    let touching = w.contacts.iter().find(|c| c.bodies.contains(&(i as u32)));
    let by = touching.map_or("without a contact".into(), |c| {
        format!("in contact with {}", w.model.describe(c.bodies[(c.bodies[0] == i as u32) as usize]))
    });
    let text = format!("the velocity of {} is not finite, {by}", w.model.describe(i as u32));
    Err(StepError::NonFinite { step, text })
}

struct Overlap {
    touching: usize,
    max: f64,
    mean: f64,
}

impl Overlap {
    fn of(w: &World) -> Self {
        let (mut touching, mut max, mut sum) = (0, 0.0f64, 0.0);
        for c in w.contacts.iter().filter(|c| c.gap <= 0.0) {
            touching += 1;
            max = max.max(-c.gap);
            sum -= c.gap;
        }
        Self { touching, max, mean: if touching > 0 { sum / touching as f64 } else { 0.0 } }
    }
}

struct Clock {
    last: Instant,
    spans: [Duration; 7],
}

impl Clock {
    fn start() -> Self {
        Self { last: Instant::now(), spans: [Duration::ZERO; 7] }
    }
    fn stage(&mut self, stage: Stage) {
        let now = Instant::now();
        self.spans[stage as usize] += now - self.last;
        self.last = now;
    }
}
