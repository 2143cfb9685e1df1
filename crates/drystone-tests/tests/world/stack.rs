//! What a world takes of the stack.

use drystone::World;

/// Several worlds fit on the stack of a thread, moved about by value: what steps work in lies elsewhere.
#[test]
fn a_world_is_small_where_it_lies() {
    assert!(size_of::<World>() <= 8192, "{} bytes", size_of::<World>());
}
