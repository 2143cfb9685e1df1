//! Force fields: closed forms, exact opposition, the grid against all pairs, the same bits in any order.

use std::f64::consts::TAU;

use drystone::collide::Periodic;
use drystone::field::{Pair, Source};
use drystone::random::Random;
use drystone::{BodyDef, Field, Integrator, JointDef, MassProperties, Settings, World, Wrench};
use glam::DVec3;

fn free(h: f64, integrator: Integrator) -> World {
    World::new(Settings { h, gravity: DVec3::ZERO, integrator, ..Settings::default() }).unwrap()
}

fn point(mass: f64, x: DVec3, v: DVec3) -> BodyDef {
    BodyDef::bare(MassProperties::principal(mass, DVec3::splat(0.1 * mass))).at(x).moving(v, DVec3::ZERO)
}

fn run(world: &mut World, steps: usize) {
    for _ in 0..steps {
        world.step().unwrap();
    }
}

/// Unequal masses on circles about their common centre; the shifted force is part of the closed form.
#[test]
fn two_charges_circle_each_other() {
    let pair = Pair::electrostatic(2.0, 3.0);
    let (m, charge, r): ([f64; 2], [f64; 2], f64) = ([1.0, 3.0], [1.5, -0.8], 0.7);
    let force = 2.0 * 1.5 * 0.8 * (1.0 / (r * r) - 1.0 / 9.0);
    let omega = (force / r * (1.0 / m[0] + 1.0 / m[1])).sqrt();
    let after = |steps: usize, integrator: Integrator| {
        let mut w = free(TAU / omega / steps as f64, integrator);
        w.add_field(Field::Pair(pair)).unwrap();
        let share = [m[1] / (m[0] + m[1]), -m[0] / (m[0] + m[1])];
        let ids = [0, 1].map(|k| {
            let (x, v) = (share[k] * r * DVec3::X, share[k] * r * omega * DVec3::Y);
            w.add_body(point(m[k], x, v).charged(charge[k])).unwrap()
        });
        let start = w.energy();
        let potential = 1.5 * -0.8 * 2.0 * (1.0 / r + r / 9.0 - 2.0 / 3.0);
        assert!((start.potential - potential).abs() < 1e-12, "{start:?}");
        run(&mut w, steps / 4);
        let quarter = w.position(ids[0]).unwrap();
        run(&mut w, steps - steps / 4);
        assert!((w.energy().total() - start.total()).abs() < 0.02 * start.total().abs());
        let miss = |x: DVec3, there: DVec3| (x - there).length();
        miss(quarter, share[0] * r * DVec3::Y).max(miss(w.position(ids[1]).unwrap(), share[1] * r * DVec3::X))
    };
    let good = Integrator::Rattle { order: 4 };
    assert!(after(200, good) < 2e-5, "{}", after(200, good));
    let second = Integrator::Rattle { order: 2 };
    let order = (after(200, second) / after(400, second)).log2();
    assert!((order - 2.0).abs() < 0.1, "{order}");
    let first = (after(400, Integrator::Euler) / after(800, Integrator::Euler)).log2();
    assert!((first - 1.0).abs() < 0.15, "{first}");
}

fn cloud(n: usize, pair: Pair, backwards: bool) -> World {
    let mut random = Random::new(3);
    let mut bodies: Vec<BodyDef> = (0..n)
        .map(|k| {
            let x = random.in_box(DVec3::ZERO, DVec3::splat(3.0));
            let charge = if k % 7 == 0 { 0.0 } else { random.range(-1.0, 1.0) };
            point(random.range(0.5, 2.0), x, DVec3::ZERO).charged(charge)
        })
        .collect();
    bodies[5].motion = drystone::Motion::Static;
    if backwards {
        bodies.reverse();
    }
    let mut w = free(1e-3, Integrator::Euler);
    for body in bodies {
        w.add_body(body).unwrap();
    }
    w.add_field(Field::Pair(pair)).unwrap();
    w
}

