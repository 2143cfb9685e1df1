//! Ray casts a second against many bodies: drystone, parry's BVH and Rapier's query pipeline, in one run and in turn.
//!
//!     cargo run --release [-- BODIES RAYS]
//!
//! Half of the bodies are balls, half boxes, all turned at random in a cube that they fill to 5 %. Rays come from outside and go through random points within. One
//! thread, processor time, the least of five rounds. The three must find the same.

use std::hint::black_box;

use drystone::random::Random;
use drystone::{BodyDef, QueryFilter, Settings, Shape, World};
use glam::{DQuat, DVec3};
use rapier3d_f64::parry::bounding_volume::Aabb;
use rapier3d_f64::parry::partitioning::{Bvh, BvhBuildStrategy};
use rapier3d_f64::parry::query::Ray;
use rapier3d_f64::parry::shape::SharedShape;
use rapier3d_f64::prelude::*;

const ROUNDS: usize = 5;

/// Processor time of this program so far, s: other programs on the machine do not count.
fn clock() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place to write to, and the clock exists on every Unix.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

struct Placed {
    at: DVec3,
    turn: DQuat,
    size: f64,
    ball: bool,
}

fn vector(x: DVec3) -> Vector {
    Vector::new(x.x, x.y, x.z)
}

fn pose(p: &Placed) -> Pose {
    let (axis, angle) = p.turn.to_axis_angle();
    Pose::new(vector(p.at), vector(axis * angle))
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let (n, rays) = (numbers.first().copied().unwrap_or(100_000), numbers.get(1).copied().unwrap_or(20_000));
    let mut random = Random::new(1);
    let side = (n as f64 * 4.2e-3 / 0.05).cbrt();
    let bodies: Vec<Placed> = (0..n)
        .map(|k| Placed {
            at: random.in_box(DVec3::splat(-0.5 * side), DVec3::splat(0.5 * side)),
            turn: random.rotation(),
            size: random.range(0.05, 0.12),
            ball: k % 2 == 0,
        })
        .collect();
    let rays: Vec<(DVec3, DVec3)> = (0..rays)
        .map(|_| {
            let from = side * random.unit_vector();
            let through = random.in_box(DVec3::splat(-0.45 * side), DVec3::splat(0.45 * side));
            (from, (through - from).normalize())
        })
        .collect();
    let far = 4.0 * side;

    let begun = clock();
    let mut world = World::new(Settings::default()).expect("settings");
    for b in &bodies {
        let shape = if b.ball { Shape::sphere(b.size) } else { Shape::cuboid(DVec3::splat(b.size)) };
        world.add_body(BodyDef::dynamic(shape, 1.0).at(b.at).turned(b.turn)).expect("a body");
    }
    let filter = QueryFilter::default();
    let _ = world.ray_first(DVec3::ZERO, DVec3::X, far, &filter); // Builds the tree.
    let ours_built = clock() - begun;

    let begun = clock();
    let mut theirs = PhysicsWorld { gravity: Vector::ZERO, ..PhysicsWorld::default() };
    for b in &bodies {
        let shape = if b.ball { ColliderBuilder::ball(b.size) } else { ColliderBuilder::cuboid(b.size, b.size, b.size) };
        // Of fixed bodies its pipeline makes the same tree, and a step costs nothing else.
        let body = theirs.insert_body(RigidBodyBuilder::fixed().pose(pose(b)));
        theirs.insert_collider(shape, Some(body));
    }
    theirs.step();
    let rapier_built = clock() - begun;

    let begun = clock();
    let shapes: Vec<(SharedShape, Pose)> = bodies
        .iter()
        .map(|b| {
            let shape = if b.ball { SharedShape::ball(b.size) } else { SharedShape::cuboid(b.size, b.size, b.size) };
            (shape, pose(b))
        })
        .collect();
    let boxes: Vec<Aabb> = shapes.iter().map(|(s, p)| s.compute_aabb(p)).collect();
    let bvh = Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes);
    let parry_built = clock() - begun;

    let ours = |(from, towards): &(DVec3, DVec3)| {
        world.ray_first(*from, *towards, far, &filter).map(|f| f.hit.distance)
    };
    let rapier = |(from, towards): &(DVec3, DVec3)| {
        theirs.query_pipeline().cast_ray(&Ray::new(vector(*from), vector(*towards)), far, true).map(|hit| hit.1)
    };
    let parry = |(from, towards): &(DVec3, DVec3)| {
        let ray = Ray::new(vector(*from), vector(*towards));
        bvh.cast_ray(&ray, far, |leaf, best| {
            let (shape, pose) = &shapes[leaf as usize];
            shape.cast_ray(pose, &ray, best, true)
        })
        .map(|hit| hit.1)
    };

    let mut hits = 0;
    let mut worst = 0.0f64;
    for ray in &rays {
        let found = [ours(ray), rapier(ray), parry(ray)];
        hits += usize::from(found[0].is_some());
        let [a, b, c] = found.map(|x| x.unwrap_or(far));
        worst = worst.max((a - b).abs()).max((a - c).abs());
    }
    println!("{n} bodies, {} rays, {hits} hit something; largest difference {worst:.1e} m", rays.len());

    let mut least = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        let mut time = |k: usize, cast: &dyn Fn(&(DVec3, DVec3)) -> Option<f64>| {
            let begun = clock();
            let sum: f64 = rays.iter().filter_map(cast).sum();
            black_box(sum);
            least[k] = least[k].min(clock() - begun);
        };
        time(0, &ours);
        time(1, &parry);
        time(2, &rapier);
    }
    for (name, built, time) in [
        ("drystone", ours_built, least[0]),
        ("parry BVH", parry_built, least[1]),
        ("Rapier query pipeline", rapier_built, least[2]),
    ] {
        let rate = rays.len() as f64 / time;
        println!("{name:22} {rate:10.0} rays a second ({:.2} µs each), built in {built:.2} s", 1e6 / rate);
    }
}
