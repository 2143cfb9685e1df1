//! Questions to a world about where things are: rays, moving shapes, overlaps, closest points.
//!
//! All of them go through one tree of boxes over the colliders. It is made when the first question is asked
//! after bodies have moved, and its boxes are moved, not sorted anew, as long as the colliders are the same.
//! In a periodic world questions are about the bodies where the state has them, not about their images.

use std::sync::{Arc, Mutex};

use glam::DVec3;

use crate::body::{Filter, Motion};
use crate::collide::query::tree::Tree;
use crate::collider::ColliderId;
use crate::model::BodyId;

/// The tree of a world, and how often bodies were moved by hand.
#[derive(Default)]
pub(crate) struct Places {
    pub tree: Mutex<Arc<Tree>>,
    pub moves: u64,
    /// For a revision of the model: see [`crate::World::off_centre`].
    pub off_centre: Mutex<(u64, Arc<[u32]>)>,
}

/// Which colliders a question is about.
///
/// ```
/// use drystone::{Motion, QueryFilter};
/// let movable = QueryFilter { motion: Some(Motion::Dynamic), ..QueryFilter::default() };
/// assert!(!movable.sensors);
/// ```
#[derive(Clone, Copy, Default)]
pub struct QueryFilter<'a> {
    /// Only shapes that would collide with one of these layers and this mask; None: all.
    pub filter: Option<Filter>,
    /// Only bodies that move like this; None: all.
    pub motion: Option<Motion>,
    /// Not these bodies.
    pub exclude: &'a [BodyId],
    /// Whether sensors count.
    pub sensors: bool,
    /// Only what it says yes to; None: all.
    pub accept: Option<&'a (dyn Fn(BodyId, ColliderId) -> bool + 'a)>,
}

/// What a question found, and of whom.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found<T> {
    /// The body.
    pub body: BodyId,
    /// Its collider.
    pub collider: ColliderId,
    /// What was found.
    pub hit: T,
}

/// Whether what a collider has to answer goes before the best so far. Of several at one distance the one with
/// the lowest slot does: the tree's order is nobody's business.
pub(crate) fn is_nearer<T>(distance: f64, k: u32, best: &Option<Found<T>>, of: impl Fn(&T) -> f64) -> bool {
    best.as_ref().is_none_or(|b| (distance, k) < (of(&b.hit), b.collider.slot))
}

/// A direction of any length as a unit vector: also of one whose square is no number. None for zero.
pub(crate) fn unit(direction: DVec3) -> Option<DVec3> {
    direction.try_normalize().or_else(|| {
        let largest = direction.abs().max_element();
        (largest > 0.0 && direction.is_finite()).then(|| (direction / largest).normalize())
    })
}
