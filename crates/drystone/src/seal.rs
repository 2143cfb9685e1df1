//! Bytes with a head that tells what they are, and a sum that tells whether they still are.
//!
//! ```text
//!     "drystone " kind "\n"   version: u32   bytes: u64   sum: u64   the bytes
//! ```
//!
//! Numbers are little endian. Nothing is believed of bytes that are of another kind, newer, cut, or changed.

/// Why bytes are not what was saved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Something else.
    #[error("this is no saved {0}")]
    Foreign(String),
    /// Made by a newer version of this program.
    #[error(
        "it was saved in format {found}, and this version of drystone reads up to format {known}: take a newer one"
    )]
    Future {
        /// Format of the bytes.
        found: u32,
        /// Newest that is known here.
        known: u32,
    },
    /// Cut off, or changed since it was saved.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

/// Puts a head before the bytes.
pub fn close(kind: &str, version: u32, body: &[u8]) -> Vec<u8> {
    let (length, sum) = ((body.len() as u64).to_le_bytes(), sum(body).to_le_bytes());
    [magic(kind).as_bytes(), &version.to_le_bytes(), &length, &sum, body].concat()
}

/// The bytes behind the head.
///
/// # Errors
/// For bytes of another kind, of a version after `known`, or damaged ones.
pub fn open<'a>(kind: &str, known: u32, bytes: &'a [u8]) -> Result<&'a [u8], LoadError> {
    let cut = || LoadError::Damaged("it ends in its head".into());
    let rest = bytes.strip_prefix(magic(kind).as_bytes()).ok_or_else(|| LoadError::Foreign(kind.into()))?;
    let (version, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let found = u32::from_le_bytes(*version);
    if found > known {
        return Err(LoadError::Future { found, known });
    }
    let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let (expected, body) = rest.split_first_chunk().ok_or_else(cut)?;
    if body.len() as u64 != u64::from_le_bytes(*length) {
        let text = format!("{} bytes of {} are there", body.len(), u64::from_le_bytes(*length));
        return Err(LoadError::Damaged(text));
    }
    if sum(body) != u64::from_le_bytes(*expected) {
        return Err(LoadError::Damaged("its sum is not that of its bytes".into()));
    }
    Ok(body)
}

fn magic(kind: &str) -> String {
    format!("drystone {kind}\n")
}

/// After FNV-1a, over words of eight bytes, the last one filled up with zeros.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0xcbf2_9ce4_8422_2325, |h: u64, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (h ^ u64::from_le_bytes(word)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    })
}
