//! Deterministic graph colouring: blocks of one colour share no moving body.
//!
//! Inside a colour a Gauss-Seidel sweep may visit its blocks in any order, or all at once, and gets
//! bitwise the same result: that is what lets lanes and threads share one sweep. First-fit over the
//! blocks in their given order, with the used colours of each body in a 64-bit mask.
//!
//! Where there are many bodies, every colour of the whole would run through all of them, past every cache.
//! Bodies are therefore parted into regions of a few thousand neighbours. The blocks inside a region are
//! coloured by themselves and visited region by region, with all their bodies in the cache; regions share no
//! body, so that threads may take one each. What joins two regions is coloured apart and visited after them.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::parallel::{self, PerRun, Shared};
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
    pairs: Vec<(u32, u32)>,
    /// By body: colours used inside its region, and by what joins it to others.
    masks: [Vec<u64>; 2],
    /// Blocks by region, each in the given order: those of region k from `lists[k]` on.
    listed: Vec<u32>,
    lists: Vec<u32>,
    place: Vec<u32>,
    counts: Vec<u32>,
    colour: Vec<u8>,
    starts: Vec<[[u32; 2]; COLOURS]>,
    /// Block numbers in coloured order.
    pub order: Vec<u32>,
    /// One span per colour, in the order of visiting.
    pub spans: Vec<Span>,
    /// The first span of each region, and of what joins them; empty where there are no regions.
    pub regions: Vec<u32>,
}

const OVERFLOW: u8 = 64;
const COLOURS: usize = OVERFLOW as usize + 1;

/// Blocks that are sorted into regions at a time.
const PIECE: usize = 8192;

/// Blocks that are visited at once: enough work to hand to a thread, few enough that what joins regions is
/// work for many.
pub(crate) const CHUNK: u32 = 256;

/// What joins regions is little work for each colour, and all wait at its end: as many pieces as two, four,
/// eight or sixteen threads share evenly, none shorter than is worth taking or longer than leaves nothing to
/// help with.
const SHARES: u32 = 16;
const SHORT: u32 = 64;
const LONG: u32 = 512;

impl Colouring {
    /// Colours the blocks `(a[i], b[i])`; `b` may be [`WORLD`]. Fills `order` and `spans`.
    pub fn run(&mut self, bodies: usize, a: impl Iterator<Item = (u32, u32)> + Clone) {
        self.run_in_regions(bodies, a, None);
    }

    /// The same, with the number of each body's region, from 0. Fills `regions` too.
    pub fn run_in_regions(
        &mut self,
        bodies: usize,
        blocks: impl Iterator<Item = (u32, u32)>,
        region: Option<&[u32]>,
    ) {
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.clear();
        pairs.extend(blocks);
        self.run_pairs(bodies, &pairs, region);
        self.pairs = pairs;
    }

    /// The same for a list of blocks. Every region is coloured by itself, by several threads where there are
    /// many.
    pub fn run_pairs(&mut self, bodies: usize, pairs: &[(u32, u32)], region: Option<&[u32]>) {
        let count = region.and_then(|r| r.iter().max()).map_or(0, |most| *most as usize + 1);
        self.sort(pairs, region, count);
        for masks in &mut self.masks {
            // Worlds without joints colour nothing for every one of their bodies.
            parallel::fill(masks, if pairs.is_empty() { 0 } else { bodies }, 0);
        }
        parallel::resize(&mut self.colour, pairs.len(), 0);
        self.starts.clear();
        self.starts.resize(count + 1, [[0; 2]; COLOURS]);
        parallel::resize(&mut self.order, pairs.len(), 0);
        let [inside, across] = self.masks.each_mut().map(|m| Shared(m.as_mut_ptr()));
        let (listed, lists) = (&self.listed, &self.lists);
        let columns = (&mut self.colour[..], &mut self.order[..], PerRun(&mut self.starts, 1));
        let ends = lists[1..].iter().map(|end| *end as usize);
        let parts: Vec<_> = parallel::parts(ends, columns).collect();
        // The longest first.
        parallel::for_each_of(parts.into_iter().rev(), |k, (colour, order, PerRun(starts, _))| {
            let place = count - k;
            let masks = if place == count { &across } else { &inside };
            let first_place = lists[place];
            let list = &listed[first_place as usize..lists[place + 1] as usize];
            let own = |body: u32| {
                assert!((body as usize) < bodies, "block of body {body}, but there are {bodies}");
                // SAFETY: there is such a body, it is in no other region, and one number at a time is used.
                unsafe { &mut *masks.at(body as usize) }
            };
            let starts = &mut starts[0];
            for (&i, colour) in list.iter().zip(&mut *colour) {
                let (a, b) = pairs[i as usize];
                let used = *own(a) | if b == WORLD { 0 } else { *own(b) };
                let first = used.trailing_ones() as u8;
                if first < OVERFLOW {
                    *own(a) |= 1 << first;
                    if b != WORLD {
                        *own(b) |= 1 << first;
                    }
                }
                *colour = first;
                starts[first as usize][usize::from(b == WORLD)] += 1;
            }
            let mut at = first_place;
            for number in starts.iter_mut().flatten() {
                (*number, at) = (at, at + *number);
            }
            let mut next = *starts;
            for (&i, colour) in list.iter().zip(colour) {
                let to = &mut next[*colour as usize][usize::from(pairs[i as usize].1 == WORLD)];
                order[(*to - first_place) as usize] = i;
                *to += 1;
            }
        });
        self.find_spans(count);
    }

