//! Numbers that are not finite, bodies that leave: where they are noticed, and whom they are blamed on.

use drystone_solve::{Malformed, parallel};
use glam::DVec3;

use crate::bounds::Leaving;
use crate::contact::Contact;
use crate::formulation::rows::{Rows, SIZE};
use crate::joint::{Equations, error_of};
use crate::limits;
use crate::model::{BodyId, Model};
use crate::report::{JointDrift, Party, StepError};
use crate::setup::Setup;
use crate::state::{Motion, State};
use crate::workspace::{Collision, Velocity};

/// The contact with the largest residual, in words.
pub(crate) fn worst_contact(
    model: &Model,
    contacts: &[Contact],
    from: &mut Velocity,
    gamma: &[f64],
) -> String {
    let Velocity { assembler, judge, .. } = from;
    let block = judge.judge(&assembler.problem, gamma).worst_block;
    match block.and_then(|b| assembler.contact_of(b)).map(|i| &contacts[i]) {
        Some(c) => {
            format!("the contact of {} with {}", model.describe(c.bodies[0]), model.describe(c.bodies[1]))
        }
        None => {
            let joint = block
                .and_then(|b| b.checked_sub(assembler.order.len()))
                .and_then(|b| assembler.rows.joint_of(b));
            joint.map_or("no contact".into(), |j| format!("the {}", model.describe_joint(j)))
        }
    }
}

/// Contacts and joints in words.
pub(crate) fn names(model: &Model, parties: &[Party]) -> String {
    let name = |p: &Party| {
        let bodies: Vec<String> = p.bodies.iter().map(|b| model.describe(*b)).collect();
        match p.joint {
            Some(j) => format!("the {} of {}", model.describe_joint(j), bodies.join(" and ")),
            None => format!("the contact of {}", bodies.join(" with ")),
        }
    };
    let names: Vec<String> = parties.iter().map(name).collect();
    if names.is_empty() { "constraints".into() } else { names.join(", ") }
}

/// Undoes the step if a body has left the range of numbers, or that of [`crate::limits`].
pub(crate) fn check_positions(
    model: &Model,
    s: &mut State,
    saved: &Motion,
    step: u64,
) -> Result<(), StepError> {
    let sound =
        |i: usize| limits::holds(s.position[i], s.velocity[i], s.omega[i]) && s.rotation[i].is_finite();
    if parallel::all(s.position.len(), sound) {
        return Ok(());
    }
    let Some(i) = (0..s.position.len()).find(|&i| !sound(i)) else { return Ok(()) };
    let (body, x, v, omega) = (model.describe(i as u32), s.position[i], s.velocity[i], s.omega[i]);
    let finite = x.is_finite() && s.rotation[i].is_finite();
    saved.restore(s);
    if !finite {
        let text = format!("the new position of {body} is not finite");
        return Err(StepError::NonFinite { step, text });
    }
    Err(beyond(step, &body, x, v, omega))
}

/// What of a body is not within the [`crate::limits`].
pub(crate) fn beyond(step: u64, body: &str, x: DVec3, v: DVec3, omega: DVec3) -> StepError {
    let told = limits::within("position", x, limits::FARTHEST, "m of the origin")
        .and_then(|()| limits::within("velocity", v, limits::FASTEST, "m/s"))
        .and_then(|()| limits::within("angular velocity", omega, limits::FASTEST, "rad/s"));
    StepError::OutOfRange { step, text: format!("the new {} ({body})", told.err().unwrap_or_default()) }
}

