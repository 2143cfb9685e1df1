//! The last digits of a contact normal between curved cores: Newton's method on the sphere of directions.
//!
//! The signed distance is the greatest value over unit n of s(n) = min n·(a - b). On each pair of pieces k of
//! the two cores it is smooth: the gradient is the point p_k(n) of A - B itself, and the second derivative
//! -R_k, with R_k the radii of curvature. On the sphere, with tangent steps δ and g_k the part of p_k across
//! n,
//!
//!   s_k(n + δ) ≈ s_k + g_k·δ - ½ δ·(R_k + s_k)δ,
//!
//! and where up to three pairs meet (an edge, a generator, a corner of the map of normals) the greatest least
//! of them satisfies Σ λ_k g_k = H δ and s_k + g_k·δ = t for all k, with weights λ_k ≥ 0, Σ λ_k = 1 and H = Σ
//! λ_k (R_k + s_k). With curved pieces this is one step of sequential quadratic programming, with points
//! alone the exact answer. The weights give the points of contact: Σ λ_k a_k and Σ λ_k b_k.

use glam::{DVec2, DVec3};

use super::convex::{Pair, Vertex};

const STEPS: usize = 16;

/// Nearer than this to the axis of a flat circular face the support function of its rim has a kink, not a
/// curvature.
const KINK: f64 = 1e-7;

/// Where s does not bend down, up to this part of its greatest radius of curvature, steps are made as if by
/// the other part.
const SINGULAR: f64 = 1e-13;
const SOFT: f64 = 0.02;

/// Directions within this cosine of the axis of a flat circular face may lead to it.
const NEAR_CAP: f64 = 0.998;

/// A greatest separation, at least among directions nearby.
#[derive(Clone, Copy)]
pub(super) struct Optimum {
    /// Unit, from B to A.
    pub(super) normal: DVec3,
    /// s(n) of the cores.
    pub(super) separation: f64,
    pub(super) on_a: DVec3,
    pub(super) on_b: DVec3,
    /// Cosine of the angle within which s has no other greatest value.
    pub(super) alone: f64,
    pieces: [[u32; 2]; 3],
    count: usize,
}

impl Optimum {
    /// The pairs of pieces that meet there.
    pub(super) fn pieces(&self) -> &[[u32; 2]] {
        &self.pieces[..self.count]
    }
}

/// The axis of a flat circular face near the unit direction `n`, if it separates at least as well as `lower`
/// and a furthest point of the other core lies over the face: then nothing nearby separates better. `points`
/// are points of A and B that may be furthest along the axis where many are.
pub(super) fn cap(pair: &Pair, n: DVec3, lower: f64, points: (DVec3, DVec3)) -> Option<Optimum> {
    let near = |axis: &DVec3| axis.dot(n) > NEAR_CAP;
    let axis_a = pair.a.cap(-n).map(|z| -z).filter(near);
    let axis_b = pair.b.cap(pair.in_b(n)).map(|z| pair.turn * z).filter(near);
    let rounding = 1e-14 * pair.scale;
    for (axis, of_a) in [(axis_a, true), (axis_b, false)] {
        let Some(normal) = axis else { continue };
        let vertex = pair.support(normal, pair.start(normal));
        let separation = normal.dot(vertex.w);
        if separation < lower - rounding {
            continue;
        }
        let (radius, centre, others) = if of_a {
            (pair.a.rim_radius(), DVec3::ZERO, [vertex.b, points.1])
        } else {
            (pair.b.rim_radius(), pair.offset, [vertex.a, points.0])
        };
        for other in others {
            let off_axis = (other - centre).reject_from_normalized(normal).length();
            if normal.dot(other - others[0]).abs() <= rounding && off_axis <= radius + rounding {
                let apart = normal * separation;
                let (on_a, on_b) = if of_a { (other + apart, other) } else { (other, other - apart) };
                let alone = (0.25 * (radius - off_axis) / (radius + separation.abs())).clamp(0.0, 0.2).cos();
                let pieces = [vertex.pieces, [0; 2], [0; 2]];
                return Some(Optimum { normal, separation, on_a, on_b, alone, pieces, count: 1 });
            }
        }
    }
    None
}

/// One smooth branch of s at the present direction.
#[derive(Clone, Copy)]
struct Branch {
    pieces: [u32; 2],
    weight: f64,
    vertex: Vertex,
    separation: f64,
    gradient: DVec2,
    /// R + s I: uu, uv, vv.
    bend: [f64; 3],
}

impl Branch {
    fn new(vertex: &Vertex, weight: f64) -> Self {
        Self {
            pieces: vertex.pieces,
            weight,
            vertex: *vertex,
            separation: 0.0,
            gradient: DVec2::ZERO,
            bend: [0.0; 3],
        }
    }

