//! No energy from nowhere.
//!
//! With w = v₀ + h g the free velocity, v₁ = w + M⁻¹ D γ the new one and x₁ = x₀ + h v₁, the sum of kinetic
//! and potential energy changes in a step by exactly
//!
//! ```text
//!     E₁ - E₀ = -½ |v₁ - v₀|²_M + ⟨γ, u⟩ - ⟨γ, b⟩ + lift
//! ```
//!
//! u = Dᵀv₁ + b the contact velocities of the problem, b ≥ 0 the gaps over h, and `lift` the potential energy
//! that the position correction adds when it raises bodies out of an overlap. γ ≥ 0, so a solved problem (⟨γ,
//! u⟩ = 0) with no overlaps can only lose energy, and in general the gain is at most complementarity + lift.
//! The certificate states the first, the positions show the second.

use drystone::random::Random;
use drystone::{BodyDef, Impact, Integrator, JointDef, PairLaw, Settings, Shape, Stabilisation, World};
use glam::{DQuat, DVec3};
use std::f64::consts::FRAC_PI_2;

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

/// A heavy ball falls on the short end of a light beam on a hinge: the beam turns by half a radian in a step,
/// and its hinge must not take the arc on which it was moving for a speed to give to the ball.
#[test]
fn a_lever_gains_nothing_from_the_arc_it_was_on() {
    for restitution in [0.0, 0.05, 0.3, 0.8] {
        let mut w = world(Settings { h: 0.002, ..Settings::default() });
        w.materials_mut().set_other(PairLaw { restitution, ..PairLaw::default() }).unwrap();
        add(&mut w, BodyDef::fixed(Shape::HalfSpace));
        let beam = Shape::Box { half: DVec3::new(2.5, 0.1, 0.02) };
        let beam = add(&mut w, BodyDef::dynamic(beam, 1.0).at(DVec3::new(2.4, 0.0, 0.42)));
        w.add_joint(JointDef::revolute(None, beam, DVec3::Z * 0.42, DVec3::Y)).unwrap();
        let ball = |r: f64, mass: f64| BodyDef::dynamic(Shape::Sphere { radius: r }, mass);
        add(&mut w, ball(0.05, 0.01).at(DVec3::new(4.7, 0.0, 0.49)));
        add(&mut w, ball(0.05, 1e5).at(DVec3::new(-0.01, 0.0, 1.5)));
        let (start, mut most, mut fastest) = (w.energy().total(), f64::MIN, 0.0f64);
        for _ in 0..300 {
            w.step().unwrap();
            most = most.max(w.energy().total());
            fastest = fastest.max(w.speeds().0);
        }
        println!("e = {restitution}: energy {start:.4e} J, at most {most:.4e} J, fastest {fastest:.0} m/s");
        assert!(most <= 1.01 * start, "e = {restitution}: {start} J, then {most} J");
        assert!(fastest > 200.0, "the beam is a lever: {fastest} m/s");
    }
}

/// A lattice of balls thrown into a corner at 1.5 diameters a step: bounces of many at once, by Newton's law,
/// would multiply their energy. Less restitution is taken, and told.
#[test]
fn bounces_of_many_at_once_give_no_energy() {
    let mut w = world(Settings { h: 0.005, ..Settings::default() });
    w.materials_mut().set_other(PairLaw { restitution: 0.7, ..PairLaw::default() }).unwrap();
    tray(&mut w, 0.35, 0.3);
    for k in 0..27 {
        let cell = DVec3::new((k % 3) as f64 - 1.0, (k / 3 % 3) as f64 - 1.0, (k / 9) as f64);
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 0.2).at(0.205 * cell + DVec3::Z * 0.4);
        add(&mut w, ball.moving(DVec3::new(17.0, 16.0, -19.0), DVec3::ZERO));
    }
    let (start, mut most, mut cut) = (w.energy().total(), f64::MIN, 0);
    for _ in 0..80 {
        let report = w.step().unwrap();
        most = most.max(w.energy().total());
        cut += usize::from(report.bounce.is_some());
    }
    println!("energy {start:.4e} J, at most {most:.4e} J; {cut} steps with less restitution");
    assert!(most <= 1.001 * start, "{start} J, then {most} J");
}

/// 27 balls of 0.01 to 100 kg in a closed box without gravity, thrown and spinning at random.
fn gas(h: f64, law: PairLaw, mut random: Random, [speed, spin]: [f64; 2], mu: f64) -> World {
    let mut w = world(Settings { h, gravity: DVec3::ZERO, ..Settings::default() });
    w.materials_mut().set_other(law).unwrap();
    for normal in [DVec3::X, -DVec3::X, DVec3::Y, -DVec3::Y, DVec3::Z, -DVec3::Z] {
        let wall = BodyDef::fixed(Shape::HalfSpace).turned(DQuat::from_rotation_arc(DVec3::Z, normal));
        add(&mut w, wall.at(-0.5 * normal).friction(mu));
    }
    for k in 0..27 {
        let cell = DVec3::new((k % 3) as f64 - 1.0, (k / 3 % 3) as f64 - 1.0, (k / 9) as f64 - 1.0);
        let mass = 10f64.powf(4.0 * random.uniform() - 2.0);
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.09 }, mass).at(0.3 * cell);
        add(&mut w, ball.moving(speed * random.in_ball(), spin * random.in_ball()).friction(mu));
    }
    w
}

