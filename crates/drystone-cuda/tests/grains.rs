//! Worlds of grains take whole steps on the device: the kernel text, run on the CPU, against the engine's own
//! step.

mod pretend;

use drystone::{BodyDef, Materials, PairLaw, Settings, Shape, World};
use drystone_cuda::{Engine, Geometry, GrainMethod, GrainsOnDevice};
use drystone_scene::load;
use glam::{DQuat, DVec3};
use pretend::open;
use std::sync::Arc;

fn scene(name: &str, set: &[(&str, &str)]) -> World {
    let set: Vec<(String, String)> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let mut scene = load(name, &set).unwrap();
    let settings = Settings { solver: "apgd".into(), ..scene.settings.clone() };
    scene.take_world(settings).unwrap()
}

fn on_device(engine: &Arc<Engine>, world: &mut World) -> GrainsOnDevice {
    GrainsOnDevice::new(engine.clone(), world, GrainMethod::Gradient).unwrap().unwrap()
}

/// The same by sweeps.
fn swept(engine: &Arc<Engine>, world: &mut World) -> GrainsOnDevice {
    GrainsOnDevice::new(engine.clone(), world, GrainMethod::Sweeps).unwrap().unwrap()
}

fn ball(radius: f64, at: [f64; 3]) -> BodyDef {
    BodyDef::dynamic(Shape::Sphere { radius }, 1000.0 * radius.powi(3)).at(DVec3::from(at)).friction(0.4)
}

/// Largest distance and largest difference of velocities between the bodies of two worlds.
fn apart(a: &World, b: &World) -> (f64, f64) {
    let (x, y) = (a.state(), b.state());
    let most = |f: &dyn Fn(usize) -> f64| (0..x.position.len()).map(f).fold(0.0, f64::max);
    let turn = |i: usize| (x.world_omega(i) - y.world_omega(i)).length();
    (
        most(&|i| (x.position[i] - y.position[i]).length()),
        most(&|i| (x.velocity[i] - y.velocity[i]).length().max(turn(i))),
    )
}

/// The hash of plain C, and of an H200 (`scripts/device-times` prints it).
#[test]
fn a_hundred_steps_leave_the_bits_that_a_device_leaves() {
    let engine = open("grains", &[]).unwrap();
    let mut world = scene("packing", &[]);
    let mut grains = on_device(&engine, &mut world);
    for _ in 0..100 {
        let report = grains.step(&mut world).unwrap();
        assert!(report.certificate.residual_max <= 1e-4, "{report:?}");
    }
    grains.fetch(&mut world).unwrap();
    assert_eq!((world.state().step, grains.steps_on_cpu), (100, 0));
    assert_eq!(format!("{:016x}", world.state().hash()), "04fd772b432594f0");
    assert!(grains.bytes() > 100_000);
}

/// The same of sweeps by colour, which is what `auto` takes.
#[test]
fn a_hundred_steps_of_sweeps_leave_the_bits_that_a_device_leaves() {
    let engine = open("grains", &[]).unwrap();
    let mut world = scene("packing", &[]);
    let mut grains = swept(&engine, &mut world);
    for _ in 0..100 {
        let report = grains.step(&mut world).unwrap();
        assert!(report.certificate.residual_max <= 1e-4, "{report:?}");
    }
    grains.fetch(&mut world).unwrap();
    assert_eq!((world.state().step, grains.steps_on_cpu), (100, 0));
    assert_eq!(format!("{:016x}", world.state().hash()), "c9b374d58a916f84");
}

/// A heap of more than a thousand contacts, whose last ones above the tolerance are solved by themselves: in
/// fewer iterations than gradients need, and to the same energy.
#[test]
fn sweeps_solve_a_heap_sooner_than_gradients() {
    let engine = open("grains", &[]).unwrap();
    let set = [("n", "700"), ("height", "6")];
    let mut cpu = scene("packing", &set);
    cpu.set_settings(Settings { solver: "auto".into(), ..cpu.settings().clone() }).unwrap();
    (0..90).for_each(|_| drop(cpu.step().unwrap()));
    let mut state = cpu.state().clone();
    state.multipliers.clear();
    let [swept, gradient] = [GrainMethod::Sweeps, GrainMethod::Gradient].map(|method| {
        let mut world = scene("packing", &set);
        world.restore(state.clone()).unwrap();
        let mut grains = GrainsOnDevice::new(engine.clone(), &mut world, method).unwrap().unwrap();
        let report = grains.step(&mut world).unwrap();
        assert!(report.certificate.residual_max <= 1e-4 && report.contacts > 1024, "{report:?}");
        report
    });
    assert_eq!(swept.contacts, gradient.contacts);
    assert!(2 * swept.iterations < gradient.iterations, "{} {}", swept.iterations, gradient.iterations);
    let [a, b] = [&swept, &gradient].map(|report| report.certificate.dual_objective);
    assert!((a - b).abs() < 1e-5 * b.abs(), "{a} {b}");
}

