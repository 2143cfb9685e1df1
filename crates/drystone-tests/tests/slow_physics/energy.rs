//! Energy of larger piles: in every step at most what the certificate's complementarity and the lift of the
//! position correction explain. The identity behind it is derived in the fast suite.

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::{DQuat, DVec3};

fn rain(n: usize, shape: fn(&mut Random) -> Shape) -> World {
    let settings = Settings { h: 5e-3, tolerance: 1e-6, iterations: 1000, ..Settings::default() };
    let mut w = World::new(settings).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    for side in [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y] {
        let wall = BodyDef::fixed(Shape::HalfSpace).at(-0.7 * side).friction(0.4);
        w.add_body(wall.turned(DQuat::from_rotation_arc(DVec3::Z, side))).unwrap();
    }
    let mut random = Random::new(17);
    for k in 0..n {
        let cell = DVec3::new((k % 4) as f64 - 1.5, (k / 4 % 4) as f64 - 1.5, (k / 16) as f64 + 0.6);
        let shape = shape(&mut random);
        let mass = 1000.0 * shape.volume();
        let def =
            BodyDef::dynamic(shape, mass).at(0.33 * cell + 0.02 * random.in_ball()).turned(random.rotation());
        w.add_body(def.moving(0.5 * random.in_ball(), 2.0 * random.in_ball()).friction(0.4)).unwrap();
    }
    w
}

#[test]
fn no_energy_from_nowhere_in_larger_piles() {
    let kinds: [(&str, fn(&mut Random) -> Shape); 3] = [
        ("spheres", |r| Shape::Sphere { radius: r.range(0.08, 0.15) }),
        ("boxes", |r| Shape::Box { half: r.in_box(DVec3::splat(0.05), DVec3::splat(0.12)) }),
        ("capsules", |r| Shape::Capsule { radius: r.range(0.04, 0.08), half_length: r.range(0.02, 0.1) }),
    ];
    for (name, shape) in kinds {
        let mut w = rain(160, shape);
        let start = w.energy().total();
        let (h, g) = (w.settings().h, w.settings().gravity);
        let (mut unexplained, mut raw, mut most_lift) = (f64::MIN, f64::MIN, 0.0f64);
        for _ in 0..1000 {
            let (before, at) = (w.energy().total(), w.state().position.clone());
            let report = w.step().unwrap();
            let s = w.state();
            let rise =
                |i: usize| -w.model().bodies[i].mass.mass * g.dot(s.position[i] - at[i] - h * s.velocity[i]);
            let lift: f64 = w.model().dynamic().map(rise).sum();
            let gain = w.energy().total() - before;
            raw = raw.max(gain / start);
            most_lift = most_lift.max(lift / start);
            unexplained = unexplained.max((gain - lift - report.certificate.complementarity) / start);
        }
        let left = w.energy().kinetic / start;
        println!(
            "{name}: largest gain {raw:.1e} of the total, lift {most_lift:.1e}, unexplained {unexplained:.1e}, kinetic left {left:.1e}"
        );
        assert!(unexplained < 1e-12, "{name}: {unexplained:.3e} of the total comes from nowhere");
        assert!(raw < 1e-4, "{name}: a step gained {raw:.3e} of the total");
        assert!(left < 1e-3, "{name}: {left:.3e} of the energy is still motion after 5 s");
    }
}
