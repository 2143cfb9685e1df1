//! Convex parts of a concave solid.
//!
//! The solid itself is cut, by planes, into pieces whose hulls take up little more room than they do; hulls that fit
//! together are joined again. As in \[MamouGhorbel2009\] the measure is volume, and the piece that is worst is cut along
//! the best of a set of planes; as in \[WeiLiu2022\] the planes cut triangles, not voxels, and concave edges offer theirs.
//! So an angle bracket falls into its two boxes exactly, and a hull never leaves out anything of the solid.

use std::sync::Arc;

use drystone::shape::Hull;
use glam::DVec3;
use rayon::prelude::*;

use super::candidates::{Candidate, candidates};
use super::cut::{Join, Knot, Plane, Sides, clip, cut, pieces};
use super::{MeshError, Place, Surface};

/// When to stop cutting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Most parts, 1 to 256.
    pub parts: usize,
    /// By how much the parts together may be larger than the solid, as a share of its volume.
    pub threshold: f64,
}

impl Default for Target {
    fn default() -> Self {
        Self { parts: 32, threshold: 0.03 }
    }
}

impl Target {
    /// Most parts that can be asked for.
    pub const MOST_PARTS: usize = 256;

    /// Says what is wrong, naming the field.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=Self::MOST_PARTS).contains(&self.parts) {
            return Err(format!("parts must be from 1 to {}, got {}", Self::MOST_PARTS, self.parts));
        }
        if !(self.threshold.is_finite() && self.threshold >= 0.0) {
            return Err(format!("threshold must be finite and not negative, got {}", self.threshold));
        }
        Ok(())
    }
}

/// A convex part.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its shape, in the frame of the mesh.
    pub hull: Arc<Hull>,
    /// Volume of the hull, m³.
    pub volume: f64,
}

/// The parts of a solid.
#[derive(Clone, Debug)]
pub struct Decomposition {
    /// From the largest to the smallest.
    pub parts: Vec<Part>,
    /// Volume of the solid, m³.
    pub volume: f64,
}

impl Decomposition {
    /// By how much the parts together are larger than the solid, as a share of its volume.
    pub fn error(&self) -> f64 {
        self.parts.iter().map(|p| p.volume).sum::<f64>() / self.volume - 1.0
    }
}

/// A piece of the solid, or several that share a hull.
#[derive(Clone)]
struct Piece {
    /// What is left to cut; empty once joined to another.
    surface: Surface,
    hull: Arc<Hull>,
    /// Volume of the solid in it, m³.
    volume: f64,
    /// Volume of the hull beyond that, m³.
    excess: f64,
    /// Found to have no plane that helps.
    is_final: bool,
}

/// Cuts a closed surface into convex parts. The same surface and target give the same parts, bit for bit, for any
/// number of threads.
pub fn decompose(surface: &Surface, target: &Target) -> Result<Decomposition, MeshError> {
    target.check().map_err(|e| MeshError::new(Place::Whole, e))?;
    surface.check_solid()?;
    let refuse = || MeshError::new(Place::Whole, "its convex hull cannot be found: is it too thin?");
    let volume = surface.moments().volume;
    let mut all = Vec::new();
    for piece in pieces(surface.clone()) {
        all.push(Piece::new(piece).ok_or_else(refuse)?);
    }
    // Cutting goes further than asked for, and joining takes back what was not worth it.
    while all.len() < 2 * target.parts && total(&all) > 0.5 * target.threshold * volume {
        let open = (0..all.len()).filter(|&k| !all[k].is_final);
        let Some(worst) = open.max_by(|&a, &b| all[a].excess.total_cmp(&all[b].excess).then(b.cmp(&a))) else {
            break;
        };
        if all[worst].excess <= 1e-9 * volume {
            break;
        }
        match all[worst].split() {
            Some(made) => {
                all.swap_remove(worst);
                all.extend(made);
            }
            None => all[worst].is_final = true,
        }
    }
    join(&mut all, target, volume);
    let mut parts: Vec<Part> =
        all.into_iter().map(|p| Part { volume: p.volume + p.excess, hull: p.hull }).collect();
    parts.sort_by(|a, b| b.volume.total_cmp(&a.volume));
    Ok(Decomposition { parts, volume })
}

