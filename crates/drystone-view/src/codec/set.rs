//! Which of many bodies: one bit for each block of 64, then 64 bits for each block that has any.

use super::bytes::{Broken, Put, Reader};

/// Writes the numbers below `n` for which `is` holds, and returns them.
pub fn write(out: &mut Vec<u8>, n: usize, is: impl Fn(usize) -> bool) -> Vec<u32> {
    let blocks = n.div_ceil(64);
    let top = out.len();
    out.resize(top + blocks.div_ceil(8), 0);
    let mut members = Vec::new();
    for b in 0..blocks {
        let mut bits = 0u64;
        for i in 64 * b..n.min(64 * b + 64) {
            if is(i) {
                bits |= 1 << (i % 64);
                members.push(i as u32);
            }
        }
        if bits != 0 {
            out[top + b / 8] |= 1 << (b % 8);
            out.u64(bits);
        }
    }
    members
}

/// Reads numbers below `n`.
pub fn read(r: &mut Reader, n: usize) -> Result<Vec<u32>, Broken> {
    let blocks = n.div_ceil(64);
    let top = r.take(blocks.div_ceil(8))?;
    let mut members = Vec::new();
    for b in 0..8 * top.len() {
        if top[b / 8] >> (b % 8) & 1 == 0 {
            continue;
        }
        let bits = r.u64()?;
        for k in (0..64).filter(|k| bits >> k & 1 == 1) {
            let i = 64 * b + k;
            if i >= n {
                return Err(Broken::Value("a body number is too large"));
            }
            members.push(i as u32);
        }
    }
    Ok(members)
}
