//! Passes over groups of eight contacts, two groups at a time where there are as many.

use crate::simd::{F32Lanes, Lanes, Packed, Pair};

/// What a pass does with the contacts of a group, or of two that follow each other. It keeps `SUMS` numbers,
/// of which the first are maxima and the others sums.
pub(super) trait GroupPass<const SUMS: usize> {
    /// What is read before the group before is written: contacts of a colour share no body, and what is read
    /// after a write waits for it.
    type Ahead<V: F32Lanes>: Copy;
    /// How many numbers are maxima.
    const MAXIMA: usize = 1;
    /// Whether contacts with the world are worked on two groups at a time too.
    const WORLD_IN_PAIRS: bool = false;

    /// Reads ahead, for the group `g`.
    fn read<V: F32Lanes, const TWO: bool>(&self, g: usize) -> Self::Ahead<V>;

    /// Works on group `g`, of contacts that have (TWO) or have not a second body, and reads ahead for the
    /// `next`, if any.
    fn group<V: F32Lanes, const TWO: bool>(
        &mut self,
        g: usize,
        next: Option<usize>,
        ahead: Self::Ahead<V>,
        acc: &mut [V; SUMS],
    ) -> Self::Ahead<V>;
}

/// Groups 0 .. `two_end` of contacts of two bodies and `two_end..end` of contacts with the world. Returns the
/// maxima and the sums; a NaN is the maximum.
#[inline(always)]
pub(super) fn run<V: F32Lanes, P: GroupPass<SUMS>, const SUMS: usize>(
    mut pass: P,
    [two_end, end]: [usize; 2],
) -> [f64; SUMS] {
    let (mut acc, mut wide) = ([V::zero(); SUMS], [Pair::<V>::zero(); SUMS]);
    let mut g = pairs::<V, P, true, SUMS>(&mut pass, 0, two_end, &mut wide);
    if g < two_end {
        let ahead = pass.read::<V, true>(g);
        pass.group::<V, true>(g, None, ahead, &mut acc);
    }
    g = two_end;
    if P::WORLD_IN_PAIRS {
        g = pairs::<V, P, false, SUMS>(&mut pass, g, end, &mut wide);
    }
    while g < end {
        let ahead = pass.read::<V, false>(g);
        pass.group::<V, false>(g, None, ahead, &mut acc);
        g += 1;
    }
    let mut out = [0.0; SUMS];
    for k in 0..SUMS {
        let is_most = k < P::MAXIMA;
        let both = if is_most { acc[k].larger(wide[k].most()) } else { acc[k] + wide[k].sum() };
        let mut lanes = [Packed::default()];
        both.store(&mut lanes, |x| x);
        let lanes = lanes[0].0.iter();
        out[k] = match is_most {
            true => lanes.fold(0.0, |m: f64, x| m.larger(f64::from(*x))),
            false => lanes.map(|x| f64::from(*x)).sum::<f64>(),
        };
    }
    out
}

/// Groups from `start` on, two at a time; the first that is left over.
#[inline(always)]
fn pairs<V: F32Lanes, P: GroupPass<SUMS>, const TWO: bool, const SUMS: usize>(
    pass: &mut P,
    start: usize,
    end: usize,
    wide: &mut [Pair<V>; SUMS],
) -> usize {
    let mut g = start;
    if g + 2 <= end {
        let mut ahead = pass.read::<Pair<V>, TWO>(g);
        while g + 2 <= end {
            let next = if g + 4 <= end { Some(g + 2) } else { None };
            ahead = pass.group::<Pair<V>, TWO>(g, next, ahead, wide);
            g += 2;
        }
    }
    g
}
