//! A tree of bounding boxes over the colliders of a world, for questions about where things are.

use glam::DVec3;

use crate::collide::Aabb;
use crate::collide::midphase::Bvh;
use crate::model::{Model, NOBODY};
use crate::state::State;

/// A tree whose boxes have moved is built anew when its nodes have this many times the surface that they had.
const WORN: f64 = 2.0;

/// Colliders by place, as they are in one state of one model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    bvh: Bvh,
    /// Collider slots, in the order of the tree's parts.
    slots: Vec<u32>,
    /// Those that do not end: half-spaces, height fields.
    endless: Vec<u32>,
    /// What it was built for, and where bodies were then.
    revision: u64,
    motion: u64,
    /// Half of the surface of its nodes when it was built.
    surface: f64,
}

impl Tree {
    /// Whether it is about this model, with bodies where they are now.
    pub fn is_of(&self, model: &Model, motion: u64) -> bool {
        model.revision() != 0 && (self.revision, self.motion) == (model.revision(), motion)
    }

    /// Brings it up to date: boxes move where colliders are the same, else it is built.
    pub fn renew(&mut self, model: &Model, state: &State, motion: u64) {
        self.motion = motion;
        if model.revision() != 0 && self.revision == model.revision() {
            let slots = &self.slots;
            let now = self.bvh.refit(|k| model.collider_aabb(state, slots[k as usize] as usize));
            if now <= WORN * self.surface {
                return;
            }
        }
        (self.slots, self.endless) = (Vec::new(), Vec::new());
        let mut boxes = Vec::new();
        for (k, c) in model.colliders.iter().enumerate().filter(|(_, c)| c.body != NOBODY) {
            let bounds = if c.radius.is_finite() { Some(model.collider_aabb(state, k)) } else { None };
            match bounds.filter(|b| b.min.is_finite() && b.max.is_finite()) {
                Some(b) => {
                    boxes.push(b);
                    self.slots.push(k as u32);
                }
                None => self.endless.push(k as u32),
            }
        }
        self.bvh = Bvh::new(&boxes);
        self.surface = self.bvh.half_surface();
        self.revision = model.revision();
    }

    /// Visits colliders in the order of a lower bound (as far as the tree tells), endless ones first: see
    /// [`Bvh::nearest`].
    pub fn nearest(
        &self,
        bound: impl Fn(&Aabb) -> f64,
        mut limit: f64,
        mut visit: impl FnMut(u32, f64) -> f64,
    ) {
        for k in &self.endless {
            limit = visit(*k, limit);
        }
        self.bvh.nearest(bound, limit, |k, limit| visit(self.slots[k as usize], limit));
    }

    /// Visits colliders whose boxes share a point with `bounds`, and all endless ones.
    pub fn overlapping(&self, bounds: &Aabb, mut visit: impl FnMut(u32)) {
        self.endless.iter().for_each(|k| visit(*k));
        // A bounded query may still be endless along some axes.
        self.bvh.overlapping(bounds, |k| visit(self.slots[k as usize]));
    }

    /// Visits colliders whose boxes, grown by `reach`, are met by the ray, and all endless ones; the visitor
    /// returns the new, never larger distance up to which it looks.
    pub fn ray(
        &self,
        origin: DVec3,
        direction: DVec3,
        reach: [DVec3; 2],
        mut max: f64,
        mut visit: impl FnMut(u32, f64) -> f64,
    ) {
        for k in &self.endless {
            max = visit(*k, max);
        }
        self.bvh.sweep(origin, direction, reach, max, |k, max| visit(self.slots[k as usize], max));
    }
}
