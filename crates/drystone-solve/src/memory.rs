//! Memory that is kept from step to step and grows with the problem.
//!
//! A vector that grows takes twice what it had. That is little work and much memory: of arrays that are as
//! long as there are contacts, up to half would never be used. These take what they need at first, and an
//! eighth more when they have to grow.
//!
//! Of many bodies not even that is kept: what one stage of a step works with is given back at its end,
//! because no two stages need theirs at the same time ([`MANY_BODIES`]).

/// Worlds and problems of so many bodies give memory back that only one stage of a step needs. Arrays of that
/// length come from the system by themselves, and return to it.
pub const MANY_BODIES: usize = 1 << 16;

/// Reserves memory for `count` more elements.
pub fn reserve<T>(v: &mut Vec<T>, count: usize) {
    let needed = v.len() + count;
    if needed > v.capacity() {
        v.reserve_exact(count + if v.capacity() > 0 { needed / 8 } else { 0 });
    }
}

/// Like [`Vec::resize`].
pub fn resize<T: Clone>(v: &mut Vec<T>, len: usize, value: T) {
    reserve(v, len.saturating_sub(v.len()));
    v.resize(len, value);
}

/// Asks for item `i`, if there is one, which will be looked at soon: where looks jump over memory the
/// processor does not foresee them.
#[inline(always)]
pub fn prefetch<T>(list: &[T], i: usize) {
    let Some(item) = list.get(i) else { return };
    prefetch_item(item);
}

/// The same by its place.
#[inline(always)]
pub fn prefetch_item<T>(item: *const T) {
    for at in (0..size_of::<T>()).step_by(64) {
        prefetch_line(item.cast::<i8>().wrapping_add(at));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(line: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which may name any place.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch_line(_: *const i8) {}

#[cfg(test)]
mod tests {
    #[test]
    fn an_eighth_is_to_spare() {
        let mut v = vec![1u8; 1000];
        super::resize(&mut v, 2000, 7);
        assert_eq!((v.len(), v[999], v[1999]), (2000, 1, 7));
        assert!((2250..2300).contains(&v.capacity()), "{}", v.capacity());
        let before = v.capacity();
        super::resize(&mut v, 10, 0);
        super::reserve(&mut v, 2200);
        assert_eq!((v.len(), v.capacity()), (10, before));
        let mut first = Vec::<u8>::new();
        super::reserve(&mut first, 800);
        assert_eq!(first.capacity(), 800);
    }
}