    /// Lists the blocks of each region, and after them those that join regions, or all where there are none.
    fn sort(&mut self, pairs: &[(u32, u32)], region: Option<&[u32]>, count: usize) {
        let Self { listed, lists, place, counts, .. } = self;
        parallel::resize(place, pairs.len(), 0);
        parallel::resize(listed, pairs.len(), 0);
        // A counting sort in which every piece counts for itself: a row of places each.
        let (pieces, width) = (pairs.len().div_ceil(PIECE), count + 1);
        counts.clear();
        counts.resize(pieces * width, 0);
        let columns = (&mut place[..], PerRun(counts, width));
        parallel::for_each_run(pairs.len(), columns, PIECE, |first, (places, PerRun(row, _))| {
            for (&(a, b), to) in pairs[first..].iter().zip(places) {
                let place = match region {
                    Some(r) if b == WORLD || r[a as usize] == r[b as usize] => r[a as usize],
                    _ => count as u32,
                };
                row[place as usize] += 1;
                *to = place;
            }
        });
        lists.clear();
        lists.push(0);
        let mut at = 0;
        for k in 0..width {
            for piece in 0..pieces {
                let number = &mut counts[piece * width + k];
                (*number, at) = (at, at + *number);
            }
            lists.push(at);
        }
        let to = Shared(listed.as_mut_ptr());
        parallel::for_each_run(
            pairs.len(),
            (&mut place[..], PerRun(counts, width)),
            PIECE,
            |first, columns| {
                let (places, PerRun(row, _)) = columns;
                for (i, place) in (first as u32..).zip(places) {
                    let next = &mut row[*place as usize];
                    // SAFETY: every block has a place in the list that is no other's.
                    unsafe { *to.at(*next as usize) = i };
                    *next += 1;
                }
            },
        );
    }

    fn find_spans(&mut self, count: usize) {
        self.spans.clear();
        self.regions.clear();
        for (place, starts) in self.starts.iter().enumerate() {
            if count > 0 {
                self.regions.push(self.spans.len() as u32);
            }
            for (k, &[start, two_end]) in starts.iter().enumerate() {
                let end = starts.get(k + 1).map_or(self.lists[place + 1], |next| next[0]);
                if end > start {
                    self.spans.push(Span { start, two_end, end, serial: k == OVERFLOW as usize });
                }
            }
        }
    }
}

/// Visits all blocks, colour after colour, in pieces (of at most [`CHUNK`] blocks, but for what joins
/// regions), and adds up what the visits return in an order that does not depend on the number of threads. A
/// serial span is one piece. `parts` is scratch.
pub(crate) fn walk<T: Copy + Default + Send>(
    spans: &[Span],
    regions: &[u32],
    backward: bool,
    parts: &mut Vec<T>,
    visit: impl Fn(Span) -> T + Sync,
    add: impl Fn(&mut T, T) + Sync,
) -> T {
    walk_after(spans, regions, backward, parts, |_| (), visit, add)
}