fn total(all: &[Piece]) -> f64 {
    all.iter().map(|p| p.excess).sum()
}

/// Joins the pair that costs least, as long as there are too many or the target is met all the same.
fn join(all: &mut Vec<Piece>, target: &Target, volume: f64) {
    let united = |a: &Piece, b: &Piece| -> Option<Piece> {
        let points: Vec<DVec3> = a.hull.vertices().iter().chain(b.hull.vertices()).copied().collect();
        let hull = Hull::new(&points).ok()?;
        let (volume, whole) = (a.volume + b.volume, hull_volume(&hull));
        let surface = Surface::default();
        Some(Piece { surface, hull: Arc::new(hull), volume, excess: whole - volume, is_final: true })
    };
    // The price of a pair changes only when one of the two does.
    let mut prices: Vec<(f64, u32, u32, Piece)> = Vec::new();
    let mut alive: Vec<Option<Piece>> = all.drain(..).map(Some).collect();
    let price = |i: u32, j: u32, alive: &[Option<Piece>]| {
        let (a, b) = (alive[i as usize].as_ref()?, alive[j as usize].as_ref()?);
        let joined = united(a, b)?;
        Some((joined.excess - a.excess - b.excess, i, j, joined))
    };
    let pairs: Vec<(u32, u32)> =
        (0..alive.len() as u32).flat_map(|i| (0..i).map(move |j| (j, i))).collect();
    prices.par_extend(pairs.par_iter().filter_map(|&(i, j)| price(i, j, &alive)));
    loop {
        let count = alive.iter().flatten().count();
        let excess: f64 = alive.iter().flatten().map(|p| p.excess).sum();
        let best = (0..prices.len())
            .min_by(|&a, &b| (prices[a].0).total_cmp(&prices[b].0).then(prices[a].1.cmp(&prices[b].1)));
        let Some(best) = best else { break };
        if count <= target.parts && excess + prices[best].0 > target.threshold * volume {
            break;
        }
        let (_, i, j, joined) = prices.swap_remove(best);
        (alive[i as usize], alive[j as usize]) = (None, None);
        prices.retain(|p| ![p.1, p.2].iter().any(|k| *k == i || *k == j));
        let new = alive.len() as u32;
        alive.push(Some(joined));
        let others: Vec<u32> = (0..new).filter(|&k| alive[k as usize].is_some()).collect();
        prices.par_extend(others.par_iter().filter_map(|&k| price(k, new, &alive)));
    }
    all.extend(alive.into_iter().flatten());
}

/// m³
pub(super) fn hull_volume(hull: &Hull) -> f64 {
    let v = hull.vertices();
    let base = v[0];
    let mut six = 0.0;
    for f in 0..hull.faces().len() {
        let ring = hull.face_vertices(f);
        for k in 1..ring.len().saturating_sub(1) {
            let [a, b, c] = [ring[0], ring[k], ring[k + 1]].map(|i| v[i as usize] - base);
            six += a.dot(b.cross(c));
        }
    }
    six / 6.0
}

impl Piece {
    fn new(surface: Surface) -> Option<Self> {
        let hull = Hull::new(&surface.vertices).ok()?;
        let volume = surface.moments().volume;
        let excess = (hull_volume(&hull) - volume).max(0.0);
        Some(Self { surface, hull: Arc::new(hull), volume, excess, is_final: false })
    }

    /// Two or more pieces by the best plane that works.
    fn split(&self) -> Option<Vec<Piece>> {
        let all = candidates(&self.surface);
        let score = |c: &Candidate| self.score(&c.plane);
        let mut order: Vec<(f64, usize)> = all
            .par_iter()
            .map(score)
            .collect::<Vec<_>>()
            .into_iter()
            .enumerate()
            .filter_map(|(k, s)| Some((s?, k)))
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for &(score, k) in order.iter().take(8) {
            let plane = self.refine(&all[k], score);
            if let Some(made) = self.apply(&plane) {
                return Some(made);
            }
        }
        None
    }