/// Contacts with and without friction, of balls of all sizes: steps are those of the engine.
#[test]
fn sweeps_know_contacts_without_friction() {
    let engine = open("grains", &[]).unwrap();
    let make = || {
        let settings = Settings { tolerance: 1e-6, iterations: 100_000, ..Settings::default() };
        let mut world = World::new(settings).unwrap();
        world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
        for i in 0..48 {
            let (x, y, z) = (i % 4, i / 4 % 4, i / 16);
            let r = 0.06 + 0.04 * f64::from(i % 7) / 6.0;
            let at =
                [0.19 * f64::from(x) + 0.01 * f64::from(z), 0.19 * f64::from(y), 0.1 + 0.2 * f64::from(z)];
            let mu = if i % 3 == 0 { 0.0 } else { 0.5 };
            world.add_body(ball(r, at).friction(mu)).unwrap();
        }
        world
    };
    let (mut cpu, mut world) = (make(), make());
    let mut grains = swept(&engine, &mut world);
    let mut touched = 0;
    for _ in 0..30 {
        let report = grains.step(&mut world).unwrap();
        assert!(report.certificate.residual_max <= 1e-6, "{report:?}");
        touched += report.contacts;
        cpu.step().unwrap();
    }
    grains.fetch(&mut world).unwrap();
    let (x, v) = apart(&world, &cpu);
    assert!(touched > 300 && x < 1e-4 && v < 1e-3, "{touched} {x:e} {v:e}");
}

/// A ball that has more contacts than there are colours is left to gradients.
#[test]
fn a_ball_with_more_contacts_than_colours_is_solved_too() {
    let engine = open("grains", &[]).unwrap();
    let mut world = World::new(Settings { gravity: DVec3::ZERO, ..Settings::default() }).unwrap();
    world.add_body(ball(1.0, [0.0; 3])).unwrap();
    // Points that are spread evenly over a ball, each with a small one that is pressed against it.
    for i in 0..90 {
        let z = 1.0 - (f64::from(i) + 0.5) / 45.0;
        let (s, c) = (f64::from(i) * 2.399_963).sin_cos();
        let n = DVec3::new(c * (1.0 - z * z).sqrt(), s * (1.0 - z * z).sqrt(), z);
        let small = world.add_body(ball(0.1, (1.1 * n).to_array())).unwrap();
        world.set_velocity(small, -n, DVec3::ZERO).unwrap();
    }
    let mut grains = swept(&engine, &mut world);
    let report = grains.step(&mut world).unwrap();
    assert!(report.contacts >= 90 && report.certificate.residual_max <= 1e-4, "{report:?}");
    grains.fetch(&mut world).unwrap();
    let kinetic = world.state().velocity.iter().map(|v| v.length_squared()).fold(0.0, f64::max);
    assert!(kinetic < 0.1, "they were stopped: {kinetic}");
}

#[test]
fn no_bit_depends_on_how_kernels_are_launched() {
    for method in [GrainMethod::Gradient, GrainMethod::Sweeps] {
        launches_leave_the_same_bits(method);
    }
}

