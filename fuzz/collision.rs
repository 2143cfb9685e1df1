//! Looks for shapes and placements in which collision detection fails: panics, numbers that are none, missed overlaps,
//! gaps that are not there. What is checked, and how bytes become shapes, is shared with the test suite of `drystone`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../crates/drystone/tests/collision/checks/mod.rs"]
mod checks;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = checks::check(bytes) {
        panic!("{error}");
    }
});
