//! Rays, casts, closest points and overlaps.

use super::World;
use crate::collide::Aabb;
use crate::collide::query::tree::Tree;
use crate::collide::query::{self, CastHit, ClosestPoints, Projection, RayHit};
use crate::collider::ColliderId;
use crate::model::BodyId;
use crate::queries::{Found, QueryFilter, is_nearer, unit};
use crate::shape::{Pose, Shape};
use glam::DVec3;
use std::sync::{Arc, PoisonError};

impl World {
    /// Bodies are elsewhere than the steps have put them.
    pub(crate) fn moved(&mut self) {
        self.places.moves += 1;
    }

    /// Slots of dynamic bodies whose centre of mass, which the state keeps, is not the origin of their frame.
    /// Known as long as no body is added, removed or changed.
    #[doc(hidden)]
    pub fn off_centre(&self) -> Arc<[u32]> {
        let mut kept = self.places.off_centre.lock().unwrap_or_else(PoisonError::into_inner);
        if self.model.revision() == 0 || kept.0 != self.model.revision() {
            let all = self.model.dynamic().filter(|i| self.model.bodies[*i].mass.centre != DVec3::ZERO);
            *kept = (self.model.revision(), all.map(|i| i as u32).collect());
        }
        kept.1.clone()
    }

    fn tree(&self) -> Arc<Tree> {
        // Steps count up, and so do moves by hand: no two places of the bodies have the same number.
        let motion = self.state.step.wrapping_add(self.places.moves << 32);
        let mut kept = self.places.tree.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.is_of(&self.model, motion) {
            Arc::make_mut(&mut kept).renew(&self.model, &self.state, motion);
        }
        kept.clone()
    }

    /// A collider and where it is, if the question is about such ones.
    fn asked(&self, filter: &QueryFilter, k: u32) -> Option<(&Shape, Pose)> {
        let c = &self.model.colliders[k as usize];
        if filter.filter.is_some_and(|f| !f.meets(c.filter))
            || !filter.sensors && self.model.is_sensor(k)
            || filter.motion.is_some_and(|m| m != self.model.bodies[c.body as usize].motion)
            || !filter.exclude.is_empty() && filter.exclude.contains(&self.model.id(c.body)?)
        {
            return None;
        }
        Some((&c.shape, self.model.collider_pose(&self.state, k as usize)?))
    }

    /// What was found of a collider, unless nobody wants it. Ids are looked up for those alone that are hit.
    fn found<T>(&self, filter: &QueryFilter, k: u32, hit: T) -> Option<Found<T>> {
        let body = self.model.id(self.model.colliders[k as usize].body)?;
        let collider = self.model.collider_id(k)?;
        let wanted = filter.accept.is_none_or(|accept| accept(body, collider));
        wanted.then_some(Found { body, collider, hit })
    }

    /// The first collider that a ray hits within `max_distance`; `direction` need not be a unit vector. Where
    /// a ray starts inside a solid shape it hits there, at distance 0.
    pub fn ray_first(
        &self,
        origin: DVec3,
        direction: DVec3,
        max_distance: f64,
        filter: &QueryFilter,
    ) -> Option<Found<RayHit>> {
        let direction = unit(direction)?;
        let mut best: Option<Found<RayHit>> = None;
        self.tree().ray(origin, direction, [DVec3::ZERO; 2], max_distance, |k, max| {
            let Some((shape, pose)) = self.asked(filter, k) else { return max };
            let hit = query::ray(shape, &pose, origin, direction, max);
            let Some(hit) = hit.filter(|hit| is_nearer(hit.distance, k, &best, |b| b.distance)) else {
                return max;
            };
            best = self.found(filter, k, hit).or(best);
            best.map_or(max, |b| b.hit.distance.min(max))
        });
        best
    }

    /// All colliders that a ray hits within `max_distance`, each where the ray enters it first, the nearest
    /// first.
    pub fn ray_all(
        &self,
        origin: DVec3,
        direction: DVec3,
        max_distance: f64,
        filter: &QueryFilter,
    ) -> Vec<Found<RayHit>> {
        let Some(direction) = unit(direction) else { return Vec::new() };
        let mut found = Vec::new();
        self.tree().ray(origin, direction, [DVec3::ZERO; 2], max_distance, |k, max| {
            if let Some((shape, pose)) = self.asked(filter, k) {
                let hit = query::ray(shape, &pose, origin, direction, max_distance);
                found.extend(hit.and_then(|hit| self.found(filter, k, hit)));
            }
            max
        });
        found.sort_by(|a, b| a.hit.distance.total_cmp(&b.hit.distance).then(a.collider.cmp(&b.collider)));
        found
    }