fn launches_leave_the_same_bits(method: GrainMethod) {
    let mut cpu = scene("packing", &[("n", "60")]);
    (0..45).for_each(|_| drop(cpu.step().unwrap()));
    let settled = cpu.state().clone();
    let mut seen = Vec::new();
    for (name, options, blocks, threads, batch) in [
        ("grains", &[][..], 100, 256, 32),
        ("grains", &[][..], 1, 7, 8),
        ("backwards", &["-DBACKWARDS"][..], 3, 64, 16),
        ("threads", &["-DSHIM_THREADS"][..], 2, 3, 8),
    ] {
        let engine = open(name, options).unwrap();
        let mut world = scene("packing", &[("n", "60")]);
        world.restore(settled.clone()).unwrap();
        let mut grains = GrainsOnDevice::new(engine.clone(), &mut world, method).unwrap().unwrap();
        grains.set_geometry(Geometry { blocks, threads, batch });
        for _ in 0..3 {
            grains.step(&mut world).unwrap();
        }
        grains.fetch(&mut world).unwrap();
        assert_eq!(world.state().step, settled.step + 3);
        seen.push(world.state().hash());
    }
    assert!(seen.iter().all(|hash| *hash == seen[0]), "{seen:x?}");
}

/// Large heaps add up several chunks at a time: sums of another shape, which is theirs for any launch.
#[test]
fn sums_of_large_heaps_have_one_shape_too() {
    let engine = open("grains", &[]).unwrap();
    let mut cpu = scene("packing", &[("n", "300")]);
    (0..50).for_each(|_| drop(cpu.step().unwrap()));
    let mut state = cpu.state().clone();
    state.multipliers.clear();
    let mut seen = Vec::new();
    for (blocks, threads) in [(100, 256), (3, 64), (1, 7)] {
        let mut world = scene("packing", &[("n", "300")]);
        world.restore(state.clone()).unwrap();
        let mut grains = on_device(&engine, &mut world);
        grains.set_geometry(Geometry { blocks, threads, batch: 32 });
        grains.set_many(1);
        let report = grains.step(&mut world).unwrap();
        assert!(report.certificate.residual_max <= 1e-4 && report.contacts > 300, "{report:?}");
        grains.fetch(&mut world).unwrap();
        seen.push(world.state().hash());
    }
    assert!(seen.iter().all(|hash| *hash == seen[0]), "{seen:x?}");
}

/// Solved to many digits, the velocities of one step are those of the engine's own: the same contacts,
/// biases, cones and masses.
#[test]
fn a_step_is_the_step_of_the_cpu() {
    let engine = open("grains", &[]).unwrap();
    let mut cpu = scene("packing", &[("n", "120")]);
    let exact = Settings { tolerance: 1e-10, iterations: 200_000, ..cpu.settings().clone() };
    for _ in 0..60 {
        cpu.step().unwrap();
    }
    cpu.set_settings(Settings { solver: "apgd:precision=double".into(), ..exact.clone() }).unwrap();
    let mut world = scene("packing", &[("n", "120")]);
    world.set_settings(exact).unwrap();
    world.restore(cpu.state().clone()).unwrap();
    let mut grains = on_device(&engine, &mut world);
    let here = grains.step(&mut world).unwrap();
    let there = cpu.step().unwrap();
    grains.fetch(&mut world).unwrap();
    assert_eq!((here.contacts, here.touching), (there.contacts, there.touching));
    assert!(here.certificate.residual_max <= 1e-10 && there.certificate.residual_max <= 1e-10);
    let size = there.certificate.dual_objective.abs();
    assert!((here.certificate.dual_objective - there.certificate.dual_objective).abs() <= 1e-9 * size);
    assert!((here.penetration_max - there.penetration_max).abs() <= 1e-15);
    let (x, v) = apart(&world, &cpu);
    assert!(v < 1e-7 && x < 1e-6, "{x:e} {v:e}");
    assert_eq!(world.contacts().len(), cpu.contacts().len());
    let weight = world.support_over_weight().unwrap();
    assert!((weight - cpu.support_over_weight().unwrap()).abs() < 1e-6, "{weight}");
    assert!((here.support.unwrap() - weight).abs() < 1e-9, "{here:?}");
}

