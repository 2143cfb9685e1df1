//! Every broad phase finds exactly the pairs that looking at all of them finds: whatever the boxes, whatever
//! was asked before, whatever the number of threads.

use drystone::collide::Aabb;
use drystone::collide::broadphase::{BroadPhase, Brute, Kind, choose, make};
use drystone::random::Random;
use glam::DVec3;
use proptest::prelude::*;

const REMOVED: Aabb = Aabb { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };

#[derive(Clone, Debug, Default)]
struct Scene {
    boxes: Vec<Aabb>,
    movable: Vec<bool>,
}

impl Scene {
    fn add(&mut self, bounds: Aabb, movable: bool) {
        self.boxes.push(bounds);
        self.movable.push(movable);
    }

    fn reference(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        Brute.pairs(&self.boxes, &self.movable, &mut pairs);
        pairs
    }

    fn found_by(&self, phase: &mut dyn BroadPhase) -> Vec<(u32, u32)> {
        // Something stale in the buffer, which must not survive.
        let mut pairs = vec![(7, 3); 5];
        phase.pairs(&self.boxes, &self.movable, &mut pairs);
        pairs
    }
}

/// Broad phases that live through a whole sequence of scenes.
struct Candidates(Vec<Box<dyn BroadPhase>>);

impl Candidates {
    fn new() -> Self {
        Self(vec![make(Kind::Sap), make(Kind::Grid)])
    }

    /// Holds the old hands and fresh ones against the reference; returns the number of pairs.
    fn check(&mut self, scene: &Scene, what: &str) -> usize {
        let expected = scene.reference();
        assert!(expected.windows(2).all(|w| w[0] < w[1]), "the reference is sorted and unique");
        assert!(expected.iter().all(|(i, j)| i < j));
        for phase in &mut self.0 {
            assert_eq!(
                scene.found_by(phase.as_mut()),
                expected,
                "{} after other calls: {what}",
                phase.name()
            );
        }
        for kind in [Kind::Sap, Kind::Grid] {
            assert_eq!(scene.found_by(make(kind).as_mut()), expected, "{} afresh: {what}", kind.name());
        }
        expected.len()
    }
}

fn grains(random: &mut Random, count: usize, side: f64, size: f64) -> Scene {
    let mut scene = Scene::default();
    for _ in 0..count {
        let centre = random.in_box(DVec3::ZERO, DVec3::splat(side));
        let reach = 0.5 * size * random.range(0.7, 1.0);
        scene.add(Aabb::around(centre, DVec3::splat(reach)), true);
    }
    scene
}

fn add_walls(scene: &mut Scene, side: f64) {
    for axis in 0..3 {
        let mut below = Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
        let mut above = below;
        below.max[axis] = 0.1 * side;
        above.min[axis] = 0.9 * side;
        scene.add(below, false);
        scene.add(above, false);
    }
    scene.add(Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY }, false);
    scene.add(Aabb { min: DVec3::new(-1e6, -1e6, -1.0), max: DVec3::new(1e6, 1e6, 0.2 * side) }, false);
}

fn shake(random: &mut Random, scene: &mut Scene, step: f64) {
    for (bounds, _) in scene.boxes.iter_mut().zip(&scene.movable).filter(|(_, movable)| **movable) {
        let shift = step * random.in_ball();
        *bounds = Aabb { min: bounds.min + shift, max: bounds.max + shift };
    }
}

#[test]
fn names_lead_to_kinds_and_back() {
    for name in Kind::NAMES {
        let kind = Kind::from_name(name).unwrap();
        assert_eq!(kind.name(), name);
        assert_eq!(make(kind).name(), name);
    }
    assert_eq!(Kind::from_name("octree"), None);
}