    fn look(&mut self, pair: &Pair, n: DVec3, u: DVec3, v: DVec3) {
        self.vertex = pair.piece_support(n, self.pieces);
        let w = self.vertex.w;
        self.separation = n.dot(w);
        self.gradient = DVec2::new(u.dot(w), v.dot(w));
        let [uu, uv, vv] = pair.curvature(n, self.pieces, u, v);
        self.bend = [uu + self.separation, uv, vv + self.separation];
    }
}

/// Climbs from the unit direction `n` and the pieces of `corners` to a greatest separation nearby. Nothing
/// when none is found, or when it is the axis of a flat circular face.
pub(super) fn climb(pair: &Pair, mut n: DVec3, corners: &[Vertex], weights: &[f64]) -> Option<Optimum> {
    let mut branches = [Branch::new(&Vertex::NONE, 0.0); 3];
    let mut count = 0;
    for (c, w) in corners.iter().zip(weights) {
        match branches[..count].iter_mut().find(|b| b.pieces == c.pieces) {
            Some(b) => b.weight += w,
            None => {
                branches[count] = Branch::new(c, *w);
                count += 1;
            }
        }
    }
    let rounding = 4.0 * f64::EPSILON * pair.scale;
    let mut last = f64::INFINITY;
    // Where many corners are all but in one plane, the branches may take turns: then the best direction met
    // is the answer.
    let mut best = (f64::NEG_INFINITY, n, branches, count);
    for _ in 0..STEPS {
        if near_kink(pair, n) {
            return None;
        }
        let (u, v) = n.any_orthonormal_pair();
        for b in &mut branches[..count] {
            b.look(pair, n, u, v);
        }
        let least = branches[..count].iter().fold(f64::INFINITY, |x, b| x.min(b.separation));
        let lowest = pair.support(n, branches[0].pieces);
        let known = branches[..count].iter().any(|b| b.pieces == lowest.pieces);
        if !known && n.dot(lowest.w) < least - rounding {
            let mut fresh = Branch::new(&lowest, 0.0);
            fresh.look(pair, n, u, v);
            if count < 3 {
                branches[count] = fresh;
                count += 1;
            } else {
                let lightest = lightest(&branches);
                branches[lightest] = fresh;
            }
        }
        let step = loop {
            match solve(&mut branches[..count]) {
                Some(step) => {
                    let k = lightest(&branches[..count]);
                    if count == 1 || branches[k].weight >= -1e-12 {
                        break step;
                    }
                    drop_branch(&mut branches, &mut count, k);
                }
                None if count > 1 => {
                    let k = lightest(&branches[..count]);
                    drop_branch(&mut branches, &mut count, k);
                }
                None => return None,
            }
        };
        let length = step.length();
        if length.is_nan() {
            return None;
        }
        if n.dot(lowest.w) > best.0 {
            best = (n.dot(lowest.w), n, branches, count);
        }
        // A branch is trusted within its neighbourhood.
        let step = if length > 0.3 { step * (0.3 / length) } else { step };
        n = (n + u * step.x + v * step.y).normalize();
        if length < 1e-14 || (length < 1e-9 && length >= 0.5 * last) {
            return finish(pair, n, &mut branches, count);
        }
        last = length;
    }
    let end = if last < 1e-7 { finish(pair, n, &mut branches, count) } else { None };
    let (separation, n, mut branches, count) = best;
    end.and_then(|end| {
        if end.separation >= separation - rounding {
            Some(end)
        } else {
            finish(pair, n, &mut branches, count)
        }
    })
}

fn drop_branch(branches: &mut [Branch; 3], count: &mut usize, k: usize) {
    branches[k..*count].rotate_left(1);
    *count -= 1;
    let total: f64 = branches[..*count].iter().map(|b| b.weight.max(0.0)).sum();
    for b in &mut branches[..*count] {
        b.weight = if total > 0.0 { b.weight.max(0.0) / total } else { 1.0 / *count as f64 };
    }
}

fn lightest(branches: &[Branch]) -> usize {
    let mut found = 0;
    for k in 1..branches.len() {
        if branches[k].weight < branches[found].weight {
            found = k;
        }
    }
    found
}

fn near_kink(pair: &Pair, n: DVec3) -> bool {
    let axis = |z: DVec3| z.cross(n).length_squared() < KINK * KINK;
    pair.a.cap(-n).is_some_and(axis) || pair.b.cap(pair.in_b(n)).is_some_and(|z| axis(pair.turn * z))
}

