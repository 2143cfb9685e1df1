//! Changes to living bodies between steps: where they are, what pushes them, mass, friction, how they move.

use std::sync::Arc;

use glam::{DMat3, DQuat, DVec3};

use crate::body::{Filter, MassProperties, Motion};
use crate::error::WorldError;
use crate::joint::WORLD_BODY;
use crate::limits::{FARTHEST, FASTEST, STRONGEST, within};
use crate::model::{BodyId, outer, unit};
use crate::prescribed_motion::Guided;
use crate::shape::Pose;
use crate::world::World;
use crate::world::colliders::check_mu;

impl World {
    /// Puts a body somewhere else: origin of its frame (m) and orientation. Velocities stay as they are in
    /// world axes, its contacts begin anew, and nothing is looked at on the way. A planar body moves to the
    /// parallel plane through the new place; a guided one goes on from there. What joints make of it is seen
    /// in the next step.
    pub fn set_pose(&mut self, id: BodyId, position: DVec3, rotation: DQuat) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        check_pose(position, rotation)?;
        self.disturb(i);
        self.place(i, position, rotation);
        self.forget_contacts_of(|slot| slot == id.slot);
        self.moved();
        Ok(())
    }

    /// The same of many bodies in one pass over the world; of none of them if one is not there or a pose is
    /// none.
    pub fn set_poses(&mut self, poses: &[(BodyId, Pose)]) -> Result<(), WorldError> {
        let mut there = vec![false; self.model.bodies.len()];
        for (id, pose) in poses {
            there[self.slot(*id)?] = true;
            check_pose(pose.position, pose.rotation)?;
        }
        self.wake_all();
        for (id, pose) in poses {
            self.place(id.slot as usize, pose.position, pose.rotation);
        }
        self.forget_contacts_of(|slot| there.get(slot as usize) == Some(&true));
        self.moved();
        Ok(())
    }

    fn place(&mut self, i: usize, position: DVec3, rotation: DQuat) {
        let omega = self.state.world_omega(i);
        let rotation = unit(rotation);
        let centre = position + rotation * self.model.centre(i);
        (self.state.position[i], self.state.rotation[i]) = (centre, rotation);
        self.state.omega[i] = rotation.conjugate() * omega;
        self.state.crossings[i] = [0; 3];
        let time = self.state.time;
        let body = &mut self.model.bodies[i];
        if let Some(guide) = body.guide.take() {
            body.guide = Some(Box::new(Guided::from_now(guide.guide().clone(), centre, rotation, time)));
        }
        if let Some(plane) = &mut body.planar {
            plane.offset = plane.normal.dot(centre);
            // The axis that it turns about has another place in the body.
            self.renew_inertia(i);
        }
        self.state.wrap(&self.model, i);
        self.loose |= self.model.joints.iter().any(|j| j.alive && j.bodies.contains(&(i as u32)));
    }

    /// The pose of a body: origin of its frame (m) and orientation.
    pub fn pose(&self, id: BodyId) -> Result<Pose, WorldError> {
        Ok(Pose::new(self.position(id)?, self.rotation(id)?))
    }

    /// Velocity of the point of a body that is now at a world point, m/s.
    pub fn velocity_at(&self, id: BodyId, point: DVec3) -> Result<DVec3, WorldError> {
        Ok(self.state.velocity_at(self.slot(id)?, point))
    }

    /// Changes a dynamic body's velocities at once by an impulse (N s, world axes) at a world point; at the
    /// centre of mass if no point is given. One that is not dynamic refuses it.
    pub fn apply_impulse(&mut self, id: BodyId, impulse: DVec3, at: Option<DVec3>) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        self.check_push(i, ("impulse", "N s"), impulse, at)?;
        let arm = at.map_or(DVec3::ZERO, |p| p - self.state.position[i]);
        self.kick(i, impulse, arm.cross(impulse))
    }

    /// Changes a dynamic body's angular velocity at once by an angular impulse (N m s, world axes).
    pub fn apply_angular_impulse(&mut self, id: BodyId, impulse: DVec3) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        self.check_push(i, ("angular impulse", "N m s"), impulse, None)?;
        self.kick(i, DVec3::ZERO, impulse)
    }

    fn kick(&mut self, i: usize, impulse: DVec3, angular: DVec3) -> Result<(), WorldError> {
        let q = self.state.rotation[i];
        let body = &self.model.bodies[i];
        let mut change = body.inv_mass * impulse;
        if let Some(plane) = &body.planar {
            change = plane.within(change);
        }
        let turn = *body.inv_inertia * (q.conjugate() * angular);
        let (velocity, omega) = (self.state.velocity[i] + change, self.state.omega[i] + turn);
        for (what, v, unit) in [("velocity", velocity, "m/s"), ("angular velocity", omega, "rad/s")] {
            let text =
                |e| format!("impulse: {} would get too fast by it: {e}", self.model.describe(i as u32));
            within(what, v, FASTEST, unit).map_err(|e| WorldError::Body(text(e)))?;
        }
        self.wake_slot(i as u32);
        (self.state.velocity[i], self.state.omega[i]) = (velocity, omega);
        Ok(())
    }

    /// Says what is wrong with a force, torque or impulse on a body, at a point if one is given.
    fn check_push(
        &self,
        i: usize,
        (what, unit): (&str, &str),
        push: DVec3,
        at: Option<DVec3>,
    ) -> Result<(), WorldError> {
        within(what, push, STRONGEST, unit).map_err(WorldError::Body)?;
        if let Some(p) = at {
            within("point", p, FARTHEST, "m of the origin").map_err(WorldError::Body)?;
        }
        let (body, motion) = (self.model.describe(i as u32), self.model.bodies[i].motion);
        match motion {
            Motion::Dynamic => Ok(()),
            Motion::Static => {
                Err(WorldError::Body(format!("{what}: {body} is static, which nothing pushes")))
            }
            Motion::Kinematic => Err(WorldError::Body(format!(
                "{what}: {body} is kinematic, which nothing pushes: give it a velocity"
            ))),
        }
    }

    /// Adds a force (N) at a world point for the next step only; at the centre of mass if no point is given.
    /// A body that is not dynamic refuses it. All that was applied since the last step is within
    /// [`crate::limits::STRONGEST`].
    pub fn apply_force(&mut self, id: BodyId, force: DVec3, at: Option<DVec3>) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        self.check_push(i, ("force", "N"), force, at)?;
        let all = self.state.force[i] + force;
        within("force", all, STRONGEST, "N").map_err(WorldError::Body)?;
        self.state.force[i] = all;
        if let Some(p) = at {
            self.state.torque[i] += (p - self.state.position[i]).cross(force);
        }
        Ok(())
    }

    /// Adds a torque (N m, world axes) for the next step only. A body that is not dynamic refuses it.
    pub fn apply_torque(&mut self, id: BodyId, torque: DVec3) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        self.check_push(i, ("torque", "N m"), torque, None)?;
        self.state.torque[i] += torque;
        Ok(())
    }

    /// Forgets all forces and torques applied since the last step.
    pub fn clear_forces(&mut self) {
        self.state.force.fill(DVec3::ZERO);
        self.state.torque.fill(DVec3::ZERO);
    }

    /// Force (N) and torque about the centre of mass (N m), world axes, applied since the last step.
    pub fn applied_force(&self, id: BodyId) -> Result<(DVec3, DVec3), WorldError> {
        let i = self.slot(id)?;
        Ok((self.state.force[i], self.state.torque[i]))
    }

    /// Mass, centre of mass and inertia of a body, in its own frame.
    pub fn mass(&self, id: BodyId) -> Result<MassProperties, WorldError> {
        Ok(*self.model.bodies[self.slot(id)?].mass)
    }

    /// Changes mass, centre of mass and inertia between steps. The body's frame stays where it is and moves
    /// on as a rigid body does: the velocity of the new centre of mass is the one that this point had. Of a
    /// body that is not dynamic it counts once it is.
    pub fn set_mass(&mut self, id: BodyId, mass: MassProperties) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        mass.check().map_err(|e| WorldError::Body(format!("{}: {e}", self.model.describe(id.slot))))?;
        self.disturb(i);
        let old = self.model.centre(i);
        self.model.bodies[i].mass = Arc::new(mass);
        self.recentre(i, self.model.centre(i) - old);
        self.renew_inertia(i);
        self.model.recount();
        self.renamed();
        Ok(())
    }

    /// How a body moves.
    pub fn motion(&self, id: BodyId) -> Result<Motion, WorldError> {
        Ok(self.model.bodies[self.slot(id)?].motion)
    }

    /// Changes how a body moves between steps. One that becomes static stops; one that becomes dynamic has
    /// the mass that it was added with or given since ([`World::set_mass`]). A lock to a plane ends with
    /// being dynamic, a guide with being kinematic.
    pub fn set_motion(&mut self, id: BodyId, motion: Motion) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        if self.model.bodies[i].motion == motion {
            return Ok(());
        }
        let bad = |e: String| WorldError::Body(format!("{}: {e}", self.model.describe(id.slot)));
        if motion == Motion::Dynamic {
            let mass = *self.model.bodies[i].mass;
            mass.check().map_err(&bad)?;
            for c in self.model.colliders.iter().filter(|c| c.body == id.slot) {
                let whole = crate::body::Collider::new(c.shape.clone(), 0.0);
                self.collider_fits(&whole, motion, mass.centre).map_err(&bad)?;
            }
        } else if let Some(j) = self.model.joint_slots().find(|&j| {
            let moves = |b: &u32| *b != WORLD_BODY && self.model.bodies[*b as usize].inv_mass > 0.0;
            let bodies = &self.model.joints[j].bodies;
            bodies.contains(&id.slot) && !bodies.iter().any(|b| *b != id.slot && moves(b))
        }) {
            let joint = self.model.describe_joint(j as u32);
            return Err(bad(format!(
                "must stay dynamic, because it is the only dynamic body of {joint}: remove that first"
            )));
        }
        self.wake_all();
        let old = self.model.centre(i);
        let body = &mut self.model.bodies[i];
        body.motion = motion;
        if motion != Motion::Dynamic {
            body.planar = None;
        }
        if motion != Motion::Kinematic {
            body.guide = None;
        }
        if motion == Motion::Static {
            (self.state.velocity[i], self.state.omega[i]) = (DVec3::ZERO, DVec3::ZERO);
        }
        self.recentre(i, self.model.centre(i) - old);
        self.renew_inertia(i);
        self.model.recount();
        self.renamed();
        // A contact has its dynamic body first.
        self.forget_contacts_of(|slot| slot == id.slot);
        Ok(())
    }

    /// Sets the friction of all shapes of a body, between steps.
    pub fn set_friction(&mut self, id: BodyId, mu: f64) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        check_mu(mu)?;
        self.disturb(i);
        self.model.colliders.iter_mut().filter(|c| c.body == id.slot).for_each(|c| c.mu = mu);
        self.model.recount();
        Ok(())
    }

    /// Sets layers and mask of all shapes of a body, between steps.
    pub fn set_filter(&mut self, id: BodyId, filter: Filter) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        self.disturb(i);
        self.model.colliders.iter_mut().filter(|c| c.body == id.slot).for_each(|c| c.filter = filter);
        self.model.changed();
        Ok(())
    }

    /// Names a body, or takes its name away.
    pub fn set_name(&mut self, id: BodyId, name: Option<String>) -> Result<(), WorldError> {
        let i = self.slot(id)?;
        self.model.bodies[i].name = name.map(String::into_boxed_str);
        Ok(())
    }

    /// The reference point of a body's state moves by `shift` (body axes, m), and all that is placed from it
    /// with it.
    fn recentre(&mut self, i: usize, shift: DVec3) {
        if shift == DVec3::ZERO {
            return;
        }
        let (q, omega) = (self.state.rotation[i], self.state.world_omega(i));
        self.state.position[i] += q * shift;
        self.state.velocity[i] += omega.cross(q * shift);
        for c in self.model.colliders.iter_mut().filter(|c| c.body == i as u32) {
            let mut place = c.place();
            place.position -= shift;
            c.radius = place.position.length() + c.shape.bounding_radius();
            c.local = (place != Pose::IDENTITY).then(|| Box::new(place));
        }
        for joint in self.model.joints.iter_mut().filter(|j| j.alive) {
            for (body, frame) in joint.bodies.iter().zip(&mut joint.frames) {
                if *body == i as u32 {
                    frame.position -= shift;
                }
            }
        }
        if let Some(plane) = &mut self.model.bodies[i].planar {
            plane.offset = plane.normal.dot(self.state.position[i]);
        }
        self.moved();
    }

    /// Inverse mass and inertia from mass, motion and plane.
    fn renew_inertia(&mut self, i: usize) {
        let q = self.state.rotation[i];
        let body = &mut self.model.bodies[i];
        if body.motion != Motion::Dynamic {
            (body.inv_mass, body.inv_inertia) = (0.0, Arc::new(DMat3::ZERO));
            return;
        }
        let inertia = body.mass.inertia;
        let inverse = match &body.planar {
            Some(plane) => {
                let axis = q.conjugate() * plane.normal;
                outer(axis, axis) * (1.0 / axis.dot(inertia * axis))
            }
            None => inertia.inverse(),
        };
        (body.inv_mass, body.inv_inertia) = (1.0 / body.mass.mass, Arc::new(inverse));
    }

    fn forget_contacts_of(&mut self, whose: impl Fn(u32) -> bool) {
        let own: Vec<bool> = self.model.colliders.iter().map(|c| whose(c.body)).collect();
        self.forget_contacts(|pair| pair.iter().any(|k| own.get(*k as usize) == Some(&true)));
    }
}

fn check_pose(position: DVec3, rotation: DQuat) -> Result<(), WorldError> {
    within("position", position, FARTHEST, "m of the origin").map_err(WorldError::Body)?;
    let length = rotation.length();
    if !(length.is_finite() && (length - 1.0).abs() < 1e-3) {
        let text = format!("rotation must be a unit quaternion, its length is {length}");
        return Err(WorldError::Body(text));
    }
    Ok(())
}
