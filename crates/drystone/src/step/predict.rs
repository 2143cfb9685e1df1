//! Stage 1: the velocities that bodies would have without contacts and joints.

use drystone_solve::crew::{self, Shared};
use glam::{DQuat, DVec3};

use super::StepError;
use crate::body::Motion;
use crate::model::Body;
use crate::motion::{free_rotation, is_ball};
use crate::world::World;

/// v_free = v + h M⁻¹ f: gravity, applied forces, fields, gyroscopic term; the own velocity of bodies that are not dynamic.
pub(super) fn free_velocities(w: &mut World) -> Result<(), StepError> {
    w.act();
    w.find_jointed();
    let (h, g) = (w.settings.h, w.settings.gravity);
    let n = w.model.bodies.len();
    w.free.clear();
    let bodies = &w.model.bodies;
    if !crew::all(n, |i| !turns_freely(&bodies[i])) {
        w.free.resize(n, (DVec3::ZERO, DQuat::IDENTITY));
    }
    w.v_free.resize(n, [0.0; 6]);
    let World { model, state: s, acting, free, v_free, .. } = w;
    let (turned, to) = (Shared(free.as_mut_ptr()), Shared(v_free.as_mut_ptr()));
    let sound = crew::all(n, |i| {
        let body = &model.bodies[i];
        let (mut v, mut omega) = (s.velocity[i], s.omega[i]);
        if body.motion == Motion::Dynamic && body.alive {
            let field = acting.on(i);
            v += h * (g + body.inv_mass * (s.force[i] + field.force));
            if !is_ball(&body.mass.inertia) {
                let free = free_rotation(&body.mass.inertia, omega, h);
                if turns_freely(body) {
                    // SAFETY: there is room for all as soon as one turns freely, and each is looked at once.
                    unsafe { *turned.at(i) = free };
                }
                omega = free.0;
            }
            omega += h * (*body.inv_inertia * (s.rotation[i].conjugate() * (s.torque[i] + field.torque)));
            if let Some(plane) = &body.planar {
                v = plane.within(v);
                omega = s.rotation[i].conjugate() * plane.about(s.rotation[i] * omega);
            }
        } else if !body.alive {
            (v, omega) = (DVec3::ZERO, DVec3::ZERO);
        } else if let Some(guided) = &body.guide {
            (v, omega) = guided.velocity(s.position[i], s.rotation[i], s.time + h, h);
            omega = s.rotation[i].conjugate() * omega;
        }
        let turn = s.rotation[i] * omega;
        // SAFETY: each body once.
        unsafe { *to.at(i) = [v.x, v.y, v.z, turn.x, turn.y, turn.z] };
        v.is_finite() && turn.is_finite() && s.position[i].is_finite()
    });
    if sound {
        return Ok(());
    }
    let finite = |i: &usize| v_free[*i].iter().all(|x| x.is_finite()) && s.position[*i].is_finite();
    let i = (0..n).find(|i| !finite(i)).unwrap_or_default();
    let text = format!("{} has a position, velocity or force that is not finite", model.describe(i as u32));
    Err(StepError::NonFinite { step: s.step + 1, text })
}

impl World {
    /// Notes which bodies are on joints.
    fn find_jointed(&mut self) {
        self.jointed.clear();
        for b in self.model.joint_slots().flat_map(|j| self.model.joints[j].bodies) {
            self.jointed.resize(self.model.bodies.len(), false);
            self.jointed.get_mut(b as usize).into_iter().for_each(|jointed| *jointed = true);
        }
    }
}

/// Whether a body's rotation is that of its free motion and what comes on top: `World::free` has the first for these.
pub(super) fn turns_freely(body: &Body) -> bool {
    body.alive && body.motion == Motion::Dynamic && body.planar.is_none() && !is_ball(&body.mass.inertia)
}
