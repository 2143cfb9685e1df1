//! Colours of contacts over ranks: contacts of one colour share no body that moves.
//!
//! Each contact draws a number in each round. One that has the largest of all that are still open, at both
//! of its bodies, takes the first colour that neither body has yet \[Luby1986; JonesPlassmann1993\]. What it
//! draws follows from where it stands in the global order, so that colours do not depend on who owns what.

use crate::comm::Comm;
use crate::domain::Movers;
use crate::island_problem::PointKey;
use crate::touch::NOBODY;

/// Numbers of a body that are exchanged: the largest that its contacts have drawn, and its colours in two.
const NUMBERS: usize = 3;
/// Colours there are.
const MOST: usize = 64;
/// What a body says two of whose contacts have drawn the same: nobody takes a colour there in this round.
const TIE: f64 = f64::INFINITY;

/// Colours of contacts.
pub struct Colours {
    /// By contact.
    pub of: Vec<u8>,
    /// By mover: a bit for each colour of its contacts.
    pub masks: Vec<u64>,
    /// How many there are over all ranks.
    pub count: usize,
}

/// A number for each bit pattern, as if at random: the finaliser of \[SteeleLeaFlood2014\].
fn mixed(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// What a contact's numbers are drawn from.
pub fn seed(key: &PointKey) -> u64 {
    key.iter().fold(0, |sum, word| mixed(sum ^ *word).wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// What it draws in a round: above 0, and exact as a double.
fn draw(seed: u64, round: u64) -> f64 {
    ((mixed(seed ^ mixed(round + 1)) >> 12) + 1) as f64
}

/// The halves of a mask as numbers, and back.
fn halves(mask: u64) -> [f64; 2] {
    [f64::from(mask as u32), f64::from((mask >> 32) as u32)]
}

fn whole([low, high]: [f64; 2]) -> u64 {
    u64::from(low as u32) | u64::from(high as u32) << 32
}

/// Colours the contacts between `pairs` of movers, of which one is own. None, on all ranks, where a contact's
/// bodies have all colours already.
pub fn colours(comm: &dyn Comm, movers: &Movers, pairs: &[[u32; 2]], seeds: &[u64]) -> Option<Colours> {
    let own = movers.own;
    let mut told = vec![[0.0; NUMBERS]; movers.slots.len()];
    let mut tell = |best: &mut [f64], masks: &mut [u64]| {
        for (told, (best, mask)) in told.iter_mut().zip(best.iter().zip(masks.iter())) {
            let [low, high] = halves(*mask);
            *told = [*best, low, high];
        }
        movers.tell(comm, &mut told);
        for (k, [number, low, high]) in told.iter().enumerate().skip(own) {
            (best[k], masks[k]) = (*number, whole([*low, *high]));
        }
    };
    let ends = |pair: &[u32; 2]| pair.map(|k| k as usize).into_iter().filter(|k| *k != NOBODY as usize);
    let mut out = Colours { of: vec![0; pairs.len()], masks: vec![0; movers.slots.len()], count: 0 };
    let mut open: Vec<u32> = (0..pairs.len() as u32).collect();
    let mut best = vec![0.0f64; movers.slots.len()];
    let mut round = 0;
    loop {
        best.fill(0.0);
        for i in open.iter().map(|i| *i as usize) {
            let number = draw(seeds[i], round);
            for k in ends(&pairs[i]).filter(|k| *k < own) {
                best[k] = if number == best[k] { TIE } else { best[k].max(number) };
            }
        }
        tell(&mut best, &mut out.masks);
        let mut full = false;
        open.retain(|i| {
            let (pair, number) = (&pairs[*i as usize], draw(seeds[*i as usize], round));
            if ends(pair).any(|k| best[k] != number) {
                return true;
            }
            let taken = ends(pair).fold(0, |taken, k| taken | out.masks[k]);
            let colour = taken.trailing_ones() as usize;
            if colour == MOST {
                full = true;
                return true;
            }
            out.of[*i as usize] = colour as u8;
            out.count = out.count.max(colour + 1);
            ends(pair).filter(|k| *k < own).for_each(|k| out.masks[k] |= 1 << colour);
            false
        });
        let mut all = [f64::from(u8::from(!open.is_empty())), f64::from(u8::from(full)), out.count as f64];
        comm.most(&mut all);
        if all[1] > 0.0 {
            return None;
        }
        if all[0] == 0.0 {
            out.count = all[2] as usize;
            tell(&mut best, &mut out.masks);
            return Some(out);
        }
        round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Alone;

    fn alone(bodies: usize) -> Movers {
        Movers { slots: (0..bodies as u32).collect(), own: bodies, ..Movers::default() }
    }

    fn colour(bodies: usize, pairs: &[[u32; 2]]) -> Option<Colours> {
        let seeds: Vec<u64> = (0..pairs.len() as u64).map(|i| seed(&[i, 0, 0])).collect();
        colours(&Alone, &alone(bodies), pairs, &seeds)
    }

    #[test]
    fn no_two_of_a_colour_share_a_body() {
        let side = 30u32;
        let at = |x: u32, y: u32| y * side + x;
        let mut pairs = Vec::new();
        for (x, y) in (0..side).flat_map(|y| (0..side).map(move |x| (x, y))) {
            pairs.extend((x > 0).then(|| [at(x, y), at(x - 1, y)]));
            pairs.extend((y > 0).then(|| [at(x, y), at(x, y - 1)]));
            // The ground counts for none.
            pairs.push([at(x, y), NOBODY]);
        }
        let out = colour((side * side) as usize, &pairs).unwrap();
        let mut masks = vec![0u64; (side * side) as usize];
        for (pair, colour) in pairs.iter().zip(&out.of) {
            for k in pair.iter().filter(|k| **k != NOBODY) {
                assert_eq!(masks[*k as usize] >> colour & 1, 0, "colour {colour} twice at body {k}");
                masks[*k as usize] |= 1 << colour;
            }
        }
        assert_eq!(masks, out.masks);
        assert!((5..=9).contains(&out.count), "{} colours for five contacts a body", out.count);
    }

    #[test]
    fn more_contacts_than_colours_are_told() {
        let star = |n: u32| (1..=n).map(|k| [0, k]).collect::<Vec<_>>();
        assert_eq!(colour(65, &star(64)).unwrap().count, 64);
        assert!(colour(66, &star(65)).is_none());
    }

    #[test]
    fn masks_travel_whole() {
        for mask in [0, 1, 1 << 31, 1 << 32, u64::MAX, 0x8000_0001_7fff_fffe] {
            assert_eq!(whole(halves(mask)), mask);
        }
    }
}
