//! Joints: adding, removing, motors, reactions.

use super::World;
use crate::body::Motion;
use crate::error::WorldError;
use crate::joint::custom::Custom;
use crate::joint::equation::{Equations, MOST_COORDINATES, Placed, unwrap};
use crate::joint::law::{Law, Limits, Motor};
use crate::joint::slot::{Joint, JointError, JointState, Reaction, WORLD_BODY};
use crate::joint::{Frames, JointDef, JointId, Kind, Sort};
use crate::joint::{drift::bad, error_of};
use crate::model::BodyId;
use crate::shape::Pose;
use glam::{DMat3, DVec3};

impl World {
    /// Adds a joint, before or between steps. Its bodies stop colliding with each other unless the definition
    /// says that they go on.
    pub fn add_joint(&mut self, def: JointDef) -> Result<JointId, WorldError> {
        let what = def.describe();
        def.check().map_err(|e| bad(&what, e))?;
        if self.settings.periodic.is_some() {
            return Err(bad(&what, "joints do not work in a periodic world yet"));
        }
        let slot = |body: Option<BodyId>| match body {
            None => Ok(WORLD_BODY),
            Some(id) if self.model.contains(id) => Ok(id.slot),
            Some(id) => Err(bad(&what, WorldError::NoBody(id))),
        };
        let bodies = [slot(def.a)?, slot(def.b)?];
        if bodies[0] == bodies[1] {
            return Err(bad(&what, "joins a body to itself"));
        }
        let Some(gyration) = bodies.iter().filter_map(|b| self.model.gyration(*b)).reduce(f64::min) else {
            return Err(bad(&what, "at least one of its bodies must be dynamic"));
        };
        let frames = [0, 1].map(|k| self.local_frame(bodies[k], &def.frames, k));
        if let Kind::Custom(custom) = &def.kind {
            self.check_custom(custom, bodies, &frames).map_err(|e| bad(&what, e))?;
        }
        let mut laws = def.laws;
        laws.resize(def.kind.coordinates().len(), Law::default());
        let mut parted = false;
        if !def.collide && !bodies.contains(&WORLD_BODY) {
            let pair = (bodies[0].min(bodies[1]), bodies[0].max(bodies[1]));
            parted = self.model.apart.binary_search(&pair).is_err();
            self.model.set_collides(bodies[0], bodies[1], false);
        }
        let number = self.model.free_joints.pop().unwrap_or(self.model.joints.len() as u32);
        let generation = self.model.joints.get(number as usize).map_or(0, |j| j.generation + 1);
        let joint = Joint {
            alive: true,
            generation,
            name: def.name,
            kind: def.kind,
            bodies,
            frames,
            reference: Box::new([0, 1].map(|k| self.world_frame(bodies[k], &frames[k]))),
            laws,
            compliance: def.compliance,
            length: def.length.unwrap_or(gyration),
            k: def.k,
            parted,
        };
        self.model.changed();
        if number as usize == self.model.joints.len() {
            self.model.joints.push(joint);
            self.state.joints.push(JointState::default());
        } else {
            self.model.joints[number as usize] = joint;
            self.state.joints[number as usize] = JointState::default();
        }
        self.state.whose.add_joint(number, &self.model.joints[number as usize]);
        self.work.velocity.assembler.rows.forget(number);
        bodies.into_iter().for_each(|b| self.wake_slot(b));
        self.loose = true;
        Ok(JointId { slot: number, generation })
    }

    /// A frame of a new joint, relative to the body's centre of mass.
    fn local_frame(&self, body: u32, frames: &Frames, k: usize) -> Pose {
        let unit = |p: Pose| Pose::new(p.position, p.rotation.normalize());
        if body == WORLD_BODY {
            return unit(match frames {
                Frames::World(p) => *p,
                Frames::Local(a, b) | Frames::Worlds(a, b) => [*a, *b][k],
            });
        }
        let i = body as usize;
        let from_world = |p: &Pose| {
            let back = self.state.rotation[i].conjugate();
            unit(Pose::new(back * (p.position - self.state.position[i]), back * p.rotation))
        };
        match frames {
            Frames::World(p) => from_world(p),
            Frames::Worlds(a, b) => from_world([a, b][k]),
            Frames::Local(a, b) => {
                let p = [*a, *b][k];
                let b = &self.model.bodies[i];
                let centre = if b.motion == Motion::Dynamic { b.mass.centre } else { DVec3::ZERO };
                unit(Pose::new(p.position - centre, p.rotation))
            }
        }
    }

