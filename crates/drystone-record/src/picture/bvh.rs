//! A tree of boxes over the solids, so that a ray meets few of them.
//!
//! Four children a node, built top-down by the surface area heuristic over bins [Wald2007]. Boxes are kept in
//! f32 about the middle of the scene and rounded outwards: they may let a ray through to a solid that it
//! misses, never the other way round. What a ray hits is decided by the solids themselves, in f64.

use glam::DVec3;

use super::ray::Ray;

/// Children of a node.
const WIDTH: usize = 4;
/// Most solids in a leaf.
const LEAF: usize = 4;
/// Bins along an axis when a split is looked for.
const BINS: usize = 16;
/// Below this depth the tree splits by halves, which bounds its height and so the stack of a traversal.
const HEURISTIC_DEPTH: usize = 24;
/// Enough for three waiting children a level, down to the greatest possible depth (halving 2³² solids).
const STACK: usize = 3 * (HEURISTIC_DEPTH + 32) + 1;

/// Four boxes side by side, each coordinate of the four together.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
struct Node {
    /// Low x, high x, low y, high y, low z, high z of the children. A missing child has an empty box.
    planes: [[f32; WIDTH]; 6],
    /// Index of a node, or of the first solid of a leaf.
    child: [u32; WIDTH],
    /// Solids in the leaf; 0 for a node.
    count: [u32; WIDTH],
}

/// The tree. Solids are known by their place in `order`.
#[derive(Clone, Debug, Default)]
pub(super) struct Bvh {
    nodes: Vec<Node>,
    /// Which of the solids given to [`Bvh::build`] stands at each place.
    pub order: Vec<u32>,
    centre: DVec3,
}

#[derive(Clone, Copy)]
struct Bounds {
    low: DVec3,
    high: DVec3,
}

impl Bounds {
    const EMPTY: Self = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Half the surface; 0 when empty.
    fn area(self) -> f64 {
        let d = (self.high - self.low).max(DVec3::ZERO);
        d.x * d.y + d.y * d.z + d.z * d.x
    }

    fn middle(self) -> DVec3 {
        0.5 * (self.low + self.high)
    }
}

/// A run of solids that is to become one child.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    bounds: Bounds,
}

struct Builder<'a> {
    boxes: &'a [Bounds],
    order: Vec<u32>,
    nodes: Vec<Node>,
    centre: DVec3,
    pad: f64,
}

impl Bvh {
    /// A tree over the boxes `(low, high)`. Rays may start from `eye` and from what is seen around the boxes:
    /// how far away that is sets how much boxes are widened to cover the rounding of rays to f32.
    pub fn build(boxes: &[(DVec3, DVec3)], eye: DVec3) -> Self {
        if boxes.is_empty() {
            return Self::default();
        }
        let boxes: Vec<Bounds> = boxes.iter().map(|&(low, high)| Bounds { low, high }).collect();
        let all = boxes.iter().fold(Bounds::EMPTY, |a, &b| a.join(b));
        let centre = all.middle();
        let reach = (all.high - all.low).length() + 4.0 * (eye - centre).length();
        let mut builder = Builder {
            boxes: &boxes,
            order: (0..boxes.len() as u32).collect(),
            nodes: Vec::with_capacity(boxes.len() / 2 + 1),
            centre,
            pad: reach * 4.0 * f64::from(f32::EPSILON),
        };
        builder.node(Piece { start: 0, end: boxes.len(), bounds: all }, 0);
        Self { nodes: builder.nodes, order: builder.order, centre }
    }

