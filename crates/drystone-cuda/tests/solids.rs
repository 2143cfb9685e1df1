//! Worlds of balls, boxes and capsules take whole steps on the device: the kernel text, run on the CPU,
//! against the engine's own step.

mod pretend;

use drystone::random::Random;
use drystone::{BodyDef, Contact, ContactKey, Settings, Shape, Stabilisation, World};
use drystone_cuda::{Engine, Geometry, GrainMethod, SolidsOnDevice};
use drystone_scene::load;
use glam::{DQuat, DVec3};
use pretend::open;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Boxes that fall into a heap.
fn heap(n: usize) -> World {
    let set = [("n", n.to_string()), ("shape", "box".into())].map(|(k, v)| (k.to_string(), v));
    let mut scene = load("packing", &set).unwrap();
    let settings = Settings { solver: "apgs".into(), ..scene.settings.clone() };
    scene.take_world(settings).unwrap()
}

/// Balls, capsules and boxes that fall onto a plane and fixed ones.
fn mixture() -> World {
    let mut world = World::new(Settings { solver: "apgs".into(), ..Settings::default() }).unwrap();
    let mut random = Random::new(11);
    world.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    for k in 0..4 {
        let at = DVec3::new(0.3 * f64::from(k % 2), 0.3 * f64::from(k / 2), 0.05);
        let shape = match k {
            0 => Shape::Sphere { radius: 0.12 },
            3 => Shape::Capsule { radius: 0.1, half_length: 0.1 },
            _ => Shape::Box { half: DVec3::new(0.1, 0.08, 0.12) },
        };
        world.add_body(BodyDef::fixed(shape).at(at).turned(turned(&mut random)).friction(0.2)).unwrap();
    }
    for k in 0..45 {
        let at = DVec3::new(f64::from(k % 3), f64::from(k / 3 % 3), 1.5 + f64::from(k / 9)) * 0.25;
        let shape = match k % 3 {
            0 if k % 2 == 0 => Shape::Sphere { radius: 0.06 + 0.03 * random.uniform() },
            0 => Shape::Capsule { radius: 0.04, half_length: 0.02 + 0.05 * random.uniform() },
            _ => Shape::Box {
                half: 0.05 * DVec3::ONE
                    + 0.04 * DVec3::new(random.uniform(), random.uniform(), random.uniform()),
            },
        };
        let body = BodyDef::dynamic(shape, 1.0 + random.uniform()).at(at - 0.1 * DVec3::new(1.0, 1.0, 0.0));
        world.add_body(body.turned(turned(&mut random)).friction(0.3)).unwrap();
    }
    world
}

fn on_device(engine: &Arc<Engine>, world: &mut World, method: GrainMethod) -> SolidsOnDevice {
    SolidsOnDevice::new(engine.clone(), world, method).unwrap().unwrap()
}

