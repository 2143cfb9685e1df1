//! The narrow phase takes no memory.
//!
//! Alone in its own program: the allocator that counts is the whole program's. It counts per thread, because the
//! test harness has a thread of its own that allocates when it likes.

mod narrowphase_common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use drystone::collide::narrowphase::{Manifold, contacts};
use drystone::collide::query::{distance, ray};
use glam::DVec3;
use narrowphase_common::{KINDS, Random};

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn no_pair_allocates() {
    let mut random = Random(1);
    let mut manifold = Manifold::default();
    let mut points = 0;
    for i in 0..KINDS {
        for j in 0..KINDS {
            for _ in 0..40 {
                let (a, b) = (random.convex(i), random.convex(j));
                let (pa, pb) = (random.pose(1.0), random.pose(1.0));
                let before = TAKEN.get();
                contacts(&a, &pa, &b, &pb, 0.1, &mut manifold);
                distance(&a, &pa, &b, &pb);
                ray(&a, &pa, DVec3::X * 5.0, DVec3::NEG_X, 9.0);
                assert_eq!(TAKEN.get() - before, 0, "{a:?} {b:?}");
                points += manifold.points().len();
            }
        }
    }
    assert!(points > 1000 && TAKEN.get() > 0);
}
