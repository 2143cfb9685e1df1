//! Sums that tell whether a segment is still what was written.
//!
//! They stand behind the last byte of the HDF5, which says itself where it ends: its readers do not look
//! further.
//!
//! ```text
//!     first step: u64   last step: u64   CRC-32 of all before: u32   CRC-32 of these 20 bytes: u32   "drystone"
//! ```
//!
//! Numbers are little endian.

use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::Crc;

const MAGIC: &[u8; 8] = b"drystone";
/// Bytes behind the HDF5.
const LENGTH: usize = 32;

/// The steps that a segment knows of, first and last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub first: u64,
    pub last: u64,
}

/// What the sums of a file say.
#[derive(Debug, PartialEq)]
pub(super) enum Seal {
    /// It is what was written.
    Whole(Span),
    /// It is not; its end is.
    Broken(Span),
    /// There are none, or they are damaged themselves.
    Absent,
}

/// Closes a file: sums behind its last byte, and all of it on the disk.
pub(super) fn seal(path: &Path, span: Span) -> Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    let length = file.metadata()?.len();
    // The disk has its work while the sum is made.
    let sum = std::thread::scope(|scope| {
        let other = File::open(path).map(|mut other| scope.spawn(move || sum(&mut other, length)))?;
        let synced = file.sync_data();
        let sum = other.join().unwrap_or_else(|_| Err(Error::other("the sum was not made")));
        synced.and(sum)
    })?;
    let mut end = [span.first.to_le_bytes(), span.last.to_le_bytes()].concat();
    end.extend(sum.to_le_bytes());
    end.extend(sum_of(&end).to_le_bytes());
    end.extend(MAGIC);
    file.write_all(&end)?;
    file.sync_all()
}

/// Reads all of a file and compares.
pub(super) fn check(path: &Path) -> Result<Seal> {
    let mut file = File::open(path)?;
    let Some(length) = file.metadata()?.len().checked_sub(LENGTH as u64) else { return Ok(Seal::Absent) };
    let mut end = [0; LENGTH];
    file.seek(SeekFrom::Start(length))?;
    file.read_exact(&mut end)?;
    let whole = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| end[at + k]));
    let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| end[at + k]));
    if end[24..] != *MAGIC || half(20) != sum_of(&end[..20]) {
        return Ok(Seal::Absent);
    }
    file.seek(SeekFrom::Start(0))?;
    let span = Span { first: whole(0), last: whole(8) };
    Ok(if sum(&mut file, length)? == half(16) { Seal::Whole(span) } else { Seal::Broken(span) })
}

fn sum_of(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Of the next `length` bytes; the file stands behind them afterwards.
fn sum(file: &mut File, length: u64) -> Result<u32> {
    let (mut crc, mut block, mut left) = (Crc::new(), vec![0; 1 << 20], length);
    while left > 0 {
        let n = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match file.read(&mut block[..n])? {
            0 => return Err(Error::from(std::io::ErrorKind::UnexpectedEof)),
            n => {
                crc.update(&block[..n]);
                left -= n as u64;
            }
        }
    }
    Ok(crc.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_and_every_cut_is_seen() {
        let path = std::env::temp_dir().join(format!("drystone-sum-{}", std::process::id()));
        let (bytes, span) = (b"123456789 and more than a block of eight", Span { first: 7, last: 9 });
        std::fs::write(&path, bytes).unwrap();
        seal(&path, span).unwrap();
        let sealed = std::fs::read(&path).unwrap();
        assert_eq!((&sealed[..bytes.len()], sealed.len()), (&bytes[..], bytes.len() + LENGTH));
        assert_eq!(check(&path).unwrap(), Seal::Whole(span));
        for bit in 0..8 * sealed.len() {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &changed).unwrap();
            let expected = if bit < 8 * bytes.len() { Seal::Broken(span) } else { Seal::Absent };
            assert_eq!(check(&path).unwrap(), expected, "bit {bit}");
        }
        for length in 0..sealed.len() {
            std::fs::write(&path, &sealed[..length]).unwrap();
            assert_eq!(check(&path).unwrap(), Seal::Absent, "{length} bytes");
        }
        std::fs::remove_file(path).unwrap();
        // The published check value of CRC-32.
        assert_eq!(sum_of(b"123456789"), 0xcbf4_3926);
    }
}