/// What the device says of its own multipliers is what the judge says of them.
#[test]
fn the_certificate_is_the_judges() {
    let engine = open("grains", &[]).unwrap();
    let mut world = scene("packing", &[("n", "120")]);
    for _ in 0..60 {
        world.step().unwrap();
    }
    let mut before = world.state().clone();
    before.multipliers.clear();
    world.restore(before.clone()).unwrap();
    let coarse = Settings { iterations: 12, ..world.settings().clone() };
    world.set_settings(coarse).unwrap();
    let mut grains = on_device(&engine, &mut world);
    let told = grains.step(&mut world).unwrap();
    grains.fetch(&mut world).unwrap();
    let found: Vec<_> = world.contacts().to_vec();
    // The same problem on the CPU, from the same state; its contacts are those of the device.
    world.restore(before).unwrap();
    let (_, problem, _) = world.step_keeping_problem().unwrap();
    let contacts = world.contacts();
    assert_eq!(contacts.len(), found.len());
    let drystone_solve::Problem::Bodies(p) = &problem else { panic!("a step's problem is matrix-free") };
    let mut gamma = vec![0.0; problem.rows()];
    for i in 0..p.points.len() {
        let n = DVec3::from_array([0, 1, 2].map(|k| p.points.normal[k][i]));
        let same = |c: &&drystone::Contact| {
            let order = |slot: u32| slot; // Few bodies stay in the order of their slots.
            (order(c.bodies[0]) == p.points.a[i]) && c.normal.dot(n) > 1.0 - 1e-12
        };
        let c = found.iter().find(same).expect("the device found it, too");
        let [t1, t2] = drystone_solve::problem::basis(n.to_array()).map(DVec3::from_array);
        for (k, axis) in [n, t1, t2].into_iter().enumerate() {
            gamma[3 * i + k] = c.impulse.dot(axis);
        }
    }
    let judged = drystone_solve::certificate::certificate(&problem, &gamma);
    assert!(told.certificate.residual_max > 1e-3, "far from solved: {told:?}");
    for (ours, theirs) in [
        (told.certificate.residual_max, judged.residual_max),
        (told.certificate.residual_rms, judged.residual_rms),
        (told.certificate.constraint_violation, judged.constraint_violation),
        (told.certificate.complementarity, judged.complementarity),
        (told.certificate.dual_objective, judged.dual_objective),
        (told.certificate.backward_error, judged.backward_error),
        (told.certificate.multipliers, judged.multipliers),
        (told.certificate.curvature, judged.curvature),
    ] {
        assert!((ours - theirs).abs() <= 1e-9 * theirs.abs(), "{:?} {judged:?}", told.certificate);
    }
}

/// Balls that roll and fall over every kind of fixed shape.
#[test]
fn fixed_shapes_are_met_as_on_the_cpu() {
    met_as_on_the_cpu(None);
}

/// The same over shapes that lift, shift and turn.
#[test]
fn shapes_that_are_led_are_met_as_on_the_cpu() {
    met_as_on_the_cpu(Some((DVec3::new(0.1, -0.05, 0.3), DVec3::new(0.2, -0.1, 0.4))));
}

fn met_as_on_the_cpu(led: Option<(DVec3, DVec3)>) {
    let engine = open("grains", &[]).unwrap();
    let tilted = DQuat::from_rotation_y(0.3) * DQuat::from_rotation_x(-0.2);
    for shape in [
        Shape::HalfSpace,
        Shape::Box { half: DVec3::new(0.6, 0.4, 0.3) },
        Shape::Sphere { radius: 0.7 },
        Shape::Capsule { radius: 0.3, half_length: 0.5 },
    ] {
        let make = || {
            let settings = Settings { h: 0.005, tolerance: 1e-9, iterations: 100_000, ..Settings::default() };
            let mut world = World::new(settings).unwrap();
            let body = if led.is_some() { BodyDef::kinematic } else { BodyDef::fixed };
            let mut fixed = body(shape.clone()).friction(0.4);
            fixed.rotation = tilted;
            let fixed = world.add_body(fixed).unwrap();
            if let Some((v, w)) = led {
                world.set_velocity(fixed, v, w).unwrap();
            }
            for (i, x) in [-0.3, 0.05, 0.4].into_iter().enumerate() {
                let id = world.add_body(ball(0.1, [x, 0.06 * i as f64, 1.05 + 0.02 * i as f64])).unwrap();
                world.set_velocity(id, DVec3::new(0.3, -0.2, -1.0), DVec3::new(4.0, 2.0, -6.0)).unwrap();
            }
            world
        };
        let (mut cpu, mut world) = (make(), make());
        let mut grains = swept(&engine, &mut world);
        let mut touched = 0;
        for _ in 0..80 {
            touched += grains.step(&mut world).unwrap().contacts;
            cpu.step().unwrap();
        }
        grains.fetch(&mut world).unwrap();
        let (x, v) = apart(&world, &cpu);
        assert!(touched > 20, "{shape:?}: {touched} contacts");
        assert!(x < 1e-5 && v < 1e-3, "{shape:?}: {x:e} {v:e}");
        assert_eq!(grains.steps_on_cpu, 0);
    }
}