/// The bodies that were inside the bounds before the step and are not any more; or an error, and the step
/// undone.
pub(crate) fn check_bounds(
    setup: Setup,
    state: &mut State,
    saved: &Motion,
    step: u64,
) -> Result<Vec<BodyId>, StepError> {
    let model = setup.model;
    let Some(bounds) = setup.settings.bounds else { return Ok(Vec::new()) };
    let gone = |i: &usize| !bounds.contain(state.position[*i]) && bounds.contain(saved.position(*i));
    let left: Vec<BodyId> = model.dynamic().filter(gone).filter_map(|i| model.id(i as u32)).collect();
    if let (Leaving::Stop, Some(first)) = (bounds.leaving, left.first()) {
        let at = state.position[first.slot as usize];
        let text = format!("{} at {at}", model.describe(first.slot));
        saved.restore(state);
        return Err(StepError::Left { step, text });
    }
    Ok(left)
}

/// A joint that is off by more than this times its length no longer holds anything, and by more than that it
/// never will again.
const DRIFT_WARNING: f64 = 0.1;
const DRIFT_ERROR: f64 = 100.0;

/// The joint that is off by most, if that is worth a word. A few sweeps a step may leave a mechanism further
/// apart after each of them while every single step looks sound: that ends here.
pub(crate) fn check_joints(
    setup: Setup,
    state: &State,
    rows: &Rows,
    step: u64,
) -> Result<Option<JointDrift>, StepError> {
    let (model, h) = (setup.model, setup.settings.h);
    // Commands of motors that are not reached, and limits that are overrun, are among these errors.
    if SIZE * rows.worst <= DRIFT_WARNING {
        return Ok(None);
    }
    let off = model.joint_slots().map(|j| (j, error_of(model, state, j, &mut Equations::default()).position));
    let length = |j: usize| model.joints[j].length;
    let Some((j, off)) = off.max_by(|x, y| (x.1 / length(x.0)).total_cmp(&(y.1 / length(y.0)))) else {
        return Ok(None);
    };
    let worst = off / length(j);
    if worst <= DRIFT_WARNING {
        return Ok(None);
    }
    let joint = Party::of_joint(model, j as u32);
    let spins = joint.bodies.iter().map(|b| state.omega[*b as usize].length());
    let apart = JointDrift { turn: h * spins.fold(0.0, f64::max), joint, off, h };
    if worst <= DRIFT_ERROR {
        return Ok(Some(apart));
    }
    let bodies: Vec<String> = apart.joint.bodies.iter().map(|b| model.describe(*b)).collect();
    let text = format!(
        "{} of {} is off by {off:.3e} m: {}",
        model.describe_joint(j as u32),
        bodies.join(" and "),
        apart.advice()
    );
    Err(StepError::Apart { step, text })
}

/// Contacts that a hook has given to others: which bodies and colliders touch is not its to change.
pub(crate) fn check_contacts(model: &Model, contacts: &[Contact], step: u64) -> Result<(), StepError> {
    let own = |c: &Contact| {
        let [i, j] = c.key.colliders.map(|k| model.colliders.get(k as usize).map(|k| k.body));
        let [a, b] = c.bodies.map(Some);
        [i, j] == [a, b] || [i, j] == [b, a]
    };
    match contacts.iter().position(|c| !own(c)) {
        None => Ok(()),
        Some(k) => {
            let [a, b] = contacts[k].bodies;
            let [i, j] = contacts[k].key.colliders;
            let text = format!(
                "contact {k}: a hook on contacts left bodies {a} and {b} with colliders {i} and {j}, which are not theirs (it may change friction, and remove contacts)"
            );
            Err(StepError::OutOfRange { step, text })
        }
    }
}

/// A problem that cannot be solved as posed: names the first contact that is to blame (a hook may have
/// changed it).
pub(crate) fn bad_contact(model: &Model, collision: &Collision, step: u64, error: &Malformed) -> StepError {
    let finite = |c: &Contact| {
        c.point.is_finite() && c.normal.is_finite() && c.gap.is_finite() && c.mu.is_finite() && c.mu >= 0.0
    };
    let text = match collision.contacts.iter().find(|c| !finite(c)) {
        Some(c) => format!(
            "the contact of {} with {} (gap {}, mu {}) has a number that is not finite or negative friction",
            model.describe(c.bodies[0]),
            model.describe(c.bodies[1]),
            c.gap,
            c.mu
        ),
        None => error.0.clone(),
    };
    StepError::NonFinite { step, text }
}

