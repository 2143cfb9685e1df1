//! Deterministic graph colouring: blocks of one colour share no moving body.
//!
//! Inside a colour a Gauss-Seidel sweep may visit its blocks in any order, or all at once, and gets
//! bitwise the same result: that is what lets lanes and threads share one sweep. First-fit over the
//! blocks in their given order, with the used colours of each body in a 64-bit mask.

use crate::problem::WORLD;

/// A run of blocks in the coloured order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First block.
    pub start: u32,
    /// End of the blocks that join two bodies; from here to `end` they join one body to the world.
    pub two_end: u32,
    /// One past the last block.
    pub end: u32,
    /// Blocks may share bodies and must be visited one after the other (colours beyond the 64th).
    pub serial: bool,
}

/// Buffers kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct Colouring {
    masks: Vec<u64>,
    colour: Vec<u8>,
    starts: Vec<[u32; 2]>,
    /// Block numbers in coloured order.
    pub order: Vec<u32>,
    /// One span per colour, in the order of visiting.
    pub spans: Vec<Span>,
}

const OVERFLOW: u8 = 64;

impl Colouring {
    /// Colours the blocks `(a[i], b[i])`; `b` may be [`WORLD`]. Fills `order` and `spans`.
    pub fn run(&mut self, bodies: usize, a: impl Iterator<Item = (u32, u32)> + Clone) {
        self.masks.clear();
        self.masks.resize(bodies, 0);
        self.colour.clear();
        self.starts.clear();
        self.starts.resize(OVERFLOW as usize + 2, [0; 2]);
        for (a, b) in a.clone() {
            let other = if b == WORLD { 0 } else { self.masks[b as usize] };
            let colour = (self.masks[a as usize] | other).trailing_ones() as u8;
            if colour < OVERFLOW {
                self.masks[a as usize] |= 1 << colour;
                if b != WORLD {
                    self.masks[b as usize] |= 1 << colour;
                }
            }
            self.colour.push(colour);
            self.starts[colour as usize][(b == WORLD) as usize] += 1;
        }
        self.spans.clear();
        let mut at = 0;
        for (colour, count) in self.starts.iter_mut().enumerate() {
            let (start, two_end) = (at, at + count[0]);
            at = two_end + count[1];
            if at > start {
                self.spans.push(Span { start, two_end, end: at, serial: colour == OVERFLOW as usize });
            }
            *count = [start, two_end];
        }
        self.order.clear();
        self.order.resize(self.colour.len(), 0);
        for (i, (_, b)) in a.enumerate() {
            let slot = &mut self.starts[self.colour[i] as usize][(b == WORLD) as usize];
            self.order[*slot as usize] = i as u32;
            *slot += 1;
        }
    }
}

/// Checks that `spans` cover `0..a.len()` in order and that no body occurs twice inside a parallel span.
/// Sweeps over raw pointers rely on this.
pub fn verify(bodies: usize, a: &[u32], b: &[u32], spans: &[Span]) -> Result<(), String> {
    let mut stamp = vec![0u32; bodies];
    let mut at = 0;
    for (k, s) in spans.iter().enumerate() {
        if s.start != at || s.two_end < s.start || s.end < s.two_end || s.end as usize > a.len() {
            return Err(format!("colour {k} is not a proper run of blocks"));
        }
        at = s.end;
        let mark = k as u32 + 1;
        for i in s.start..s.end {
            let (a, b) = (a[i as usize], b[i as usize]);
            if a == WORLD {
                return Err(format!("block {i} has no first body"));
            }
            if (b == WORLD) != (i >= s.two_end) {
                return Err(format!("block {i} is on the wrong side of its colour's one-body part"));
            }
            for body in [a, b] {
                if body == WORLD {
                    continue;
                }
                let Some(seen) = stamp.get_mut(body as usize) else {
                    return Err(format!("block {i} names body {body}, but there are {bodies}"));
                };
                if *seen == mark && !s.serial {
                    return Err(format!("body {body} occurs twice in colour {k}"));
                }
                *seen = mark;
            }
        }
    }
    if at as usize != a.len() {
        return Err(format!("the colours cover {at} of {} blocks", a.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bodies: usize, pairs: &[(u32, u32)]) -> Colouring {
        let mut c = Colouring::default();
        c.run(bodies, pairs.iter().copied());
        let a: Vec<u32> = c.order.iter().map(|&i| pairs[i as usize].0).collect();
        let b: Vec<u32> = c.order.iter().map(|&i| pairs[i as usize].1).collect();
        verify(bodies, &a, &b, &c.spans).unwrap();
        let mut seen = c.order.clone();
        seen.sort_unstable();
        assert_eq!(seen, (0..pairs.len() as u32).collect::<Vec<_>>());
        c
    }

    #[test]
    fn a_chain_needs_two_colours() {
        let pairs: Vec<_> = (0..100).map(|i| (i, i + 1)).collect();
        assert_eq!(check(101, &pairs).spans.len(), 2);
    }

    #[test]
    fn a_hub_overflows_into_a_serial_span() {
        let pairs: Vec<_> = (1..=200).map(|i| (0, i)).collect();
        let c = check(201, &pairs);
        let last = c.spans.last().unwrap();
        assert!(last.serial);
        assert_eq!(last.end - last.start, 200 - 64);
    }

    #[test]
    fn world_contacts_of_different_bodies_share_a_colour() {
        let pairs: Vec<_> = (0..50).map(|i| (i, WORLD)).collect();
        assert_eq!(check(50, &pairs).spans, [Span { start: 0, two_end: 0, end: 50, serial: false }]);
    }

    #[test]
    fn verify_sees_a_shared_body() {
        let span = Span { start: 0, two_end: 2, end: 2, serial: false };
        assert!(verify(3, &[0, 1], &[1, 2], &[span]).unwrap_err().contains("twice"));
        assert!(
            verify(2, &[0, 1], &[1, 7], &[Span { serial: true, ..span }]).unwrap_err().contains("body 7")
        );
    }
}
