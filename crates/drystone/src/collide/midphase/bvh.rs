//! A static tree of bounding boxes over the parts of one shape, in the shape's frame.
//!
//! Built once from the top down: the parts of a node are split where the surface area heuristic of
//! [Wald2007], evaluated at a fixed number of planes (bins), expects the cheapest queries. The nodes lie in
//! one array in the order of a walk that goes left first, so the left child of node k is k + 1 and only the
//! right one is stored. The same boxes give the same tree, always; parts of equal boxes keep the order of
//! their numbers.
//!
//! Queries keep their stack in an array of fixed length and take no memory. They visit parts whose own boxes
//! pass the test, in an order that depends on the tree and the query only.

use glam::{DMat3, DVec3};

use crate::collide::Aabb;
use crate::shape::Pose;

/// A leaf holds up to so many parts; each keeps a box of its own beside it.
const LEAF: usize = 4;
/// Planes tried on each axis, plus one.
const BINS: usize = 16;
/// Below this depth nodes are halved by count, so that no arrangement of parts makes a deep tree.
const BALANCED: usize = 48;
/// More than [`BALANCED`] levels and what halving u32::MAX parts adds.
const DEPTH: usize = 96;

/// The tree. Boxes must be finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bvh {
    nodes: Vec<Node>,
    /// Part numbers, leaf by leaf.
    parts: Vec<u32>,
    /// Boxes in the order of `parts`.
    boxes: Vec<Aabb>,
}

#[derive(Clone, Debug, PartialEq)]
struct Node {
    bounds: Aabb,
    /// The right child, or the first entry of a leaf in `parts`.
    next: u32,
    /// How many parts a leaf has; 0 for an inner node.
    count: u32,
}

impl Bvh {
    /// The tree over parts 0, 1, ... with the given boxes.
    pub fn new(boxes: &[Aabb]) -> Self {
        debug_assert!(boxes.iter().all(|b| b.min.is_finite() && b.max.is_finite()));
        let mut build = Build {
            boxes,
            order: (0..boxes.len() as u32).collect(),
            right: Vec::new(),
            nodes: Vec::with_capacity(boxes.len()),
        };
        if !boxes.is_empty() {
            build.node(0, boxes.len(), 0);
        }
        let sorted = build.order.iter().map(|&k| boxes[k as usize]).collect();
        Self { nodes: build.nodes, parts: build.order, boxes: sorted }
    }