fn turned(random: &mut Random) -> DQuat {
    let mut draw = || 2.0 * random.uniform() - 1.0;
    DQuat::from_xyzw(draw(), draw(), draw(), draw()).normalize()
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

/// Contacts of two worlds are the same ones, but for so many, with normals, gaps and points that are alike.
fn assert_alike(ours: &[Contact], theirs: &[Contact], few: usize) {
    let by_key = |all: &[Contact]| all.iter().map(|c| (c.key, *c)).collect::<BTreeMap<_, _>>();
    let (a, b) = (by_key(ours), by_key(theirs));
    let other = |x: &BTreeMap<ContactKey, Contact>, y: &BTreeMap<_, _>| {
        x.keys().filter(|k| !y.contains_key(*k)).count()
    };
    let (beside, missing) = (other(&a, &b), other(&b, &a));
    assert!(beside <= few && missing <= few, "{missing} missing, {beside} beside, of {}", theirs.len());
    for (a, b) in a.values().filter_map(|c| Some((c, b.get(&c.key)?))) {
        let off = (a.normal - b.normal).length().max((a.gap - b.gap).abs()).max((a.point - b.point).length());
        // Rounding turns the line between points that nearly touch: of boxes, or of the cores of capsules.
        let cores = b.key.features() < 1 << 12;
        let allowed = if cores { 1e-7 } else { 1e-11f64.max(1e-15 / b.gap.abs()) };
        assert!(a.bodies == b.bodies && a.mu == b.mu && off <= allowed, "{a:?}\n{b:?}\n{off:e}");
    }
}

/// Thousands of pairs of boxes, balls, capsules, fixed ones and planes in random places, turned in random
/// ways or nearly aligned, apart or in each other, fast and slow.
#[test]
fn contacts_are_those_of_the_narrow_phase() {
    let engine = open("solids", &[]).unwrap();
    let mut random = Random::new(7);
    let mut kinds = BTreeMap::new();
    for round in 0..6 {
        // Nothing is corrected, and nothing solved for long.
        let stabilisation = Stabilisation::Post { tolerance: 1e9, accept: 1e9, reach: 0.1, rounds: 2 };
        let gravity = DVec3::ZERO;
        let settings =
            Settings { gravity, iterations: 1, max_substeps: 1, stabilisation, ..Settings::default() };
        let mut cpu = World::new(settings.clone()).unwrap();
        let mut world = World::new(settings).unwrap();
        for k in 0..300 {
            let centre = DVec3::new(40.0 * f64::from(k % 20), 40.0 * f64::from(k / 20), 0.0);
            let half = |r: &mut Random| DVec3::new(r.uniform(), r.uniform(), r.uniform()) + 0.2;
            let shape = |r: &mut Random| match r.next_u64() % 6 {
                0 => Shape::Sphere { radius: 0.3 + r.uniform() },
                1 | 2 => Shape::Capsule { radius: 0.2 + r.uniform(), half_length: 1.5 * r.uniform() },
                _ => Shape::Box { half: half(r) },
            };
            let aligned = random.next_u64().is_multiple_of(3);
            let pose = if aligned { DQuat::IDENTITY } else { turned(&mut random) };
            let tilt = [0.0, 1e-12, 1e-7, 1e-3, 0.03][random.next_u64() as usize % 5];
            let other = match aligned {
                true => DQuat::from_scaled_axis(
                    tilt * DVec3::new(random.uniform(), random.uniform(), random.uniform()),
                ),
                false => turned(&mut random),
            };
            let (a, b) = (shape(&mut random), shape(&mut random));
            let reach =
                0.5 * (a.bounding_radius() + b.bounding_radius()) + a.inner_radius().min(b.inner_radius());
            let way = match aligned {
                true => [DVec3::X, DVec3::Y, DVec3::Z][random.next_u64() as usize % 3],
                false => turned(&mut random) * DVec3::X,
            };
            let away = way * reach * (0.4 + 0.8 * random.uniform());
            let speed = if round % 2 == 0 { 0.0 } else { 10.0 };
            let mut motion = || {
                let mut draw = || 2.0 * random.uniform() - 1.0;
                [DVec3::new(draw(), draw(), draw()), DVec3::new(draw(), draw(), draw())].map(|v| speed * v)
            };
            let [v, w] = motion();
            let first = BodyDef::dynamic(a, 1.0).at(centre).turned(pose).friction(0.3).moving(v, w);
            let [v, w] = motion();
            let second = if k % 5 == 4 {
                BodyDef::fixed(b).at(centre + away).turned(other).friction(0.5)
            } else {
                BodyDef::dynamic(b, 2.0).at(centre + away).turned(other).friction(0.5).moving(v, w)
            };
            for world in [&mut cpu, &mut world] {
                world.add_body(first.clone()).unwrap();
                world.add_body(second.clone()).unwrap();
            }
        }
        for world in [&mut cpu, &mut world] {
            let plane = BodyDef::fixed(Shape::HalfSpace).at(DVec3::new(0.0, 0.0, -0.8)).friction(0.2);
            world.add_body(plane).unwrap();
        }
        let mut solids = on_device(&engine, &mut world, GrainMethod::Gradient);
        solids.step(&mut world).unwrap();
        solids.fetch(&mut world).unwrap();
        assert_eq!(solids.steps_on_cpu, 0);
        cpu.step().unwrap();
        for c in cpu.contacts() {
            *kinds.entry(c.key.features() >> 12).or_insert(0) += 1;
        }
        // What touches nobody turns freely.
        let touched: BTreeSet<u32> = cpu.contacts().iter().flat_map(|c| c.bodies).collect();
        let (here, there) = (world.state(), cpu.state());
        for i in (0..here.position.len()).filter(|i| !touched.contains(&(*i as u32))) {
            let off = (here.rotation[i] * there.rotation[i].conjugate()).to_scaled_axis().length();
            let spin = (here.omega[i] - there.omega[i]).length();
            assert!(off < 1e-14 && spin < 1e-12, "{i}: {off:e} {spin:e}");
        }
        // Where bodies turn contacts are foretold: rounding of that decides between corners of a patch that
        // serve equally well.
        let few = if round % 2 == 0 { 0 } else { cpu.contacts().len() / 200 };
        assert_alike(world.contacts(), cpu.contacts(), few);
    }
    // Planes, balls and capsules; faces, edges and closest points of boxes.
    assert!(kinds.len() == 4 && kinds.values().all(|n| *n > 4), "{kinds:?}");
}

/// Solved to many digits, a step is that of the engine: while boxes tumble, when they have come to rest, and
/// with balls among them.
#[test]
fn a_step_is_the_step_of_the_cpu() {
    let engine = open("solids", &[]).unwrap();
    for (shape, steps, method) in [
        ("box", 20, GrainMethod::Sweeps),
        ("box", 200, GrainMethod::Sweeps),
        ("mixed", 45, GrainMethod::Sweeps),
        ("mixed", 90, GrainMethod::Sweeps),
    ] {
        let fresh = || if shape == "box" { heap(40) } else { mixture() };
        let mut cpu = fresh();
        for _ in 0..steps {
            cpu.step().unwrap();
        }
        let exact = Settings { tolerance: 1e-8, iterations: 100_000, ..cpu.settings().clone() };
        cpu.set_settings(Settings { solver: "prox".into(), ..exact }).unwrap();
        let mut world = fresh();
        world.set_settings(cpu.settings().clone()).unwrap();
        world.restore(cpu.state().clone()).unwrap();
        let mut solids = on_device(&engine, &mut world, method);
        let (here, there) = (solids.step(&mut world).unwrap(), cpu.step().unwrap());
        solids.fetch(&mut world).unwrap();
        assert_eq!((solids.steps_on_cpu, there.substeps), (0, 1));
        assert_eq!((here.contacts, here.touching), (there.contacts, there.touching));
        let worst = here.certificate.residual_max.max(there.certificate.residual_max);
        assert!(
            worst <= 2e-8,
            "{shape} {steps} {method:?}: {} {} {worst:e}",
            here.iterations,
            there.iterations
        );
        let size = there.certificate.dual_objective.abs();
        let off = here.certificate.dual_objective - there.certificate.dual_objective;
        assert!(off.abs() <= 1e-6 * size, "{off:e} of {size:e}");
        assert!((here.penetration_max - there.penetration_max).abs() <= 1e-13);
        let (x, v) = apart(&world, &cpu);
        assert!(v < 1e-4 && x < 1e-8, "{shape} {steps} {method:?}: {x:e} {v:e}");
        assert_alike(world.contacts(), cpu.contacts(), 0);
        let weight = world.support_over_weight().unwrap();
        assert!((here.support.unwrap() - weight).abs() < 1e-9, "{weight} {here:?}");
    }
}

/// The hash of plain C, and of an H200 (`scripts/device-times` prints it).
#[test]
fn a_hundred_steps_leave_the_bits_that_a_device_leaves() {
    let engine = open("solids", &[]).unwrap();
    for (method, hash) in
        [(GrainMethod::Gradient, "6084b956cde5a680"), (GrainMethod::Sweeps, "54bddfb280a4dd22")]
    {
        let mut world = heap(60);
        let mut solids = on_device(&engine, &mut world, method);
        for _ in 0..100 {
            let report = solids.step(&mut world).unwrap();
            assert!(report.certificate.residual_max <= 1e-4, "{report:?}");
        }
        solids.fetch(&mut world).unwrap();
        assert_eq!((world.state().step, solids.steps_on_cpu), (100, 0));
        assert_eq!(format!("{:016x}", world.state().hash()), hash, "{method:?}");
        assert!(solids.bytes() > 100_000 && solids.traffic() > 10_000.0);
    }
}

#[test]
fn no_bit_depends_on_how_kernels_are_launched() {
    let mut settled = heap(40);
    for _ in 0..60 {
        settled.step().unwrap();
    }
    for method in [GrainMethod::Gradient, GrainMethod::Sweeps, GrainMethod::Jacobi(0.2)] {
        let mut seen = Vec::new();
        for (options, blocks, threads, batch) in
            [(&[][..], 1, 256, 32), (&["-DBACKWARDS"][..], 7, 64, 8), (&["-DSHIM_THREADS"][..], 3, 8, 16)]
        {
            let engine = open(&format!("solids{}", options.concat()), options).unwrap();
            let mut world = heap(40);
            let short = Settings { iterations: 200, ..world.settings().clone() };
            world.set_settings(short).unwrap();
            world.restore(settled.state().clone()).unwrap();
            let mut solids = on_device(&engine, &mut world, method);
            solids.set_geometry(Geometry { blocks, threads, batch });
            for _ in 0..2 {
                solids.step(&mut world).unwrap();
            }
            solids.fetch(&mut world).unwrap();
            assert_eq!((world.state().step, solids.steps_on_cpu), (settled.state().step + 2, 0));
            seen.push(world.state().hash());
        }
        assert!(seen.iter().all(|hash| *hash == seen[0]), "{method:?}: {seen:x?}");
    }
}

/// A box, a plate and a rod that tumble in the air turn as on the CPU, slowly and fast.
#[test]
fn what_flies_turns_freely() {
    let engine = open("solids", &[]).unwrap();
    let fresh = || {
        let mut world = World::new(Settings::default()).unwrap();
        for (k, half) in
            [[0.1, 0.2, 0.3], [0.3, 0.3, 0.02], [0.02, 0.3, 0.02], [0.2; 3]].into_iter().enumerate()
        {
            for (row, speed) in [0.0f64, 1e-3, 2.0, 30.0, 500.0].into_iter().enumerate() {
                let at = DVec3::new(50.0 * k as f64, 50.0 * row as f64, 5.0);
                let body = BodyDef::dynamic(Shape::Box { half: half.into() }, 1.0).at(at);
                let spin = speed * DVec3::new(0.3, 0.8, -0.5);
                world.add_body(body.moving(DVec3::new(0.0, 0.0, speed.min(3.0)), spin)).unwrap();
            }
        }
        world
    };
    let (mut world, mut cpu) = (fresh(), fresh());
    let mut solids = on_device(&engine, &mut world, GrainMethod::Sweeps);
    for _ in 0..20 {
        assert_eq!(solids.step(&mut world).unwrap().contacts, 0);
        cpu.step().unwrap();
    }
    solids.fetch(&mut world).unwrap();
    assert_eq!((world.state().step, solids.steps_on_cpu), (20, 0));
    for i in 0..20 {
        let (here, there) = (world.state(), cpu.state());
        let off = (here.rotation[i] * there.rotation[i].conjugate()).to_scaled_axis().length();
        let spin =
            (here.world_omega(i) - there.world_omega(i)).length() / (1.0 + there.world_omega(i).length());
        let away = (here.position[i] - there.position[i]).length();
        assert!(off < 1e-9 && spin < 1e-9 && away < 1e-13, "{i}: {off:e} {spin:e} {away:e}");
    }
}

/// A step that would take boxes through each other, or turn one too far, is the CPU's: with its substeps and
/// from the last step's multipliers.
#[test]
fn what_one_step_does_not_resolve_is_left_to_the_cpu() {
    let engine = open("solids", &[]).unwrap();
    let fresh = || {
        let mut world = heap(40);
        let bullet = BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.05) }, 50.0).friction(0.3);
        let bullet =
            bullet.at(DVec3::new(0.0, 0.0, 9.0)).moving(DVec3::new(0.0, 0.0, -80.0), DVec3::splat(60.0));
        world.add_body(bullet).unwrap();
        world
    };
    let (mut world, mut cpu) = (fresh(), fresh());
    let mut solids = on_device(&engine, &mut world, GrainMethod::Sweeps);
    let mut substeps = 0;
    for _ in 0..40 {
        solids.step(&mut world).unwrap();
        substeps += cpu.step().unwrap().substeps - 1;
    }
    solids.fetch(&mut world).unwrap();
    assert!(substeps > 0 && solids.steps_on_cpu > 0 && solids.steps_on_cpu < 40, "{}", solids.steps_on_cpu);
    assert_eq!(world.state().step, 40);
    let overlap = world.contacts().iter().map(|c| -c.gap).fold(0.0, f64::max);
    assert!(overlap < 0.01, "{overlap}");
}

