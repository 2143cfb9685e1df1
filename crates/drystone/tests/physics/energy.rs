//! No energy from nowhere.
//!
//! With w = v₀ + h g the free velocity, v₁ = w + M⁻¹ D γ the new one and x₁ = x₀ + h v₁, the sum of kinetic and
//! potential energy changes in a step by exactly
//!
//! ```text
//!     E₁ - E₀ = -½ |v₁ - v₀|²_M + ⟨γ, u⟩ - ⟨γ, b⟩ + lift
//! ```
//!
//! u = Dᵀv₁ + b the contact velocities of the problem, b ≥ 0 the gaps over h, and `lift` the potential energy that the
//! position correction adds when it raises bodies out of an overlap. γ ≥ 0, so a solved problem (⟨γ, u⟩ = 0) with no
//! overlaps can only lose energy, and in general the gain is at most complementarity + lift. The certificate states
//! the first, the positions show the second.

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, Stabilisation, World};
use glam::DVec3;

use crate::common::{add, tray, world};

/// A loose lattice of `n` shapes, turned and thrown at random, over a tray.
fn rain(settings: Settings, n: usize, shape: impl Fn(&mut Random) -> Shape) -> World {
    let mut w = world(settings);
    tray(&mut w, 0.5, 0.4);
    let mut random = Random::new(11);
    for k in 0..n {
        let cell = DVec3::new((k % 3) as f64 - 1.0, (k / 3 % 3) as f64 - 1.0, (k / 9) as f64 + 0.6);
        let shape = shape(&mut random);
        let mass = 1000.0 * shape.volume();
        let def =
            BodyDef::dynamic(shape, mass).at(0.31 * cell + 0.02 * random.in_ball()).turned(random.rotation());
        add(&mut w, def.moving(0.5 * random.in_ball(), 2.0 * random.in_ball()).friction(0.4));
    }
    w
}

struct Growth {
    /// Largest E₁ - E₀ of a step over the energy at the start.
    raw: f64,
    /// The same after taking off what complementarity and lift explain.
    unexplained: f64,
    /// Largest lift of a step over the energy at the start.
    lift: f64,
    /// Kinetic energy at the end over the energy at the start.
    left: f64,
}

fn watch(w: &mut World, steps: usize) -> Growth {
    let (h, g) = (w.settings().h, w.settings().gravity);
    let start = w.energy().total();
    let mut growth = Growth { raw: f64::MIN, unexplained: f64::MIN, lift: 0.0, left: 0.0 };
    for _ in 0..steps {
        let (before, at) = (w.energy().total(), w.state().position.clone());
        let report = w.step().unwrap();
        let lift: f64 = w
            .model()
            .dynamic()
            .map(|i| {
                let s = w.state();
                -w.model().bodies[i].mass.mass * g.dot(s.position[i] - at[i] - h * s.velocity[i])
            })
            .sum();
        let gain = w.energy().total() - before;
        growth.raw = growth.raw.max(gain / start);
        growth.lift = growth.lift.max(lift / start);
        growth.unexplained =
            growth.unexplained.max((gain - lift - report.certificate.complementarity) / start);
    }
    growth.left = w.energy().kinetic / start;
    growth
}

fn kinds() -> [(&'static str, fn(&mut Random) -> Shape); 3] {
    [
        ("spheres", |r| Shape::Sphere { radius: r.range(0.08, 0.14) }),
        ("boxes", |r| Shape::Box { half: r.in_box(DVec3::splat(0.05), DVec3::splat(0.11)) }),
        ("capsules", |r| Shape::Capsule { radius: r.range(0.04, 0.07), half_length: r.range(0.02, 0.09) }),
    ]
}

/// Without position correction the bound is the certificate's alone, whatever the accuracy of the solver.
#[test]
fn no_energy_beyond_the_certificate() {
    for (name, shape) in kinds() {
        for (tolerance, iterations) in [(1e-7, 3000), (1e-4, 200), (0.0, 10)] {
            let settings = Settings {
                h: 5e-3,
                tolerance,
                iterations,
                stabilisation: Stabilisation::None,
                ..Settings::default()
            };
            let mut w = rain(settings, 27, shape);
            let g = watch(&mut w, 250);
            println!(
                "{name}, tolerance {tolerance:.0e}: largest gain {:.1e} of the total, beyond the certificate {:.1e}; kinetic left {:.1e}",
                g.raw, g.unexplained, g.left
            );
            assert!(g.unexplained < 1e-12, "{name}: {:.3e} of the total comes from nowhere", g.unexplained);
        }
    }
}

/// With position correction, what is gained beyond the certificate is exactly the lift, and that is small.
#[test]
fn position_correction_adds_only_its_lift() {
    for (name, shape) in kinds() {
        let settings = Settings { h: 5e-3, tolerance: 1e-6, iterations: 1000, ..Settings::default() };
        let mut w = rain(settings, 27, shape);
        let g = watch(&mut w, 250);
        println!(
            "{name}, post: largest gain {:.1e} of the total, lift {:.1e}, beyond both {:.1e}; kinetic left {:.1e}",
            g.raw, g.lift, g.unexplained, g.left
        );
        assert!(g.unexplained < 1e-12, "{name}: {:.3e} of the total comes from nowhere", g.unexplained);
        assert!(g.raw < 2e-3, "{name}: a step gained {:.3e} of the total", g.raw);
        assert!(g.left < 1e-2, "{name}: {:.3e} of the energy is still motion after 1.25 s", g.left);
    }
}