/// A drum that turns with its bed: the drum goes its way to the bit, and one step solved to many digits is
/// that of the engine: what the wall asks for, how it gives way, and the certificate.
#[test]
fn a_drum_turns_as_on_the_cpu() {
    let engine = open("grains", &[]).unwrap();
    let (mut cpu, mut world) = (scene("drum", &[("n", "40")]), scene("drum", &[("n", "40")]));
    let mut grains = on_device(&engine, &mut world);
    for k in 1..=120 {
        cpu.step().unwrap();
        let report = grains.step(&mut world).unwrap();
        assert!(report.certificate.residual_max <= 1e-4, "{report:?}");
        if k == 60 {
            // `scripts/device-times` prints that of a device.
            grains.fetch(&mut world).unwrap();
            assert_eq!(format!("{:016x}", world.state().hash()), "68bd2e6233d6b647");
        }
    }
    grains.fetch(&mut world).unwrap();
    assert!(grains.steps_on_cpu < 30, "{} steps needed substeps", grains.steps_on_cpu);
    let slot = cpu.model().dynamic().count();
    let (here, there) = (world.state(), cpu.state());
    assert_eq!(here.rotation[slot], there.rotation[slot]);
    assert!(here.rotation[slot].to_scaled_axis().length() > 0.19, "it has turned");
    assert!((here.omega[slot] - there.omega[slot]).length() < 1e-14);
    assert!(world.contacts().len() > 60, "{}", world.contacts().len());

    let exact = Settings { tolerance: 1e-10, iterations: 200_000, ..cpu.settings().clone() };
    cpu.set_settings(Settings { solver: "apgd:precision=double".into(), ..exact.clone() }).unwrap();
    world.set_settings(exact).unwrap();
    world.restore(cpu.state().clone()).unwrap();
    let mut grains = on_device(&engine, &mut world);
    let (here, there) = (grains.step(&mut world).unwrap(), cpu.step().unwrap());
    grains.fetch(&mut world).unwrap();
    assert_eq!((here.contacts, grains.steps_on_cpu), (there.contacts, 0));
    assert!(here.certificate.residual_max <= 1e-10 && there.certificate.residual_max <= 1e-10);
    let (a, b) = (here.certificate.dual_objective, there.certificate.dual_objective);
    assert!((a - b).abs() <= 1e-7 * b.abs(), "{a:e} {b:e}");
    let (x, v) = apart(&world, &cpu);
    assert!(v < 1e-6 && x < 1e-6, "{x:e} {v:e}");
}

/// A ball that is hit at 200 m/s goes where nobody looked for contacts: substeps are the CPU's.
#[test]
fn a_blow_is_left_to_the_cpu() {
    let engine = open("grains", &[]).unwrap();
    let mut world = World::new(Settings::default()).unwrap();
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    let first = world.add_body(ball(0.1, [0.0, 0.0, 0.1])).unwrap();
    world.add_body(ball(0.1, [0.3, 0.0, 0.1])).unwrap();
    let last = world.add_body(ball(0.1, [0.6, 0.02, 0.1])).unwrap();
    world.set_velocity(first, DVec3::new(200.0, 0.0, 0.0), DVec3::ZERO).unwrap();
    let mut grains = on_device(&engine, &mut world);
    for _ in 0..3 {
        grains.step(&mut world).unwrap();
    }
    grains.fetch(&mut world).unwrap();
    assert!(grains.steps_on_cpu > 0);
    assert!(world.velocity(last).unwrap().x > 10.0, "it was hit");
    let state = world.state();
    for (i, j) in [(1, 2), (1, 3), (2, 3)] {
        let gap = (state.position[i] - state.position[j]).length() - 0.2;
        assert!(gap > -0.006, "{i} and {j} overlap by {gap:e}");
    }
}

