//! Which contact is in which place.

use crate::colour::Span;
use crate::parallel;
use crate::problem::{Points, WORLD};
use crate::simd::Vectors;

use super::{Group, Pack, ROW};

/// Points `first .. first + count` are in the places from `place` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub first: u32,
    pub place: u32,
    pub count: u32,
    /// Places after them, to the end of a group, that are left over.
    pub left: u32,
    /// From this place on nobody looks for a second body.
    pub alone: u32,
    /// Points from this one on have no second body, and those before `alone` the rows from `still` on
    /// instead.
    pub two_end: u32,
    pub still: u32,
}

impl Run {
    fn end(&self) -> u32 {
        self.place + self.count
    }
}

/// Problems of fewer contacts are one thread's work, which may do them one after the other as they come.
const FEW: usize = 4096;

impl Pack {
    /// Places for all points: every colour begins with a group of its own, unless they may be `close`.
    pub(super) fn lay_out(&mut self, points: &Points, may_be_close: bool) {
        self.runs.clear();
        self.spans.clear();
        self.regions.clone_from(&points.regions);
        self.close = may_be_close && points.len() < FEW && points.regions.is_empty();
        let places = if self.close { self.close_up(points) } else { self.by_colours(points) };
        parallel::resize(&mut self.groups, places as usize / 8, Group::default());
        // The first of them is everybody's who is never looked for.
        self.still = self.balls.len() as u32 + 1;
        for run in &mut self.runs {
            for place in run.end()..run.end() + run.left {
                let (group, k) = (&mut self.groups[place as usize / 8], place as usize % 8);
                group.n.iter_mut().for_each(|n| n.0[k] = 0.0);
                (group.bias.0[k], group.step.0[k]) = (0.0, 1.0);
                (group.a.0[k], group.b.0[k]) = (self.still * ROW, self.still * ROW);
                self.still += 1;
            }
            run.still = self.still;
            let ends = run.place + (run.two_end - run.first);
            self.still += run.alone.min(run.end()).saturating_sub(ends);
        }
        self.drift.clear();
        if !points.drift[0].is_empty() {
            self.drift.resize(self.groups.len(), Vectors::default());
        }
    }

    /// Runs and spans by colours; the number of places.
    fn by_colours(&mut self, points: &Points) -> u32 {
        let mut place = 0;
        for s in &points.spans {
            // A group of both kinds is treated as one of two bodies: who has none gets one that does not
            // move.
            let alone = place + (s.two_end - s.start).next_multiple_of(8);
            let count = s.end - s.start;
            let end = place + count.next_multiple_of(8);
            let left = end - place - count;
            self.runs.push(Run { first: s.start, place, count, left, alone, two_end: s.two_end, still: 0 });
            self.spans.push(Span { start: place, two_end: alone.min(end), end, serial: false });
            place = end;
        }
        place
    }

    /// The same with all contacts of two bodies, and then all with the world, without gaps between colours.
    fn close_up(&mut self, points: &Points) -> u32 {
        let pairs: u32 = points.spans.iter().map(|s| s.two_end - s.start).sum();
        let (two_end, end) =
            (pairs.next_multiple_of(8), pairs.next_multiple_of(8) + points.len() as u32 - pairs);
        let mut next = [0, two_end];
        for s in &points.spans {
            for (kind, [first, stop]) in [[s.start, s.two_end], [s.two_end, s.end]].into_iter().enumerate() {
                let (place, count) = (next[kind], stop - first);
                next[kind] += count;
                // Who is last has what is left.
                let left = if next[kind] == [pairs, end][kind] {
                    next[kind].next_multiple_of(8) - next[kind]
                } else {
                    0
                };
                if count > 0 {
                    self.runs.push(Run { first, place, count, left, alone: place, two_end: stop, still: 0 });
                }
            }
        }
        let end = end.next_multiple_of(8);
        self.spans.push(Span { start: 0, two_end, end, serial: true });
        end
    }

    /// Bodies of a region are runs of rows, where they are numbered along a curve.
    pub(super) fn find_ranges(&mut self, points: &Points) {
        self.ranges.clear();
        let rows = self.still;
        let Some((_, regions)) = points.regions.split_last() else { return };
        parallel::map_ranges(regions.len(), 1, &mut self.bounds, |region| {
            let [first, end] = [region.start, region.end].map(|k| points.regions[k] as usize);
            let mut seen = [u32::MAX, 0];
            if first < end {
                let range = points.spans[first].start as usize..points.spans[end - 1].end as usize;
                let bodies = points.a[range.clone()].iter().chain(&points.b[range]);
                for &body in bodies.filter(|body| **body != WORLD) {
                    seen = [seen[0].min(body), seen[1].max(body)];
                }
            }
            seen
        });
        if self.bounds.windows(2).all(|w| w[0][1] < w[1][0]) && self.bounds.iter().all(|b| b[0] <= b[1]) {
            self.ranges.push(0);
            self.ranges.extend(self.bounds[1..].iter().map(|b| b[0]));
            self.ranges.push(rows);
        }
    }
}