/// The step and the new weights. Nothing where the branches are too much alike.
fn solve(branches: &mut [Branch]) -> Option<DVec2> {
    let mut bend = [0.0; 3];
    for b in branches.iter() {
        for i in 0..3 {
            bend[i] += b.weight * b.bend[i];
        }
    }
    let [uu, uv, vv] = bend;
    let times = |x: DVec2| DVec2::new(uu * x.x + uv * x.y, uv * x.x + vv * x.y);
    let size = uu.abs() + vv.abs();
    match branches {
        [one] => {
            let least = 0.5 * (uu + vv - (uu - vv).hypot(2.0 * uv));
            let lift = if least > SINGULAR * size { 0.0 } else { SOFT * size - least };
            let (uu, vv) = (uu + lift, vv + lift);
            let g = one.gradient;
            one.weight = 1.0;
            Some(DVec2::new(vv * g.x - uv * g.y, uu * g.y - uv * g.x) / (uu * vv - uv * uv))
        }
        [one, two] => {
            let d = one.gradient - two.gradient;
            let squared = d.length_squared();
            if squared <= 0.0 {
                return None;
            }
            let t = d.perp() / squared.sqrt();
            let stiffness = t.dot(times(t));
            let stiffness = if stiffness > SINGULAR * size { stiffness } else { SOFT * size };
            let across = d * ((two.separation - one.separation) / squared);
            let step = across + t * ((t.dot(two.gradient) - t.dot(times(across))) / stiffness);
            one.weight = d.dot(times(step) - two.gradient) / squared;
            two.weight = 1.0 - one.weight;
            Some(step)
        }
        [one, two, three] => {
            let (d1, d2) = (one.gradient - three.gradient, two.gradient - three.gradient);
            let determinant = d1.perp_dot(d2);
            if determinant.abs() <= 1e-13 * d1.length() * d2.length() {
                return None;
            }
            let (e1, e2) = (three.separation - one.separation, three.separation - two.separation);
            let step = DVec2::new(e1 * d2.y - e2 * d1.y, e2 * d1.x - e1 * d2.x) / determinant;
            let rest = times(step) - three.gradient;
            one.weight = rest.perp_dot(d2) / determinant;
            two.weight = d1.perp_dot(rest) / determinant;
            three.weight = 1.0 - one.weight - two.weight;
            Some(step)
        }
        _ => None,
    }
}

fn finish(pair: &Pair, n: DVec3, branches: &mut [Branch; 3], count: usize) -> Option<Optimum> {
    let branches = &mut branches[..count];
    let (mut on_a, mut on_b) = (DVec3::ZERO, DVec3::ZERO);
    let mut pieces = [[0; 2]; 3];
    for (k, b) in branches.iter_mut().enumerate() {
        b.vertex = pair.piece_support(n, b.pieces);
        on_a += b.vertex.a * b.weight;
        on_b += b.vertex.b * b.weight;
        pieces[k] = b.pieces;
    }
    let separation = n.dot(pair.support(n, pieces[0]).w);
    // Where s does not bend down, this may be one of a whole line of optima: none of them is alone.
    let alone = alone(branches).cos();
    Some(Optimum { normal: n, separation, on_a, on_b, alone, pieces, count })
        .filter(|o| o.separation.is_finite() && on_a.is_finite() && on_b.is_finite())
}

/// The angle around an optimum within which it is the only one. Where s is smooth it is as long as s bends
/// down, and the bend changes by about its own size in a radian; across an edge or a corner s falls by the
/// slope on either side until the bend makes up for it. Four times on the safe side.
fn alone(branches: &[Branch]) -> f64 {
    let mut bend = [0.0; 3];
    let mut size = 0.0_f64;
    for b in branches {
        for i in 0..3 {
            bend[i] += b.weight * b.bend[i];
            size = size.max(b.bend[i].abs());
        }
        size = size.max(b.separation.abs());
    }
    let [uu, uv, vv] = bend;
    let least = match branches {
        [_] => 0.5 * (uu + vv - (uu - vv).hypot(2.0 * uv)),
        [one, two] => {
            let d = one.gradient - two.gradient;
            let t = d.perp().normalize_or_zero();
            let along = uu * t.x * t.x + 2.0 * uv * t.x * t.y + vv * t.y * t.y;
            along.min(d.length() * one.weight.min(two.weight))
        }
        [one, two, three] => {
            let (d1, d2) = (one.gradient - three.gradient, two.gradient - three.gradient);
            let longest = d1.length().max(d2.length()).max((d1 - d2).length());
            let weight = one.weight.min(two.weight).min(three.weight);
            weight * d1.perp_dot(d2).abs() / longest
        }
        _ => 0.0,
    };
    if size > 0.0 { (0.25 * least / size).clamp(0.0, 0.2) } else { 0.0 }
}
