//! A sort by an integer key in linear time, in parallel, with the same result for any number of threads.
//!
//! The input comes in chunks, each filled by one task. Then, as in a radix sort from the most significant
//! digit:
//! 1. every chunk groups its items by the leading bits of the key (the bucket);
//! 2. every bucket collects its items from all chunks, in the order of the chunks, straight to its place in
//!    the output, sorted by the remaining bits with a counting sort (several passes where those bits are
//!    many).
//!
//! Buckets own disjoint parts of the output and read the chunks in a fixed order, so nothing depends on who
//! runs when. When nearly all keys fall into one bucket the parallelism is lost but not the linear time.

use std::ops::Range;

use drystone_solve::memory;
use rayon::prelude::*;

/// A counting sort looks at so many bits at a time: the counters stay in the first-level cache.
const DIGIT_BITS: u32 = 12;
/// More buckets than this would thrash the address translation of step 1.
const MAX_BUCKET_BITS: u32 = 10;
/// Below this length a comparison sort beats clearing the counters.
const SHORT: usize = 512;
/// Buckets are shared out among threads down to about so many items a task.
const TASK_ITEMS: usize = 16 * 1024;

/// The sort, with buffers that are kept from one use to the next.
#[derive(Debug)]
pub(super) struct BucketSort<T> {
    chunks: Vec<Chunk<T>>,
    /// How many of `chunks` are in use; the others wait with their memory.
    used: usize,
    /// Where each bucket starts in the output; one more entry than buckets.
    starts: Vec<usize>,
    /// The other side of a counting sort of several passes.
    spare: Vec<T>,
}

#[derive(Debug)]
struct Chunk<T> {
    items: Vec<T>,
    /// Where each bucket starts in `items` once they are grouped; one more entry than buckets.
    starts: Vec<usize>,
    /// Up to where each bucket is filled meanwhile.
    filled: Vec<usize>,
}

impl<T> Default for BucketSort<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), used: 0, starts: Vec::new(), spare: Vec::new() }
    }
}

/// What a bucket needs to find and order its items.
struct Plan<'a, T, K> {
    chunks: &'a [Chunk<T>],
    starts: &'a [usize],
    /// How many low bits of the key the bucket itself has to sort.
    low_bits: u32,
    key: &'a K,
}

impl<T: Copy + Default + Send + Sync> BucketSort<T> {
    /// Starts a new input, empty.
    pub(super) fn begin(&mut self) {
        self.used = 0;
    }

    /// Adds `count` chunks to the input; `fill(k, items)` appends the items of the k-th of them.
    pub(super) fn add(&mut self, count: usize, fill: impl Fn(usize, &mut Vec<T>) + Sync) {
        let first = self.used;
        self.used += count;
        while self.chunks.len() < self.used {
            self.chunks.push(Chunk { items: Vec::new(), starts: Vec::new(), filled: Vec::new() });
        }
        for_each(&mut self.chunks[first..self.used], |k, chunk| {
            chunk.items.clear();
            fill(k, &mut chunk.items);
        });
    }

    /// Sorts the input by `key`, a number of at most `bits` < 64 bits, into `out`. Items of equal key come
    /// out in an order that depends on the input only; `finish` is given each bucket, where all items of a
    /// key are together, to put that right where it matters.
    pub(super) fn sort_into<K: Fn(&T) -> u64 + Sync>(
        &mut self,
        bits: u32,
        key: K,
        finish: impl Fn(&mut [T]) + Sync,
        out: &mut Vec<T>,
    ) {
        let chunks = &mut self.chunks[..self.used];
        let total: usize = chunks.iter().map(|c| c.items.len()).sum();
        let bucket_bits =
            if total < TASK_ITEMS { 0 } else { bits.saturating_sub(DIGIT_BITS).min(MAX_BUCKET_BITS) };
        let low_bits = bits - bucket_bits;
        let buckets = 1usize << bucket_bits;
        for_each(chunks, |_, chunk| chunk.group(buckets, |item| (key(item) >> low_bits) as usize));

        self.starts.clear();
        self.starts.resize(buckets + 1, 0);
        for chunk in chunks.iter() {
            for b in 0..buckets {
                self.starts[b + 1] += chunk.starts[b + 1] - chunk.starts[b];
            }
        }
        for b in 0..buckets {
            self.starts[b + 1] += self.starts[b];
        }
        // Every element is written below: what a longer or shorter earlier answer left behind does not
        // matter.
        memory::resize(out, total, T::default());
        let spare = if low_bits > DIGIT_BITS { total } else { 0 };
        if self.spare.len() < spare {
            self.spare.resize(spare, T::default());
        }
        let plan = Plan { chunks, starts: &self.starts, low_bits, key: &key };
        plan.run(0..buckets, out, &mut self.spare[..spare], &finish);
    }
}

