//! Springs as compliant rows: the same as the linearly implicit mass matrix, and stable however stiff.

use drystone::{BodyDef, Integrator, JointDef, MassProperties, Settings, World};
use glam::DVec3;

use crate::basic::exact;

/// M̂ = M - h² ∂k/∂q - h ∂k/∂v and k̂ = k - (∂k/∂v) v [Anitescu's lecture on the linearly implicit scheme]:
/// for two bodies on a line with a spring K and a damper C between them, by hand.
#[test]
fn a_compliant_row_is_the_implicit_mass_matrix() {
    for (stiffness, damping) in [(200.0, 0.0), (200.0, 5.0), (0.0, 5.0), (1e7, 1e3)] {
        let h = 0.01;
        let mut world = World::new(Settings {
            h,
            gravity: DVec3::ZERO,
            tolerance: 1e-13,
            integrator: Integrator::Euler,
            ..exact()
        })
        .unwrap();
        let (m, v, x) = ([1.0, 3.0], [0.4, -0.7], [0.0, 1.3]);
        let body = |k: usize| {
            let mass = MassProperties::principal(m[k], DVec3::splat(0.1));
            BodyDef::bare(mass).at(DVec3::X * x[k]).moving(DVec3::X * v[k], DVec3::ZERO)
        };
        let ids = [0, 1].map(|k| world.add_body(body(k)).unwrap());
        let spring = JointDef::spring_between(
            (Some(ids[0]), DVec3::ZERO),
            (Some(ids[1]), DVec3::ZERO),
            1.0,
            stiffness,
            damping,
        );
        let spring = world.add_joint(spring).unwrap();
        let (mut v, mut x) = (v, x);
        for _ in 0..50 {
            world.step().unwrap();
            // k(q, v) = (f, -f), f = K (x₁ - x₀ - ℓ) + C (v₁ - v₀); M̂ v⁺ = M v + h k̂.
            let soft = h * h * stiffness + h * damping;
            let f = stiffness * (x[1] - x[0] - 1.0);
            let (a, b, c) = (m[0] + soft, -soft, m[1] + soft);
            let right = [m[0] * v[0] + h * f, m[1] * v[1] - h * f];
            let det = a * c - b * b;
            v = [(c * right[0] - b * right[1]) / det, (a * right[1] - b * right[0]) / det];
            x = [x[0] + h * v[0], x[1] + h * v[1]];
            for k in 0..2 {
                let (p, u) = (world.position(ids[k]).unwrap(), world.velocity(ids[k]).unwrap());
                assert!(
                    (u.x - v[k]).abs() < 1e-10 && (p.x - x[k]).abs() < 1e-10,
                    "{stiffness}: {} {}",
                    u.x,
                    v[k]
                );
            }
            let force = world.joint_reaction(spring).unwrap().force.x;
            let expected = -stiffness * (x[1] - x[0] - 1.0) - damping * (v[1] - v[0]);
            assert!((force - expected).abs() < 1e-9 * (1.0 + stiffness), "{force} {expected}");
        }
    }
}

/// 10⁹ N/m with steps of 10 ms: no energy is made.
#[test]
fn a_stiff_spring_is_stable() {
    let mut world = World::new(exact()).unwrap();
    let mass = MassProperties::principal(1.0, DVec3::splat(0.1));
    let id = world
        .add_body(BodyDef::bare(mass).at(DVec3::X).moving(DVec3::new(0.5, 1.0, 0.2), DVec3::ZERO))
        .unwrap();
    let spring = JointDef::spring_between((None, DVec3::ZERO), (Some(id), DVec3::ZERO), 1.0, 1e9, 0.0);
    world.add_joint(spring).unwrap();
    let start = world.energy().total();
    for _ in 0..500 {
        world.step().unwrap();
        assert!(world.energy().total() < start + 0.05);
        assert!((world.position(id).unwrap().length() - 1.0).abs() < 0.01);
    }
}

/// A torsion spring on a hinge: θ = τ/κ at rest; the damper takes the swing.
#[test]
fn coordinates_have_springs() {
    let mut world = World::new(exact()).unwrap();
    let mass = MassProperties::principal(2.0, DVec3::new(0.02, 0.3, 0.31));
    let id = world.add_body(BodyDef::bare(mass).at(DVec3::X * 0.5)).unwrap();
    let hinge = JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y).spring(0, -0.3, 100.0, 20.0);
    let hinge = world.add_joint(hinge).unwrap();
    for _ in 0..1000 {
        world.step().unwrap();
    }
    let angle = world.joint_coordinates(hinge).unwrap()[0];
    let torque = 2.0 * 9.81 * 0.5 * angle.cos();
    assert!((100.0 * (angle + 0.3) - torque).abs() < 1e-4, "{angle}");
    assert!((world.joint_reaction(hinge).unwrap().spring[0] + torque).abs() < 1e-4);
}

/// Dry friction in a hinge holds a bar that is light enough, and brakes one that is not with its torque.
#[test]
fn friction_holds_and_brakes() {
    for (friction, moves) in [(12.0, false), (4.0, true)] {
        let mut world = World::new(exact()).unwrap();
        let mass = MassProperties::principal(2.0, DVec3::new(0.02, 0.3, 0.31));
        let id = world.add_body(BodyDef::bare(mass).at(DVec3::X * 0.5)).unwrap();
        let hinge = JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y).friction(0, friction);
        let hinge = world.add_joint(hinge).unwrap();
        for _ in 0..10 {
            world.step().unwrap();
        }
        let (rate, r) = (world.joint_rates(hinge).unwrap()[0], world.joint_reaction(hinge).unwrap());
        assert_eq!(rate.abs() > 1e-6, moves, "{rate}");
        let expected = if moves { -friction } else { -2.0 * 9.81 * 0.5 };
        assert!((r.friction[0] - expected).abs() < 1e-5, "{r:?}");
        if moves {
            // (τ_g - τ_f)/(I + m c²) · t, while the bar is still nearly level.
            assert!((rate - (9.81 - 4.0) / 0.8 * 0.1).abs() < 0.01, "{rate}");
        }
    }
}