#[test]
fn brute_finds_what_a_hand_count_does() {
    let mut scene = Scene::default();
    let unit = |x: f64| Aabb { min: DVec3::new(x, 0.0, 0.0), max: DVec3::new(x + 1.0, 1.0, 1.0) };
    scene.add(unit(0.0), true);
    scene.add(unit(1.0), true); // touches 0
    scene.add(REMOVED, true);
    scene.add(unit(1.5), false); // overlaps 1
    scene.add(unit(2.5), false); // touches 3, but neither moves
    scene.add(unit(9.0), true);
    scene.add(Aabb { min: DVec3::NEG_INFINITY, max: DVec3::new(f64::INFINITY, f64::INFINITY, 0.0) }, false);
    scene.add(Aabb { min: DVec3::splat(f64::NAN), max: DVec3::ONE }, true);
    scene.add(Aabb { min: DVec3::INFINITY, max: DVec3::INFINITY }, true);
    scene.add(Aabb { min: DVec3::NEG_INFINITY, max: DVec3::NEG_INFINITY }, true);
    assert_eq!(scene.reference(), [(0, 1), (0, 6), (1, 3), (1, 6), (5, 6)]);
    Candidates::new().check(&scene, "by hand");
}

#[test]
fn nothing_and_nothing_movable() {
    let mut candidates = Candidates::new();
    let mut scene = Scene::default();
    assert_eq!(candidates.check(&scene, "no boxes"), 0);
    add_walls(&mut scene, 1.0);
    assert_eq!(candidates.check(&scene, "walls only"), 0);
    scene.boxes.fill(REMOVED);
    scene.movable.fill(true);
    assert_eq!(candidates.check(&scene, "removed only"), 0);
    scene.boxes[3] = Aabb::around(DVec3::ONE, DVec3::ONE);
    assert_eq!(candidates.check(&scene, "one"), 0);
}

#[test]
fn grains_between_walls_as_they_move() {
    let mut random = Random::new(1);
    let mut candidates = Candidates::new();
    let mut scene = grains(&mut random, 600, 8.0, 1.0);
    add_walls(&mut scene, 8.0);
    let mut found = 0;
    for step in [0.0, 0.01, 0.01, 0.02, 0.0, 0.1, 0.5, 0.01, 0.01, 20.0, 0.01, 0.01, 0.01] {
        shake(&mut random, &mut scene, step);
        found += candidates.check(&scene, &format!("moved by {step}"));
    }
    assert!(found > 10_000, "a test of pairs has to have some: {found}");
}

#[test]
fn bodies_come_go_and_change_their_kind() {
    let mut random = Random::new(2);
    let mut candidates = Candidates::new();
    let mut scene = grains(&mut random, 200, 5.0, 1.0);
    add_walls(&mut scene, 5.0);
    for round in 0..60 {
        shake(&mut random, &mut scene, 0.02);
        let slots = scene.boxes.len();
        let pick = |random: &mut Random| (random.uniform() * slots as f64) as usize;
        match round % 6 {
            0 => (0..5).for_each(|_| scene.boxes[pick(&mut random)] = REMOVED),
            1 => {
                for _ in 0..5 {
                    scene.boxes[pick(&mut random)] =
                        Aabb::around(random.in_box(DVec3::ZERO, DVec3::splat(5.0)), DVec3::splat(0.5));
                }
            }
            2 => {
                for _ in 0..10 {
                    let k = pick(&mut random);
                    scene.movable[k] = !scene.movable[k];
                }
            }
            3 => {
                let more = grains(&mut random, if round % 4 == 1 { 5 } else { 60 }, 5.0, 1.0);
                scene.boxes.extend(&more.boxes);
                scene.movable.extend(&more.movable);
            }
            4 => {
                scene.boxes.truncate(slots - 30);
                scene.movable.truncate(slots - 30);
            }
            _ => {}
        }
        candidates.check(&scene, &format!("round {round}"));
    }
}