impl<T: Copy + Default> Chunk<T> {
    /// Step 1, in place: what lies at the end of the filled part of a bucket goes to its own, and what was
    /// there comes back.
    fn group(&mut self, buckets: usize, bucket: impl Fn(&T) -> usize) {
        self.starts.clear();
        self.starts.resize(buckets + 1, 0);
        if buckets == 1 {
            self.starts[1] = self.items.len();
            return;
        }
        for item in &self.items {
            self.starts[bucket(item) + 1] += 1;
        }
        for b in 0..buckets {
            self.starts[b + 1] += self.starts[b];
        }
        self.filled.clear();
        self.filled.extend_from_slice(&self.starts);
        for b in 0..buckets {
            while self.filled[b] < self.starts[b + 1] {
                let at = self.filled[b];
                let own = bucket(&self.items[at]);
                if own != b {
                    self.items.swap(at, self.filled[own]);
                }
                self.filled[own] += 1;
            }
        }
    }

    fn bucket(&self, b: usize) -> &[T] {
        &self.items[self.starts[b]..self.starts[b + 1]]
    }
}

impl<T: Copy + Default + Send + Sync, K: Fn(&T) -> u64 + Sync> Plan<'_, T, K> {
    /// Step 2 for a range of buckets, whose parts of the output and of the spare memory are given.
    fn run(&self, range: Range<usize>, out: &mut [T], spare: &mut [T], finish: &(impl Fn(&mut [T]) + Sync)) {
        if range.len() == 1 {
            self.sort_bucket(range.start, out, spare);
            finish(out);
            return;
        }
        let middle = range.start.midpoint(range.end);
        let cut = self.starts[middle] - self.starts[range.start];
        let parallel = out.len() > TASK_ITEMS;
        let (out_left, out_right) = out.split_at_mut(cut);
        let (spare_left, spare_right) = spare.split_at_mut(cut.min(spare.len()));
        let mut left = || self.run(range.start..middle, out_left, spare_left, finish);
        let mut right = || self.run(middle..range.end, out_right, spare_right, finish);
        if parallel {
            rayon::join(left, right);
        } else {
            left();
            right();
        }
    }

    fn sort_bucket(&self, b: usize, out: &mut [T], spare: &mut [T]) {
        let input = || self.chunks.iter().flat_map(|chunk| chunk.bucket(b));
        let mask = |bits: u32| (1u64 << bits) - 1;
        let low = mask(self.low_bits);
        if out.len() < SHORT || self.low_bits == 0 {
            out.iter_mut().zip(input()).for_each(|(place, item)| *place = *item);
            out.sort_unstable_by_key(|item| (self.key)(item) & low);
            return;
        }
        let passes = self.low_bits.div_ceil(DIGIT_BITS);
        let width = self.low_bits.div_ceil(passes);
        let digit = |item: &T, pass: u32| ((self.key)(item) >> (pass * width) & mask(width) & low) as usize;
        // The last pass has to write to `out`, so an even number of them begins by writing to `spare`.
        let (mut to, mut from) = if passes % 2 == 1 { (out, spare) } else { (spare, out) };
        counting_pass(input, |item| digit(item, 0), to);
        for pass in 1..passes {
            std::mem::swap(&mut to, &mut from);
            counting_pass(|| from.iter(), |item| digit(item, pass), to);
        }
    }
}

/// Stable sort of what `input` yields (twice the same) by a digit of at most [`DIGIT_BITS`] bits.
fn counting_pass<'a, T: Copy + 'a, I: Iterator<Item = &'a T>>(
    input: impl Fn() -> I,
    digit: impl Fn(&T) -> usize,
    out: &mut [T],
) {
    let mut places = [0u32; 1 << DIGIT_BITS];
    input().for_each(|item| places[digit(item)] += 1);
    let mut start = 0;
    for place in &mut places {
        start += std::mem::replace(place, start);
    }
    input().for_each(|item| {
        let place = &mut places[digit(item)];
        out[*place as usize] = *item;
        *place += 1;
    });
}

/// Runs a task for each element: on all threads where there are several, without waking any for a single one.
pub(super) fn for_each<T: Send>(tasks: &mut [T], run: impl Fn(usize, &mut T) + Sync) {
    if tasks.len() > 1 {
        tasks.par_iter_mut().enumerate().for_each(|(k, task)| run(k, task));
    } else {
        tasks.iter_mut().enumerate().for_each(|(k, task)| run(k, task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn sorted(sort: &mut BucketSort<(u64, u32)>, chunks: usize, each: usize, bits: u32, random: &Random) {
        let mut expected = Vec::new();
        let drawn = |k: usize| {
            let mut random = random.clone();
            (0..k).for_each(|_| {
                random.next_u64();
            });
            (0..each).map(move |m| (random.next_u64() & ((1u64 << bits) - 1), (k * each + m) as u32))
        };
        (0..chunks).for_each(|k| expected.extend(drawn(k)));
        expected.sort_unstable();
        sort.begin();
        sort.add(chunks / 2, |k, items| items.extend(drawn(k)));
        sort.add(chunks - chunks / 2, |k, items| items.extend(drawn(chunks / 2 + k)));
        let mut out = vec![(1, 1); 3];
        sort.sort_into(bits, |item| item.0, |run| run.sort_unstable(), &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn sorts_keys_of_any_width_with_kept_buffers() {
        let mut sort = BucketSort::default();
        let random = Random::new(5);
        for (chunks, each) in [(1, 0), (1, 1), (2, 300), (7, 5000), (3, 100), (40, 1000)] {
            for bits in [0, 1, 9, 12, 13, 22, 24, 25, 37, 63] {
                sorted(&mut sort, chunks, each, bits, &random);
            }
        }
    }
}
