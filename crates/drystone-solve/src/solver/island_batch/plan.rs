//! Which islands go through the passes together.
//!
//! Islands with the same joints in the same order share a batch, one in each lane. Their contacts need not
//! be the same: a batch has room for all that any of its islands has, and where an island has none of them
//! its lane is empty: zeros, which move nothing.

use std::cmp::Ordering;
use std::ops::Range;

use crate::cone::Set;
use crate::disjoint::DisjointSets;
use crate::problem::{Bodies, WORLD};

use super::super::sweep::MOST;

/// Islands of a batch.
pub(super) const LANES: usize = 8;

/// In the place of a number: this lane has none.
pub(super) const EMPTY: u32 = u32::MAX;

/// Most bodies of an island: what is larger is a pile.
const LARGEST: usize = 64;

/// Of the lanes' work so much must be of use.
const LEAST_USE: f64 = 0.25;

/// A contact point, a row with bounds, or a run of bilateral rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Within the batch; the second may be the world.
    pub bodies: [u32; 2],
    /// Of a run; otherwise 1.
    pub rows: u32,
    /// By lane: number of the point, or of the (first) general block.
    pub ids: [u32; LANES],
}

/// Eight islands: ranges of the plan's lists.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub bodies: Range<usize>,
    pub points: Range<usize>,
    pub bounded: Range<usize>,
    pub runs: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Run,
    Bounded,
    Point,
}

/// A slot of one island.
#[derive(Clone, Copy, Debug)]
struct Part {
    kind: Kind,
    rows: u32,
    /// In the problem, and then within the island.
    bodies: [u32; 2],
    id: u32,
}

impl Part {
    fn order(&self, other: &Part) -> Ordering {
        (self.kind, self.bodies).cmp(&(other.kind, other.bodies))
    }
}

#[derive(Clone, Debug)]
struct Island {
    parts: Range<usize>,
    runs: usize,
    bodies: Range<usize>,
    /// Sums of how its joints and all its parts are built.
    sums: [u64; 2],
}

/// Everything here depends on who touches whom alone, and is kept while that stays.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub batches: Vec<Batch>,
    /// By body of a batch and lane.
    pub bodies: Vec<[u32; LANES]>,
    pub points: Vec<Slot>,
    pub bounded: Vec<Slot>,
    pub runs: Vec<Slot>,
    apt: bool,
    known: Known,
    sets: DisjointSets,
    island_of: Vec<u32>,
    found: Vec<Part>,
    parts: Vec<Part>,
    islands: Vec<Island>,
    members: Vec<u32>,
    local: Vec<u32>,
}

/// What the plan was made of.
#[derive(Debug, Default)]
struct Known {
    points: [Vec<u32>; 2],
    general: [Vec<u32>; 2],
    free: Vec<bool>,
    bodies: usize,
}

impl Known {
    /// Takes over what there is; false if it is the same as before.
    fn renew(&mut self, p: &Bodies) -> bool {
        let free = || p.general.set.iter().map(|set| *set == Set::Free);
        let same = self.bodies == p.bodies()
            && self.points[0] == p.points.a
            && self.points[1] == p.points.b
            && self.general[0] == p.general.a
            && self.general[1] == p.general.b
            && free().eq(self.free.iter().copied());
        if !same {
            self.bodies = p.bodies();
            self.points[0].clone_from(&p.points.a);
            self.points[1].clone_from(&p.points.b);
            self.general[0].clone_from(&p.general.a);
            self.general[1].clone_from(&p.general.b);
            self.free.clear();
            self.free.extend(free());
        }
        !same
    }
}

fn is_known(set: &Set) -> bool {
    matches!(set, Set::Free | Set::NonNegative | Set::Interval { .. })
}

impl Plan {
    /// Makes the plan; false if the problem is none of a batch.
    pub fn make(&mut self, p: &Bodies) -> bool {
        // Without joints contacts fill lanes by their colours.
        if p.general.a.is_empty() || !p.points.compliance[0].is_empty() || !p.general.set.iter().all(is_known)
        {
            return false;
        }
        if self.known.renew(p) {
            self.apt = self.find_islands(p) && self.fill();
        }
        self.apt
    }

    /// Lists the parts of the problem, joints first.
    fn list(&mut self, p: &Bodies) {
        let g = &p.general;
        self.found.clear();
        let mut i = 0;
        while i < g.a.len() {
            let bodies = [g.a[i], g.b[i]];
            let same = |k: &usize| g.set[*k] == Set::Free && [g.a[*k], g.b[*k]] == bodies;
            let rows = (i..g.a.len()).take(MOST).take_while(same).count();
            let kind = if rows == 0 { Kind::Bounded } else { Kind::Run };
            self.found.push(Part { kind, rows: rows.max(1) as u32, bodies, id: i as u32 });
            i += rows.max(1);
        }
        let points = (0..p.points.len()).map(|i| Part {
            kind: Kind::Point,
            rows: 1,
            bodies: [p.points.a[i], p.points.b[i]],
            id: i as u32,
        });
        self.found.extend(points);
    }

