//! Smooth steps: orders of convergence, what they hold exactly, and when the half-implicit scheme takes over.

use drystone::joint::Bushing;
use drystone::{
    BodyDef, Function, Guide, Integrator, JointDef, JointId, MassProperties, Motor, Settings, Shape, World,
};
use glam::{DQuat, DVec3};

use crate::basic::{bar, exact};

fn world(order: u8, h: f64) -> World {
    World::new(Settings { h, integrator: Integrator::Rattle { order }, ..exact() }).unwrap()
}

fn run(world: &mut World, time: f64) {
    let steps = (time / world.settings().h).round() as usize;
    for _ in 0..steps {
        let report = world.step().unwrap();
        assert!(matches!(report.integrator, Integrator::Rattle { .. }), "step {}", report.step);
        assert!(report.certificate.residual_max < 1e-9);
    }
}

/// Distance of all poses from those of a reference.
fn off(world: &World, reference: &World) -> f64 {
    let (a, b) = (world.state(), reference.state());
    let place = a.position.iter().zip(&b.position).map(|(a, b)| (*a - *b).length());
    let turn =
        a.rotation.iter().zip(&b.rotation).map(|(a, b)| (*a * b.conjugate()).to_scaled_axis().length());
    place.chain(turn).fold(0.0, f64::max)
}

/// Observed order of `make(order, h)` at time `t`, between `h` and h/2.
fn order_of(make: &dyn Fn(u8, f64) -> World, order: u8, h: f64, t: f64) -> f64 {
    let after = |order: u8, h: f64| {
        let mut w = make(order, h);
        run(&mut w, t);
        w
    };
    let reference = after(4, h / 16.0);
    let (a, b) = (off(&after(order, h), &reference), off(&after(order, 0.5 * h), &reference));
    println!("order {order}: {a:.2e} at {h}, {b:.2e} at half of it, observed {:.2}", (a / b).log2());
    (a / b).log2()
}

/// An asymmetric body on a ball joint, spinning about all axes.
fn spatial(order: u8, h: f64) -> World {
    let mut w = world(order, h);
    let mass = MassProperties::principal(2.0, DVec3::new(0.1, 0.2, 0.25));
    let spin = DVec3::new(2.0, -1.0, 3.0);
    let at = DVec3::new(0.4, 0.1, 0.2);
    let id = w.add_body(BodyDef::bare(mass).at(at).moving(spin.cross(at), spin)).unwrap();
    w.add_joint(JointDef::ball(None, id, DVec3::ZERO)).unwrap();
    w
}

/// Crank, coupler and rocker in four hinges, three equations of which repeat others.
fn four_bar(order: u8, h: f64) -> World {
    let mut w = world(order, h);
    let crank = DVec3::new(0.25, 0.0, 0.433_012_701_892_219_3);
    let rocker = DVec3::new(1.942_307_692_307_692_5, 0.0, 1.498_890_121_934_605);
    let ground = DVec3::X * 2.0;
    let link = |w: &mut World, a: DVec3, b: DVec3, spin: f64, hinge: DVec3, v: DVec3| {
        let (along, centre, turn) = (b - a, 0.5 * (a + b), DVec3::Y * spin);
        let m = 2.0 * along.length();
        let across = m * along.length_squared() / 12.0;
        let mass = MassProperties::principal(m, DVec3::new(4e-4 * m, across, across));
        let q = DQuat::from_rotation_arc(DVec3::X, along.normalize());
        w.add_body(BodyDef::bare(mass).at(centre).turned(q).moving(v + turn.cross(centre - hinge), turn))
            .unwrap()
    };
    // Rates of a crank at -10 rad/s: the coupler's end must move across the rocker.
    let pin = (DVec3::Y * -10.0).cross(crank);
    let (c, r) = (rocker - crank, rocker - ground);
    let coupler = -pin.dot(r) / DVec3::Y.cross(c).dot(r);
    let end = pin + (DVec3::Y * coupler).cross(c);
    let swing = DVec3::Y.cross(r).dot(end) / r.length_squared();
    let a = link(&mut w, DVec3::ZERO, crank, -10.0, DVec3::ZERO, DVec3::ZERO);
    let b = link(&mut w, crank, rocker, coupler, crank, pin);
    let d = link(&mut w, ground, rocker, swing, ground, DVec3::ZERO);
    w.add_joint(JointDef::revolute(None, a, DVec3::ZERO, DVec3::Y)).unwrap();
    w.add_joint(JointDef::revolute(a, b, crank, DVec3::Y)).unwrap();
    w.add_joint(JointDef::revolute(None, d, ground, DVec3::Y)).unwrap();
    w.add_joint(JointDef::revolute(b, d, rocker, DVec3::Y)).unwrap();
    w
}

