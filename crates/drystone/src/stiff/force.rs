//! A force with its stiffness and damping.

use std::fmt;
use std::sync::Arc;

use glam::{DQuat, DVec3};

use crate::field::{View, Wrench};
use crate::model::BodyId;

/// Most bodies of one force: its matrices are dense. What is larger is a sum of several.
pub const MOST_BODIES: usize = 16;

/// A force and its derivatives, over six coordinates a body: velocity of the centre of mass and angular
/// velocity, world axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linearised {
    /// k: force (N) and torque about the centre of mass (N m) on each body.
    pub force: Vec<f64>,
    /// K = -∂k/∂q by rows, for displacements of the centres (m) and small rotations (rad), world axes.
    pub stiffness: Vec<f64>,
    /// C = -∂k/∂v by rows.
    pub damping: Vec<f64>,
}

impl Linearised {
    pub(crate) fn reset(&mut self, bodies: usize) {
        let n = 6 * bodies;
        for (list, length) in [(&mut self.force, n), (&mut self.stiffness, n * n), (&mut self.damping, n * n)]
        {
            list.clear();
            list.resize(length, 0.0);
        }
    }
}

pub(crate) type Law = dyn Fn(&[View], f64, &mut Linearised) + Send + Sync;

/// A force on several bodies with its stiffness and damping.
#[derive(Clone)]
pub struct StiffForce {
    /// For messages.
    pub name: String,
    /// On which it acts.
    pub bodies: Vec<BodyId>,
    pub(crate) law: Arc<Law>,
}

impl fmt::Debug for StiffForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StiffForce").field("name", &self.name).field("bodies", &self.bodies).finish()
    }
}

impl StiffForce {
    /// A force whose derivatives are known. `law` is given the bodies in their order, the time (s), and zeros
    /// of the right sizes to fill.
    pub fn new(
        name: impl Into<String>,
        bodies: &[BodyId],
        law: impl Fn(&[View], f64, &mut Linearised) + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), bodies: bodies.to_vec(), law: Arc::new(law) }
    }

    /// A force alone, one wrench for each body; its derivatives are taken by central differences, 24 calls a
    /// body.
    pub fn by_differences(
        name: impl Into<String>,
        bodies: &[BodyId],
        force: impl Fn(&[View], f64, &mut [Wrench]) + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, bodies, move |views, time, out| differences(views, time, &force, out))
    }
}

/// Changes of position (m), angle (rad) and velocity (m/s, rad/s) for central differences: powers of two, so
/// that adding them does not round.
pub(crate) const MOVED: f64 = 1.0 / 1_048_576.0;
pub(crate) const FASTER: f64 = 1.0 / 8192.0;

pub(crate) fn differences(
    views: &[View],
    time: f64,
    force: &dyn Fn(&[View], f64, &mut [Wrench]),
    out: &mut Linearised,
) {
    let n = 6 * views.len();
    let mut moved = views.to_vec();
    let mut wrenches = vec![Wrench::default(); views.len()];
    let mut at = |views: &[View], to: &mut [f64]| {
        wrenches.fill(Wrench::default());
        force(views, time, &mut wrenches);
        for (w, to) in wrenches.iter().zip(to.chunks_mut(6)) {
            w.force.write_to_slice(&mut to[..3]);
            w.torque.write_to_slice(&mut to[3..]);
        }
    };
    at(views, &mut out.force);
    let (mut before, mut after) = (vec![0.0; n], vec![0.0; n]);
    for column in 0..n {
        let (body, axis) = (column / 6, DVec3::AXES[column % 3]);
        let turns = column % 6 >= 3;
        let mut both = |shift: &dyn Fn(&mut View, f64), apart: f64, matrix: &mut [f64]| {
            for (sign, to) in [(-1.0, &mut before), (1.0, &mut after)] {
                shift(&mut moved[body], sign * apart);
                at(&moved, to);
                moved[body] = views[body];
            }
            for row in 0..n {
                matrix[row * n + column] = (before[row] - after[row]) / (2.0 * apart);
            }
        };
        let place = |v: &mut View, x: f64| match turns {
            true => v.rotation = (DQuat::from_scaled_axis(x * axis) * v.rotation).normalize(),
            false => v.position += x * axis,
        };
        let speed = |v: &mut View, x: f64| match turns {
            true => v.angular_velocity += x * axis,
            false => v.velocity += x * axis,
        };
        both(&place, MOVED, &mut out.stiffness);
        both(&speed, FASTER, &mut out.damping);
    }
}