/// The same; `enter` is called with the number of each region before its first colour is visited.
pub(crate) fn walk_after<T: Copy + Default + Send>(
    spans: &[Span],
    regions: &[u32],
    backward: bool,
    parts: &mut Vec<T>,
    enter: impl Fn(usize) + Sync,
    visit: impl Fn(Span) -> T + Sync,
    add: impl Fn(&mut T, T) + Sync,
) -> T {
    let joins = regions.last().map_or(0, |k| *k as usize);
    let inside = regions.len().saturating_sub(1);
    let across = spans.len() - joins;
    // All regions are one phase of the work, and each colour of what joins them is.
    let phases = across + usize::from(inside > 0);
    let phase = |k: usize| match if backward { phases - 1 - k } else { k } {
        0 if inside > 0 => None,
        k => Some(spans[joins + k - usize::from(inside > 0)]),
    };
    let region = |k: usize| {
        enter(k);
        let spans = &spans[regions[k] as usize..regions[k + 1] as usize];
        let mut sum = T::default();
        for k in 0..spans.len() {
            let span = spans[if backward { spans.len() - 1 - k } else { k }];
            (0..span.pieces(CHUNK)).for_each(|c| add(&mut sum, visit(span.piece(c, CHUNK))));
        }
        sum
    };
    let length = |span: &Span| if inside > 0 { span.share() } else { CHUNK };
    let mut starts = Vec::with_capacity(phases + 1);
    starts.push(0);
    let tasks = (0..phases).fold(0, |at, k| {
        let end = at + phase(k).map_or(inside, |span| span.pieces(length(&span)) as usize);
        starts.push(end);
        end
    });
    parts.clear();
    parts.resize(tasks, T::default());
    let to = Shared(parts.as_mut_ptr());
    parallel::for_each_phase(&starts, |task| {
        let k = starts.partition_point(|start| *start <= task) - 1;
        let own = task - starts[k];
        let part = phase(k).map_or_else(|| region(own), |span| visit(span.piece(own as u32, length(&span))));
        // SAFETY: every task once.
        unsafe { *to.at(task) = part };
    });
    let mut total = T::default();
    parts.iter().for_each(|part| add(&mut total, *part));
    total
}

impl Span {
    /// The length of pieces that threads share evenly.
    fn share(&self) -> u32 {
        let blocks = self.end - self.start;
        // Whole pairs of eight lanes.
        blocks.div_ceil(SHARES * blocks.div_ceil(SHARES * LONG).max(1)).next_multiple_of(16).max(SHORT)
    }

    fn pieces(&self, length: u32) -> u32 {
        if self.serial { 1 } else { (self.end - self.start).div_ceil(length) }
    }

    fn piece(&self, k: u32, length: u32) -> Span {
        if self.serial {
            return *self;
        }
        let start = self.start + k * length;
        let end = (start + length).min(self.end);
        Span { start, two_end: self.two_end.clamp(start, end), end, serial: false }
    }
}

/// Whether [`verify`] would find nothing, as told by several threads.
pub(crate) fn sound(bodies: usize, a: &[u32], b: &[u32], spans: &[Span], regions: &[u32]) -> bool {
    let mut at = 0;
    for s in spans {
        if s.start != at || s.two_end < s.start || s.end < s.two_end || s.end as usize > a.len() {
            return false;
        }
        at = s.end;
    }
    if at as usize != a.len()
        || b.len() != a.len()
        || !regions.is_sorted()
        || regions.last().is_some_and(|k| *k as usize > spans.len())
        || regions.first().is_some_and(|k| *k > 0)
    {
        return false;
    }
    // By body: the last colour and the region that it was seen in, from 1.
    let stamps: Vec<[AtomicU32; 2]> = (0..bodies).map(|_| Default::default()).collect();
    let inside = regions.len().saturating_sub(1);
    let check = |k: usize, region: u32, piece: Span| {
        let mark = k as u32 + 1;
        let seen = |body: u32| {
            let Some([colour, owner]) = stamps.get(body as usize) else { return false };
            let own = region == 0
                || owner.load(Relaxed) == region
                || owner.compare_exchange(0, region, Relaxed, Relaxed).is_ok();
            // What is inside a region nobody else looks at, if it is sound.
            let new = match region {
                0 => colour.swap(mark, Relaxed) != mark,
                _ => {
                    let new = colour.load(Relaxed) != mark;
                    colour.store(mark, Relaxed);
                    new
                }
            };
            own && (new || piece.serial)
        };
        (piece.start..piece.end).all(|i| {
            let (a, b) = (a[i as usize], b[i as usize]);
            (b == WORLD) == (i >= piece.two_end) && seen(a) && (b == WORLD || seen(b))
        })
    };
    let joins = regions.last().map_or(0, |k| *k as usize);
    parallel::all_tasks(inside, |r| {
        (regions[r] as usize..regions[r + 1] as usize).all(|k| check(k, r as u32 + 1, spans[k]))
    }) && (joins..spans.len()).all(|k| {
        let (span, length) = (spans[k], spans[k].share());
        parallel::all_tasks(span.pieces(length) as usize, |c| check(k, 0, span.piece(c as u32, length)))
    })
}

