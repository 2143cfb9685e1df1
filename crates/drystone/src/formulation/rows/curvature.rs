//! What the tangent leaves out of a joint's equations over a step: see `rows`.

use glam::{DQuat, DVec3};

use crate::joint::equation::MOST_ROWS;
use crate::joint::slot::rate;
use crate::joint::{Equations, Joint, JointState, Kind, Sort, WORLD_BODY};
use crate::motion::rotated;
use crate::state::State;

/// Whether equations are curved along straight motion.
pub(super) fn is_curved(kind: &Kind) -> bool {
    matches!(kind, Kind::Distance { .. } | Kind::Rope { .. } | Kind::Pulley { .. })
}

/// How bodies move, and where they are at the end of a step if they go on like that: each is asked for by
/// several joints.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Which step a place is of; this one.
    step: Vec<u32>,
    now: u32,
    places: Vec<(DVec3, DQuat)>,
    twists: Vec<[f64; 6]>,
}

impl Ahead {
    pub fn begin(&mut self, bodies: usize) {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 || self.step.len() != bodies {
            self.now = 1;
            self.step.clear();
            self.step.resize(bodies, 0);
            self.places.resize(bodies, (DVec3::ZERO, DQuat::IDENTITY));
            self.twists.resize(bodies, [0.0; 6]);
        }
    }

    /// Looks at both bodies of a joint.
    fn look(&mut self, joint: &Joint, state: &State, h: f64) {
        for i in joint.bodies.iter().filter(|b| **b != WORLD_BODY).map(|b| *b as usize) {
            if self.step[i] != self.now {
                self.step[i] = self.now;
                self.places[i] = moved(state, i, h);
                self.twists[i] = state.twist(i);
            }
        }
    }
}

/// Where a body is after `dt` if it goes on as it moves now.
fn moved(state: &State, i: usize, dt: f64) -> (DVec3, DQuat) {
    (state.position[i] + dt * state.velocity[i], rotated(state.rotation[i], state.omega[i], dt))
}

/// What the tangent at the start of the step leaves out, m/s, if the bodies go on as they move now.
pub(super) fn curvature(
    joint: &Joint,
    state: &State,
    ahead: &mut Ahead,
    memory: &JointState,
    [h, theta]: [f64; 2],
    [now, then]: [&mut Equations; 2],
    bend: &mut [f64; MOST_ROWS],
) {
    // Without rotation every equation but a length is linear; so it nearly is with little.
    let turns = |b: &u32| *b != WORLD_BODY && state.omega[*b as usize].length_squared() * h * h > 1e-12;
    if !is_curved(&joint.kind) && !joint.bodies.iter().any(turns) {
        return;
    }
    ahead.look(joint, state, h);
    let end = joint.place_at(|i| ahead.places[i], memory, [state.time + h; 2]);
    if joint.kind.is_nonholonomic() {
        joint.kind.equations_into(&end, then);
    } else {
        joint.kind.errors_into(&end, false, then);
    }
    let start = if theta < 1.0 { Some(*now) } else { None };
    if theta < 1.0 {
        let middle = joint.place_at(|i| moved(state, i, (1.0 - theta) * h), memory, [state.time; 2]);
        now.take_jacobians(&joint.kind.equations(&middle));
    }
    let mut twists = [0.0; 12];
    for (b, twist) in joint.bodies.iter().zip(twists.as_chunks_mut::<6>().0) {
        if *b != WORLD_BODY {
            *twist = ahead.twists[*b as usize];
        }
    }
    let rate = |row: &[f64; 12]| rate(row, &twists);
    for (k, (row, then)) in now.rows().iter().zip(then.rows()).enumerate() {
        let moves = rate(&row.jacobian);
        let turned = start.as_ref().map_or(0.0, |start| moves - rate(&start.rows()[k].jacobian));
        match row.sort {
            Sort::Holonomic | Sort::Unilateral => {
                let left = (then.error - row.error) / h - row.rate - moves;
                bend[k] = (left + (1.0 - theta) * turned) / theta;
            }
            // In the middle of the step, where the secant is the tangent.
            Sort::Nonholonomic if theta < 1.0 => bend[k] = (1.0 - theta) / theta * turned,
            Sort::Nonholonomic => {
                bend[k] = 0.5 * (rate(&then.jacobian) - moves);
            }
            Sort::Elastic { .. } => {}
        }
    }
}
