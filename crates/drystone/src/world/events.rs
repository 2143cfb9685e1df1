//! Events of contacts.

use super::World;
use crate::body::Motion;
use crate::collide::query::closest_points;
use crate::collider::ColliderId;
use crate::events::{ContactEvent, Events, JointEvent, Phase, SensorEvent, follow};
use crate::model::BodyId;
use crate::queries::QueryFilter;
use glam::DVec3;

impl World {
    /// Notes from now on what begins, goes on and ends in every step; or no longer.
    pub fn record_events(&mut self, on: bool) {
        self.events = Events { on, ..Events::default() };
    }

    /// Whether events are noted.
    pub fn records_events(&self) -> bool {
        self.events.on
    }

    /// Which colliders touched in the last step, began to, or ceased to.
    pub fn contact_events(&self) -> &[ContactEvent] {
        if self.events.recalled { &[] } else { &self.events.contacts }
    }

    /// What was in sensors after the last step, came in, or left.
    pub fn sensor_events(&self) -> &[SensorEvent] {
        if self.events.recalled { &[] } else { &self.events.sensors }
    }

    /// Which joints were at their limits in the last step, came there, or left.
    pub fn joint_events(&self) -> &[JointEvent] {
        &self.events.joints
    }

    /// What overlaps a sensor now (or any other collider): colliders of other bodies that are no sensors, in
    /// slot order.
    pub fn sensed(&self, id: ColliderId) -> Result<Vec<(BodyId, ColliderId)>, crate::world::WorldError> {
        let (own, pose) = (self.collider_body(id)?, self.collider_pose(id)?);
        let c = self.collider(id)?;
        let still = self.motion(own)? == Motion::Static;
        let group = self.model.bodies[own.slot as usize].group;
        let accept = |body: BodyId, _: ColliderId| {
            let b = &self.model.bodies[body.slot as usize];
            body != own && !(still && b.motion == Motion::Static) && (group == 0 || group != b.group)
        };
        let filter = QueryFilter { filter: Some(c.filter), accept: Some(&accept), ..QueryFilter::default() };
        Ok(self.overlapping(&c.shape, &pose, &filter))
    }

    /// To be said after a state was restored. Who touched there is known from its warm starts, as far as
    /// there was an impulse, and who is in a sensor from its places, once a step was taken; limits of joints
    /// begin anew.
    pub(crate) fn recall_events(&mut self) {
        if !self.events.on {
            return;
        }
        let begun = self.state.step > 0;
        let sensors = if begun { self.sensed_now() } else { Vec::new() };
        let (contacts, joints) = (self.touched_before(), Vec::new());
        self.events = Events { on: true, recalled: true, contacts, sensors, joints };
        self.events.sensors.sort_by_key(|e| (e.sensor.1, e.other.1));
        self.events.contacts.sort_by_key(|e| e.colliders);
    }

    /// Who touched in the last step that the state knows of.
    fn touched_before(&self) -> Vec<ContactEvent> {
        let mut found = Vec::new();
        let all = &self.state.multipliers;
        for pair in all.chunk_by(|a, b| a.key.colliders == b.key.colliders) {
            let impulse: DVec3 = pair.iter().map(|m| m.impulse).sum();
            let mut slots = pair[0].key.colliders;
            let known = slots.map(|k| Some(self.model.colliders.get(k as usize)?.body));
            let [Some(first), Some(_)] = known else { continue };
            if pair.iter().all(|m| m.impulse == DVec3::ZERO) {
                continue;
            }
            // As contacts have it: the dynamic one comes first.
            if self.model.bodies.get(first as usize).is_none_or(|b| b.inv_mass == 0.0) {
                slots.reverse();
            }
            let [Some(i), Some(j)] = slots.map(|k| self.model.collider_id(k)) else { continue };
            let poses = [i, j].map(|id| Some((&self.collider(id).ok()?.shape, self.collider_pose(id).ok()?)));
            let [Some((s, p)), Some((t, q))] = poses else { continue };
            let (Ok(a), Ok(b)) = (self.collider_body(i), self.collider_body(j)) else { continue };
            let closest = closest_points(s, &p, t, &q);
            found.push(ContactEvent {
                phase: Phase::Begin,
                bodies: [a, b],
                colliders: [i, j],
                impulse,
                force: impulse / self.settings.h,
                point: closest.map_or(p.position, |c| 0.5 * (c.on_a + c.on_b)),
                normal: closest.map_or(impulse.normalize_or_zero(), |c| c.normal),
            });
        }
        found
    }

