//! The checks of the fuzzer in `fuzz/` on 240 000 strings of seeded random bytes, where there is no fuzzer.

mod checks;
mod seeded;

use seeded::{Style, run};

#[test]
fn long_bytes() {
    run(Style::Long, 2000..82_000);
}

#[test]
fn short_bytes() {
    run(Style::Short, 2000..82_000);
}

#[test]
fn sparse_bytes() {
    run(Style::Sparse, 2000..82_000);
}