#[test]
fn orders_of_convergence() {
    for (make, t) in [(&spatial as &dyn Fn(u8, f64) -> World, 1.0), (&four_bar, 0.6)] {
        assert!(order_of(make, 2, 0.005, t) >= 1.8);
        assert!(order_of(make, 4, 0.01, t) >= 3.5);
    }
}

/// A spring and a damper between two spinning bodies that a hinge holds together, and a blade on the ground:
/// forces that depend on velocities, and an equation about velocities alone.
#[test]
fn dampers_and_blades_keep_the_order() {
    let damped = |order: u8, h: f64| {
        let mut w = world(order, h);
        let (a, b) = (bar(&mut w, DVec3::X * 0.5), bar(&mut w, DVec3::X * 1.5));
        w.add_joint(JointDef::revolute(None, a, DVec3::ZERO, DVec3::Y)).unwrap();
        w.add_joint(JointDef::revolute(a, b, DVec3::X, DVec3::Y).spring(0, 0.3, 20.0, 0.4)).unwrap();
        w
    };
    let skate = |order: u8, h: f64| {
        let mut w = world(order, h);
        let mass = MassProperties::principal(2.0, DVec3::new(0.1, 0.2, 0.25));
        let turned = DQuat::from_rotation_x(0.3);
        let spin = turned * DVec3::Z * 2.0;
        let id = w.add_body(BodyDef::bare(mass).turned(turned).moving(turned * DVec3::X, spin)).unwrap();
        let (blade, up) = (turned * DVec3::X, turned * DVec3::Z);
        w.add_joint(JointDef::planar(None, id, DVec3::ZERO, up)).unwrap();
        w.add_joint(JointDef::knife_edge(None, id, DVec3::ZERO, blade, up)).unwrap();
        w
    };
    for make in [&damped as &dyn Fn(u8, f64) -> World, &skate] {
        assert!(order_of(make, 2, 0.01, 1.0) >= 1.8);
        assert!(order_of(make, 4, 0.02, 1.0) >= 3.5);
    }
}

/// Energy of a run of 20 s stays within what it swings by in the first second.
#[test]
fn energy_does_not_drift() {
    for order in [2, 4] {
        let mut w = four_bar(order, 0.01);
        let start = w.energy().total();
        let (mut early, mut late) = (0.0f64, 0.0f64);
        for k in 0..2000 {
            w.step().unwrap();
            let change = (w.energy().total() / start - 1.0).abs();
            if k < 100 { early = early.max(change) } else { late = late.max(change) }
        }
        println!("order {order}: {early:.2e} in the first second, {late:.2e} later");
        assert!(late < 2.0 * early && late < if order == 2 { 0.02 } else { 2e-4 }, "{early} {late}");
        assert!(w.joint_error().position < 1e-12 && w.joint_error().velocity < 1e-11);
    }
}

/// Links of 10 cm that turn by a third of a radian and more in a step: those take substeps, as many on the
/// way there as on the way back.
#[test]
fn a_short_double_pendulum_keeps_its_energy() {
    let mut w = World::new(Settings::default()).unwrap();
    let turn = DQuat::from_rotation_y(0.5);
    let mut last = None;
    for k in 0..2 {
        let from = turn * DVec3::Z * 0.1 * f64::from(k);
        let mass = MassProperties::principal(0.1, DVec3::splat(2e-5));
        let link = BodyDef::bare(mass).at(from + turn * DVec3::Z * 0.05).turned(turn);
        let link = w.add_body(link).unwrap();
        w.add_joint(JointDef::ball(last, link, from)).unwrap();
        last = Some(link);
    }
    let (start, mut kinetic, mut off, mut most) = (w.energy().total(), 0.0f64, 0.0f64, 1);
    for _ in 0..3000 {
        most = most.max(w.step().unwrap().substeps);
        kinetic = kinetic.max(w.energy().kinetic);
        off = off.max((w.energy().total() - start).abs());
    }
    assert!(most > 1 && off < 5e-4 * kinetic, "{most} substeps, off by {off:e} of {kinetic}");
}

