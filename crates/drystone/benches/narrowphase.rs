//! Nanoseconds per query of the narrow phase, beside parry in the same run.
//!
//! `cargo bench -p drystone --bench narrowphase [-- PART_OF_A_NAME [TURNS]]`. Plain loops and clocks: every
//! row is measured in turns with the others, and the fastest turn is printed: what a busy machine adds is not
//! the code's.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use drystone::collide::narrowphase::{Manifold, contacts};
use drystone::random::Random;
use drystone::shape::{Hull, Pose, Shape};
use glam::DVec3;
use parry3d_f64::math::Pose as ParryPose;
use parry3d_f64::query::{ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher};
use parry3d_f64::shape::{ConvexPolyhedron, Cuboid, Cylinder, SharedShape};

const PAIRS: usize = 256;
/// Shapes are shared by many bodies, as in most scenes.
const SHAPES: usize = 8;
const TURNS: usize = 60;
const REACH: f64 = 0.02;

/// Pairs of one kind, near touching: half of them slightly apart, half slightly in each other.
struct Scene {
    name: &'static str,
    pairs: Vec<(Shape, Pose, Shape, Pose)>,
    parry: Option<Vec<(SharedShape, ParryPose, SharedShape, ParryPose)>>,
}

fn hull(random: &mut Random, count: usize) -> Shape {
    let points: Vec<DVec3> = (0..count).map(|_| random.unit_vector() * 0.5).collect();
    Shape::Hull(Arc::new(Hull::new(&points).expect("points on a sphere")))
}

fn cylinder(random: &mut Random) -> Shape {
    Shape::Cylinder { radius: random.range(0.3, 0.5), half_length: random.range(0.3, 0.5) }
}

fn block(random: &mut Random) -> Shape {
    let mut side = || random.range(0.3, 0.5);
    Shape::Box { half: DVec3::new(side(), side(), side()) }
}

fn ellipsoid(random: &mut Random) -> Shape {
    let mut side = || random.range(0.3, 0.5);
    Shape::Ellipsoid { half: DVec3::new(side(), side(), side()) }
}

/// What parry has of it; its cylinders stand along y.
fn parry(shape: &Shape) -> Option<SharedShape> {
    match shape {
        Shape::Box { half } => Some(SharedShape::new(Cuboid::new(*half))),
        Shape::Hull(hull) => ConvexPolyhedron::from_convex_hull(hull.vertices()).map(SharedShape::new),
        Shape::Cylinder { radius, half_length } => {
            Some(SharedShape::new(Cylinder::new(*half_length, *radius)))
        }
        _ => None,
    }
}

fn parry_pose(shape: &Shape, pose: &Pose) -> ParryPose {
    let turn = match shape {
        Shape::Cylinder { .. } => glam::DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2),
        _ => glam::DQuat::IDENTITY,
    };
    ParryPose::from_parts(pose.position, pose.rotation * turn)
}

impl Scene {
    /// Moves and turns every A a little, back and forth by turns: what a time step does to a persistent
    /// manifold.
    fn nudge(&mut self, turn: usize) {
        let side = if turn.is_multiple_of(2) { 1.0 } else { -1.0 };
        let spin = glam::DQuat::from_scaled_axis(DVec3::new(1.0, -2.0, 3.0) * (5e-4 * side));
        for (k, (a, pose, ..)) in self.pairs.iter_mut().enumerate() {
            pose.position += DVec3::new(2.0, 1.0, -2.0) * (5e-4 * side);
            pose.rotation = (spin * pose.rotation).normalize();
            if let Some(theirs) = &mut self.parry {
                theirs[k].1 = parry_pose(a, pose);
            }
        }
    }

    fn new(
        name: &'static str,
        a: impl Fn(&mut Random) -> Shape,
        b: impl Fn(&mut Random) -> Shape,
        depth: impl Fn(&mut Random) -> f64,
    ) -> Self {
        let mut random = Random::new(7);
        let shapes: Vec<_> = (0..SHAPES).map(|_| (a(&mut random), b(&mut random))).collect();
        let pairs: Vec<_> = (0..PAIRS)
            .map(|k| {
                let (a, b) = (shapes[k % SHAPES].0.clone(), shapes[k / SHAPES % SHAPES].1.clone());
                let (mut pa, pb) = (
                    Pose::new(2.0 * random.unit_vector(), random.rotation()),
                    Pose::new(DVec3::ZERO, random.rotation()),
                );
                let gap = depth(&mut random);
                let mut m = Manifold::default();
                contacts(&a, &pa, &b, &pb, f64::INFINITY, &mut m);
                let p = m.points().iter().min_by(|p, q| p.gap.total_cmp(&q.gap)).expect("in reach");
                pa.position += p.normal * (gap - p.gap);
                (a, pa, b, pb)
            })
            .collect();
        let theirs: Option<Vec<_>> = shapes.iter().map(|(a, b)| Some((parry(a)?, parry(b)?))).collect();
        let parry = theirs.map(|theirs| {
            let pair = |(k, (a, pa, b, pb)): (usize, &(Shape, Pose, Shape, Pose))| {
                let (shape_a, shape_b) =
                    (theirs[k % SHAPES].0.clone(), theirs[k / SHAPES % SHAPES].1.clone());
                (shape_a, parry_pose(a, pa), shape_b, parry_pose(b, pb))
            };
            pairs.iter().enumerate().map(pair).collect()
        });
        Self { name, pairs, parry }
    }

