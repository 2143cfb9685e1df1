//! Convex parts of a concave solid.
//!
//! The solid itself is cut, by planes, into pieces whose hulls take up little more room than they do; hulls
//! that fit together are joined again. As in \[MamouGhorbel2009\] the measure is volume, and the piece that
//! is worst is cut along the best of a set of planes; as in \[WeiLiu2022\] the planes cut triangles, not
//! voxels, and a cut is judged by what can be cut next. So an angle bracket falls into its two boxes exactly,
//! and a hull never leaves out anything of the solid.

use std::sync::Arc;

use drystone::shape::Hull;
use rayon::prelude::*;

use super::cut::pieces;
use super::piece::{Piece, any_hull_volume, hull_volume};
use super::{MeshError, Place, Surface};

/// A file of more loose pieces than this is taken as one solid, and cut like one.
const MOST_LOOSE: usize = 512;

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

/// Cuts a closed surface into convex parts. The same surface and target give the same parts, bit for bit, for
/// any number of threads.
pub fn decompose(surface: &Surface, target: &Target) -> Result<Decomposition, MeshError> {
    target.check().map_err(|e| MeshError::new(Place::Whole, e))?;
    surface.check_solid()?;
    let refuse = || MeshError::new(Place::Whole, "its convex hull cannot be found: is it too thin?");
    let volume = surface.moments().volume;
    let whole = surface.compact();
    let mut loose = pieces(&whole);
    if loose.len() > MOST_LOOSE {
        loose = vec![whole];
    }
    let mut all = Vec::new();
    for piece in loose {
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
        all.into_iter().map(|p| Part { volume: hull_volume(&p.hull), hull: p.hull }).collect();
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
