//! Stage 1: the velocities that bodies would have without contacts and joints.

use drystone_solve::parallel::{self, Shared};
use glam::{DQuat, DVec3};

use crate::body::Motion;
use crate::check::beyond;
use crate::field::Placed;
use crate::gyration::turns_freely;
use crate::limits;
use crate::model::Model;
use crate::motion::{free_rotation, is_ball};
use crate::report::StepError;
use crate::setup::Setup;
use crate::state::State;
use crate::workspace::FreeMotion;

/// v_free = v + h M⁻¹ f: gravity, applied forces, fields, gyroscopic term; the own velocity of bodies that
/// are not dynamic.
pub(crate) fn free_velocities(setup: Setup, s: &State, to: &mut FreeMotion) -> Result<(), StepError> {
    let (model, n) = (setup.model, setup.model.bodies.len());
    let (h, g) = (setup.settings.h, setup.settings.gravity);
    to.acting.at(setup.fields, model, Placed::of(s));
    to.jointed.clone_from(&to.jointed_elsewhere);
    find_jointed(model, &mut to.jointed);
    to.turned.clear();
    if !parallel::all(n, |i| !turns_freely(&model.bodies[i])) {
        to.turned.resize(n, (DVec3::ZERO, DQuat::IDENTITY));
    }
    to.v.resize(n, [0.0; 6]);
    let FreeMotion { v: v_free, turned, acting, .. } = to;
    let (turned, to) = (Shared(turned.as_mut_ptr()), Shared(v_free.as_mut_ptr()));
    let sound = parallel::all(n, |i| {
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
        limits::holds(s.position[i], v, turn)
    });
    if sound {
        return Ok(());
    }
    let of = |i: usize| {
        let v = v_free[i];
        (s.position[i], DVec3::new(v[0], v[1], v[2]), DVec3::new(v[3], v[4], v[5]))
    };
    let bad = |i: &usize| {
        let (x, v, turn) = of(*i);
        !limits::holds(x, v, turn)
    };
    let i = (0..n).find(bad).unwrap_or_default();
    let (step, body, (x, v, turn)) = (s.step + 1, model.describe(i as u32), of(i));
    if x.is_finite() && v.is_finite() && turn.is_finite() {
        return Err(beyond(step, &body, x, v, turn));
    }
    let text = format!("{body} has a position, velocity or force that is not finite");
    Err(StepError::NonFinite { step, text })
}

/// Notes which bodies are on joints, too.
fn find_jointed(model: &Model, jointed: &mut Vec<bool>) {
    for b in model.joint_slots().flat_map(|j| model.joints[j].bodies) {
        jointed.resize(model.bodies.len(), false);
        jointed.get_mut(b as usize).into_iter().for_each(|jointed| *jointed = true);
    }
}