/// A flap between limits, on edge: every rebound is at its instant, and an elastic one keeps the energy.
#[test]
fn elastic_limits_keep_the_energy() {
    for h in [0.002, 0.01, 0.02] {
        let mut w = World::new(Settings { h, ..Settings::default() }).unwrap();
        let id = bar(&mut w, DVec3::X * 0.5);
        let hinge = JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y).limits(0, -0.3, 0.9, 1.0);
        let hinge = w.add_joint(hinge).unwrap();
        let start = w.energy();
        let (mut rebounds, mut off, mut kinetic, mut last) = (0, 0.0f64, 0.0f64, 0.0);
        while w.state().time < 30.0 {
            let report = w.step().unwrap();
            assert_eq!(report.smooth_bodies, 1);
            let (rate, at) = (w.joint_rates(hinge).unwrap()[0], w.joint_coordinates(hinge).unwrap()[0]);
            assert!((-0.3..=0.9).contains(&at), "{at}");
            rebounds += i32::from(last > 1.0 && rate < -1.0);
            last = rate;
            kinetic = kinetic.max(w.energy().kinetic);
            off = off.max((w.energy().total() - start.total()).abs());
        }
        assert!(rebounds > 25 && off < 2e-5 * kinetic, "{rebounds} rebounds, off by {off:e} of {kinetic}");
    }
}

/// What has come to rest on a limit with restitution stays there, and nothing is said to contradict it.
#[test]
fn rest_on_a_limit_is_no_contradiction() {
    for e in [0.3, 0.5, 0.8] {
        let settings = Settings { h: 1e-3, tolerance: 1e-8, ..Settings::default() };
        let mut w = World::new(settings).unwrap();
        let mass = MassProperties::principal(1.0, DVec3::splat(0.01));
        let id = w.add_body(BodyDef::bare(mass).at(DVec3::X)).unwrap();
        w.add_joint(JointDef::revolute(None, id, DVec3::ZERO, DVec3::Y).limits(0, -1.0, 1.0, e)).unwrap();
        for step in 1..=3000 {
            let report = w.step().unwrap();
            assert!(report.contradiction.is_empty(), "e {e}, step {step}: {:?}", report.contradiction);
        }
    }
}

/// Commands are met to rounding: a position, a speed by its integral, and a force.
#[test]
fn motors_impose_what_they_say() {
    let mut w = world(4, 0.01);
    let sine = Function::Sine { mean: 0.2, amplitude: 0.5, frequency: 1.0, phase: 0.0 };
    let hinge = |w: &mut World, y: f64, motor: Motor| -> JointId {
        let id = bar(w, DVec3::new(0.5, y, 0.0));
        w.add_joint(JointDef::revolute(None, id, DVec3::Y * y, DVec3::Y).motor(0, motor)).unwrap()
    };
    // The first step takes the bar to where the command begins.
    let place = hinge(
        &mut w,
        0.0,
        Motor::position(Function::Sine { mean: 0.0, amplitude: 0.5, frequency: 1.0, phase: 0.0 }),
    );
    let speed = hinge(&mut w, 1.0, Motor::speed(sine));
    run(&mut w, 0.6);
    let (t, tau) = (w.state().time, std::f64::consts::TAU);
    let (x, v) = (w.joint_coordinates(place).unwrap()[0], w.joint_rates(place).unwrap()[0]);
    assert!(
        (x - 0.5 * (tau * t).sin()).abs() < 1e-12 && (v - 0.5 * tau * (tau * t).cos()).abs() < 1e-11,
        "{x} {v}"
    );
    let (x, v) = (w.joint_coordinates(speed).unwrap()[0], w.joint_rates(speed).unwrap()[0]);
    let integral = 0.2 * t + 0.5 / tau * (1.0 - (tau * t).cos());
    assert!(
        (x - integral).abs() < 1e-7 && (v - 0.2 - 0.5 * (tau * t).sin()).abs() < 1e-11,
        "{x} {integral} {v}"
    );
    // Torque: I α less the weight's, in the middle of the last step.
    let middle = t - 0.005;
    let angle = 0.5 * (tau * middle).sin();
    let torque = 0.8 * -0.5 * tau * tau * (tau * middle).sin() - 2.0 * 9.81 * 0.5 * angle.cos();
    assert!(
        (w.joint_reaction(place).unwrap().motor[0] - torque).abs() < 0.02,
        "{:?}",
        w.joint_reaction(place)
    );
}