/// Checks that `spans` cover `0..a.len()` in order, that no body occurs twice inside a parallel span, and
/// that no two regions share one. Sweeps over raw pointers rely on this.
pub fn verify(bodies: usize, a: &[u32], b: &[u32], spans: &[Span], regions: &[u32]) -> Result<(), String> {
    // By body: the last colour and the last region that it was seen in, from 1.
    let mut stamp = vec![[0u32; 2]; bodies];
    let mut at = 0;
    if !regions.is_sorted()
        || regions.last().is_some_and(|k| *k as usize > spans.len())
        || regions.first().is_some_and(|k| *k > 0)
    {
        return Err("the regions are no proper runs of colours".into());
    }
    let mut region = 0;
    for (k, s) in spans.iter().enumerate() {
        while regions.get(region).is_some_and(|first| *first as usize <= k) {
            region += 1;
        }
        let inside = if region < regions.len() { region as u32 } else { 0 };
        if s.start != at || s.two_end < s.start || s.end < s.two_end || s.end as usize > a.len() {
            return Err(format!("colour {k} is not a proper run of blocks"));
        }
        at = s.end;
        let mark = k as u32 + 1;
        if s.serial && regions.is_empty() {
            // Visited one after the other: bodies may occur as often as they like.
            let there = |x: &u32| (*x as usize) < bodies;
            let (two, rest) = (s.start as usize..s.two_end as usize, s.two_end as usize..s.end as usize);
            if a[two.start..rest.end].iter().all(there)
                && b[two].iter().all(there)
                && b[rest].iter().all(|x| *x == WORLD)
            {
                continue;
            }
        }
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
                if seen[0] == mark && !s.serial {
                    return Err(format!("body {body} occurs twice in colour {k}"));
                }
                if inside > 0 && seen[1] != 0 && seen[1] != inside {
                    return Err(format!("body {body} occurs in regions {} and {}", seen[1] - 1, inside - 1));
                }
                *seen = [mark, if inside > 0 { inside } else { seen[1] }];
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

    fn check(bodies: usize, pairs: &[(u32, u32)], region: Option<&[u32]>) -> Colouring {
        let mut c = Colouring::default();
        c.run_in_regions(bodies, pairs.iter().copied(), region);
        let a: Vec<u32> = c.order.iter().map(|&i| pairs[i as usize].0).collect();
        let b: Vec<u32> = c.order.iter().map(|&i| pairs[i as usize].1).collect();
        verify(bodies, &a, &b, &c.spans, &c.regions).unwrap();
        let mut seen = c.order.clone();
        seen.sort_unstable();
        assert_eq!(seen, (0..pairs.len() as u32).collect::<Vec<_>>());
        c
    }

    #[test]
    fn a_chain_needs_two_colours() {
        let pairs: Vec<_> = (0..100).map(|i| (i, i + 1)).collect();
        assert_eq!(check(101, &pairs, None).spans.len(), 2);
    }

    #[test]
    fn a_hub_overflows_into_a_serial_span() {
        let pairs: Vec<_> = (1..=200).map(|i| (0, i)).collect();
        let c = check(201, &pairs, None);
        let last = c.spans.last().unwrap();
        assert!(last.serial);
        assert_eq!(last.end - last.start, 200 - 64);
    }

    #[test]
    fn world_contacts_of_different_bodies_share_a_colour() {
        let pairs: Vec<_> = (0..50).map(|i| (i, WORLD)).collect();
        assert_eq!(check(50, &pairs, None).spans, [Span { start: 0, two_end: 0, end: 50, serial: false }]);
    }

    #[test]
    fn verify_sees_a_shared_body() {
        let span = Span { start: 0, two_end: 2, end: 2, serial: false };
        assert!(verify(3, &[0, 1], &[1, 2], &[span], &[]).unwrap_err().contains("twice"));
        assert!(
            verify(2, &[0, 1], &[1, 7], &[Span { serial: true, ..span }], &[])
                .unwrap_err()
                .contains("body 7")
        );
    }

    /// A chain of 100 in four regions of 25, each end on the ground.
    fn chain() -> (Vec<(u32, u32)>, Vec<u32>) {
        let pairs = (0..99).map(|i| (i, i + 1)).chain([(0, WORLD), (99, WORLD)]).collect();
        (pairs, (0..100).map(|i| i / 25).collect())
    }

    #[test]
    fn regions_keep_to_themselves() {
        let (pairs, region) = chain();
        let c = check(100, &pairs, Some(&region));
        // Two colours in each, three links between them that share no body.
        assert_eq!(c.regions, [0, 2, 4, 6, 8]);
        assert_eq!(c.spans.len(), 9);
        assert_eq!(c.spans[8], Span { start: 98, two_end: 101, end: 101, serial: false });
        let (a, b): (Vec<u32>, Vec<u32>) = c.order.iter().map(|&i| pairs[i as usize]).unzip();
        // The second region begins a span too early: it takes bodies of the first.
        let wrong = verify(100, &a, &b, &c.spans, &[0, 1, 4, 6, 8]).unwrap_err();
        assert!(wrong.contains("regions 0 and 1"), "{wrong}");
        assert!(verify(100, &a, &b, &c.spans, &[0, 2, 1]).is_err());
        assert!(verify(100, &a, &b, &c.spans, &[0, 20]).is_err());
        assert!(verify(100, &a, &b, &c.spans, &[2, 4]).is_err());
    }

    #[test]
    fn pieces_are_shared_evenly() {
        for end in [1, 63, 64, 65, 1000, 4000, 8192, 8193, 9000, 100_000] {
            let span = Span { start: 16, two_end: 16 + end / 2, end: 16 + end, serial: false };
            let (length, count) = (span.share(), span.pieces(span.share()));
            let pieces: Vec<Span> = (0..count).map(|k| span.piece(k, length)).collect();
            assert_eq!((pieces[0].start, pieces[pieces.len() - 1].end), (span.start, span.end));
            assert!(pieces.windows(2).all(|w| w[0].end == w[1].start && w[0].end % 16 == 0));
            assert!((SHORT..=LONG + 16).contains(&length), "{end} blocks by {length}");
            // No thread of sixteen has more than a pair of lanes more than its share.
            let most = length * count.div_ceil(SHARES);
            assert!(most <= (end.div_ceil(SHARES) + 16 * count.div_ceil(SHARES)).max(SHORT), "{end}: {most}");
        }
    }

    #[test]
    fn a_walk_meets_every_block_once_and_backward_in_reverse() {
        let (pairs, region) = chain();
        let c = check(100, &pairs, Some(&region));
        let met = std::sync::Mutex::new(Vec::new());
        let mut parts = Vec::new();
        for backward in [false, true] {
            let sum = walk(
                &c.spans,
                &c.regions,
                backward,
                &mut parts,
                |piece| {
                    met.lock().unwrap().push(piece.start);
                    piece.end - piece.start
                },
                |sum, part| *sum += part,
            );
            assert_eq!(sum, 101);
        }
        let met = met.into_inner().unwrap();
        assert_eq!(met.len(), 18);
        // What joins the regions comes after all of them, or before.
        assert_eq!((met[8], met[9]), (98, 98));
        let first = |from: &[u32]| from.iter().filter(|s| **s < 25).copied().collect::<Vec<_>>();
        let (there, mut back) = (first(&met[..9]), first(&met[9..]));
        back.reverse();
        assert_eq!(there.len(), 2);
        assert_eq!(there, back);
    }
}