    /// To be said after every step.
    pub(crate) fn note_events(&mut self) {
        let (contacts, sensors, joints) = (self.touching_now(), self.sensed_now(), self.at_limits_now());
        let last = &self.events;
        self.events = Events {
            on: true,
            recalled: false,
            contacts: follow(
                &last.contacts,
                contacts,
                |e| e.colliders,
                |e| &mut e.phase,
                |e| (e.impulse, e.force) = (DVec3::ZERO, DVec3::ZERO),
            ),
            sensors: follow(&last.sensors, sensors, |e| (e.sensor.1, e.other.1), |e| &mut e.phase, |_| {}),
            joints: follow(
                &last.joints,
                joints,
                |e| (e.joint, e.coordinate),
                |e| &mut e.phase,
                |e| e.force = 0.0,
            ),
        };
    }

    fn touching_now(&self) -> Vec<ContactEvent> {
        let mut found = Vec::new();
        let h = self.settings.h;
        for pair in self.work.collision.contacts.chunk_by(|a, b| a.key.colliders == b.key.colliders) {
            if !pair.iter().any(|c| c.gap <= 0.0 || c.impulse != DVec3::ZERO) {
                continue;
            }
            let mut colliders = pair[0].key.colliders;
            if self.model.colliders[colliders[0] as usize].body != pair[0].bodies[0] {
                colliders.reverse();
            }
            let [Some(a), Some(b)] = pair[0].bodies.map(|b| self.model.id(b)) else { continue };
            let [Some(i), Some(j)] = colliders.map(|k| self.model.collider_id(k)) else { continue };
            let impulse: DVec3 = pair.iter().map(|c| c.impulse).sum();
            let weight = |c: &crate::contact::Contact| c.normal_impulse().max(0.0);
            let total: f64 = pair.iter().map(weight).sum();
            let share = |c: &crate::contact::Contact| {
                if total > 0.0 { weight(c) / total } else { 1.0 / pair.len() as f64 }
            };
            let point = pair.iter().map(|c| share(c) * c.point).sum();
            let normal =
                pair.iter().fold(pair[0], |best, c| if weight(c) > weight(&best) { *c } else { best });
            let normal = normal.normal;
            let (bodies, colliders, force) = ([a, b], [i, j], impulse / h);
            found.push(ContactEvent {
                phase: Phase::Begin,
                bodies,
                colliders,
                impulse,
                force,
                point,
                normal,
            });
        }
        found
    }

    fn sensed_now(&self) -> Vec<SensorEvent> {
        let mut found = Vec::new();
        for id in self.model.sensors.iter().filter_map(|k| self.model.collider_id(*k)) {
            let Ok(body) = self.collider_body(id) else { continue };
            let inside = self.sensed(id).unwrap_or_default().into_iter();
            let sensor = (body, id);
            found.extend(inside.map(|other| SensorEvent { phase: Phase::Begin, sensor, other }));
        }
        found
    }

    fn at_limits_now(&self) -> Vec<JointEvent> {
        let mut found = Vec::new();
        for joint in self.joints() {
            let Ok(reaction) = self.joint_reaction(joint) else { continue };
            for (coordinate, force) in reaction.limit.into_iter().enumerate().filter(|(_, f)| *f != 0.0) {
                found.push(JointEvent { phase: Phase::Begin, joint, coordinate, force });
            }
        }
        found
    }
}
