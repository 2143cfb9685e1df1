//! Convex parts of a concave solid.
//!
//! The solid itself is cut, by planes, into pieces whose hulls take up little more room than they do; hulls that fit
//! together are joined again. As in \[MamouGhorbel2009\] the measure is volume, and the piece that is worst is cut along
//! the best of a set of planes; as in \[WeiLiu2022\] the planes cut triangles, not voxels, and a cut is judged by what can be cut next.
//! So an angle bracket falls into its two boxes exactly, and a hull never leaves out anything of the solid.

use std::sync::Arc;

use drystone::shape::Hull;
use glam::DVec3;
use rayon::prelude::*;

use super::candidates::{Candidate, candidates};
use super::cut::{Join, Knot, Plane, Sides, clip, cut, pieces};
use super::quick::hull_volume_of;
use super::{MeshError, Place, Surface};

/// Planes tried across each axis of a piece, and of the pieces that would come of it.
const SLICES: usize = 11;
const SLICES_AHEAD: usize = 5;
/// Planes for which the next cut is looked at too. A cut that gains nothing by itself may make a clean one possible.
const LOOKED_AT: usize = 8;
/// Pieces with more triangles are not looked into ahead: it would take long, and there will be cuts enough.
const FORESEEN: usize = 4000;
/// Share of the excess that one cut less is worth.
const A_LITTLE: f64 = 0.05;

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
        let Some(worst) = open.max_by(|&a, &b| all[a].excess.total_cmp(&all[b].excess).then(b.cmp(&a)))
        else {
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
    let mut alive: Vec<Option<Piece>> = all.drain(..).map(Some).collect();
    // What joining adds to the excess; for a pair it changes only when one of the two does.
    let price = |i: usize, j: usize, alive: &[Option<Piece>]| {
        let (a, b) = (alive[i].as_ref()?, alive[j].as_ref()?);
        let whole = any_hull_volume(&a.points_with(b))?;
        Some((whole - (a.volume + a.excess) - (b.volume + b.excess), i, j))
    };
    let pairs: Vec<(usize, usize)> = (0..alive.len()).flat_map(|i| (0..i).map(move |j| (j, i))).collect();
    let mut prices: Vec<(f64, usize, usize)> =
        pairs.par_iter().filter_map(|&(i, j)| price(i, j, &alive)).collect();
    loop {
        let count = alive.iter().flatten().count();
        let excess: f64 = alive.iter().flatten().map(|p| p.excess).sum();
        let cheapest = |a: &usize, b: &usize| {
            let ((x, i, j), (y, k, l)) = (prices[*a], prices[*b]);
            x.total_cmp(&y).then((i, j).cmp(&(k, l)))
        };
        let Some(best) = (0..prices.len()).min_by(cheapest) else { break };
        let (cost, i, j) = prices.swap_remove(best);
        if count <= target.parts && excess + cost > target.threshold * volume {
            break;
        }
        let joined = match (&alive[i], &alive[j]) {
            (Some(a), Some(b)) => a.joined(b),
            _ => None,
        };
        let Some(joined) = joined else { continue };
        (alive[i], alive[j]) = (None, None);
        prices.retain(|p| ![p.1, p.2].iter().any(|k| *k == i || *k == j));
        let new = alive.len();
        alive.push(Some(joined));
        prices.par_extend((0..new).into_par_iter().filter_map(|k| price(k, new, &alive)));
    }
    all.extend(alive.into_iter().flatten());
}

/// By the fast way where it works.
fn any_hull_volume(points: &[DVec3]) -> Option<f64> {
    hull_volume_of(points).or_else(|| Some(hull_volume(&Hull::new(points).ok()?)))
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

    fn points_with(&self, other: &Piece) -> Vec<DVec3> {
        self.hull.vertices().iter().chain(other.hull.vertices()).copied().collect()
    }

    /// Both under one hull.
    fn joined(&self, other: &Piece) -> Option<Piece> {
        let hull = Hull::new(&self.points_with(other)).ok()?;
        let volume = self.volume + other.volume;
        let excess = hull_volume(&hull) - volume;
        Some(Piece { surface: Surface::default(), hull: Arc::new(hull), volume, excess, is_final: true })
    }

    /// Two or more pieces by the best plane that works.
    fn split(&self) -> Option<Vec<Piece>> {
        let all = candidates(&self.surface, SLICES);
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
        let tried: Vec<(f64, Vec<Piece>)> = order[..order.len().min(LOOKED_AT)]
            .par_iter()
            .filter_map(|&(score, k)| {
                let made = self.apply(&self.refine(&all[k], score))?;
                Some((made.iter().map(|p| p.outlook(self.excess)).sum(), made))
            })
            .collect();
        let best = (0..tried.len()).min_by(|&a, &b| tried[a].0.total_cmp(&tried[b].0).then(a.cmp(&b)))?;
        tried.into_iter().nth(best).map(|(_, made)| made)
    }

    /// What is left of the excess after one more cut, and a little for the cut itself: a piece that needs none is
    /// better.
    fn outlook(&self, whole: f64) -> f64 {
        let little = A_LITTLE * whole;
        if self.excess <= little || self.surface.triangles.len() > FORESEEN {
            return self.excess;
        }
        let all = candidates(&self.surface, SLICES_AHEAD);
        let best = all.iter().filter_map(|c| self.score(&c.plane)).fold(1.0, f64::min);
        (best * self.excess + little).min(self.excess)
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

    /// The share of the excess that would be left.
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
                score += ((hull - volume) / self.excess).max(0.0);
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
            triangle
                .iter()
                .filter(|i| sides.sign[**i as usize] * keep >= 0)
                .for_each(|&i| join.unite(first, i));
        }
        // Volume and points of every piece, by its root.
        let mut number: Vec<u32> = vec![u32::MAX; surface.vertices.len()];
        let mut made: Vec<(f64, Vec<DVec3>)> = Vec::new();
        let mut seen = vec![false; surface.vertices.len()];
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
            for knot in &knots {
                // A vertex comes with every triangle around it, a crossing with two.
                match *knot {
                    Knot::Vertex(i) if std::mem::replace(&mut seen[i as usize], true) => {}
                    _ => points.push(place(knot)),
                }
            }
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
        made.into_iter().map(|(volume, points)| Some((volume, any_hull_volume(&points)?))).collect()
    }
}
