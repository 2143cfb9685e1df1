//! Files of a series, by their numbers.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::outputs;
use crate::own::Kind;

/// `film.png` with a number before the ending.
pub fn numbered(to: &Path, n: usize) -> PathBuf {
    with_number(to, n, "png")
}

fn with_number(to: &Path, n: usize, ending: &str) -> PathBuf {
    let stem = to.file_stem().unwrap_or_default().to_string_lossy();
    to.with_file_name(format!("{stem}_{n:06}.{ending}"))
}

/// Refuses a series of files of which one would take the place of what is none of its kind.
pub fn check_numbered(to: &Path, count: usize, ending: &str, kind: Kind) -> Result<(), Failure> {
    (0..count).try_for_each(|n| outputs::refuse_foreign("--to", &with_number(to, n, ending), kind))
}