    /// Who hangs together; false if there is an island too large.
    fn find_islands(&mut self, p: &Bodies) -> bool {
        self.list(p);
        self.sets.reset(p.bodies());
        for part in self.found.iter().filter(|part| part.bodies[1] != WORLD) {
            self.sets.join(part.bodies[0], part.bodies[1]);
        }
        self.island_of.clear();
        self.island_of.resize(p.bodies(), EMPTY);
        self.islands.clear();
        for part in &self.found {
            let root = self.sets.root(part.bodies[0]) as usize;
            if self.island_of[root] == EMPTY {
                self.island_of[root] = self.islands.len() as u32;
                self.islands.push(Island { parts: 0..0, runs: 0, bodies: 0..0, sums: [0; 2] });
            }
            self.islands[self.island_of[root] as usize].parts.end += 1;
        }
        let mut at = 0;
        for island in &mut self.islands {
            let count = island.parts.end;
            island.parts = at..at;
            at += count;
        }
        let Some(any) = self.found.first() else { return false };
        self.parts.clear();
        self.parts.resize(self.found.len(), *any);
        for part in &self.found {
            let root = self.sets.root(part.bodies[0]) as usize;
            let island = &mut self.islands[self.island_of[root] as usize];
            self.parts[island.parts.end] = *part;
            island.parts.end += 1;
        }
        self.members.clear();
        self.local.clear();
        self.local.resize(p.bodies(), EMPTY);
        (0..self.islands.len()).all(|i| self.describe(i))
    }

    /// Numbers the bodies of an island, as its joints and then its contacts name them; false if there are too
    /// many.
    fn describe(&mut self, i: usize) -> bool {
        let island = &mut self.islands[i];
        let parts = &mut self.parts[island.parts.clone()];
        // Points are in the order of their colours, which need not be the same for all.
        parts.sort_by_key(|part| part.kind);
        let first = self.members.len();
        for part in parts.iter_mut() {
            for body in part.bodies.iter_mut().filter(|b| **b != WORLD) {
                let local = &mut self.local[*body as usize];
                if *local == EMPTY {
                    *local = (self.members.len() - first) as u32;
                    self.members.push(*body);
                }
                *body = *local;
            }
        }
        island.bodies = first..self.members.len();
        island.runs = parts.iter().take_while(|part| part.kind == Kind::Run).count();
        parts[island.runs..].sort_by(Part::order);
        let mut sum = 0xcbf2_9ce4_8422_2325u64;
        for (at, part) in parts.iter().enumerate() {
            if at == island.runs {
                island.sums[0] = sum;
            }
            for word in [part.rows, part.bodies[0], part.bodies[1]] {
                sum = (sum ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        island.sums[1] = sum;
        if island.runs == parts.len() {
            island.sums[0] = sum;
        }
        island.bodies.len() <= LARGEST
    }

    /// Whether two islands have the same joints.
    fn are_alike(&self, a: &Island, b: &Island) -> bool {
        let runs = |i: &Island| &self.parts[i.parts.clone()][..i.runs];
        a.runs == b.runs && runs(a).iter().zip(runs(b)).all(|(a, b)| (a.rows, a.bodies) == (b.rows, b.bodies))
    }

    /// Fills the batches; false if too many lanes would be empty.
    fn fill(&mut self) -> bool {
        let mut islands = std::mem::take(&mut self.islands);
        // Those with the same contacts next to each other.
        islands.sort_by_key(|island| island.sums);
        self.batches.clear();
        self.bodies.clear();
        self.points.clear();
        self.bounded.clear();
        self.runs.clear();
        let alike = islands.chunk_by(|a, b| a.sums[0] == b.sums[0] && self.are_alike(a, b));
        let lanes: Vec<&[Island]> = alike.flat_map(|run| run.chunks(LANES)).collect();
        for lanes in lanes {
            self.add(lanes);
        }
        self.islands = islands;
        let rows = |slots: &[Slot], each: usize| slots.iter().map(|s| each * s.rows as usize).sum::<usize>();
        let room = rows(&self.points, 3) + rows(&self.bounded, 1) + rows(&self.runs, 1);
        let used =
            self.parts.iter().map(|part| if part.kind == Kind::Point { 3 } else { part.rows as usize });
        used.sum::<usize>() as f64 >= LEAST_USE * (LANES * room) as f64
    }

    /// A batch of a few islands with the same joints.
    fn add(&mut self, lanes: &[Island]) {
        let starts = [self.bodies.len(), self.points.len(), self.bounded.len(), self.runs.len()];
        let most = lanes.iter().map(|island| island.bodies.len()).max().unwrap_or(0);
        for k in 0..most {
            self.bodies.push(std::array::from_fn(|l| {
                let body = lanes.get(l).and_then(|island| self.members[island.bodies.clone()].get(k));
                body.copied().unwrap_or(EMPTY)
            }));
        }
        let mut rest: [&[Part]; LANES] =
            std::array::from_fn(|l| lanes.get(l).map_or(&[][..], |i| &self.parts[i.parts.clone()]));
        // The next part of any lane, and all that have it.
        // (Runs come in one order, which all lanes share.)
        while let Some(next) = rest.iter().filter_map(|rest| rest.first()).min_by(|a, b| a.order(b)).copied()
        {
            let mut slot = Slot { bodies: next.bodies, rows: next.rows, ids: [EMPTY; LANES] };
            for (ids, rest) in slot.ids.iter_mut().zip(&mut rest) {
                if let Some((part, others)) = rest.split_first()
                    && part.order(&next) == Ordering::Equal
                {
                    (*ids, *rest) = (part.id, others);
                }
            }
            match next.kind {
                Kind::Run => self.runs.push(slot),
                Kind::Bounded => self.bounded.push(slot),
                Kind::Point => self.points.push(slot),
            }
        }
        self.batches.push(Batch {
            bodies: starts[0]..self.bodies.len(),
            points: starts[1]..self.points.len(),
            bounded: starts[2]..self.bounded.len(),
            runs: starts[3]..self.runs.len(),
        });
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let slots = self.points.len() + self.bounded.len() + self.runs.len();
        let parts = self.found.len() + self.parts.len();
        slots * size_of::<Slot>() + parts * size_of::<Part>() + size_of_val(self.bodies.as_slice())
    }
}
