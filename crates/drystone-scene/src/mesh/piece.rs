//! A piece of a solid on its way to convex parts: how far it is from convex, and where to cut it.

use std::sync::Arc;

use drystone::shape::Hull;
use drystone_solve::disjoint::DisjointSets;
use glam::DVec3;
use rayon::prelude::*;

use super::Surface;
use super::candidates::{Candidate, Concave, candidates, concave_edges};
use super::cut::{Knot, Plane, Sides, clip, cut, pieces};
use super::quick::hull_volume_of;

/// Planes tried across each axis of a piece, and of the pieces that would come of it.
const SLICES: usize = 11;
const SLICES_AHEAD: usize = 5;
/// Planes for which the next cut is looked at too. A cut that gains nothing by itself may make a clean one
/// possible.
const LOOKED_AT: usize = 8;
/// Pieces with more triangles are not looked into ahead: it would take long, and there will be cuts enough.
const FORESEEN: usize = 4000;
/// What one cut less is worth, as a share of the cost.
const A_LITTLE: f64 = 0.05;
/// What concave edges count beside volume. By volume alone, a cut that opens a cavity gains nothing.
const BEND: f64 = 0.1;

/// A piece of the solid, or several that share a hull.
#[derive(Clone)]
pub(super) struct Piece {
    /// What is left to cut; empty once joined to another.
    pub surface: Surface,
    pub hull: Arc<Hull>,
    /// Volume of the solid in it, m³.
    pub volume: f64,
    /// Volume of the hull beyond that, m³.
    pub excess: f64,
    /// Found to have no plane that helps.
    pub is_final: bool,
    concave: Vec<Concave>,
    /// Length times angle of all concave edges, m.
    bend: f64,
}

/// What a piece is measured by: the excess and the concave edges of the piece that it is cut from.
#[derive(Clone, Copy)]
struct Scale {
    excess: f64,
    bend: f64,
}

impl Scale {
    fn cost(&self, excess: f64, bend: f64) -> f64 {
        let bend = if self.bend > 0.0 { bend / self.bend } else { 0.0 };
        excess.max(0.0) / self.excess + BEND * bend
    }
}

/// By the fast way where it works.
pub(super) fn any_hull_volume(points: &[DVec3]) -> Option<f64> {
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
    pub fn new(surface: Surface) -> Option<Self> {
        let hull = Hull::new(&surface.vertices).ok()?;
        let volume = surface.moments().volume;
        let excess = (hull_volume(&hull) - volume).max(0.0);
        let concave = concave_edges(&surface);
        let bend = concave.iter().map(|e| e.weight).sum();
        Some(Self { surface, hull: Arc::new(hull), volume, excess, is_final: false, concave, bend })
    }

    pub fn points_with(&self, other: &Piece) -> Vec<DVec3> {
        self.hull.vertices().iter().chain(other.hull.vertices()).copied().collect()
    }

    /// Both under one hull.
    pub fn joined(&self, other: &Piece) -> Option<Piece> {
        let hull = Hull::new(&self.points_with(other)).ok()?;
        let volume = self.volume + other.volume;
        let excess = hull_volume(&hull) - volume;
        let (surface, hull) = (Surface::default(), Arc::new(hull));
        Some(Piece { surface, hull, volume, excess, is_final: true, concave: Vec::new(), bend: 0.0 })
    }

    /// Two or more pieces by the best plane that works.
    pub fn split(&self) -> Option<Vec<Piece>> {
        let all = candidates(&self.surface, &self.concave, SLICES);
        let scale = Scale { excess: self.excess, bend: self.bend };
        let score = |c: &Candidate| self.score(&c.plane, &scale);
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
                let made = self.apply(&self.refine(&all[k], score, &scale))?;
                Some((made.iter().map(|p| p.outlook(&scale)).sum(), made))
            })
            .collect();
        let best = (0..tried.len()).min_by(|&a, &b| tried[a].0.total_cmp(&tried[b].0).then(a.cmp(&b)))?;
        tried.into_iter().nth(best).map(|(_, made)| made)
    }

    /// What is left after one more cut, and a little for the cut itself: a piece that needs none is better.
    fn outlook(&self, scale: &Scale) -> f64 {
        let now = scale.cost(self.excess, self.bend);
        if now <= A_LITTLE || self.surface.triangles.len() > FORESEEN {
            return now;
        }
        let all = candidates(&self.surface, &self.concave, SLICES_AHEAD);
        let best = all.iter().filter_map(|c| self.score(&c.plane, scale)).fold(f64::INFINITY, f64::min);
        now.min(best + A_LITTLE)
    }

    /// Shifts a plane that belongs to no face to where it does best.
    fn refine(&self, candidate: &Candidate, score: f64, scale: &Scale) -> Plane {
        let mut best = (score, candidate.plane);
        let mut play = candidate.play;
        for _ in 0..4 {
            if play == 0.0 {
                break;
            }
            play *= 0.5;
            let shifted = [-play, play].map(|d| Plane { offset: best.1.offset + d, ..best.1 });
            let scores: Vec<Option<f64>> = shifted.par_iter().map(|p| self.score(p, scale)).collect();
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
            for surface in pieces(&half) {
                made.push(Piece::new(surface)?);
            }
        }
        // What lids cannot close (a surface through itself) shows in the sum.
        let sum: f64 = made.iter().map(|p| p.volume).sum();
        let least = made.iter().map(|p| p.volume).fold(f64::INFINITY, f64::min);
        ((sum - self.volume).abs() <= 1e-6 * self.volume && least > 1e-7 * self.volume).then_some(made)
    }

    /// What would be left.
    fn score(&self, plane: &Plane, scale: &Scale) -> Option<f64> {
        let sides = Sides::new(&self.surface, plane);
        if !sides.parts() {
            return None;
        }
        let (mut excess, mut bend) = (0.0, 0.0);
        for keep in [-1, 1] {
            for (volume, hull) in self.halves(plane, &sides, keep)? {
                if volume <= 1e-6 * self.volume {
                    return None;
                }
                excess += (hull - volume).max(0.0);
            }
            bend += self.concave.iter().map(|e| e.weight * e.share(&sides, keep)).sum::<f64>();
        }
        Some(scale.cost(excess, bend))
    }

    /// Volumes of solid and hull of what is on one side, piece by piece. Seen from a point of the plane the
    /// lid adds nothing to the volume, so there is no need to find it.
    fn halves(&self, plane: &Plane, sides: &Sides, keep: i8) -> Option<Vec<(f64, f64)>> {
        let surface = &self.surface;
        let base = plane.normal * plane.offset;
        let mut sets = DisjointSets::new(surface.vertices.len());
        let mut knots = Vec::with_capacity(4);
        for &triangle in &surface.triangles {
            let on_side = |i: &&u32| sides.sign[**i as usize] * keep > 0;
            let Some(&first) = triangle.iter().find(on_side) else { continue };
            triangle
                .iter()
                .filter(|i| sides.sign[**i as usize] * keep >= 0)
                .for_each(|&i| sets.join(first, i));
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
            let root = sets.root(*inside?) as usize;
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