/// The first body whose new velocity is not finite or too large, with a contact of its.
pub(crate) fn check_finite(
    model: &Model,
    contacts: &[Contact],
    velocity: &[[f64; 6]],
    step: u64,
) -> Result<(), StepError> {
    let sound = |i: usize| velocity[i].iter().all(|x| x.abs() <= limits::FASTEST);
    if parallel::all(velocity.len(), sound) {
        return Ok(());
    }
    let Some(i) = (0..velocity.len()).find(|&i| !sound(i)) else { return Ok(()) };
    let touching = contacts.iter().find(|c| c.bodies.contains(&(i as u32)));
    let by = touching.map_or("without a contact".into(), |c| {
        format!("in contact with {}", model.describe(c.bodies[(c.bodies[0] == i as u32) as usize]))
    });
    let body = model.describe(i as u32);
    if velocity[i].iter().all(|x| x.is_finite()) {
        let v = velocity[i].map(|x| x.abs());
        let (linear, angular) = (DVec3::new(v[0], v[1], v[2]), DVec3::new(v[3], v[4], v[5]));
        return Err(beyond(step, &format!("{body}, {by}"), DVec3::ZERO, linear, angular));
    }
    Err(StepError::NonFinite { step, text: format!("the velocity of {body} is not finite, {by}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Integrator, Stabilisation};
    use crate::{BodyDef, JointDef, MassProperties, Settings, World};
    use glam::DVec3;

    /// A rod on a hinge, moved off it by so much.
    fn off_by(distance: f64, spin: f64) -> (World, Result<Option<JointDrift>, StepError>) {
        let settings = Settings {
            integrator: Integrator::Euler,
            stabilisation: Stabilisation::None,
            ..Settings::default()
        };
        let mut w = World::new(settings).unwrap();
        let mass = MassProperties::principal(1.0, DVec3::new(0.01, 0.1, 0.1));
        let id = w.add_body(BodyDef::bare(mass).at(DVec3::X * 0.5)).unwrap();
        w.add_joint(JointDef::revolute(None, id, DVec3::ZERO, DVec3::Z)).unwrap();
        w.step().unwrap();
        w.state.position[id.slot as usize] += DVec3::X * distance;
        w.state.omega[id.slot as usize] = DVec3::Z * spin;
        let step = w.step();
        (w, step.map(|report| report.apart))
    }

    #[test]
    fn joints_that_are_apart_are_told_and_an_error_before_they_are_far_away() {
        assert_eq!(off_by(1e-3, 0.0).1, Ok(None));
        let (_, told) = off_by(0.1, 0.0);
        let told = told.unwrap().unwrap();
        assert_eq!(told.joint, Party { joint: Some(0), bodies: vec![0] });
        assert!((told.off - 0.1).abs() < 1e-3 && told.turn < 0.1, "{told:?}");
        assert!(told.advice().contains("iterations"), "{}", told.advice());
        // One that turns too fast is told what it lacks.
        let (_, told) = off_by(0.1, 60.0);
        let told = told.unwrap().unwrap();
        assert!((told.turn - 60.0 * told.h).abs() < 0.1 * told.turn, "{told:?}");
        let wanted = format!("take a step below {:.1e} s", 0.3 * told.h / told.turn);
        assert!(told.advice().contains(&wanted), "{} {wanted}", told.advice());
        let (w, told) = off_by(100.0, 0.0);
        let text = told.unwrap_err().to_string();
        assert!(
            text.starts_with("step 2: the mechanism has come apart: revolute joint 0 of body 0"),
            "{text}"
        );
        assert_eq!(w.state.step, 1, "the state is the one before");
    }
}
