//! What a body with its contacts takes, everything that a world keeps for it included: it is what decides how
//! many fit.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use drystone::random::Random;
use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

/// Bytes that are taken now, and the most that ever were.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = TAKEN.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // In place, or with pages moved: what is grown is not there twice.
        let now = TAKEN.fetch_add(size, Relaxed) + size - layout.size();
        TAKEN.fetch_sub(layout.size(), Relaxed);
        MOST.fetch_max(now, Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`, and `pointer` came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// So many along each side, in two layers, the upper in the hollows of the lower: enough for a world that
/// gives memory back.
const SIDE: usize = 182;
const BODIES: usize = 2 * SIDE * SIDE;

#[test]
fn a_sphere_and_its_contacts_take_little_memory() {
    let settings = Settings { solver: "pgs".into(), tolerance: 0.0, iterations: 20, ..Settings::default() };
    let before = TAKEN.load(Relaxed);
    let mut w = World::new(settings).unwrap();
    let mut random = Random::new(1);
    w.reserve(BODIES + 1);
    for k in 0..BODIES {
        let (x, y, layer) = ((k % SIDE) as f64, (k / SIDE % SIDE) as f64, (k / (SIDE * SIDE)) as f64);
        let place = DVec3::new(x + 0.5 * layer, y + 0.5 * layer, 0.5 + 0.75 * layer) * 1.04;
        let place = place + random.in_box(DVec3::splat(-0.01), DVec3::splat(0.01));
        w.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).at(place).friction(0.4)).unwrap();
    }
    w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.4)).unwrap();
    let built = (TAKEN.load(Relaxed) - before) / BODIES;
    let mut contacts = 0;
    for _ in 0..25 {
        contacts = w.step().unwrap().contacts.max(contacts);
    }
    let (kept, most) = ((TAKEN.load(Relaxed) - before) / BODIES, (MOST.load(Relaxed) - before) / BODIES);
    let share = contacts as f64 / BODIES as f64;
    assert!(share > 2.0, "{share} contacts a body");
    println!("{share} contacts, {built} bytes a body as built, {kept} kept, {most} at most");
    assert!(built < 400, "{built} bytes a body before the first step");
    assert!(kept < 1000, "{kept} bytes a body with {share} contacts between steps");
    assert!(most < 1650, "{most} bytes a body with {share} contacts");
}