/// Balls of 0.01 to 100 kg in a closed box, rough and spinning, by Poisson's law: what contacts give back,
/// with friction on it, would be many times what they took. Less is given, and told; a ball by itself keeps
/// all of its bounce.
#[test]
fn expansions_of_many_at_once_give_no_energy() {
    let poisson = |restitution| PairLaw { restitution, impact: Impact::Poisson, ..PairLaw::default() };
    let mut w = gas(0.005, poisson(1.0), Random::new(3), [5.0, 50.0], 1.0);
    let (start, mut most, mut cut) = (w.energy().total(), f64::MIN, 0);
    for _ in 0..300 {
        let report = w.step().unwrap();
        most = most.max(w.energy().total());
        cut += usize::from(report.bounce.is_some());
    }
    println!("energy {start:.4e} J, at most {most:.4e} J; {cut} steps with less restitution");
    assert!(most <= 1.05 * start, "{start} J, then {most} J");
    assert!(cut > 0, "the rule was needed");

    let mut w = world(Settings { h: 0.001, ..Settings::default() });
    w.materials_mut().set_other(poisson(1.0)).unwrap();
    add(&mut w, BodyDef::fixed(Shape::HalfSpace));
    add(&mut w, BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::Z * 1.1));
    let start = w.energy().total();
    for _ in 0..3000 {
        assert!(w.step().unwrap().bounce.is_none());
    }
    assert!((w.energy().total() - start).abs() <= 0.02 * start, "{} J of {start}", w.energy().total());
}

/// Balls of 0.01 to 100 kg that cross a closed box in five steps: now and then their bounces contradict each
/// other, and give way or are cut. That must not multiply their energy either.
#[test]
fn bounces_without_room_give_no_energy() {
    let mut cut = 0;
    for seed in 0..8 {
        let law = PairLaw { restitution: 0.95, ..PairLaw::default() };
        let mut w = gas(0.01, law, Random::new(seed), [30.0, 0.0], 0.0);
        let (start, mut most) = (w.energy().total(), f64::MIN);
        for _ in 0..100 {
            let report = w.step().unwrap();
            cut += usize::from(report.bounce.is_some() || !report.contradiction.is_empty());
            most = most.max(w.energy().total());
        }
        println!("seed {seed}: energy {start:.4e} J, at most {most:.4e} J");
        assert!(most <= 1.1 * start, "seed {seed}: {start} J, then {most} J");
    }
    println!("{cut} steps had no room for all of their bounces");
    assert!(cut > 0, "some had no room");
}

/// A door with a flap, both elastic at their limits: now and then both are hit in one step. Smooth steps keep
/// the energy; half-implicit ones are held to it.
#[test]
fn limits_hit_at_once_give_no_energy() {
    let (cut, end) = door_with_a_flap(Integrator::Euler);
    assert!(cut > 0, "the rule was needed");
    assert!(end >= 0.5, "elastic limits keep it moving: {end}");
    let (cut, end) = door_with_a_flap(Integrator::Auto);
    assert!(cut == 0 && (end - 1.0).abs() < 1e-4, "{cut} cut, energy {end} times that of the start");
}

/// How many bounces were cut, and the energy at the end over that of the start.
fn door_with_a_flap(integrator: Integrator) -> (usize, f64) {
    let mut w = world(Settings { h: 0.01, gravity: DVec3::ZERO, integrator, ..Settings::default() });
    let spin = 2.46692;
    let mut plate = |half: DVec3, mass: f64, x: f64| {
        let body = BodyDef::dynamic(Shape::Box { half }, mass).at(DVec3::X * x);
        add(&mut w, body.moving(DVec3::Y * spin * x, DVec3::Z * spin))
    };
    let door = plate(DVec3::new(0.4, 0.02, 0.8), 5.7534, 0.4);
    let flap = plate(DVec3::new(0.1, 0.02, 0.1), 0.09159, 0.9);
    let hinge = JointDef::revolute(None, door, DVec3::ZERO, DVec3::Z).limits(0, -1.0, 1.0, 1.0);
    w.add_joint(hinge).unwrap();
    let hinge = JointDef::revolute(Some(door), flap, DVec3::X * 0.8, DVec3::Z).limits(0, -0.5, 0.5, 1.0);
    w.add_joint(hinge).unwrap();
    let (start, mut most, mut cut) = (w.energy().total(), f64::MIN, 0);
    for _ in 0..300 {
        let report = w.step().unwrap();
        most = most.max(w.energy().total());
        cut += usize::from(report.bounce.is_some());
    }
    assert!(most <= 1.02 * start, "{start} J, then {most} J");
    (cut, w.energy().total() / start)
}