/// The pivot of a pendulum may move: led by a function, or on a body that is.
#[test]
fn moving_pivots() {
    let shake = Function::Sine { mean: 0.0, amplitude: 0.1, frequency: 2.0, phase: 0.0 };
    let start = DVec3::new(0.3, 0.0, -0.4);
    let ends: Vec<DVec3> = [true, false]
        .into_iter()
        .map(|led| {
            let mut w = world(4, 0.01);
            let v = DVec3::X * 0.1 * 2.0 * std::f64::consts::TAU;
            let mass = MassProperties::principal(2.0, DVec3::splat(0.1));
            let id = w.add_body(BodyDef::bare(mass).at(start).moving(v, DVec3::ZERO)).unwrap();
            if led {
                let still = Function::Constant(0.0);
                let way = [shake.clone(), still.clone(), still];
                w.add_joint(JointDef::trajectory(None, (id, -start), way, None)).unwrap();
            } else {
                let cart = BodyDef::kinematic(Shape::Sphere { radius: 0.01 })
                    .guided(Guide::along(DVec3::X, shake.clone()));
                let cart = w.add_body(cart).unwrap();
                w.add_joint(JointDef::ball(cart, id, DVec3::ZERO)).unwrap();
            }
            run(&mut w, 1.0);
            w.position(id).unwrap()
        })
        .collect();
    assert!((ends[0] - ends[1]).length() < 1e-10 && (ends[0] - start).length() > 0.1, "{ends:?}");
}

/// A bar that hangs from a hinge and one that swings through its lowest place: weight, and weight and m v²/c.
#[test]
fn reactions_are_forces() {
    let mut w = world(4, 0.001);
    let hanging = bar(&mut w, DVec3::Z * -0.5);
    let still = w.add_joint(JointDef::revolute(None, hanging, DVec3::ZERO, DVec3::Y)).unwrap();
    let mass = MassProperties::principal(2.0, DVec3::new(0.02, 0.3, 0.31));
    let swinging = BodyDef::bare(mass).at(DVec3::new(0.0, 1.0, -0.5)).moving(DVec3::X * -1.5, DVec3::Y * 3.0);
    let swinging = w.add_body(swinging).unwrap();
    let swing = w.add_joint(JointDef::revolute(None, swinging, DVec3::Y, DVec3::Y)).unwrap();
    run(&mut w, 0.001);
    let up = |w: &World, j: JointId| w.joint_reaction(j).unwrap().force.z;
    assert!((up(&w, still) - 2.0 * 9.81).abs() < 1e-9);
    assert!((up(&w, swing) - 2.0 * 9.81 - 2.0 * 9.0 * 0.5).abs() < 1e-3, "{}", up(&w, swing));
    assert!(w.joint_reaction(still).unwrap().torque.length() < 1e-9);
}

/// Who takes a step, by what is in the world. The default does, with joints.
#[test]
fn the_other_scheme_takes_what_is_not_smooth() {
    let taken = |settings: Settings, build: &dyn Fn(&mut World)| {
        let mut w = World::new(settings).unwrap();
        build(&mut w);
        w.step().unwrap().integrator
    };
    let at = DVec3::X * 0.5;
    let hinge = |w: &mut World| JointDef::revolute(None, bar(w, at), DVec3::ZERO, DVec3::Y);
    let add = |w: &mut World, def: JointDef| {
        w.add_joint(def).unwrap();
    };
    let smooth = Integrator::Rattle { order: 4 };
    let with = |change: &dyn Fn(JointDef) -> JointDef| {
        taken(exact(), &|w: &mut World| {
            let def = hinge(w);
            add(w, change(def));
        })
    };
    assert_eq!(with(&|j| j), smooth);
    assert_eq!(with(&|j| j.motor(0, Motor::position(0.0))), smooth);
    assert_eq!(with(&|j| j.motor(0, Motor::speed(1.0))), smooth);
    assert_eq!(with(&|j| j.motor(0, Motor::force(1.0).limited(0.5))), smooth);
    assert_eq!(with(&|j| j.spring(0, 0.0, 100.0, 0.5)), smooth);
    assert_eq!(with(&|j| j.limits(0, -1.0, 1.0, 0.5)), smooth);
    assert_eq!(with(&|j| j.limits(0, -1.0, 0.0, 0.5)), Integrator::Euler);
    assert_eq!(with(&|j| j.motor(0, Motor::speed(1.0).limited(100.0))), Integrator::Euler);
    assert_eq!(with(&|j| j.friction(0, 0.1)), Integrator::Euler);
    assert_eq!(with(&|j| j.spring(0, 0.0, 1e6, 0.0)), Integrator::Euler);
    assert_eq!(with(&|j| j.spring(0, 0.0, 0.0, 1e3)), Integrator::Euler);
    assert_eq!(with(&|j| j.compliant(1e-9, 0.0)), Integrator::Euler);
    let stiff = Bushing { stiffness: [1e8; 3].into(), ..Bushing::default() };
    let bushing = |w: &mut World| {
        let id = bar(w, at);
        add(w, JointDef::bushing(None, id, DVec3::ZERO, stiff));
    };
    assert_eq!(taken(exact(), &bushing), Integrator::Euler);
    // A contact somewhere, and none; no joints; by name.
    let ball = |z: f64| BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::new(0.0, 5.0, z));
    // The ball is no mechanism: it takes its own scheme, whatever hangs beside it.
    for (z, expected) in [(0.1, Integrator::Euler), (3.0, Integrator::Euler)] {
        let got = taken(exact(), &|w: &mut World| {
            let def = hinge(w);
            add(w, def);
            w.add_body(ball(z)).unwrap();
            w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
        });
        assert_eq!(got, expected, "ball at {z}");
    }
    let lonely = |w: &mut World| {
        w.add_body(ball(1.0)).unwrap();
    };
    assert_eq!(taken(exact(), &lonely), Integrator::Euler);
    let named = Settings { integrator: Integrator::Rattle { order: 2 }, ..exact() };
    assert_eq!(taken(named, &lonely), Integrator::Rattle { order: 2 });
    let moreau = Settings { integrator: Integrator::Moreau { theta: 0.5 }, ..exact() };
    assert_eq!(taken(moreau.clone(), &lonely), moreau.integrator);
}

