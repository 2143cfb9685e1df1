//! Islands: bodies that blocks join to each other, directly or through others. What is not a body of the
//! problem (static and prescribed bodies, [`WORLD`]) joins nobody.
//!
//! N is block-diagonal over islands, so that each of them is a problem by itself: what one needs, iterations
//! or accuracy, never depends on another. [`Islands::extract`] makes that problem, with bodies numbered from
//! 0 in the order they have in the whole. First-fit colours depend on nothing but blocks that share bodies,
//! and blocks keep their order: the extracted problem is bit for bit the one that would be posed if the
//! island were alone in the world.

use crate::colour::{Colouring, Span};
use crate::cone::Set;
use crate::disjoint::DisjointSets;

use super::{Bodies, General, Points, Problem, WORLD};

/// Rows of contacts, limits and motors that a mechanism has at most. An island with more of them is a heap,
/// though it has joints: a wheel on sand.
pub(crate) const MECHANISM: usize = 384;

/// In place of an island's number.
const NONE: u32 = u32::MAX;

/// The islands of a problem, in the order of their first bodies.
#[derive(Clone, Debug, Default)]
pub struct Islands {
    sets: DisjointSets,
    /// By body: its island, or [`NONE`] where no block touches it.
    of_body: Vec<u32>,
    /// By body: its number within its island.
    local: Vec<u32>,
    bodies: Lists,
    blocks: Lists,
    /// By island: whether it has bilateral rows, and at most [`MECHANISM`] others.
    mechanism: Vec<bool>,
    /// By island: how many others it has.
    others: Vec<usize>,
}

/// Lists of numbers, one behind the other.
#[derive(Clone, Debug, Default)]
struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Sorts `0..count` by the list that `of` names, keeping their order.
    fn fill(&mut self, lists: usize, count: usize, of: impl Fn(usize) -> u32) {
        self.starts.clear();
        self.starts.resize(lists + 1, 0);
        (0..count).map(&of).filter(|k| *k != NONE).for_each(|k| self.starts[k as usize + 1] += 1);
        (1..=lists).for_each(|k| self.starts[k] += self.starts[k - 1]);
        self.items.clear();
        self.items.resize(self.starts[lists] as usize, 0);
        for i in 0..count {
            let k = of(i);
            if k != NONE {
                let at = &mut self.starts[k as usize];
                self.items[*at as usize] = i as u32;
                *at += 1;
            }
        }
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }

    fn get(&self, k: usize) -> &[u32] {
        &self.items[self.starts[k] as usize..self.starts[k + 1] as usize]
    }
}

impl Islands {
    /// Finds the islands of `p`.
    pub fn find(&mut self, p: &Bodies) {
        let (n, points, general) = (p.bodies(), &p.points, &p.general);
        self.sets.reset(n);
        self.of_body.clear();
        self.of_body.resize(n, NONE);
        let pairs = points.a.iter().zip(&points.b).chain(general.a.iter().zip(&general.b));
        // A joint's rows lie one behind the other.
        let mut last = (NONE, NONE);
        for (&a, &b) in pairs {
            if std::mem::replace(&mut last, (a, b)) == (a, b) {
                continue;
            }
            self.of_body[a as usize] = 0;
            if b != WORLD {
                self.of_body[b as usize] = 0;
                self.sets.join(a, b);
            }
        }
        let mut count = 0;
        for i in 0..n {
            if self.of_body[i] == NONE {
                continue;
            }
            // The lowest number leads, whatever the order of the blocks: the root's island is known already.
            let root = self.sets.root(i as u32) as usize;
            self.of_body[i] = if root == i {
                count += 1;
                count - 1
            } else {
                self.of_body[root]
            };
        }
        let Self { of_body, local, bodies, blocks, mechanism, others, .. } = self;
        bodies.fill(count as usize, n, |i| of_body[i]);
        local.clear();
        local.resize(n, 0);
        for k in 0..count as usize {
            bodies.get(k).iter().zip(0..).for_each(|(body, place)| local[*body as usize] = place);
        }
        let first = |i: usize| if i < points.len() { points.a[i] } else { general.a[i - points.len()] };
        blocks.fill(count as usize, p.blocks(), |i| of_body[first(i) as usize]);
        mechanism.clear();
        mechanism.resize(count as usize, false);
        others.clear();
        others.resize(count as usize, 0);
        points.a.iter().for_each(|a| others[of_body[*a as usize] as usize] += 3);
        for (i, (set, a)) in general.set.iter().zip(&general.a).enumerate() {
            let k = of_body[*a as usize] as usize;
            match set {
                Set::Free => mechanism[k] = true,
                _ => others[k] += general.rows(i).len(),
            }
        }
        mechanism.iter_mut().zip(others).for_each(|(is, others)| *is &= *others <= MECHANISM);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.mechanism.len()
    }