    /// Visits the solids whose boxes the ray may meet before `t_max`. `visit` gets the place of a solid and
    /// the bound, may lower the bound, and ends the traversal by returning true. Near children come first if
    /// `ORDERED`.
    #[inline]
    pub fn traverse<const ORDERED: bool>(
        &self,
        ray: &Ray,
        mut t_max: f64,
        mut visit: impl FnMut(usize, &mut f64) -> bool,
    ) {
        if self.nodes.is_empty() {
            return;
        }
        let o = (ray.origin - self.centre).as_vec3().to_array();
        // A zero would make 0/0 out of a box face through the origin; a tiny slope in its stead hits the same
        // boxes.
        let inverse = ray.direction.to_array().map(|d| {
            let d = d as f32;
            1.0 / if d.abs() < 1e-18 { 1e-18_f32.copysign(d) } else { d }
        });
        let near_plane: [usize; 3] = std::array::from_fn(|k| 2 * k + usize::from(inverse[k] < 0.0));
        let far_plane: [usize; 3] = std::array::from_fn(|k| 2 * k + usize::from(inverse[k] >= 0.0));

        let mut stack = [(0_u32, 0_u32, 0.0_f32); STACK];
        let mut waiting = 1;
        while waiting > 0 {
            waiting -= 1;
            let (child, count, entry) = stack[waiting];
            if f64::from(entry) > t_max {
                continue;
            }
            if count > 0 {
                for place in child..child + count {
                    if visit(place as usize, &mut t_max) {
                        return;
                    }
                }
                continue;
            }
            let node = &self.nodes[child as usize];
            let limit = t_max as f32 * (1.0 + 4.0 * f32::EPSILON);
            let mut near = [0.0_f32; WIDTH];
            let mut far = [limit; WIDTH];
            for k in 0..3 {
                let (a, b) = (&node.planes[near_plane[k]], &node.planes[far_plane[k]]);
                for c in 0..WIDTH {
                    let enter = (a[c] - o[k]) * inverse[k];
                    let leave = (b[c] - o[k]) * inverse[k];
                    near[c] = if enter > near[c] { enter } else { near[c] };
                    far[c] = if leave < far[c] { leave } else { far[c] };
                }
            }
            let first = waiting;
            for c in 0..WIDTH {
                if near[c] <= far[c] * (1.0 + 8.0 * f32::EPSILON) {
                    stack[waiting] = (node.child[c], node.count[c], near[c]);
                    waiting += 1;
                    if ORDERED {
                        let mut k = waiting - 1;
                        while k > first && stack[k - 1].2 < stack[k].2 {
                            stack.swap(k - 1, k);
                            k -= 1;
                        }
                    }
                }
            }
        }
    }
}

impl Builder<'_> {
    /// Makes the node of a piece and everything below; returns its index.
    fn node(&mut self, piece: Piece, depth: usize) -> u32 {
        let mut pieces = vec![piece];
        while pieces.len() < WIDTH {
            // Always open the largest box that is not yet a leaf: it is the one most rays would enter.
            let widest = (0..pieces.len())
                .filter(|&k| pieces[k].end - pieces[k].start > LEAF)
                .max_by(|&a, &b| pieces[a].bounds.area().total_cmp(&pieces[b].bounds.area()));
            let Some(k) = widest else { break };
            let (left, right) = self.split(pieces[k], depth);
            pieces[k] = left;
            pieces.push(right);
        }
        let index = self.nodes.len();
        let empty =
            std::array::from_fn(|k| [if k % 2 == 0 { f32::INFINITY } else { f32::NEG_INFINITY }; WIDTH]);
        self.nodes.push(Node { planes: empty, child: [0; WIDTH], count: [0; WIDTH] });
        for (c, piece) in pieces.into_iter().enumerate() {
            let count = piece.end - piece.start;
            let (child, count) = if count <= LEAF {
                (piece.start as u32, count as u32)
            } else {
                (self.node(piece, depth + 1), 0)
            };
            let low = (piece.bounds.low - self.centre - self.pad).to_array();
            let high = (piece.bounds.high - self.centre + self.pad).to_array();
            let node = &mut self.nodes[index];
            for k in 0..3 {
                node.planes[2 * k][c] = (low[k] as f32).next_down();
                node.planes[2 * k + 1][c] = (high[k] as f32).next_up();
            }
            node.child[c] = child;
            node.count[c] = count;
        }
        index as u32
    }

    fn bounds(&self, start: usize, end: usize) -> Bounds {
        self.order[start..end].iter().fold(Bounds::EMPTY, |a, &i| a.join(self.boxes[i as usize]))
    }

    fn split(&mut self, piece: Piece, depth: usize) -> (Piece, Piece) {
        let Piece { start, end, .. } = piece;
        let middles = self.order[start..end].iter().fold(Bounds::EMPTY, |a, &i| {
            let m = self.boxes[i as usize].middle();
            a.join(Bounds { low: m, high: m })
        });
        let by_heuristic = if depth < HEURISTIC_DEPTH { self.best_split(piece, middles) } else { None };
        let at = match by_heuristic {
            Some((axis, cut, bin_of)) => {
                let boxes = self.boxes;
                start
                    + partition(&mut self.order[start..end], |i| {
                        bin_of.bin(boxes[i as usize].middle()[axis]) <= cut
                    })
            }
            None => {
                let extent = middles.high - middles.low;
                let axis = (0..3).fold(0, |best, k| if extent[k] > extent[best] { k } else { best });
                let half = (end - start) / 2;
                let boxes = self.boxes;
                self.order[start..end].select_nth_unstable_by(half, |&a, &b| {
                    let key = |i: u32| boxes[i as usize].middle()[axis];
                    key(a).total_cmp(&key(b)).then(a.cmp(&b))
                });
                start + half
            }
        };
        let side = |start, end| Piece { start, end, bounds: self.bounds(start, end) };
        (side(start, at), side(at, end))
    }

    /// The axis and last left bin of the cheapest split; `None` when no plane between bins parts the solids.
    fn best_split(&self, piece: Piece, middles: Bounds) -> Option<(usize, usize, Bins)> {
        let mut best: Option<(f64, usize, usize, Bins)> = None;
        for axis in 0..3 {
            let bins = Bins::new(middles.low[axis], middles.high[axis]);
            if bins.scale == 0.0 {
                continue;
            }
            let mut content = [(Bounds::EMPTY, 0_usize); BINS];
            for &i in &self.order[piece.start..piece.end] {
                let solid = self.boxes[i as usize];
                let (bounds, count) = &mut content[bins.bin(solid.middle()[axis])];
                *bounds = bounds.join(solid);
                *count += 1;
            }
            let mut right_cost = [0.0; BINS];
            let (mut bounds, mut count) = (Bounds::EMPTY, 0);
            for b in (1..BINS).rev() {
                bounds = bounds.join(content[b].0);
                count += content[b].1;
                right_cost[b - 1] = bounds.area() * count as f64;
            }
            let (mut bounds, mut count) = (Bounds::EMPTY, 0);
            for (cut, &(here, n)) in content[..BINS - 1].iter().enumerate() {
                bounds = bounds.join(here);
                count += n;
                if count == 0 || count == piece.end - piece.start {
                    continue;
                }
                let cost = bounds.area() * count as f64 + right_cost[cut];
                if best.as_ref().is_none_or(|b| cost < b.0) {
                    best = Some((cost, axis, cut, bins));
                }
            }
        }
        best.map(|(_, axis, cut, bins)| (axis, cut, bins))
    }
}