/// A rope that is slack is not there; the step in which it would be passed is the other scheme's.
#[test]
fn a_rope_is_smooth_until_it_is_taut() {
    let mut w = World::new(exact()).unwrap();
    let id = bar(&mut w, DVec3::ZERO);
    w.add_joint(JointDef::rope((None, DVec3::ZERO), (Some(id), DVec3::ZERO), 1.0)).unwrap();
    let mut scheme = Vec::new();
    for _ in 0..60 {
        scheme.push(w.step().unwrap().integrator != Integrator::Euler);
        assert!(w.position(id).unwrap().z > -1.0 - 1e-6);
    }
    let first = scheme.iter().position(|s| !s).unwrap();
    // ½ g t² = 1 m after 0.4515 s.
    assert!((44..=45).contains(&first), "{first}");
    assert!(scheme[..first].iter().all(|s| *s));
}

/// A double pendulum of bars beside whatever `more` adds, far away.
fn beside(more: &dyn Fn(&mut World)) -> (World, Vec<JointId>) {
    let mut w = World::new(Settings { iterations: 200, ..Settings::default() }).unwrap();
    let ids = [0.5, 1.5].map(|x| bar(&mut w, DVec3::new(x, 0.0, 5.0)));
    let joints = vec![
        w.add_joint(JointDef::revolute(None, ids[0], DVec3::new(0.0, 0.0, 5.0), DVec3::Y)).unwrap(),
        w.add_joint(JointDef::revolute(ids[0], ids[1], DVec3::new(1.0, 0.0, 5.0), DVec3::Y)).unwrap(),
    ];
    more(&mut w);
    (w, joints)
}

fn pile(w: &mut World) {
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    for k in 0..12 {
        let at = DVec3::new(20.0 + 0.21 * (k % 2) as f64, 0.11 * (k % 3) as f64, 0.1 + 0.19 * (k / 2) as f64);
        w.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).friction(0.4).at(at)).unwrap();
    }
}

/// A pendulum beside a pile moves bit for bit as it does alone, and so does the pile.
#[test]
fn a_mechanism_beside_a_pile_keeps_its_integrator() {
    let (mut alone, hinges) = beside(&|_| {});
    let (mut both, same) = beside(&pile);
    let mut heap = World::new(Settings { iterations: 200, ..Settings::default() }).unwrap();
    pile(&mut heap);
    let start = alone.energy().total();
    let mut solved = 0;
    for _ in 0..300 {
        assert_eq!(alone.step().unwrap().smooth_bodies, 2);
        let report = both.step().unwrap();
        solved += usize::from(report.contacts > 0);
        assert_eq!(report.integrator == Integrator::Euler, report.contacts > 0);
        assert_eq!(report.smooth_bodies, if report.contacts > 0 { 2 } else { 14 });
        heap.step().unwrap();
        for k in 0..2 {
            assert_eq!(alone.state().position[k], both.state().position[k]);
            assert_eq!(alone.state().omega[k], both.state().omega[k]);
            let [a, b] = [(&alone, hinges[k]), (&both, same[k])].map(|(w, id)| w.joint_reaction(id).unwrap());
            assert_eq!(a, b);
        }
    }
    assert!(solved > 250, "{solved}");
    assert!((alone.energy().total() - start).abs() < 1e-3);
    assert!(both.joint_error().position < 1e-12, "{:?}", both.joint_error());
    for k in 1..13 {
        let off = (both.state().position[k + 2] - heap.state().position[k]).length();
        assert!(off < 1e-5, "ball {k}: {off:.2e}");
    }
    // Nothing of the joints is forgotten between steps.
    assert_eq!((both.bilaterals(), both.redundancy().rows), (10, alone.redundancy().rows));
}

