//! Collision detection against what can be said without it. The cases come out of bytes, so that a fuzzer can
//! look for bad ones: see `fuzz/` at the root of the repository.

mod bytes;
mod convex;
mod draw;
mod oracle;
mod solid;

use bytes::Bytes;
pub use draw::Case;

/// The case that the bytes spell; nothing where they ask for a hull without volume.
pub fn case(bytes: &[u8]) -> Option<Case> {
    draw::convex_pair(&mut Bytes::new(bytes))
}

/// Checks the case that the bytes spell; tells what is wrong, and with what.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    case(bytes).map_or(Ok(()), |case| check_case(&case))
}

/// Of the case that the bytes spell, checks only that numbers are numbers and that no overlap is missed.
#[allow(dead_code)]
pub fn check_overlap(bytes: &[u8]) -> Result<(), String> {
    let Some(case) = case(bytes) else { return Ok(()) };
    convex::check_overlap(&case).map_err(|error| format!("{error}\n{}", case.describe()))
}

/// Checks two shapes in their places; tells what is wrong, and with what.
pub fn check_case(case: &Case) -> Result<(), String> {
    convex::check(case).map_err(|error| format!("{error}\n{}", case.describe()))
}