    /// Compares the gradients of a new joint's own equations with differences.
    fn check_custom(&self, custom: &Custom, bodies: [u32; 2], frames: &[Pose; 2]) -> Result<(), String> {
        let placed = [0, 1].map(|k| self.world_frame(bodies[k], &frames[k]));
        custom.check_gradients(&Placed {
            origin: placed.map(|p| p.position),
            axes: placed.map(|p| DMat3::from_quat(p.rotation)),
            arm: [DVec3::ZERO; 2],
            length: 1.0,
            time: [self.state.time; 2],
            reference: &placed,
            angle: [0.0; MOST_COORDINATES],
        })
    }

    fn world_frame(&self, body: u32, local: &Pose) -> Pose {
        if body == WORLD_BODY {
            return *local;
        }
        let (x, q) = (self.state.position[body as usize], self.state.rotation[body as usize]);
        Pose::new(x + q * local.position, q * local.rotation)
    }

    /// Removes a joint, before or between steps.
    pub fn remove_joint(&mut self, id: JointId) -> Result<(), WorldError> {
        let j = self.joint_slot(id)?;
        self.drop_joint(j);
        Ok(())
    }

    fn drop_joint(&mut self, j: usize) {
        let (bodies, parted) = (self.model.joints[j].bodies, self.model.joints[j].parted);
        bodies.into_iter().for_each(|b| self.wake_slot(b));
        self.model.changed();
        self.state.whose.take_joint(j as u32, &self.model.joints[j]);
        self.model.joints[j].alive = false;
        self.model.free_joints.push(j as u32);
        let others = |o: &Joint| {
            o.alive && o.bodies.iter().all(|b| bodies.contains(b)) && !o.bodies.contains(&WORLD_BODY)
        };
        if parted {
            // Another joint between the same bodies keeps them apart from now on.
            match self.model.joints.iter_mut().find(|o| others(o)) {
                Some(other) => other.parted = true,
                None => self.model.set_collides(bodies[0], bodies[1], true),
            }
        }
    }

    /// Removes the joints of bodies that are not there any more.
    pub(crate) fn drop_joints_of_the_gone(&mut self) {
        let gone = |world: &World, slot: u32| world.model.bodies.get(slot as usize).is_some_and(|b| !b.alive);
        for j in 0..self.model.joints.len() {
            let joint = &self.model.joints[j];
            if joint.alive && joint.bodies.iter().any(|&b| gone(self, b)) {
                self.drop_joint(j);
            }
        }
    }

    fn joint_slot(&self, id: JointId) -> Result<usize, WorldError> {
        if self.model.contains_joint(id) { Ok(id.slot as usize) } else { Err(WorldError::NoJoint(id)) }
    }

