//! Looks for shapes and placements in which collision detection fails: panics, numbers that are none, missed overlaps,
//! gaps that are not there. What is checked, and how bytes become shapes, is shared with the test suite of `drystone`.
//! With `DRYSTONE_FUZZ=overlap` only for panics, numbers that are none and missed overlaps.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[path = "../crates/drystone-tests/tests/collision/checks/mod.rs"]
mod checks;

static ONLY_OVERLAP: LazyLock<bool> =
    LazyLock::new(|| std::env::var("DRYSTONE_FUZZ").is_ok_and(|only| only == "overlap"));

fuzz_target!(|bytes: &[u8]| {
    let check = if *ONLY_OVERLAP { checks::check_overlap } else { checks::check };
    if let Err(error) = check(bytes) {
        panic!("{error}");
    }
});