#[test]
fn sizes_over_six_decades() {
    let mut random = Random::new(3);
    let mut candidates = Candidates::new();
    let mut scene = Scene::default();
    for _ in 0..500 {
        let size = 10f64.powf(random.range(-4.0, 2.0));
        let centre = random.in_box(DVec3::splat(-1.0), DVec3::ONE) * 10f64.powf(random.range(-3.0, 1.0));
        let shape = DVec3::new(random.range(0.1, 1.0), random.range(0.1, 1.0), random.range(0.1, 1.0));
        let movable = random.uniform() < 0.7;
        scene.add(Aabb::around(centre, size * shape), movable);
    }
    for _ in 0..5 {
        shake(&mut random, &mut scene, 0.01);
        assert!(candidates.check(&scene, "many sizes") > 1000);
    }
}

#[test]
fn touching_lattice_identical_boxes_and_points() {
    let mut candidates = Candidates::new();
    // Corners of the unit lattice are exact in floating point, also at a large offset: every neighbour
    // touches.
    for offset in [0.0, -3.0, 1e9, -1e15] {
        for sign in [1.0, -1.0] {
            let mut scene = Scene::default();
            for k in 0..216 {
                let cell = DVec3::new((k % 6) as f64, (k / 6 % 6) as f64, (k / 36) as f64);
                let corner = sign * cell + DVec3::splat(offset);
                scene.add(Aabb { min: corner, max: corner + DVec3::ONE }, true);
            }
            // Each pair of neighbours counted along offsets in {-1, 0, 1}³: ((3·6 - 2)³ - 6³) / 2.
            assert_eq!(candidates.check(&scene, &format!("lattice at {offset}")), (4096 - 216) / 2);
        }
    }
    let mut scene = Scene::default();
    (0..40).for_each(|_| scene.add(Aabb { min: DVec3::ONE, max: DVec3::splat(2.0) }, true));
    assert_eq!(candidates.check(&scene, "identical"), 40 * 39 / 2);

    let mut scene = Scene::default();
    for k in 0..60 {
        // Points, three to a place, and both zeros.
        let zero = if k % 2 == 0 { 0.0 } else { -0.0 };
        let point = DVec3::new((k / 3) as f64, zero, -zero);
        scene.add(Aabb { min: point, max: point }, true);
    }
    assert_eq!(candidates.check(&scene, "points"), 60);
    (0..60).for_each(|k| scene.boxes[k] = Aabb { min: DVec3::ONE, max: DVec3::ONE });
    assert_eq!(candidates.check(&scene, "all points the same"), 60 * 59 / 2);
}

#[test]
fn far_clusters_and_an_escaped_body() {
    let mut random = Random::new(4);
    let mut candidates = Candidates::new();
    for far in [1e3, 1e7, 1e12] {
        let mut scene = grains(&mut random, 150, 4.0, 1.0);
        let other = grains(&mut random, 150, 4.0, 1.0);
        for bounds in &other.boxes {
            let shift = DVec3::new(far, -far, 0.5 * far);
            scene.add(Aabb { min: bounds.min + shift, max: bounds.max + shift }, true);
        }
        scene.add(Aabb::around(DVec3::new(0.0, 0.0, -1e200), DVec3::ONE), true);
        scene.add(Aabb::around(DVec3::splat(f64::MAX / 4.0), DVec3::ONE), true);
        scene.add(Aabb { min: DVec3::splat(f64::MIN), max: DVec3::splat(f64::MAX) }, false);
        for _ in 0..3 {
            shake(&mut random, &mut scene, 0.05);
            assert!(candidates.check(&scene, &format!("clusters {far} apart")) > 500);
        }
    }
}