    /// Whether there are none: the problem has no blocks.
    pub fn is_empty(&self) -> bool {
        self.mechanism.is_empty()
    }

    /// The island of a body, if a block touches it.
    pub fn of(&self, body: u32) -> Option<usize> {
        self.of_body.get(body as usize).filter(|k| **k != NONE).map(|k| *k as usize)
    }

    /// The bodies of island `k`, in rising order.
    pub fn bodies(&self, k: usize) -> &[u32] {
        self.bodies.get(k)
    }

    /// The blocks of island `k`, in rising order.
    pub fn blocks(&self, k: usize) -> &[u32] {
        self.blocks.get(k)
    }

    /// Whether island `k` is a mechanism: it has bilateral rows, and at most 384 others.
    pub fn is_mechanism(&self, k: usize) -> bool {
        self.mechanism[k]
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let lists = [&self.of_body, &self.local, &self.bodies.items, &self.blocks.items];
        self.sets.bytes() + lists.iter().map(|l| size_of_val(l.as_slice())).sum::<usize>()
    }

    /// Makes `to` the problem of island `k` of `p`.
    pub fn extract(&self, p: &Bodies, k: usize, to: &mut Extract) {
        to.take(p, self.bodies(k), self.blocks(k), &self.local);
    }

    /// Makes `to` the problem of all mechanisms of `p`, taken together.
    pub fn extract_mechanisms(&mut self, p: &Bodies, to: &mut Extract) {
        let Self { of_body, local, mechanism, .. } = self;
        let there = |body: u32| of_body[body as usize] != NONE && mechanism[of_body[body as usize] as usize];
        let bodies: Vec<u32> = (0..p.bodies() as u32).filter(|b| there(*b)).collect();
        let kept: Vec<u32> = bodies.iter().map(|b| local[*b as usize]).collect();
        bodies.iter().zip(0..).for_each(|(body, place)| local[*body as usize] = place);
        let first = |i: u32| match (i as usize).checked_sub(p.points.len()) {
            None => p.points.a[i as usize],
            Some(g) => p.general.a[g],
        };
        let blocks: Vec<u32> = (0..p.blocks() as u32).filter(|i| there(first(*i))).collect();
        to.take(p, &bodies, &blocks, local);
        bodies.iter().zip(kept).for_each(|(body, place)| local[*body as usize] = place);
    }
}

impl Extract {
    /// The problem of these bodies and blocks of `p`, both in rising order; `local` has the new numbers of
    /// the bodies.
    fn take(&mut self, p: &Bodies, bodies: &[u32], blocks: &[u32], local: &[u32]) {
        let n = p.points.len();
        let split = blocks.partition_point(|i| (*i as usize) < n);
        let local = |body: u32| if body == WORLD { WORLD } else { local[body as usize] };
        self.pairs.clear();
        self.pairs.extend(blocks[..split].iter().map(|i| {
            let i = *i as usize;
            (local(p.points.a[i]), local(p.points.b[i]))
        }));
        self.colouring.run_pairs(bodies.len(), &self.pairs, None);
        self.rows.clear();
        let Self { problem: Problem::Bodies(to), rows, pairs, colouring, seen } = self else { return };
        to.model = p.model;
        take_bodies(p, bodies, to);
        take_points(&p.points, &blocks[..split], pairs, colouring, &mut to.points, rows);
        take_general(p, &blocks[split..], local, &mut to.general, rows);
        seen.clear();
        seen.resize(bodies.len(), 0);
        let numbers = blocks[split..].iter().map(|i| *i as usize - n);
        restrict_spans(&p.general.spans, numbers, &mut to.general, seen);
    }
}

/// The problem of one island, and buffers.
#[derive(Clone, Debug)]
pub struct Extract {
    /// The problem.
    pub problem: Problem,
    /// By row of `problem`: its row in the whole problem.
    pub rows: Vec<u32>,
    pairs: Vec<(u32, u32)>,
    colouring: Colouring,
    seen: Vec<u32>,
}

impl Default for Extract {
    fn default() -> Self {
        Self {
            problem: Problem::Bodies(Bodies::default()),
            rows: Vec::new(),
            pairs: Vec::new(),
            colouring: Colouring::default(),
            seen: Vec::new(),
        }
    }
}