/// A pile that grows by emptying a column: buffers grow with it.
#[test]
fn more_contacts_than_there_was_room_for_are_all_found() {
    let engine = open("grains", &[]).unwrap();
    let mut world = World::new(Settings::default()).unwrap();
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    for i in 0..1000 {
        let (x, y, z) = (i % 10, i / 10 % 10, i / 100);
        let place = [0.205 * f64::from(x), 0.205 * f64::from(y), 0.11 + 0.21 * f64::from(z)];
        world.add_body(ball(0.1, place)).unwrap();
    }
    let mut grains = on_device(&engine, &mut world);
    let mut counts = Vec::new();
    for _ in 0..25 {
        let report = grains.step(&mut world).unwrap();
        counts.push(report.contacts);
    }
    grains.fetch(&mut world).unwrap();
    assert!(*counts.last().unwrap() > 2 * counts[0], "{counts:?}");
    assert_eq!(world.contacts().len(), *counts.last().unwrap());
    assert!(world.state().position.iter().skip(1).all(|x| x.z > 0.0999));
}

/// What a step on the CPU leaves is where the next one on the device starts from.
#[test]
fn a_step_starts_from_what_the_world_brings() {
    let engine = open("grains", &[]).unwrap();
    let mut cpu = scene("packing", &[("n", "120")]);
    (0..150).for_each(|_| drop(cpu.step().unwrap()));
    let mut iterations = Vec::new();
    for warm in [true, false] {
        let mut world = scene("packing", &[("n", "120")]);
        let mut state = cpu.state().clone();
        if !warm {
            state.multipliers.clear();
        }
        world.restore(state).unwrap();
        let mut grains = on_device(&engine, &mut world);
        let report = grains.step(&mut world).unwrap();
        assert!(report.certificate.residual_max <= 1e-4);
        iterations.push(report.iterations);
    }
    assert!(4 * iterations[0] < 3 * iterations[1], "warm and cold: {iterations:?}");
}

#[test]
fn what_is_not_a_world_of_grains_is_named() {
    let engine = open("grains", &[]).unwrap();
    let why = |world: &mut World| {
        GrainsOnDevice::new(engine.clone(), world, GrainMethod::Sweeps).unwrap().err().unwrap()
    };
    let world = || {
        let mut world = World::new(Settings::default()).unwrap();
        world.add_body(ball(0.1, [0.0, 0.0, 1.0])).unwrap();
        world
    };
    assert_eq!(why(&mut World::new(Settings::default()).unwrap()), "no grains");
    let mut w = world();
    w.add_body(BodyDef::dynamic(Shape::Box { half: DVec3::ONE }, 1.0).at(DVec3::splat(9.0))).unwrap();
    assert_eq!(why(&mut w), "bodies that are not balls");
    let mut w = world();
    let mut bouncy = Materials::default();
    let rubber = bouncy.add("rubber").unwrap();
    bouncy.set_pair(rubber, rubber, PairLaw { restitution: 0.5, ..PairLaw::friction(0.4) }).unwrap();
    *w.materials_mut() = bouncy;
    assert_eq!(why(&mut w), "contact laws beside friction");
    let mut w = world();
    w.before_step(|_| {});
    assert_eq!(why(&mut w), "functions of the user's in the step");
    let mut w = world();
    w.set_settings(Settings { model: drystone_solve::FrictionLaw::Coulomb, ..Settings::default() }).unwrap();
    assert_eq!(why(&mut w), "the exact friction law");
    let mut w = world();
    let cone = Shape::Cone { radius: 1.0, height: 1.0 };
    w.add_body(BodyDef::fixed(cone).at(DVec3::new(0.0, 0.0, -3.0))).unwrap();
    assert_eq!(why(&mut w), "fixed shapes other than balls, planes, boxes and capsules");
}

#[test]
fn a_device_with_too_little_memory_says_how_much_it_takes() {
    let engine = open("small", &["-DMEMORY=((size_t)20000)"]).unwrap();
    let mut world = scene("packing", &[]);
    let error = GrainsOnDevice::new(engine, &mut world, GrainMethod::Sweeps).err().unwrap().to_string();
    assert!(error.contains("memory"), "{error}");
}
