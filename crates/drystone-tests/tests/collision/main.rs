//! Collision detection under the checks of the fuzzer in `fuzz/`: on what it found, and on seeded random
//! bytes.

mod checks;
mod found;
mod seeded;
mod tilts;

/// Some thousand cases of every style; `slow.rs` takes many more.
#[test]
fn seeded_bytes() {
    for style in seeded::STYLES {
        seeded::run(style, 0..2000);
    }
}
