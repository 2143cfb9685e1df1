//! Bytes that are the same on every machine. Without a fuzzer to follow the code they must be varied enough
//! by themselves.

use std::ops::Range;

use drystone::random::Random;

use crate::checks;

#[derive(Clone, Copy, Debug)]
pub enum Style {
    /// Every choice by chance.
    Long,
    /// After a few choices by chance, the first of all others: plain poses, sizes that are equal.
    Short,
    /// Every other choice is the first.
    Sparse,
}

/// Not every test binary takes all of them by this list.
#[allow(dead_code)]
pub const STYLES: [Style; 3] = [Style::Long, Style::Short, Style::Sparse];

fn bytes(style: Style, number: u64) -> Vec<u8> {
    let mut random = Random::new((style as u64) << 40 | number);
    let length = match style {
        Style::Long => 120,
        Style::Short | Style::Sparse => 8 + random.next_u64() % 40,
    };
    let mut byte = || {
        let word = random.next_u64();
        if matches!(style, Style::Sparse) && word & 1 == 1 { 0 } else { (word >> 32) as u8 }
    };
    (0..length).map(|_| byte()).collect()
}

/// Checks the cases with these numbers.
///
/// # Panics
/// With the first failures, and how many there were.
pub fn run(style: Style, numbers: Range<u64>) {
    let mut failures = Vec::new();
    for number in numbers.clone() {
        if let Err(error) = checks::check(&bytes(style, number)) {
            failures.push(format!("{style:?} {number}: {error}"));
        }
    }
    let first = failures.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("\n\n");
    assert!(failures.is_empty(), "{} of {} cases:\n{first}", failures.len(), numbers.count());
}
