//! The same run, bit for bit: after restoring a state, with any number of threads, with any broad phase.

use drystone::collide::broadphase::Kind;
use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, State, World};
use glam::DVec3;

fn cuboid(r: &mut Random) -> Shape {
    Shape::Box { half: r.in_box(DVec3::splat(0.05), DVec3::splat(0.15)) }
}

fn capsule(r: &mut Random) -> Shape {
    Shape::Capsule { radius: r.range(0.05, 0.1), half_length: r.range(0.02, 0.12) }
}

fn sphere(r: &mut Random) -> Shape {
    Shape::Sphere { radius: r.range(0.06, 0.15) }
}

fn mixed(r: &mut Random) -> Shape {
    [cuboid, capsule, sphere][(r.next_u64() % 3) as usize](r)
}

/// Shapes falling into a trough of two boxes on a floor.
fn heap(settings: Settings, shape: fn(&mut Random) -> Shape) -> World {
    let mut w = World::new(settings).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    for x in [-0.8, 0.8] {
        let wall = BodyDef::fixed(Shape::Box { half: DVec3::new(0.1, 1.0, 0.5) });
        w.add_body(wall.at(DVec3::new(x, 0.0, 0.5)).friction(0.4)).unwrap();
    }
    let mut random = Random::new(5);
    for k in 0..48 {
        let at = 0.34 * DVec3::new((k % 4) as f64 - 1.5, (k / 4 % 4) as f64 - 1.5, (k / 16) as f64 + 0.7);
        let def =
            BodyDef::dynamic(shape(&mut random), random.range(0.5, 2.0)).at(at).turned(random.rotation());
        w.add_body(def.moving(random.in_ball(), 3.0 * random.in_ball()).friction(0.4)).unwrap();
    }
    w
}

fn settings() -> Settings {
    Settings { iterations: 40, ..Settings::default() }
}

fn steps(w: &mut World, n: usize) {
    for _ in 0..n {
        w.step().unwrap();
    }
}

#[test]
fn restored_state_goes_on_bit_for_bit() {
    for (name, shape) in [
        ("boxes", cuboid as fn(&mut Random) -> Shape),
        ("capsules", capsule),
        ("spheres", sphere),
        ("all", mixed),
    ] {
        let mut a = heap(settings(), shape);
        steps(&mut a, 50);
        let saved = a.state().clone();
        let text = serde_json::to_string(&saved).unwrap();
        steps(&mut a, 50);
        assert!(a.contacts().len() > 50, "{name}: only {} contacts", a.contacts().len());

        let mut b = heap(settings(), shape);
        b.restore(saved.clone()).unwrap();
        steps(&mut b, 50);
        assert_eq!(a.state(), b.state(), "{name}: restored into a second world");
        assert_eq!(a.state().hash(), b.state().hash(), "{name}");

        let mut c = heap(settings(), shape);
        steps(&mut c, 30); // whatever it did before
        c.restore(serde_json::from_str::<State>(&text).unwrap()).unwrap();
        steps(&mut c, 50);
        assert_eq!(a.state().hash(), c.state().hash(), "{name}: through text, into a used world");
        assert_eq!(c.state().step, 100);
    }
}

#[test]
fn state_of_other_bodies_is_refused() {
    let mut a = heap(settings(), sphere);
    let mut b = World::new(settings()).unwrap();
    b.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
    let before = a.state().clone();
    let text = a.restore(b.state().clone()).unwrap_err().to_string();
    assert!(text.contains('1') && text.contains("51"), "{text}");
    assert_eq!(*a.state(), before);
    steps(&mut a, 1);
}

#[test]
fn hash_sees_every_bit_of_the_motion() {
    let w = heap(settings(), sphere);
    let base = w.state().hash();
    let nudge = |x: &mut f64| *x = f64::from_bits(x.to_bits() ^ 1);
    let mut s = w.state().clone();
    nudge(&mut s.position[20].y);
    assert_ne!(s.hash(), base);
    let mut s = w.state().clone();
    nudge(&mut s.omega[50].z);
    assert_ne!(s.hash(), base);
}

#[test]
fn every_broad_phase_gives_the_same_run() {
    for shape in [cuboid as fn(&mut Random) -> Shape, capsule, sphere, mixed] {
        let hashes = [Kind::Brute, Kind::Sap, Kind::Grid].map(|kind| {
            let mut w = heap(Settings { broadphase: Some(kind), ..settings() }, shape);
            steps(&mut w, 80);
            assert_eq!(w.broadphase(), Some(kind));
            w.state().hash()
        });
        assert!(hashes.iter().all(|h| *h == hashes[0]), "{hashes:x?}");
    }
}

/// A touching lattice of `n`³ shapes, thrown about a little so that nothing is symmetric.
fn block(n: usize, shape: Shape, size: f64) -> World {
    let mut w = World::new(Settings { iterations: 15, tolerance: 0.0, ..Settings::default() }).unwrap();
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    let mut random = Random::new(9);
    for k in 0..n * n * n {
        let cell = DVec3::new((k % n) as f64, (k / n % n) as f64, (k / n / n) as f64 + 0.5);
        let def = BodyDef::dynamic(shape.clone(), 1.0).at(size * cell).friction(0.4);
        w.add_body(def.moving(0.05 * random.in_ball(), 0.1 * random.in_ball())).unwrap();
    }
    w
}

/// Grains are iterated on in f32, in buffers that go from step to step: nothing of what they hold may matter.
#[test]
fn a_restored_pile_of_grains_goes_on_bit_for_bit() {
    for solver in ["auto", "nncg"] {
        let pile = || {
            let mut w = block(7, Shape::Sphere { radius: 0.1 }, 0.2);
            let settings = Settings { tolerance: 1e-4, solver: solver.into(), ..settings() };
            w.set_settings(settings).unwrap();
            w
        };
        let mut a = pile();
        steps(&mut a, 10);
        let saved = a.state().clone();
        steps(&mut a, 10);
        assert!(a.contacts().len() > 500, "only {} contacts", a.contacts().len());
        let mut b = pile();
        b.restore(saved.clone()).unwrap();
        steps(&mut b, 10);
        assert_eq!(a.state().hash(), b.state().hash(), "{solver}: into a fresh world");
        steps(&mut b, 25); // on to something else
        b.restore(saved).unwrap();
        steps(&mut b, 10);
        assert_eq!(a.state().hash(), b.state().hash(), "{solver}: into a used world");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_run() {
    // More than 4096 bodies are parted into regions.
    for (name, n, shape) in [
        ("spheres", 13, Shape::Sphere { radius: 0.1 }),
        ("regions of spheres", 17, Shape::Sphere { radius: 0.1 }),
        ("boxes", 7, Shape::Box { half: DVec3::splat(0.1) }),
    ] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut w = block(n, shape.clone(), 0.2);
                let mut most = 0;
                for _ in 0..5 {
                    most = most.max(w.step().unwrap().contacts);
                }
                (w.state().hash(), most)
            })
        };
        let (one, contacts) = run(1);
        println!("{name}: {contacts} contacts, hash {one:016x}");
        assert!(contacts > 5000, "{name}: only {contacts} contacts");
        for threads in [2, 4, 8, 16] {
            assert_eq!(run(threads).0, one, "{name}: {threads} threads");
        }
    }
}
