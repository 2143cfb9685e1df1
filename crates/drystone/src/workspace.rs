//! What a step reads and what it fills: [`World`](crate::World) is a model, a state, settings, and a
//! workspace.

use drystone_solve::certificate::Judge;
use drystone_solve::problem::Ask;
use drystone_solve::problem::islands::Islands;
use drystone_solve::solver::{Positions, Solver};
use drystone_solve::{Problem, memory, parallel};
use glam::{DQuat, DVec3};

use crate::collide::Detector;
use crate::contact::Contact;
use crate::field::Acting;
use crate::formulation::Assembler;
use crate::formulation::loads::Loads;
use crate::integrate::predictor::Predictor;
use crate::kept::Kept;
use crate::law::formulation::Laws;
use crate::model::Model;
use crate::rattle::Smooth;
use crate::settings::Settings;
use crate::setup::Setup;
use crate::sleep::Sleepers;
use crate::stabilise::Stabiliser;
use crate::state::{Motion, State};
use crate::stiff::Stiffness;

/// Velocities of the bodies, by slot: stage 1.
#[derive(Default)]
pub(crate) struct FreeMotion {
    /// Free velocities and, once a step's problem is solved, the new ones: of bodies that are not dynamic
    /// both are the same.
    pub v: Vec<[f64; 6]>,
    /// Free rotation over the step (ω after it in body axes, and the turn); of use for bodies that need it,
    /// and empty where none does.
    pub turned: Vec<(DVec3, DQuat)>,
    /// Who is on a joint; empty if there are none.
    pub jointed: Vec<bool>,
    /// Who is on a joint in the whole world that this one is a part of; empty if there are none.
    pub jointed_elsewhere: Vec<bool>,
    /// What the fields do.
    pub acting: Acting,
}

/// Contacts, and who sleeps: stages 2 and 3.
pub(crate) struct Collision {
    pub detector: Detector,
    pub contacts: Vec<Contact>,
    pub predictor: Predictor,
    pub laws: Laws,
    pub sleepers: Sleepers,
}

impl Collision {
    /// How many contacts touch, those of sleepers included; their largest overlap and the mean of all, m.
    pub fn overlaps(&self) -> (usize, f64, f64) {
        let Self { contacts, predictor, sleepers, .. } = self;
        let (mut parts, gap) = (Vec::new(), |c: &Contact| predictor.gap(c));
        parallel::map_ranges(contacts.len(), 4096, &mut parts, |range| overlaps(&contacts[range], gap));
        parts.push(overlaps(sleepers.contacts(), |c| c.gap));
        let (touching, max, sum) =
            parts.into_iter().fold((0, 0.0f64, 0.0), |a, b| (a.0 + b.0, a.1.max(b.1), a.2 + b.2));
        (touching, max, if touching > 0 { sum / touching as f64 } else { 0.0 })
    }
}

/// How many contacts touch; their largest overlap and the sum of all, m.
fn overlaps(contacts: &[Contact], gap: impl Fn(&Contact) -> f64) -> (usize, f64, f64) {
    let touching = contacts.iter().map(gap).filter(|gap| *gap <= 0.0);
    touching.fold((0, 0.0, 0.0), |(n, max, sum), gap| (n + 1, f64::max(max, -gap), sum - gap))
}

/// The velocity problem: stages 4 to 6.
pub(crate) struct Velocity {
    pub assembler: Assembler,
    pub stiffness: Stiffness,
    pub solver: Box<dyn Solver>,
    pub judge: Judge,
    /// Rows that ask for a motion.
    pub asks: Vec<Ask>,
    /// Velocities at the start of the step, in the order of the problem's bodies.
    pub pace: Vec<[f64; 6]>,
    pub islands: Islands,
    /// Pairs of bodies, in rising order, whose contacts missed all but a little of what they asked for.
    pub contradicted: Vec<[u32; 2]>,
    /// What the next step starts from where that is not the solution.
    pub loads: Loads,
    /// The last step's problem and its multipliers, where they are kept.
    pub kept: Option<Kept>,
}

impl Velocity {
    /// The problem as it is to be solved.
    pub fn posed(&self) -> &Problem {
        self.stiffness.posed(&self.assembler)
    }