    /// All joints, in slot order.
    pub fn joints(&self) -> impl Iterator<Item = JointId> + '_ {
        self.model
            .joint_slots()
            .map(|j| JointId { slot: j as u32, generation: self.model.joints[j].generation })
    }

    /// What a joint is.
    pub fn joint(&self, id: JointId) -> Result<&Joint, WorldError> {
        Ok(&self.model.joints[self.joint_slot(id)?])
    }

    fn law_mut(&mut self, id: JointId, k: usize) -> Result<&mut Law, WorldError> {
        let j = self.joint_slot(id)?;
        let what = self.model.describe_joint(id.slot);
        self.model.joints[j].bodies.into_iter().for_each(|b| self.wake_slot(b));
        let joint = &mut self.model.joints[j];
        let free = joint.laws.len();
        joint
            .laws
            .get_mut(k)
            .ok_or_else(|| bad(&what, format!("there is no free coordinate {k}, it has {free}")))
    }

    /// Puts a motor on a free coordinate, or takes it away.
    pub fn set_motor(
        &mut self,
        id: JointId,
        coordinate: usize,
        motor: Option<Motor>,
    ) -> Result<(), WorldError> {
        let what = self.model.describe_joint(id.slot);
        let law = self.law_mut(id, coordinate)?;
        let new = Law { motor, ..law.clone() };
        new.check().map_err(|e| bad(&what, e))?;
        *law = new;
        Ok(())
    }

    /// Sets the limits of a free coordinate, or takes them away.
    pub fn set_limits(
        &mut self,
        id: JointId,
        coordinate: usize,
        limits: Option<Limits>,
    ) -> Result<(), WorldError> {
        let what = self.model.describe_joint(id.slot);
        let law = self.law_mut(id, coordinate)?;
        let new = Law { limits, ..law.clone() };
        new.check().map_err(|e| bad(&what, e))?;
        *law = new;
        Ok(())
    }

    /// Sets all that acts along a free coordinate.
    pub fn set_law(&mut self, id: JointId, coordinate: usize, new: Law) -> Result<(), WorldError> {
        let what = self.model.describe_joint(id.slot);
        let law = self.law_mut(id, coordinate)?;
        new.check().map_err(|e| bad(&what, e))?;
        *law = new;
        Ok(())
    }

    /// The free coordinates now, m or rad; angles count turns, as long as a step turns by less than half of
    /// one.
    pub fn joint_coordinates(&self, id: JointId) -> Result<Vec<f64>, WorldError> {
        let j = self.joint_slot(id)?;
        let memory = &self.state.joints[j];
        let e = self.model.joints[j].equations(&self.state, memory, [self.state.time; 2]);
        Ok(e.coordinates().iter().map(|c| c.value).collect())
    }

    /// Rates of the free coordinates now, m/s or rad/s.
    pub fn joint_rates(&self, id: JointId) -> Result<Vec<f64>, WorldError> {
        let j = self.joint_slot(id)?;
        let joint = &self.model.joints[j];
        let e = joint.equations(&self.state, &self.state.joints[j], [self.state.time; 2]);
        Ok(e.coordinates().iter().map(|c| joint.rate(&c.jacobian, |i| self.state.twist(i))).collect())
    }

    /// What the joint did in the last step; zero before the first.
    pub fn joint_reaction(&self, id: JointId) -> Result<Reaction, WorldError> {
        let j = self.joint_slot(id)?;
        Ok(self.work.velocity.assembler.rows.reactions.get(j).copied().unwrap_or_default())
    }

    /// Where a joint is (origin of frame B), m, world.
    pub fn joint_position(&self, id: JointId) -> Result<DVec3, WorldError> {
        let j = self.joint_slot(id)?;
        let memory = &self.state.joints[j];
        Ok(self.model.joints[j].place(&self.state, memory, [self.state.time; 2]).origin[1])
    }

    /// The two frames of a joint now, in the world.
    pub fn joint_frames(&self, id: JointId) -> Result<[Pose; 2], WorldError> {
        let joint = &self.model.joints[self.joint_slot(id)?];
        Ok([0, 1].map(|k| self.world_frame(joint.bodies[k], &joint.frames[k])))
    }

    /// How far the joints' equations are from being met by the present positions and velocities. Compliant
    /// equations do not count.
    pub fn joint_error(&self) -> JointError {
        let mut worst = JointError::default();
        let mut e = Equations::default();
        for j in self.model.joint_slots() {
            let one = error_of(&self.model, &self.state, j, &mut e);
            worst.position = worst.position.max(one.position);
            worst.velocity = worst.velocity.max(one.velocity);
        }
        worst
    }

    /// Number of scalar equations that the joints pose: bilateral ones, motors that command position or speed
    /// included.
    #[doc(hidden)]
    pub fn bilaterals(&self) -> usize {
        let t = [self.state.time; 2];
        let mut sum = 0;
        for j in self.model.joint_slots() {
            let joint = &self.model.joints[j];
            let e = joint.equations(&self.state, &self.state.joints[j], t);
            sum += e.rows().iter().filter(|r| matches!(r.sort, Sort::Holonomic | Sort::Nonholonomic)).count();
            let commands = |l: &Law| l.motor.as_ref().is_some_and(Motor::commands_motion);
            sum += joint.laws.iter().filter(|l| commands(l)).count();
        }
        sum
    }

    /// Sets the number of turns of an angle among the free coordinates: the whole turns that bring it nearest
    /// to `near`.
    #[doc(hidden)]
    pub fn set_joint_turns(&mut self, id: JointId, coordinate: usize, near: f64) -> Result<(), WorldError> {
        let j = self.joint_slot(id)?;
        let joint = &self.model.joints[j];
        if joint.kind.coordinates().get(coordinate) != Some(&true) {
            let what = self.model.describe_joint(id.slot);
            return Err(bad(&what, format!("coordinate {coordinate} is not an angle")));
        }
        let e = joint.equations(&self.state, &self.state.joints[j], [self.state.time; 2]);
        self.state.joints[j].angle[coordinate] = unwrap(e.coordinates()[coordinate].value, near);
        Ok(())
    }
}