    /// The first collider that a shape touches on its straight way from `pose` along `direction` (any length)
    /// by at most `max_distance`.
    pub fn cast_shape(
        &self,
        shape: &Shape,
        pose: &Pose,
        direction: DVec3,
        max_distance: f64,
        filter: &QueryFilter,
    ) -> Option<Found<CastHit>> {
        let direction = unit(direction)?;
        let still = shape.aabb(pose);
        let reach = [still.min - pose.position, still.max - pose.position];
        let mut best: Option<Found<CastHit>> = None;
        self.tree().ray(pose.position, direction, reach, max_distance, |k, max| {
            let Some((target, place)) = self.asked(filter, k) else { return max };
            let hit = query::cast(shape, pose, direction, max, target, &place);
            let Some(hit) = hit.filter(|hit| is_nearer(hit.distance, k, &best, |b| b.distance)) else {
                return max;
            };
            best = self.found(filter, k, hit).or(best);
            best.map_or(max, |b| b.hit.distance.min(max))
        });
        best
    }

    /// All colliders that share a point with `shape` at `pose`, in slot order.
    pub fn overlapping(&self, shape: &Shape, pose: &Pose, filter: &QueryFilter) -> Vec<(BodyId, ColliderId)> {
        let bounds = shape.aabb(pose);
        let mut found = Vec::new();
        self.tree().overlapping(&bounds, |k| {
            let Some((other, place)) = self.asked(filter, k) else { return };
            if other.aabb(&place).overlaps(&bounds) && query::overlap(shape, pose, other, &place) {
                found.extend(self.found(filter, k, ()).map(|f| (f.body, f.collider)));
            }
        });
        found.sort_unstable_by_key(|f| f.1);
        found
    }

    /// The collider nearest to `shape` at `pose` within `max_distance`, with the closest points: on_a is on
    /// `shape`, on_b on what was found.
    pub fn closest(
        &self,
        shape: &Shape,
        pose: &Pose,
        max_distance: f64,
        filter: &QueryFilter,
    ) -> Option<Found<ClosestPoints>> {
        let bounds = shape.aabb(pose);
        let apart = |b: &Aabb| {
            let beyond = (b.min - bounds.max).max(bounds.min - b.max).max(DVec3::ZERO);
            if beyond == DVec3::ZERO { f64::NEG_INFINITY } else { beyond.length() }
        };
        let mut best: Option<Found<ClosestPoints>> = None;
        self.tree().nearest(apart, max_distance, |k, limit| {
            let Some((other, place)) = self.asked(filter, k) else { return limit };
            let hit = query::closest_points(shape, pose, other, &place);
            let near = |hit: &ClosestPoints| {
                hit.distance <= max_distance && is_nearer(hit.distance, k, &best, |b| b.distance)
            };
            let Some(hit) = hit.filter(near) else { return limit };
            best = self.found(filter, k, hit).or(best);
            best.map_or(limit, |b| b.hit.distance.min(limit))
        });
        best
    }

    /// The closest points of two bodies: on_a is on the first. Sensors do not count. None if one has no
    /// shape, or their shapes have no distance.
    pub fn closest_points(
        &self,
        a: BodyId,
        b: BodyId,
    ) -> Result<Option<ClosestPoints>, crate::world::WorldError> {
        let bodies = [self.slot(a)? as u32, self.slot(b)? as u32];
        let [first, second] = bodies.map(|body| {
            let own = self.model.colliders.iter().enumerate().filter(move |(_, c)| c.body == body);
            own.filter(|(k, _)| !self.model.is_sensor(*k as u32))
                .filter_map(|(k, c)| Some((&c.shape, self.model.collider_pose(&self.state, k)?)))
                .collect::<Vec<_>>()
        });
        let pairs = first.iter().flat_map(|x| second.iter().map(move |y| (x, y)));
        let found = pairs.filter_map(|((s, p), (t, q))| query::closest_points(s, p, t, q));
        Ok(found.min_by(|x, y| x.distance.total_cmp(&y.distance)))
    }

    /// The point of a collider's surface nearest to `point` within `max_distance`; inside a solid shape the
    /// distance is negative.
    pub fn project_point(
        &self,
        point: DVec3,
        max_distance: f64,
        filter: &QueryFilter,
    ) -> Option<Found<Projection>> {
        let apart = |b: &Aabb| {
            let beyond = point.distance(point.clamp(b.min, b.max));
            if beyond == 0.0 { f64::NEG_INFINITY } else { beyond }
        };
        let mut best: Option<Found<Projection>> = None;
        self.tree().nearest(apart, max_distance, |k, limit| {
            let Some((shape, place)) = self.asked(filter, k) else { return limit };
            let hit = query::project(shape, &place, point);
            if !(hit.distance <= max_distance && is_nearer(hit.distance, k, &best, |b| b.distance)) {
                return limit;
            }
            best = self.found(filter, k, hit).or(best);
            best.map_or(limit, |b| b.hit.distance.min(limit))
        });
        best
    }
}