    /// Keeps the problem and the solution of every step from now on, or no longer; forgets those of the last
    /// one.
    pub fn keep_solutions(&mut self, keep: bool) {
        self.kept = keep.then(Kept::default);
    }

    /// v⁺ of a solution of the posed problem, in place of the free velocities that it was posed with.
    pub fn velocities(&mut self, state: &State, gamma: &[f64], v: &mut Vec<[f64; 6]>) {
        let Self { stiffness, assembler, solver, .. } = self;
        match solver.velocities().filter(|v| !stiffness.is_posed() && v.len() == state.position.len()) {
            Some(sorted) => assembler.by_slot(&state.order, sorted, v),
            None => stiffness.velocities(assembler, &state.order, gamma, v),
        }
    }
}

/// Substeps of islands that a step does not resolve.
#[derive(Default)]
pub(crate) struct Substeps {
    /// By body slot: who takes no part in a substep; empty in a step of all.
    pub absent: Vec<bool>,
    /// By body slot: who is to take the step in halves; empty if nobody is.
    pub pending: Vec<bool>,
    /// Positions and velocities at the start of the step, or substep.
    pub saved: Motion,
    /// The state before a step that some islands take in halves.
    pub before: Option<Box<State>>,
    pub graph: crate::islands::Islands,
}

impl Substeps {
    /// Whether the body takes no part.
    #[inline]
    pub fn is_absent(&self, slot: usize) -> bool {
        self.absent.get(slot) == Some(&true)
    }

    /// Whether a joint is one of bodies that take no part.
    pub fn is_joint_absent(&self, model: &Model, joint: usize) -> bool {
        model.joints[joint].bodies.iter().any(|b| self.is_absent(*b as usize))
    }
}

/// The position problem: stage 8.
#[derive(Default)]
pub(crate) struct Position {
    pub stabiliser: Stabiliser,
    pub solver: Positions,
}

/// Where a step works. Nothing in it but the contacts, the sleepers' and the reactions of joints outlives a
/// step by more than its memory.
pub(crate) struct Workspace {
    pub free: FreeMotion,
    pub collision: Collision,
    pub smooth: Smooth,
    pub velocity: Velocity,
    pub substeps: Substeps,
    pub position: Position,
}

impl Velocity {
    /// Gives back what a large world need not keep once the velocities are there and judged: their problem is
    /// of no more use, unless joints are corrected by its factors.
    pub fn release(&mut self, setup: Setup) {
        if is_large(setup) {
            self.judge.release();
            self.solver.judge().into_iter().for_each(|judge| judge.release());
            self.release_problem(setup);
        }
    }

    fn release_problem(&mut self, setup: Setup) {
        if setup.model.joint_slots().next().is_none() && setup.stiff.is_empty() {
            self.assembler.release();
        }
    }
}

/// Large worlds keep what they are between steps, and no more: the memory of a stage is given back at its
/// end, so that the most that a step takes is that of its largest stage, not the sum of all. (The broad
/// phase, the narrow phase, solvers and corrections see to their own.)
fn is_large(setup: Setup) -> bool {
    setup.model.bodies.len() >= memory::MANY_BODIES
}

impl Workspace {
    pub fn new(settings: &Settings, solver: Box<dyn Solver>) -> Self {
        Self {
            free: FreeMotion::default(),
            collision: Collision {
                detector: Detector::new(settings.broadphase),
                contacts: Vec::new(),
                predictor: Predictor::default(),
                laws: Laws::default(),
                sleepers: Sleepers::default(),
            },
            smooth: Smooth::default(),
            velocity: Velocity {
                assembler: Assembler::default(),
                stiffness: Stiffness::default(),
                solver,
                judge: Judge::default(),
                asks: Vec::new(),
                pace: Vec::new(),
                islands: Islands::default(),
                contradicted: Vec::new(),
                loads: Loads::default(),
                kept: None,
            },
            substeps: Substeps::default(),
            position: Position::default(),
        }
    }

    /// Gives back what a large world need not keep once the positions are there and nothing can undo the
    /// step.
    pub fn release(&mut self, setup: Setup) {
        if is_large(setup) {
            self.substeps.saved = Default::default();
            self.position.stabiliser.release();
            self.velocity.release_problem(setup);
        }
    }
}