    /// How many parts there are.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there are no parts.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The box around everything; of nothing, the empty one.
    pub fn bounds(&self) -> Aabb {
        self.nodes.first().map_or(EMPTY, |root| root.bounds)
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.nodes.as_slice())
            + size_of_val(self.parts.as_slice())
            + size_of_val(self.boxes.as_slice())
    }

    /// Moves the boxes and keeps the tree: half of the surface of all nodes afterwards says how good it still
    /// is.
    pub fn refit(&mut self, bounds: impl Fn(u32) -> Aabb) -> f64 {
        for (part, to) in self.parts.iter().zip(&mut self.boxes) {
            *to = bounds(*part);
        }
        // Children stand behind their parents.
        for k in (0..self.nodes.len()).rev() {
            let node = &self.nodes[k];
            let bounds = match node.count {
                0 => union(&self.nodes[k + 1].bounds, &self.nodes[node.next as usize].bounds),
                _ => self.boxes[node.range()].iter().fold(EMPTY, |all, b| union(&all, b)),
            };
            self.nodes[k].bounds = bounds;
        }
        self.half_surface()
    }

    /// Half of the surface of all nodes, to which the work of random queries is proportional, m².
    pub fn half_surface(&self) -> f64 {
        self.nodes.iter().map(|n| half_area(&n.bounds)).sum()
    }

    /// Visits the parts whose boxes share a point with `bounds`.
    pub fn overlapping(&self, bounds: &Aabb, visit: impl FnMut(u32)) {
        self.visit(|b| b.overlaps(bounds), visit);
    }

    /// Visits the parts whose boxes have a point within `reach` of `point`.
    pub fn within(&self, point: DVec3, reach: f64, visit: impl FnMut(u32)) {
        let squared = reach * reach;
        let near = |b: &Aabb| {
            let beyond = (b.min - point).max(point - b.max).max(DVec3::ZERO);
            beyond.length_squared() <= squared
        };
        self.visit(near, visit);
    }

    /// Visits the parts whose boxes are wanted; a box that is not wanted holds none that is.
    fn visit(&self, wanted: impl Fn(&Aabb) -> bool, mut visit: impl FnMut(u32)) {
        let mut stack = Stack::<_, DEPTH>::new();
        stack.push_all(self.nodes.first().map(|_| 0));
        while let Some(k) = stack.pop() {
            let node = &self.nodes[k as usize];
            if !wanted(&node.bounds) {
                continue;
            }
            if node.count == 0 {
                stack.push_all([node.next, k + 1]);
            } else {
                for at in node.range() {
                    if wanted(&self.boxes[at]) {
                        visit(self.parts[at]);
                    }
                }
            }
        }
    }

    /// Visits pairs (part of this, part of `other`) whose boxes are within `margin` of each other along every
    /// axis of either frame. `relative` places the other tree in this one's frame. Boxes are turned into each
    /// other's axes by the boxes around them: some pairs are visited that a tighter test would spare, none is
    /// missed.
    pub fn pairs(&self, other: &Bvh, relative: &Pose, margin: f64, mut visit: impl FnMut(u32, u32)) {
        if self.is_empty() || other.is_empty() {
            return;
        }
        let turn = Turn::new(relative);
        let mut stack = Stack::<_, { 2 * DEPTH }>::new();
        stack.push_all([(0, 0)]);
        while let Some((i, j)) = stack.pop() {
            let (a, b) = (&self.nodes[i as usize], &other.nodes[j as usize]);
            if !turn.near(&a.bounds, &b.bounds, margin) {
                continue;
            }
            match (a.count, b.count) {
                (0, 0) if size(&a.bounds) < size(&b.bounds) => stack.push_all([(i, b.next), (i, j + 1)]),
                (0, _) => stack.push_all([(a.next, j), (i + 1, j)]),
                (_, 0) => stack.push_all([(i, b.next), (i, j + 1)]),
                _ => {
                    for p in a.range() {
                        for q in b.range() {
                            if turn.near(&self.boxes[p], &other.boxes[q], margin) {
                                visit(self.parts[p], other.parts[q]);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Visits the parts whose boxes are met by the ray `origin + s direction`, 0 ≤ s ≤ max, nearer boxes
    /// first (as far as the tree tells). `visit(part, max)` returns the new, never larger `max`: a hit makes
    /// it the distance of the hit, and boxes beyond are spared. `direction` may have any length; s is counted
    /// in it.
    pub fn ray(&self, origin: DVec3, direction: DVec3, max: f64, visit: impl FnMut(u32, f64) -> f64) {
        self.sweep(origin, direction, [DVec3::ZERO; 2], max, visit);
    }

    /// The same for a box that moves along the ray: it reaches from `reach[0]` to `reach[1]` about the
    /// origin.
    pub fn sweep(
        &self,
        origin: DVec3,
        direction: DVec3,
        reach: [DVec3; 2],
        mut max: f64,
        mut visit: impl FnMut(u32, f64) -> f64,
    ) {
        let Some(root) = self.nodes.first() else { return };
        let slabs = Slabs::new(origin, direction, reach);
        let mut stack = Stack::<_, DEPTH>::new();
        let (mut k, mut least) = (0, slabs.enters(&root.bounds));
        loop {
            // Bounds are compared as they are read: what was near enough may no longer be.
            if least <= max && least < f64::INFINITY {
                let node = &self.nodes[k as usize];
                if node.count == 0 {
                    let (left, right) = (k + 1, node.next);
                    let l = slabs.enters(&self.nodes[left as usize].bounds);
                    let r = slabs.enters(&self.nodes[right as usize].bounds);
                    let (near, far) = if l <= r { ((left, l), (right, r)) } else { ((right, r), (left, l)) };
                    if far.1 <= max && far.1 < f64::INFINITY {
                        stack.push(far);
                    }
                    (k, least) = near;
                    continue;
                }
                for at in node.range() {
                    let enters = slabs.enters(&self.boxes[at]);
                    if enters <= max && enters < f64::INFINITY {
                        max = visit(self.parts[at], max);
                    }
                }
            }
            let Some(next) = stack.pop() else { return };
            (k, least) = next;
        }
    }

    /// Visits parts in the order of a lower bound for what is sought (as far as the tree tells) while it is
    /// at most `limit`: `bound` gives it for a box and may only grow as boxes shrink; infinite means never.
    /// `visit(part, limit)` returns the new, never larger limit.
    pub fn nearest(
        &self,
        bound: impl Fn(&Aabb) -> f64,
        mut limit: f64,
        mut visit: impl FnMut(u32, f64) -> f64,
    ) {
        let mut stack = Stack::<_, DEPTH>::new();
        let wanted = |bound: f64, limit: f64| bound <= limit && bound < f64::INFINITY;
        stack.push_all(self.nodes.first().map(|root| (0, bound(&root.bounds))));
        while let Some((k, least)) = stack.pop() {
            if !wanted(least, limit) {
                continue;
            }
            let node = &self.nodes[k as usize];
            if node.count == 0 {
                let (left, right) = (k + 1, node.next);
                let l = bound(&self.nodes[left as usize].bounds);
                let r = bound(&self.nodes[right as usize].bounds);
                stack.push_all(if l <= r { [(right, r), (left, l)] } else { [(left, l), (right, r)] });
            } else {
                for at in node.range() {
                    if wanted(bound(&self.boxes[at]), limit) {
                        limit = visit(self.parts[at], limit);
                    }
                }
            }
        }
    }
}

impl Node {
    fn range(&self) -> std::ops::Range<usize> {
        self.next as usize..(self.next + self.count) as usize
    }
}

const EMPTY: Aabb = Aabb { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };

fn union(a: &Aabb, b: &Aabb) -> Aabb {
    Aabb { min: a.min.min(b.min), max: a.max.max(b.max) }
}

fn size(b: &Aabb) -> f64 {
    (b.max - b.min).element_sum()
}

/// Half the surface, to which the number of random queries that meet a box is proportional.
fn half_area(b: &Aabb) -> f64 {
    let d = b.max - b.min;
    if d.x < 0.0 { 0.0 } else { d.x * d.y + d.y * d.z + d.z * d.x }
}

/// A ray, or a box that moves along one, between pairs of planes.
struct Slabs {
    /// From where it meets the lower and the upper planes.
    from: [DVec3; 2],
    /// Of the direction. Along an axis that it does not follow, any way is longer than all others.
    inverse: DVec3,
}

impl Slabs {
    const HUGE_INVERSE: f64 = 1e300;
    /// Times [`Slabs::HUGE_INVERSE`], further than anything.
    const LEAST_MARGIN: f64 = 1e-280;
    /// Rounding must not lose a ray that runs along a face.
    const ROUNDING: f64 = 4.0 * f64::EPSILON;

    fn new(origin: DVec3, direction: DVec3, reach: [DVec3; 2]) -> Self {
        // Not infinite: that times no way at all is not a number.
        let limit = DVec3::splat(Self::HUGE_INVERSE);
        let inverse = direction.recip().clamp(-limit, limit);
        // Whoever stays in a plane along an axis is between the planes: a hair inside.
        let stays = inverse.abs().cmpge(limit);
        let hair =
            |x: DVec3| DVec3::select(stays, Self::ROUNDING * x.abs() + Self::LEAST_MARGIN, DVec3::ZERO);
        let (lower, upper) = (origin + reach[1], origin + reach[0]);
        Self { from: [lower + hair(lower), upper - hair(upper)], inverse }
    }

    /// Where it enters a box, in lengths of its direction; infinite where it does not.
    fn enters(&self, b: &Aabb) -> f64 {
        let s = (b.min - self.from[0]) * self.inverse;
        let t = (b.max - self.from[1]) * self.inverse;
        // Comparisons, which are one instruction each: there is nothing here that is not a number.
        let less = |x: f64, y: f64| if x < y { x } else { y };
        let more = |x: f64, y: f64| if x > y { x } else { y };
        let near = more(more(less(s.x, t.x), less(s.y, t.y)), less(s.z, t.z));
        let far = less(less(more(s.x, t.x), more(s.y, t.y)), more(s.z, t.z));
        let near = more(near - Self::ROUNDING * near.abs(), 0.0);
        if near <= far + Self::ROUNDING * far.abs() { near } else { f64::INFINITY }
    }
}

/// Nodes yet to visit. On the way down to depth d at most d + 1 wait, where the depths of two trees add up.
struct Stack<T, const N: usize> {
    entries: [T; N],
    len: usize,
}

impl<T: Copy + Default, const N: usize> Stack<T, N> {
    fn new() -> Self {
        Self { entries: [T::default(); N], len: 0 }
    }

    fn push(&mut self, entry: T) {
        self.entries[self.len] = entry;
        self.len += 1;
    }

    fn push_all(&mut self, entries: impl IntoIterator<Item = T>) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }

    fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        Some(self.entries[self.len])
    }
}

/// The frame of tree B seen from tree A.
struct Turn {
    position: DVec3,
    /// Axes of B in A's frame.
    axes: DMat3,
    /// |a_i · b_j|, a little more than that.
    widths: DMat3,
}

impl Turn {
    fn new(relative: &Pose) -> Self {
        let axes = DMat3::from_quat(relative.rotation);
        let widen = |v: DVec3| v.abs() + DVec3::splat(4.0 * f64::EPSILON);
        let widths = DMat3::from_cols(widen(axes.x_axis), widen(axes.y_axis), widen(axes.z_axis));
        Self { position: relative.position, axes, widths }
    }

    /// The face axes of both boxes, six of the fifteen of two boxes: the others would rarely spare a visit.
    fn near(&self, a: &Aabb, b: &Aabb, margin: f64) -> bool {
        let (ha, hb) = (0.5 * (a.max - a.min), 0.5 * (b.max - b.min));
        let apart = self.position + self.axes * (0.5 * (b.min + b.max)) - 0.5 * (a.min + a.max);
        let margin = DVec3::splat(margin);
        apart.abs().cmple(ha + self.widths * hb + margin).all()
            && (self.axes.transpose() * apart).abs().cmple(hb + self.widths.transpose() * ha + margin).all()
    }
}

struct Build<'a> {
    boxes: &'a [Aabb],
    order: Vec<u32>,
    /// The right half of a partition, while it is being made.
    right: Vec<u32>,
    nodes: Vec<Node>,
}

impl Build<'_> {
    /// Twice the centre.
    fn place(&self, part: u32) -> DVec3 {
        let b = &self.boxes[part as usize];
        b.min + b.max
    }

    fn node(&mut self, from: usize, to: usize, depth: usize) {
        let (mut bounds, mut centres) = (EMPTY, EMPTY);
        for &k in &self.order[from..to] {
            bounds = union(&bounds, &self.boxes[k as usize]);
            let c = self.place(k);
            centres = union(&centres, &Aabb { min: c, max: c });
        }
        let at = self.nodes.len();
        self.nodes.push(Node { bounds, next: from as u32, count: (to - from) as u32 });
        if to - from <= LEAF {
            return;
        }
        let middle = self.split(from, to, &centres, depth);
        self.nodes[at].count = 0;
        self.node(from, middle, depth + 1);
        self.nodes[at].next = self.nodes.len() as u32;
        self.node(middle, to, depth + 1);
    }

    /// Reorders the parts and returns where the right half begins.
    fn split(&mut self, from: usize, to: usize, centres: &Aabb, depth: usize) -> usize {
        let spread = centres.max - centres.min;
        let plane = if depth < BALANCED { self.cheapest(from, to, centres) } else { None };
        let Some((axis, bin)) = plane else {
            let axis = (0..3).fold(0, |best, k| if spread[k] > spread[best] { k } else { best });
            let boxes = self.boxes;
            self.order[from..to].sort_unstable_by(|&i, &j| {
                let place = |k: u32| boxes[k as usize].min[axis] + boxes[k as usize].max[axis];
                place(i).total_cmp(&place(j)).then(i.cmp(&j))
            });
            return from.midpoint(to);
        };
        self.right.clear();
        let mut middle = from;
        for k in from..to {
            let part = self.order[k];
            if bin_of(self.place(part)[axis], centres, axis) < bin {
                self.order[middle] = part;
                middle += 1;
            } else {
                self.right.push(part);
            }
        }
        self.order[middle..to].copy_from_slice(&self.right);
        middle
    }

    /// The axis, and the first bin of the right half, with the least expected cost; None if all centres
    /// coincide.
    fn cheapest(&self, from: usize, to: usize, centres: &Aabb) -> Option<(usize, usize)> {
        let mut best = None;
        let mut least = f64::INFINITY;
        for axis in (0..3).filter(|&k| centres.max[k] > centres.min[k]) {
            let mut bins = [(EMPTY, 0usize); BINS];
            for &k in &self.order[from..to] {
                let bin = &mut bins[bin_of(self.place(k)[axis], centres, axis)];
                *bin = (union(&bin.0, &self.boxes[k as usize]), bin.1 + 1);
            }
            let mut right_cost = [0.0; BINS];
            let mut right = (EMPTY, 0);
            for b in (1..BINS).rev() {
                right = (union(&right.0, &bins[b].0), right.1 + bins[b].1);
                right_cost[b] = half_area(&right.0) * right.1 as f64;
            }
            let mut left = (EMPTY, 0);
            for b in 1..BINS {
                left = (union(&left.0, &bins[b - 1].0), left.1 + bins[b - 1].1);
                let cost = half_area(&left.0) * left.1 as f64 + right_cost[b];
                // The outermost bins hold a part each, so no half is empty.
                if cost < least {
                    (best, least) = (Some((axis, b)), cost);
                }
            }
        }
        best
    }
}

fn bin_of(place: f64, centres: &Aabb, axis: usize) -> usize {
    let share = (place - centres.min[axis]) / (centres.max[axis] - centres.min[axis]);
    ((share * BINS as f64) as usize).min(BINS - 1)
}