    /// Shifts a plane that belongs to no face to where it does best.
    fn refine(&self, candidate: &Candidate, score: f64) -> Plane {
        let mut best = (score, candidate.plane);
        let mut play = candidate.play;
        for _ in 0..4 {
            if play == 0.0 {
                break;
            }
            play *= 0.5;
            let shifted = [-play, play].map(|d| Plane { offset: best.1.offset + d, ..best.1 });
            let scores: Vec<Option<f64>> = shifted.par_iter().map(|p| self.score(p)).collect();
            for (plane, score) in shifted.into_iter().zip(scores) {
                if let Some(score) = score.filter(|s| *s < best.0) {
                    best = (score, plane);
                }
            }
        }
        best.1
    }

    fn apply(&self, plane: &Plane) -> Option<Vec<Piece>> {
        let halves = cut(&self.surface, plane)?;
        let mut made = Vec::new();
        for half in halves {
            for surface in pieces(half) {
                made.push(Piece::new(surface)?);
            }
        }
        // What lids cannot close (a surface through itself) shows in the sum.
        let sum: f64 = made.iter().map(|p| p.volume).sum();
        let least = made.iter().map(|p| p.volume).fold(f64::INFINITY, f64::min);
        ((sum - self.volume).abs() <= 1e-6 * self.volume && least > 1e-7 * self.volume).then_some(made)
    }

    /// What would be left of the excess. Between planes that leave the same, halves that share it evenly are better:
    /// they are what can be cut again.
    fn score(&self, plane: &Plane) -> Option<f64> {
        let sides = Sides::new(&self.surface, plane);
        if !sides.parts() {
            return None;
        }
        let mut score = 0.0;
        for keep in [-1, 1] {
            for (volume, hull) in self.halves(plane, &sides, keep)? {
                if volume <= 1e-6 * self.volume {
                    return None;
                }
                let excess = ((hull - volume) / self.excess).max(0.0);
                score += excess.powf(EVENNESS);
            }
        }
        Some(score)
    }

    /// Volumes of solid and hull of what is on one side, piece by piece. Seen from a point of the plane the lid adds
    /// nothing to the volume, so there is no need to find it.
    fn halves(&self, plane: &Plane, sides: &Sides, keep: i8) -> Option<Vec<(f64, f64)>> {
        let surface = &self.surface;
        let base = plane.normal * plane.offset;
        let mut join = Join::new(surface.vertices.len());
        let mut knots = Vec::with_capacity(4);
        for &triangle in &surface.triangles {
            let on_side = |i: &&u32| sides.sign[**i as usize] * keep > 0;
            let Some(&first) = triangle.iter().find(on_side) else { continue };
            triangle.iter().filter(|i| sides.sign[**i as usize] * keep >= 0).for_each(|&i| join.unite(first, i));
        }
        // Volume and points of every piece, by its root.
        let mut number: Vec<u32> = vec![u32::MAX; surface.vertices.len()];
        let mut made: Vec<(f64, Vec<DVec3>)> = Vec::new();
        for &triangle in &surface.triangles {
            clip(triangle, sides, keep, &mut knots);
            if knots.is_empty() {
                continue;
            }
            let place = |knot: &Knot| match *knot {
                Knot::Vertex(i) => surface.vertices[i as usize],
                Knot::Edge(i, j) => sides.crossing(surface, i, j),
            };
            let inside = triangle.iter().find(|&&i| sides.sign[i as usize] * keep > 0);
            let root = join.root(*inside?) as usize;
            if number[root] == u32::MAX {
                number[root] = made.len() as u32;
                made.push((0.0, Vec::new()));
            }
            let (volume, points) = &mut made[number[root] as usize];
            let corner = |k: usize| place(&knots[k]) - base;
            for k in 1..knots.len() - 1 {
                *volume += corner(0).dot(corner(k).cross(corner(k + 1))) / 6.0;
            }
            points.extend(knots.iter().map(place));
        }
        // A piece inside out is the wall of a cavity: only the lid, not known here, says of which piece.
        if made.iter().any(|(volume, _)| *volume <= 0.0) {
            let all = made.into_iter().reduce(|mut a, b| {
                a.0 += b.0;
                a.1.extend(b.1);
                a
            })?;
            made = vec![all];
        }
        made.into_iter().map(|(volume, points)| Some((volume, hull_volume(&Hull::new(&points).ok()?)))).collect()
    }
}

/// Power of the sum over pieces in [`Piece::score`]; above 1 prefers halves that share the excess.
const EVENNESS: f64 = 1.5;