fn take_bodies(p: &Bodies, bodies: &[u32], to: &mut Bodies) {
    to.inv_mass.clear();
    to.inv_inertia.clear();
    to.v_free.clear();
    for body in bodies.iter().map(|b| *b as usize) {
        to.inv_mass.push(p.inv_mass[body]);
        to.inv_inertia.push(p.inv_inertia[body]);
        to.v_free.push(p.v_free[body]);
    }
}

/// The points with these numbers, in coloured order.
fn take_points(
    from: &Points,
    numbers: &[u32],
    pairs: &[(u32, u32)],
    colouring: &Colouring,
    to: &mut Points,
    rows: &mut Vec<u32>,
) {
    to.clear();
    to.spans.extend_from_slice(&colouring.spans);
    let order = || colouring.order.iter().map(|k| *k as usize);
    let numbers = || order().map(|k| numbers[k] as usize);
    to.a.extend(order().map(|k| pairs[k].0));
    to.b.extend(order().map(|k| pairs[k].1));
    let vectors =
        [(&mut to.normal, &from.normal), (&mut to.arm_a, &from.arm_a), (&mut to.arm_b, &from.arm_b)];
    for (to, from) in vectors.into_iter().flat_map(|(to, from)| to.iter_mut().zip(from)) {
        to.extend(numbers().map(|i| from[i]));
    }
    to.bias.extend(numbers().map(|i| from.bias[i]));
    to.mu.extend(numbers().map(|i| from.mu[i]));
    // Columns that are zero here are left out, as they would be if the island were alone.
    let slides = |i: usize| from.drift.iter().any(|f| f[i] != 0.0);
    if !from.drift[0].is_empty() && numbers().any(slides) {
        to.drift.iter_mut().zip(&from.drift).for_each(|(to, f)| to.extend(numbers().map(|i| f[i])));
    }
    let gives = |i: usize| from.compliance.iter().any(|f| f[i] != 0.0);
    if !from.compliance[0].is_empty() && numbers().any(gives) {
        let both = to.compliance.iter_mut().zip(&from.compliance);
        both.for_each(|(to, f)| to.extend(numbers().map(|i| f[i])));
    }
    rows.extend(numbers().flat_map(|i| 3 * i as u32..3 * i as u32 + 3));
}

/// The general blocks with these numbers (of all blocks), in the order they have; their colours are left out.
fn take_general(
    p: &Bodies,
    numbers: &[u32],
    local: impl Fn(u32) -> u32,
    to: &mut General,
    of_whole: &mut Vec<u32>,
) {
    let (n, from) = (p.points.len(), &p.general);
    to.clear();
    let numbers = || numbers.iter().map(|i| *i as usize - n);
    let rows_of = |i: usize| from.first_row[i] as usize..from.first_row[i + 1] as usize;
    let soft = numbers().flat_map(rows_of).any(|row| from.compliance.get(row).is_some_and(|c| *c != 0.0));
    for i in numbers() {
        let rows = rows_of(i);
        let pair = (local(from.a[i]), local(from.b[i]));
        to.push(pair, from.set[i], &from.jacobian[rows.clone()], &from.bias[rows.clone()]);
        if soft {
            to.compliance.extend_from_slice(&from.compliance[rows.clone()]);
        }
        of_whole.extend(rows.map(|row| (3 * n + row) as u32));
    }
}

/// The runs of colours that blocks with these rising numbers are in. `seen` is scratch, one number a body.
fn restrict_spans(spans: &[Span], numbers: impl Iterator<Item = usize>, to: &mut General, seen: &mut [u32]) {
    let mut numbers = numbers.peekable();
    let mut at = 0u32;
    for span in spans {
        let start = at;
        let mut count = |end: u32| {
            while numbers.next_if(|i| *i < end as usize).is_some() {
                at += 1;
            }
            at
        };
        let (two_end, end) = (count(span.two_end), count(span.end));
        if end == start {
            continue;
        }
        // Rows of one joint share its bodies: they are visited one after the other.
        let mark = to.spans.len() as u32 + 1;
        let mut meets =
            |body: u32| body != WORLD && std::mem::replace(&mut seen[body as usize], mark) == mark;
        let mut serial = false;
        for k in start as usize..end as usize {
            let (a, b) = (meets(to.a[k]), meets(to.b[k]));
            serial |= a || b;
        }
        to.spans.push(Span { start, two_end, end, serial });
    }
}