/// Other formula, other order, all pairs.
#[test]
fn the_grid_is_what_all_pairs_are() {
    for source in [Source::Charge, Source::Mass] {
        let pair = Pair { source, strength: -0.7, exponent: 3.0, cutoff: 0.6, core: 0.05 };
        let w = cloud(400, pair, false);
        let (found, energy) = (w.field_wrenches(), w.energy().potential);
        let (bodies, x) = (&w.model().bodies, &w.state().position);
        let strength = |i: usize| match source {
            Source::Charge => bodies[i].charge,
            Source::Mass => 1.0 / bodies[i].inv_mass * f64::from(u8::from(bodies[i].inv_mass > 0.0)),
        };
        let strength = |i: usize| Some(strength(i)).filter(|s| s.is_finite()).unwrap_or(0.0);
        let (mut sum, mut scale, mut slow) = (DVec3::ZERO, 0.0, 0.0);
        for i in 0..x.len() {
            let mut force = DVec3::ZERO;
            for j in (0..x.len()).filter(|&j| j != i && (i != 5 || j != 5)) {
                let (away, r) = ((x[i] - x[j]).normalize(), x[i].distance(x[j]));
                if r < 0.6 {
                    let law = |r: f64| -0.7 * (r.powi(-3) - 0.6f64.powi(-3));
                    let size = if r < 0.05 { law(0.05) * r / 0.05 } else { law(r) };
                    force += strength(i) * strength(j) * size * away;
                    let outer = |r: f64| -0.7 * (0.5 * (r.powi(-2) - 0.6f64.powi(-2)) - (0.6 - r) / 0.216);
                    let inner = |r: f64| outer(0.05) + law(0.05) * (0.05 * 0.05 - r * r) / 0.1;
                    slow += 0.5 * strength(i) * strength(j) * if r < 0.05 { inner(r) } else { outer(r) };
                }
            }
            assert!((found[i].force - force).length() < 1e-9 * (1.0 + force.length()), "{i}");
            sum += found[i].force;
            scale += force.length();
        }
        assert!(scale > 100.0 && sum.length() < 1e-13 * scale, "{scale} {sum}");
        assert!((energy - slow).abs() < 1e-9 * slow.abs(), "{energy} {slow}");
    }
}

/// Bit for bit, whoever is dynamic.
#[test]
fn a_pair_is_pushed_by_exactly_opposite_forces() {
    let mut random = Random::new(11);
    for k in 0..200 {
        let mut w = free(1e-3, Integrator::Euler);
        w.add_field(Field::Pair(Pair { exponent: 1.3, ..Pair::electrostatic(random.range(0.1, 9.0), 5.0) }))
            .unwrap();
        for fixed in [false, k % 3 == 0] {
            let mut body =
                point(random.range(0.1, 3.0), random.in_ball(), DVec3::ZERO).charged(random.range(-1.0, 1.0));
            if fixed {
                body.motion = drystone::Motion::Static;
            }
            w.add_body(body).unwrap();
        }
        let f = w.field_wrenches();
        assert!(f[0].force != DVec3::ZERO && f[0].force == -f[1].force, "{f:?}");
    }
}

#[test]
fn forces_depend_neither_on_threads_nor_on_the_order_of_bodies() {
    let pair = Pair { core: 0.02, ..Pair::electrostatic(0.01, 0.5) };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut w = cloud(1500, pair, false);
            run(&mut w, 5);
            w.state().hash()
        })
    };
    assert_eq!(with(1), with(3));
    let (a, mut b) = (cloud(300, pair, false).field_wrenches(), cloud(300, pair, true).field_wrenches());
    b.reverse();
    assert!(a.iter().any(|f| f.force.length() > 0.01));
    assert_eq!(a, b);
}

/// A charge in a magnetic field: the force depends on the velocity, and does no work.
#[test]
fn a_callback_turns_a_charge_in_a_circle() {
    let (m, q, field, speed) = (0.5, 2.0, 1.5, 3.0);
    let omega = q * field / m;
    let steps = 400;
    let mut w = free(TAU / omega / steps as f64, Integrator::Rattle { order: 4 });
    let id = w.add_body(point(m, DVec3::ZERO, speed * DVec3::X).charged(q)).unwrap();
    w.add_field(Field::callback("magnet", move |b, _| {
        Wrench::force(b.body.charge * b.velocity.cross(field * DVec3::Z))
    }))
    .unwrap();
    run(&mut w, steps / 2);
    assert!((w.velocity(id).unwrap() + speed * DVec3::X).length() < 1e-6);
    let diameter = 2.0 * speed / omega;
    assert!((w.position(id).unwrap() + diameter * DVec3::Y).length() < 1e-6);
    run(&mut w, steps / 2);
    assert!(w.position(id).unwrap().length() < 1e-6, "{}", w.position(id).unwrap());
}