/// What a heavy body hits flies off faster than anything that was asked for, with no more energy than there
/// was: nothing gives way, and no bounce is cut.
#[test]
fn a_light_body_hit_by_a_heavy_one_flies_off() {
    for (restitution, mass) in [(0.5, 1e-3), (0.9, 1e-3), (0.5, 1e-6)] {
        let mut w = world(Settings { gravity: DVec3::ZERO, h: 0.002, ..Settings::default() });
        w.materials_mut().set_other(PairLaw { restitution, ..PairLaw::default() }).unwrap();
        let ball = |r: f64, mass: f64| BodyDef::dynamic(Shape::Sphere { radius: r }, mass);
        let seed = add(&mut w, ball(0.02, mass).at(DVec3::X * 0.35));
        add(&mut w, ball(0.3, 1e4).moving(DVec3::X * 3.0, DVec3::ZERO));
        for _ in 0..20 {
            let report = w.step().unwrap();
            assert!(
                report.bounce.is_none_or(|s| s > 0.999),
                "e = {restitution}, {mass} kg: {:?}",
                report.bounce
            );
            assert!(report.contradiction.is_empty(), "e = {restitution}, {mass} kg");
        }
        let speed = w.velocity(seed).unwrap().x;
        let wanted = 3.0 * (1.0 + restitution);
        assert!((speed - wanted).abs() <= 1e-3 * wanted, "{speed} m/s, not {wanted}");
    }
    // Pinched out from between a heavy ball and a floor, at many times the ball's speed.
    let mut w = world(Settings { h: 0.002, ..Settings::default() });
    w.materials_mut().set_other(PairLaw { restitution: 0.5, ..PairLaw::default() }).unwrap();
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(0.0));
    let ball = |r: f64, mass: f64| BodyDef::dynamic(Shape::Sphere { radius: r }, mass).friction(0.0);
    let seed = add(&mut w, ball(0.02, 1e-3).at(DVec3::Z * 0.02));
    add(&mut w, ball(0.3, 1e4).at(DVec3::new(0.03, 0.0, 0.6)).moving(DVec3::Z * -3.0, DVec3::ZERO));
    for _ in 0..200 {
        let report = w.step().unwrap();
        assert!(
            report.contradiction.is_empty() && report.bounce.is_none_or(|s| s > 0.999),
            "{:?}",
            report.bounce
        );
    }
    let speed = w.velocity(seed).unwrap().length();
    println!("pinched out at {speed:.1} m/s");
    assert!(speed > 30.0, "{speed} m/s");
}

/// A torso with an arm and a leg is dropped, in many ways; the arm wedges itself end-on against the leg. What
/// joints ask for there, arcs and the rest of their errors, is little, and must not become much.
#[test]
fn limbs_that_wedge_each_other_are_not_thrown() {
    let mut random = Random::new(5);
    let mut wedged = 0;
    for throw in 0..24 {
        let h = [0.002, 0.005, 0.01][throw % 3];
        let mut w = world(Settings { h, ..Settings::default() });
        let mu = 0.3 + 0.7 * random.uniform();
        add(&mut w, BodyDef::fixed(Shape::HalfSpace).friction(mu));
        let speed = DVec3::new(2.0 * random.uniform() - 1.0, 0.0, -5.0 * random.uniform());
        let mut part = |shape: Shape, mass: f64, at: DVec3| {
            add(&mut w, BodyDef::dynamic(shape, mass).at(at).moving(speed, DVec3::ZERO).friction(mu))
        };
        let torso = part(Shape::Box { half: DVec3::new(0.15, 0.1, 0.25) }, 30.0, DVec3::Z * 1.5);
        let limb = |radius: f64, half_length: f64| Shape::Capsule { radius, half_length };
        let leg = part(limb(0.07, 0.3), 8.0, DVec3::new(0.1, 0.0, 0.85));
        let arm = BodyDef::dynamic(limb(0.05, 0.2), 3.0).turned(DQuat::from_rotation_y(FRAC_PI_2));
        let arm = add(&mut w, arm.at(DVec3::new(0.42, 0.0, 1.7)).moving(speed, DVec3::ZERO).friction(mu));
        w.add_joint(JointDef::ball(Some(torso), arm, DVec3::new(0.17, 0.0, 1.7))).unwrap();
        w.add_joint(JointDef::revolute(Some(torso), leg, DVec3::new(0.1, 0.0, 1.23), DVec3::X)).unwrap();
        let mut before = w.energy().total();
        for step in 0..(2.0 / h) as usize {
            let report = w.step().unwrap_or_else(|e| panic!("throw {throw}: {e}"));
            let now = w.energy().total();
            assert!(now <= before + 30.0, "throw {throw}, h {h}, step {step}: {before} J, then {now} J");
            wedged += usize::from(report.bounce.is_some());
            before = now;
        }
    }
    println!("{wedged} steps with less of their arcs");
    assert!(wedged > 0, "the rule was needed");
}
