//! Stage 1: the velocities that bodies would have without contacts and joints.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use drystone_solve::parallel;
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

/// Bodies that one thread looks at in a row.
const PIECE: usize = 2048;

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
    let (doubted, turned) = (AtomicBool::new(false), (!turned.is_empty()).then_some(&mut turned[..]));
    let predict = |i: usize, to: &mut [f64; 6], turned: Option<&mut (DVec3, DQuat)>| {
        let body = &model.bodies[i];
        let (mut v, mut omega) = (s.velocity[i], s.omega[i]);
        if body.motion == Motion::Dynamic && body.alive {
            let field = acting.on(i);
            v += h * (g + body.inv_mass * (s.force[i] + field.force));
            if !is_ball(&body.mass.inertia) {
                let free = free_rotation(&body.mass.inertia, omega, h);
                // There is room for all as soon as one turns freely.
                if let Some(turned) = turned.filter(|_| turns_freely(body)) {
                    *turned = free;
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
        *to = [v.x, v.y, v.z, turn.x, turn.y, turn.z];
        limits::holds(s.position[i], v, turn)
    };
    parallel::for_each_run(n, (&mut v_free[..], turned), PIECE, |first, (to, mut turned)| {
        for (k, to) in to.iter_mut().enumerate() {
            if !predict(first + k, to, turned.as_mut().map(|turned| &mut turned[k])) {
                doubted.store(true, Relaxed);
            }
        }
    });
    if !doubted.into_inner() {
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