/// Torque, time and a potential: a needle in a slowly rising torque, and a well whose energy stays.
#[test]
fn callbacks_know_time_torque_and_energy() {
    let mut w = free(1e-3, Integrator::Euler);
    let id = w.add_body(point(1.0, DVec3::X, DVec3::ZERO)).unwrap();
    w.add_field(Field::callback("ramp", |_, t| Wrench { force: DVec3::ZERO, torque: 0.3 * t * DVec3::Z }))
        .unwrap();
    w.add_field(Field::potential(
        "well",
        |b, _| Wrench::force(-4.0 * b.position),
        |b, _| 2.0 * b.position.length_squared(),
    ))
    .unwrap();
    assert_eq!(w.energy().potential, 2.0);
    run(&mut w, 1000);
    assert!((w.angular_velocity(id).unwrap().z - 0.3 * 0.5 / 0.1).abs() < 2e-3);
    assert!((w.position(id).unwrap().x - 2f64.cos()).abs() < 2e-3);
    assert!((w.energy().potential - 2.0 * 2f64.cos().powi(2)).abs() < 5e-3);
}

/// Weight by a callback is weight, in smooth steps of a mechanism too.
#[test]
fn a_pendulum_cannot_tell_a_field_from_gravity() {
    let make = |by_field: bool| {
        let g = -9.81 * DVec3::Z;
        let gravity = if by_field { DVec3::ZERO } else { g };
        let mut w = World::new(Settings { gravity, ..Settings::default() }).unwrap();
        let id = w.add_body(point(2.0, DVec3::X, DVec3::ZERO)).unwrap();
        w.add_joint(JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y)).unwrap();
        if by_field {
            w.add_field(Field::callback("weight", move |b, _| Wrench::force(b.body.mass.mass * g))).unwrap();
        }
        for _ in 0..200 {
            let report = w.step().unwrap();
            assert_eq!(report.integrator, Integrator::Rattle { order: 4 });
        }
        w.position(id).unwrap()
    };
    let (a, b) = (make(false), make(true));
    assert!((a - b).length() < 1e-11 && (a - DVec3::X).length() > 0.1, "{a} {b}");
}

/// Across a periodic face the nearest image pulls; a cut-off without a nearest image is refused.
#[test]
fn charges_feel_each_other_across_periods() {
    let periodic = Periodic { min: DVec3::ZERO, max: DVec3::splat(2.0), axes: [true, true, false] };
    let settings = Settings { gravity: DVec3::ZERO, periodic: Some(periodic), ..Settings::default() };
    let mut w = World::new(settings.clone()).unwrap();
    for x in [0.1, 1.8] {
        w.add_body(point(1.0, DVec3::new(x, 0.05, 0.0), DVec3::ZERO).charged(1.0)).unwrap();
    }
    let refused = w.add_field(Field::Pair(Pair::electrostatic(1.0, 1.01))).unwrap_err().to_string();
    assert!(refused.contains("cutoff") && refused.contains("half of the period"), "{refused}");
    w.add_field(Field::Pair(Pair::electrostatic(1.0, 1.0))).unwrap();
    let f = w.field_wrenches();
    assert!((f[0].force.x - (1.0 / 0.09 - 1.0)).abs() < 1e-12 && f[1].force == -f[0].force, "{f:?}");
    let mut small = settings;
    small.periodic = Some(Periodic { max: DVec3::splat(1.9), ..periodic });
    assert!(w.set_settings(small).unwrap_err().to_string().contains("cutoff"));
}

#[test]
fn charges_in_one_place_are_named() {
    let mut w = free(0.01, Integrator::Euler);
    w.add_field(Field::Pair(Pair::electrostatic(1.0, 1.0))).unwrap();
    for name in ["first", "second"] {
        w.add_body(point(1.0, DVec3::ONE, DVec3::ZERO).charged(1.0).named(name)).unwrap();
    }
    let text = w.step().unwrap_err().to_string();
    assert!(text.contains("first") && text.contains("force"), "{text}");
    w.clear_fields();
    w.add_field(Field::Pair(Pair { core: 0.1, ..Pair::electrostatic(1.0, 1.0) })).unwrap();
    w.step().unwrap();
}
