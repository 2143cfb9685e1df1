//! A constraint of one's own: a bead on a paraboloid, and a ceiling that it must stay below. Gradients are
//! checked by differences when the joint is added.
//!
//! Run with `cargo run --release --example custom_constraint`.

use drystone::joint::{Custom, Equation};
use drystone::{BodyDef, JointDef, MassProperties, Pose, Settings, World};
use glam::DVec3;

/// z = x² + y² in the axes of the world: an equation.
struct Bowl;

impl Equation for Bowl {
    fn value(&self, a: &Pose, b: &Pose, _time: f64) -> f64 {
        let d = b.position - a.position;
        d.z - d.x * d.x - d.y * d.y
    }

    fn gradient(&self, a: &Pose, b: &Pose, _time: f64) -> [DVec3; 4] {
        let d = b.position - a.position;
        let n = DVec3::new(-2.0 * d.x, -2.0 * d.y, 1.0);
        [-n, DVec3::ZERO, n, DVec3::ZERO]
    }
}

/// A ceiling that sinks: z ≤ 1 - 0.3 t, an inequality that depends on time.
struct Ceiling;

impl Equation for Ceiling {
    fn value(&self, _a: &Pose, b: &Pose, time: f64) -> f64 {
        1.0 - 0.3 * time - b.position.z
    }

    fn gradient(&self, _a: &Pose, _b: &Pose, _time: f64) -> [DVec3; 4] {
        [DVec3::ZERO, DVec3::ZERO, -DVec3::Z, DVec3::ZERO]
    }

    fn is_unilateral(&self) -> bool {
        true
    }
}

/// The example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(Settings { h: 1e-3, ..Settings::default() })?;
    let bead = MassProperties::principal(1.0, DVec3::splat(0.01));
    let start = DVec3::new(0.9, 0.0, 0.81);
    // Thrown round the bowl.
    let bead = world.add_body(BodyDef::bare(bead).at(start).moving(DVec3::Y * 4.0, DVec3::ZERO))?;
    let both = Custom::new(Bowl).and(Ceiling);
    world.add_joint(JointDef::custom(None, bead, Pose::IDENTITY, Pose::IDENTITY, both))?;

    println!("   t/s       z/m  ceiling/m  off the bowl/m");
    for k in 1..=2000 {
        world.step()?;
        let x = world.position(bead)?;
        let (off, ceiling) = (x.z - x.x * x.x - x.y * x.y, 1.0 - 0.3 * world.state().time);
        assert!(off.abs() < 1e-4 && x.z < ceiling + 1e-4, "{off} {} {ceiling}", x.z);
        if k % 200 == 0 {
            println!("{:6.2}  {:8.4}  {ceiling:9.4}  {off:14.1e}", world.state().time, x.z);
        }
    }
    Ok(())
}
