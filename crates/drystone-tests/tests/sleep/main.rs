//! Sleep: who falls asleep, that nothing of a sleeper changes, and what wakes it.

mod driven;
mod exact;
mod islands;

use drystone::{BodyDef, BodyId, Settings, Shape, Sleep, World};
use glam::{DQuat, DVec3};

/// Half a brick.
const HALF: f64 = 0.1;

fn settings() -> Settings {
    Settings { sleep: Some(Sleep::default()), ..Settings::default() }
}

fn brick(at: DVec3) -> BodyDef {
    BodyDef::dynamic(Shape::Box { half: DVec3::splat(HALF) }, 1.0).at(at).friction(0.6)
}

fn ball(at: DVec3, velocity: DVec3) -> BodyDef {
    BodyDef::dynamic(Shape::Sphere { radius: HALF }, 2.0).at(at).moving(velocity, DVec3::ZERO).friction(0.6)
}

/// Bricks one upon the other on whatever has its top at `z`, as they stand.
fn tower(w: &mut World, x: f64, z: f64, count: usize) -> Vec<BodyId> {
    let place = |k: usize| DVec3::new(x, 0.0, z + HALF * (2 * k + 1) as f64);
    (0..count).map(|k| w.add_body(brick(place(k))).unwrap()).collect()
}

fn on_ground(count: usize) -> (World, BodyId, Vec<BodyId>) {
    let mut w = World::new(settings()).unwrap();
    let floor = w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.6)).unwrap();
    let bricks = tower(&mut w, 0.0, 0.0, count);
    (w, floor, bricks)
}

/// Steps until `count` bodies sleep.
fn until_asleep(w: &mut World, count: usize) {
    for _ in 0..1000 {
        if w.asleep() == count {
            return;
        }
        w.step().unwrap();
    }
    panic!("{} of {count} sleep after {} s", w.asleep(), w.state().time);
}

fn steps(w: &mut World, n: usize) {
    for _ in 0..n {
        w.step().unwrap();
    }
}

fn poses(w: &World, ids: &[BodyId]) -> Vec<(DVec3, DQuat)> {
    ids.iter().map(|id| (w.position(*id).unwrap(), w.rotation(*id).unwrap())).collect()
}

fn all_awake(w: &World, ids: &[BodyId]) -> bool {
    ids.iter().all(|id| !w.is_asleep(*id).unwrap())
}

fn all_asleep(w: &World, ids: &[BodyId]) -> bool {
    ids.iter().all(|id| w.is_asleep(*id).unwrap())
}