/// Dry friction in one mechanism, a limit that is reached in another: the third goes on as it was, and so do
/// the two.
#[test]
fn what_stops_one_mechanism_does_not_stop_another() {
    let rubbing = |w: &mut World| {
        let id = bar(w, DVec3::new(0.5, 9.0, 0.0));
        let joint = JointDef::revolute(None, id, DVec3::new(0.0, 9.0, 0.0), DVec3::Y);
        w.add_joint(joint.friction(0, 0.7)).unwrap();
    };
    let ending = |w: &mut World| {
        let id = bar(w, DVec3::new(0.5, 5.0, 0.0));
        let joint = JointDef::revolute(None, id, DVec3::new(0.0, 5.0, 0.0), DVec3::Y);
        w.add_joint(joint.limits(0, -0.1, 0.6, 0.5)).unwrap();
    };
    let (mut alone, _) = beside(&|_| {});
    let (mut all, _) = beside(&|w| {
        rubbing(w);
        ending(w);
    });
    let apart = |add: &dyn Fn(&mut World)| {
        let mut w = World::new(Settings { iterations: 200, ..Settings::default() }).unwrap();
        add(&mut w);
        w
    };
    let (mut rubs, mut ends) = (apart(&rubbing), apart(&ending));
    let mut counts = [0; 5];
    for _ in 0..200 {
        for w in [&mut alone, &mut rubs, &mut ends] {
            w.step().unwrap();
        }
        let report = all.step().unwrap();
        assert_eq!(report.integrator, Integrator::Euler);
        counts[report.smooth_bodies] += 1;
        for k in 0..2 {
            // Mechanisms that are smooth together share the iteration for their multipliers, and its
            // rounding.
            assert!((alone.state().position[k] - all.state().position[k]).length() < 1e-8);
        }
    }
    // The one with the limit is smooth while it is far from it.
    assert!(counts[2] > 5 && counts[3] > 5 && counts[2] + counts[3] == 200, "{counts:?}");
    let off = |k: usize, w: &World| (all.state().position[k] - w.state().position[0]).length();
    assert!(off(2, &rubs) < 1e-6 && off(3, &ends) < 1e-4, "{:.2e} {:.2e}", off(2, &rubs), off(3, &ends));
}

/// A ball that hits the lower bar: from then on the mechanism is not smooth, until they part.
#[test]
fn a_hit_ends_smooth_steps_of_what_is_hit() {
    let (mut w, _) = beside(&|w| {
        let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0);
        w.add_body(ball.at(DVec3::new(1.5, 0.0, 6.0)).moving(DVec3::NEG_Z * 3.0, DVec3::ZERO)).unwrap();
        let far = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::new(9.0, 0.0, 0.1));
        w.add_body(far).unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
    });
    // The bars have no shape of their own: one that can be hit.
    let plate =
        BodyDef::dynamic(Shape::Box { half: DVec3::new(0.5, 0.05, 0.02) }, 1.0).at(DVec3::new(0.5, 0.0, 3.0));
    let plate = w.add_body(plate).unwrap();
    w.add_joint(JointDef::revolute(None, plate, DVec3::new(0.0, 0.0, 3.0), DVec3::Y)).unwrap();
    let ball = BodyDef::dynamic(Shape::Sphere { radius: 0.1 }, 1.0).at(DVec3::new(0.8, 0.0, 3.3));
    w.add_body(ball.moving(DVec3::NEG_Z * 4.0, DVec3::ZERO)).unwrap();
    let counts: Vec<usize> = (0..40).map(|_| w.step().unwrap().smooth_bodies).collect();
    assert_eq!(counts[0], 3);
    assert!(counts.contains(&2), "{counts:?}");
}