    fn ours(&self) -> f64 {
        let mut manifold = Manifold::default();
        let start = Instant::now();
        for (a, pa, b, pb) in &self.pairs {
            contacts(black_box(a), pa, b, pb, REACH, &mut manifold);
            black_box(&manifold);
        }
        start.elapsed().as_nanos() as f64 / self.pairs.len() as f64
    }

    /// `fresh`: every query starts from nothing; otherwise from the manifold of the last turn.
    fn theirs(&self, kept: &mut Vec<ContactManifold<(), ()>>, fresh: bool) -> Option<f64> {
        let pairs = self.parry.as_ref()?;
        kept.resize_with(pairs.len(), ContactManifold::new);
        let start = Instant::now();
        for ((a, pa, b, pb), manifold) in pairs.iter().zip(kept) {
            if fresh {
                *manifold = ContactManifold::new();
            }
            let relative = pa.inv_mul(pb);
            let done = DefaultQueryDispatcher.contact_manifold_convex_convex(
                black_box(&relative),
                a.as_ref(),
                b.as_ref(),
                None,
                None,
                REACH,
                manifold,
            );
            black_box(done.is_ok());
        }
        Some(start.elapsed().as_nanos() as f64 / pairs.len() as f64)
    }
}

fn fastest(times: &[f64]) -> Option<f64> {
    times.iter().copied().min_by(f64::total_cmp)
}

fn main() {
    let touching = |random: &mut Random| random.range(-0.005, 0.01);
    let apart = |random: &mut Random| random.range(0.05, 0.3);
    let words: Vec<String> = std::env::args().skip(1).filter(|w| !w.starts_with('-')).collect();
    let turns = words.get(1).and_then(|w| w.parse().ok()).unwrap_or(TURNS);
    let mut scenes = vec![
        Scene::new("box-box", block, block, touching),
        Scene::new("hull-hull 20", |r| hull(r, 20), |r| hull(r, 20), touching),
        Scene::new("hull-hull 20 apart", |r| hull(r, 20), |r| hull(r, 20), apart),
        Scene::new("hull-hull 60", |r| hull(r, 60), |r| hull(r, 60), touching),
        Scene::new("hull-hull 60 apart", |r| hull(r, 60), |r| hull(r, 60), apart),
        Scene::new("hull-box 20", |r| hull(r, 20), block, touching),
        Scene::new("cylinder-box", cylinder, block, touching),
        Scene::new("cylinder-cylinder", cylinder, cylinder, touching),
        Scene::new("ellipsoid-ellipsoid", ellipsoid, ellipsoid, touching),
        Scene::new("ellipsoid-hull 20", ellipsoid, |r| hull(r, 20), touching),
    ];
    scenes.retain(|s| words.first().is_none_or(|w| s.name.contains(w.as_str())));
    let mut kept: Vec<_> = scenes.iter().map(|_| Vec::new()).collect();
    let mut scratch = Vec::new();
    let mut times = vec![[const { Vec::new() }; 3]; scenes.len()];
    for turn in 0..turns {
        for ((scene, kept), times) in scenes.iter_mut().zip(&mut kept).zip(&mut times) {
            scene.nudge(turn);
            times[0].push(scene.ours());
            times[1].extend(scene.theirs(&mut scratch, true));
            times[2].extend(scene.theirs(kept, false));
        }
    }
    println!("{:22} {:>9} {:>12} {:>17}   ns per query", "", "drystone", "parry fresh", "parry persistent");
    for (scene, times) in scenes.iter().zip(&times) {
        let cell = |times: &[f64]| fastest(times).map_or("-".to_string(), |t| format!("{t:.0}"));
        let [ours, fresh, persistent] = times;
        println!("{:22} {:>9} {:>12} {:>17}", scene.name, cell(ours), cell(fresh), cell(persistent));
    }
}
