//! Equations of one's own between two bodies, solved like those of the built-in joints.

use std::fmt;
use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::equation::{MOST_ROWS, Placed, Row, Sink, Sort, jacobian};
use crate::shape::Pose;

/// One scalar equation Ψ = 0, or inequality Ψ ≥ 0, between a frame of the first body, a frame of the second,
/// and time.
///
/// ```
/// use drystone::joint::{Custom, Equation};
/// use drystone::{BodyDef, JointDef, MassProperties, Pose, Settings, World};
/// use glam::DVec3;
///
/// /// The origin of B stays on the paraboloid z = x² + y² of A's axes, which here are the world's.
/// struct Bowl;
///
/// impl Equation for Bowl {
///     fn value(&self, a: &Pose, b: &Pose, _time: f64) -> f64 {
///         let d = b.position - a.position;
///         d.z - d.x * d.x - d.y * d.y
///     }
///     fn gradient(&self, a: &Pose, b: &Pose, _time: f64) -> [DVec3; 4] {
///         let d = b.position - a.position;
///         let n = DVec3::new(-2.0 * d.x, -2.0 * d.y, 1.0);
///         [-n, DVec3::ZERO, n, DVec3::ZERO]
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut world = World::new(Settings { h: 1e-3, ..Settings::default() })?;
/// let bead = MassProperties::principal(1.0, DVec3::splat(0.01));
/// let bead = world.add_body(BodyDef::bare(bead).at(DVec3::new(1.0, 0.0, 1.0)))?;
/// world.add_joint(JointDef::custom(None, bead, Pose::IDENTITY, Pose::IDENTITY, Custom::new(Bowl)))?;
/// (0..500).try_for_each(|_| world.step().map(drop))?;
/// let x = world.position(bead)?;
/// assert!((x.z - x.x * x.x).abs() < 1e-9 && x.x < 0.9);
/// # Ok(())
/// # }
/// ```
pub trait Equation: Send + Sync {
    /// Ψ, m.
    fn value(&self, a: &Pose, b: &Pose, time: f64) -> f64;

    /// The coefficients of Ψ̇ for the velocities of the two frames: of the origin of A (m/s), of its rotation
    /// (rad/s), and the same of B; world axes. What time does by itself is found by differences.
    fn gradient(&self, a: &Pose, b: &Pose, time: f64) -> [DVec3; 4];

    /// Whether Ψ ≥ 0 is asked for, and not Ψ = 0.
    fn is_unilateral(&self) -> bool {
        false
    }
}

/// Up to six equations: what [`super::Kind::Custom`] holds. Files cannot hold it.
#[derive(Clone)]
pub struct Custom(Vec<Arc<dyn Equation>>);

impl Custom {
    /// One equation.
    pub fn new(equation: impl Equation + 'static) -> Self {
        Self(vec![Arc::new(equation)])
    }

    /// And another.
    pub fn and(mut self, equation: impl Equation + 'static) -> Self {
        self.0.push(Arc::new(equation));
        self
    }

    pub(super) fn check(&self) -> Result<(), String> {
        match self.0.len() {
            1..=MOST_ROWS => Ok(()),
            n => Err(format!("a joint has from 1 to {MOST_ROWS} equations, got {n}")),
        }
    }

    #[inline(always)]
    pub(super) fn equations(&self, p: &Placed, out: &mut impl Sink) {
        let [a, b] = frames(p);
        let h = p.time[1] - p.time[0];
        for e in &self.0 {
            let error = e.value(&a, &b, p.time[0]);
            let rate = if h > 0.0 { (e.value(&a, &b, p.time[1]) - error) / h } else { 0.0 };
            let [va, wa, vb, wb] = e.gradient(&a, &b, p.time[0]);
            // Origins move with the bodies: v + ω × arm.
            let jacobian = jacobian(va, wa + p.arm[0].cross(va), vb, wb + p.arm[1].cross(vb));
            let sort = if e.is_unilateral() { Sort::Unilateral } else { Sort::Holonomic };
            out.push(Row { jacobian, error, rate, angular: false, sort });
        }
    }

    /// Compares gradients with differences of values where the joint is now.
    pub(crate) fn check_gradients(&self, p: &Placed) -> Result<(), String> {
        let poses = frames(p);
        let t = p.time[0];
        for (k, e) in self.0.iter().enumerate() {
            let told = e.gradient(&poses[0], &poses[1], t);
            let value = e.value(&poses[0], &poses[1], t);
            if !(value.is_finite() && told.iter().all(|g| g.is_finite())) {
                return Err(format!(
                    "equation {k}: value and gradient must be finite, got {value} and {told:?}"
                ));
            }
            let scale = told.iter().map(|g| g.length()).fold(1.0, f64::max);
            for (i, name) in ["the origin of A", "the rotation of A", "the origin of B", "the rotation of B"]
                .into_iter()
                .enumerate()
            {
                let found =
                    DVec3::from_array(DVec3::AXES.map(|axis| difference(e.as_ref(), poses, t, i, axis)));
                if (found - told[i]).length() > DIFFERENT * scale {
                    return Err(format!(
                        "equation {k}: its gradient for {name} is {}, but differences of its value give {found}",
                        told[i]
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Step of the differences, m and rad, and what they may be off by, over the largest gradient.
const STEP: f64 = 1e-6;
const DIFFERENT: f64 = 1e-5;

/// Ψ's central difference along one axis of one of the four gradients.
fn difference(e: &dyn Equation, poses: [Pose; 2], t: f64, which: usize, axis: DVec3) -> f64 {
    let at = |step: f64| {
        let mut moved = poses;
        let pose = &mut moved[which / 2];
        if which.is_multiple_of(2) {
            pose.position += step * axis;
        } else {
            pose.rotation = DQuat::from_scaled_axis(step * axis) * pose.rotation;
        }
        e.value(&moved[0], &moved[1], t)
    };
    (at(STEP) - at(-STEP)) / (2.0 * STEP)
}

fn frames(p: &Placed) -> [Pose; 2] {
    [0, 1].map(|k| Pose::new(p.origin[k], DQuat::from_mat3(&p.axes[k])))
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Custom({} equations)", self.0.len())
    }
}

impl PartialEq for Custom {
    /// Whether both are the same objects.
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}