#[test]
fn a_step_starts_from_what_the_world_brings() {
    let engine = open("solids", &[]).unwrap();
    let mut world = heap(40);
    for _ in 0..150 {
        world.step().unwrap();
    }
    let settled = world.state().clone();
    let mut iterations = Vec::new();
    for warm in [true, false] {
        let mut world = heap(40);
        let mut state = settled.clone();
        if !warm {
            state.multipliers.clear();
        }
        world.restore(state).unwrap();
        let mut solids = on_device(&engine, &mut world, GrainMethod::Sweeps);
        iterations.push(solids.step(&mut world).unwrap().iterations);
    }
    assert!(10 * iterations[0] < 9 * iterations[1], "warm and cold: {iterations:?}");
}

#[test]
fn what_is_not_a_world_of_solids_is_named() {
    let engine = open("solids", &[]).unwrap();
    let why = |world: &mut World| {
        SolidsOnDevice::new(engine.clone(), world, GrainMethod::Sweeps).unwrap().err().unwrap()
    };
    let cube = || BodyDef::dynamic(Shape::Box { half: DVec3::splat(0.1) }, 1.0);
    let world = || {
        let mut world = World::new(Settings::default()).unwrap();
        world.add_body(cube().at(DVec3::Z)).unwrap();
        world
    };
    assert_eq!(why(&mut World::new(Settings::default()).unwrap()), "no bodies that move");
    let cone = Shape::Cone { radius: 0.1, height: 0.2 };
    let mut w = world();
    w.add_body(BodyDef::dynamic(cone.clone(), 1.0).at(DVec3::splat(9.0))).unwrap();
    assert_eq!(why(&mut w), "bodies other than balls, boxes and capsules");
    let mut w = world();
    w.add_body(BodyDef::fixed(cone).at(DVec3::splat(9.0))).unwrap();
    assert_eq!(why(&mut w), "fixed shapes other than balls, planes, boxes and capsules");
    let mut w = world();
    w.add_body(BodyDef::kinematic(Shape::Box { half: DVec3::ONE }).at(DVec3::splat(-9.0))).unwrap();
    assert_eq!(why(&mut w), "bodies that are led, beside boxes or capsules");
}