#[test]
fn many_threads_find_what_one_does() {
    // More than one task's worth of boxes, in shuffled order, with a floor that pairs with many.
    let mut random = Random::new(5);
    let mut scene = Scene::default();
    scene.add(Aabb { min: DVec3::NEG_INFINITY, max: DVec3::new(f64::INFINITY, f64::INFINITY, 1.0) }, false);
    let heap = grains(&mut random, 30_000, 25.0, 1.0);
    scene.boxes.extend(&heap.boxes);
    scene.movable.extend(&heap.movable);
    let answers = |threads: usize| -> Vec<Vec<(u32, u32)>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (mut sap, mut grid) = (make(Kind::Sap), make(Kind::Grid));
        let (mut random, mut scene) = (random.clone(), scene.clone());
        pool.install(|| {
            (0..3)
                .flat_map(|_| {
                    shake(&mut random, &mut scene, 0.01);
                    [scene.found_by(sap.as_mut()), scene.found_by(grid.as_mut())]
                })
                .collect()
        })
    };
    let single = answers(1);
    assert!(single[0].len() > 50_000);
    for both in single.chunks(2) {
        assert!(both[0] == both[1], "sap and grid agree");
    }
    for threads in [2, 3, 8] {
        assert!(answers(threads) == single, "{threads} threads");
    }
}

#[test]
fn grid_for_like_grains_sap_otherwise() {
    let mut random = Random::new(6);
    let mut scene = grains(&mut random, 5000, 10.0, 1.0);
    add_walls(&mut scene, 10.0);
    assert_eq!(choose(&scene.boxes, &scene.movable), Kind::Grid);
    // A boulder among the grains, or ten, change nothing; boulders everywhere do, unless there are very many.
    for _ in 0..10 {
        scene.add(Aabb::around(DVec3::ZERO, DVec3::splat(50.0)), true);
    }
    assert_eq!(choose(&scene.boxes, &scene.movable), Kind::Grid);
    for _ in 0..100 {
        scene.add(Aabb::around(DVec3::ZERO, DVec3::splat(50.0)), true);
    }
    assert_eq!(choose(&scene.boxes, &scene.movable), Kind::Sap);
    for _ in 0..30_000 {
        scene.add(Aabb::around(DVec3::ZERO, DVec3::splat(0.01)), true);
    }
    assert_eq!(choose(&scene.boxes, &scene.movable), Kind::Grid);
    let few = grains(&mut random, 10, 10.0, 1.0);
    assert_eq!(choose(&few.boxes, &few.movable), Kind::Sap);
    assert_eq!(choose(&[], &[]), Kind::Sap);
}

/// A box on a coarse lattice, so that equal and touching bounds are common, or far from it, or endless, or
/// none.
fn any_box() -> impl Strategy<Value = Aabb> {
    let corner = prop::array::uniform3(-6i32..6);
    let sides = prop::array::uniform3(0i32..4);
    (corner, sides, 0..40u32).prop_map(|(corner, sides, kind)| {
        let vector = |a: [i32; 3]| DVec3::new(a[0] as f64, a[1] as f64, a[2] as f64);
        let (corner, sides) = (vector(corner), vector(sides));
        match kind {
            0 | 1 => REMOVED,
            2 => Aabb { min: corner, max: DVec3::new(f64::INFINITY, corner.y + sides.y, f64::INFINITY) },
            3 => Aabb { min: DVec3::NEG_INFINITY, max: corner },
            4 => Aabb { min: 1e8 + corner, max: 1e8 + corner + sides },
            5 => Aabb { min: corner, max: corner + 1e4 * sides },
            6..10 => Aabb { min: corner, max: corner + 0.01 * sides },
            _ => Aabb { min: corner, max: corner + 0.5 * sides },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_sequence_of_any_boxes(
        scenes in prop::collection::vec(prop::collection::vec((any_box(), prop::bool::weighted(0.7)), 0..60), 1..5),
        edits in prop::collection::vec((0..60usize, any_box(), any::<bool>()), 0..12),
    ) {
        let mut candidates = Candidates::new();
        for scene in scenes {
            let (boxes, movable) = scene.into_iter().unzip();
            let mut scene = Scene { boxes, movable };
            candidates.check(&scene, "scene");
            // One change at a time, which is where lists kept from call to call go wrong.
            for (slot, bounds, movable) in &edits {
                if *slot < scene.boxes.len() {
                    scene.boxes[*slot] = *bounds;
                    scene.movable[*slot] = *movable;
                    candidates.check(&scene, "edit");
                }
            }
        }
    }
}