/// Equal bins between the extreme middles along an axis.
#[derive(Clone, Copy)]
struct Bins {
    low: f64,
    scale: f64,
}

impl Bins {
    fn new(low: f64, high: f64) -> Self {
        let scale = BINS as f64 / (high - low);
        Self { low, scale: if scale.is_finite() { scale } else { 0.0 } }
    }

    fn bin(&self, x: f64) -> usize {
        (((x - self.low) * self.scale) as usize).min(BINS - 1)
    }
}

/// Moves what satisfies `left` to the front, each side keeping its order; returns how many do.
fn partition(order: &mut [u32], left: impl Fn(u32) -> bool) -> usize {
    let mut right = Vec::new();
    let mut kept = 0;
    for k in 0..order.len() {
        let i = order[k];
        if left(i) {
            order[kept] = i;
            kept += 1;
        } else {
            right.push(i);
        }
    }
    order[kept..].copy_from_slice(&right);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::ray::ball_span;

    /// Points that fill the unit cube evenly, without chance.
    fn scattered(n: usize) -> Vec<DVec3> {
        let step = DVec3::new(0.819_172_513, 0.671_043_606, 0.549_700_477);
        (0..n).map(|i| (step * i as f64).fract()).collect()
    }

    #[test]
    fn finds_the_same_nearest_ball_as_trying_all() {
        let centres = scattered(700);
        let radius = 0.03;
        let boxes: Vec<_> = centres.iter().map(|&c| (c - radius, c + radius)).collect();
        let tree = Bvh::build(&boxes, DVec3::new(2.0, -1.5, 0.0));
        let mut hits = 0;
        for (k, target) in scattered(400).into_iter().enumerate() {
            let origin = DVec3::new(2.0, -1.5, 0.3 * (k % 7) as f64);
            let ray = Ray { origin, direction: (target - origin).normalize() };
            let all = (0..centres.len())
                .filter_map(|i| ball_span(&ray, centres[i], radius).map(|s| (s.0, i)))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let mut found = None;
            tree.traverse::<true>(&ray, f64::INFINITY, |place, t_max| {
                let i = tree.order[place] as usize;
                if let Some((t, _)) = ball_span(&ray, centres[i], radius)
                    && t < *t_max
                {
                    *t_max = t;
                    found = Some((t, i));
                }
                false
            });
            assert_eq!(found, all, "ray {k}");
            hits += usize::from(all.is_some());
        }
        assert!((100..=400).contains(&hits), "{hits}");
    }

    #[test]
    fn many_solids_at_one_place_still_make_a_tree() {
        let boxes = vec![(DVec3::ZERO, DVec3::ONE); 1000];
        let tree = Bvh::build(&boxes, DVec3::Z);
        let ray = Ray { origin: DVec3::new(0.5, 0.5, 5.0), direction: DVec3::NEG_Z };
        let mut seen = vec![0; 1000];
        tree.traverse::<false>(&ray, f64::INFINITY, |place, _| {
            seen[tree.order[place] as usize] += 1;
            false
        });
        assert!(seen.iter().all(|&n| n == 1));
    }
}
