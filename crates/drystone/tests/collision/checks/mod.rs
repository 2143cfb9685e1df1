//! Collision detection against what can be said without it. The cases come out of bytes, so that a fuzzer can look for
//! bad ones: see `fuzz/` at the root of the repository.

mod bytes;
mod convex;
mod draw;
mod oracle;

use bytes::Bytes;

/// Checks the case that the bytes spell; tells what is wrong, and with what.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let mut bytes = Bytes::new(bytes);
    let Some(case) = draw::convex_pair(&mut bytes) else { return Ok(()) };
    convex::check(&case).map_err(|error| format!("{error}\n{}", case.describe()))
}
