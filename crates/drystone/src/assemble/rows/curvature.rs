//! What the tangent leaves out of a joint's equations over a step: see `rows`.

use glam::{DQuat, DVec3};

use crate::joint::equation::{MOST_COORDINATES, MOST_ROWS};
use crate::joint::law::Law;
use crate::joint::slot::rate;
use crate::joint::{Equations, Joint, JointState, Kind, Sort, WORLD_BODY};
use crate::motion::rotated;
use crate::state::State;

/// What the tangent leaves out of a joint's equations, m/s, and of coordinates that are led, m/s or rad/s.
#[derive(Clone, Copy, Default)]
pub(super) struct Bend {
    pub rows: [f64; MOST_ROWS],
    pub coordinates: [f64; MOST_COORDINATES],
}

/// Whether equations are curved along straight motion.
pub(super) fn is_curved(kind: &Kind) -> bool {
    matches!(kind, Kind::Distance { .. } | Kind::Rope { .. } | Kind::Pulley { .. })
}

/// How bodies move, and where they are at the end of a step if they go on like that: each is asked for by several joints.
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
    fn look(&mut self, joint: &Joint, way: &Way) {
        for i in joint.bodies.iter().filter(|b| **b != WORLD_BODY).map(|b| *b as usize) {
            if self.step[i] != self.now {
                self.step[i] = self.now;
                (self.places[i], self.twists[i]) = way.foreseen(i);
            }
        }
    }
}

/// A step ahead.
pub(super) struct Way<'a> {
    pub state: &'a State,
    /// As in [`super::Purpose::Velocity`].
    pub free: &'a [(DVec3, DQuat)],
    pub h: f64,
    /// Weight of the new velocity in the new position.
    pub theta: f64,
}

impl Way<'_> {
    /// Where the step itself takes a body that goes on as it is foreseen to, and with what velocities.
    fn foreseen(&self, i: usize) -> ((DVec3, DQuat), [f64; 6]) {
        let Way { state, free, h, theta } = *self;
        if theta < 1.0 {
            return (moved(state, i, h), state.twist(i));
        }
        let [dv, dw] = state.foreseen(i, state.omega[i]);
        let (v, omega, q) = (state.velocity[i] + dv, state.omega[i] + dw, state.rotation[i]);
        let turn = match free.get(i) {
            Some((free, turn)) => rotated(q * *turn, omega - *free, h),
            None => rotated(q, omega, h),
        };
        let w = q * omega;
        ((state.position[i] + h * v, turn), [v.x, v.y, v.z, w.x, w.y, w.z])
    }
}

/// Where a body is after `dt` if it goes on as it moves now.
fn moved(state: &State, i: usize, dt: f64) -> (DVec3, DQuat) {
    (state.position[i] + dt * state.velocity[i], rotated(state.rotation[i], state.omega[i], dt))
}

/// What the tangent at the start of the step leaves out, m/s, if the bodies go on as is foreseen.
pub(super) fn curvature(
    joint: &Joint,
    way: &Way,
    ahead: &mut Ahead,
    memory: &JointState,
    [now, then]: [&mut Equations; 2],
    bend: &mut Bend,
) {
    let Way { state, h, theta, .. } = *way;
    // Without rotation every equation but a length is linear; so it nearly is with little.
    let turns = |b: &u32| *b != WORLD_BODY && state.omega[*b as usize].length_squared() * h * h > 1e-12;
    if !is_curved(&joint.kind) && !joint.bodies.iter().any(turns) {
        return;
    }
    ahead.look(joint, way);
    let end = joint.place_at(|i| ahead.places[i], memory, [state.time + h; 2]);
    if joint.kind.is_nonholonomic() {
        joint.kind.equations_into(&end, then);
    } else {
        joint.kind.errors_into(&end, joint.laws.iter().any(Law::leads), then);
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
                bend.rows[k] = (left + (1.0 - theta) * turned) / theta;
            }
            // In the middle of the step, where the secant is the tangent.
            Sort::Nonholonomic if theta < 1.0 => bend.rows[k] = (1.0 - theta) / theta * turned,
            Sort::Nonholonomic => {
                bend.rows[k] = 0.5 * (rate(&then.jacobian) - moves);
            }
            Sort::Elastic { .. } => {}
        }
    }
    if theta < 1.0 {
        return;
    }
    for (k, _) in joint.laws.iter().enumerate().filter(|(_, law)| law.leads()) {
        if let [Some(c), Some(end)] = [&*now, &*then].map(|e| e.coordinates().get(k)) {
            bend.coordinates[k] = (end.value - c.value) / h - rate(&c.jacobian);
        }
    }
}
