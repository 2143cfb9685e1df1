//! What a report warns of.

use drystone::{Apart, Deep, Party, StepReport, World};
use drystone_solve::Status;

use super::Warning;

/// Constraints that contradict each other, with everything that is known of them.
pub(super) fn wedged(world: &World, r: &StepReport) -> Warning {
    let model = world.model();
    let worst = r.worst_contact.and_then(|i| world.contacts().get(i));
    let mut bodies: Vec<u32> = Vec::new();
    let mut add = |of: &[u32]| {
        of.iter().for_each(|b| {
            if !bodies.contains(b) {
                bodies.push(*b)
            }
        })
    };
    let names: Vec<String> = r.contradiction.iter().map(|p| party(model, p)).collect();
    match r.contradiction.first() {
        // The bodies of the first contact, or of all joints: those of the others are in the text.
        Some(p) if p.joint.is_none() => add(&p.bodies),
        Some(_) => r.contradiction.iter().for_each(|p| add(&p.bodies)),
        None => worst.iter().for_each(|c| add(&c.bodies)),
    }
    let (kind, what) = match r.status {
        Status::Diverged => ("diverged", "the multipliers left the range of finite numbers"),
        Status::Converged | Status::Iterations | Status::Budget => (
            "softened",
            "velocities ran away, so what asks for a motion (overlaps, bounces, moving walls, motors, limits) gave way in this step",
        ),
        _ if r.softened => (
            "wedged",
            "constraints contradict each other, so what asks for a motion (overlaps, bounces, moving walls, motors, limits) gave way in this step",
        ),
        _ => (
            "wedged",
            "constraints contradict each other: no velocities satisfy them all, and the step took the solver's, which miss them by little",
        ),
    };
    let who = match (names.is_empty(), worst, r.worst_contact) {
        (false, ..) => format!("hardest pressed: {}", names.join(", ")),
        (true, Some(c), Some(i)) => format!(
            "worst is contact {i} between {} and {}",
            model.describe(c.bodies[0]),
            model.describe(c.bodies[1])
        ),
        _ => "it is not known where".into(),
    };
    let number = r.worst_contact.filter(|_| !names.is_empty());
    let number = number.map_or(String::new(), |i| format!(" (contact {i})"));
    let text = format!(
        "{what}; {who}{number}, residual {:.3e} m/s after {} iterations",
        r.certificate.residual_max, r.iterations
    );
    Warning { step: r.step, kind, bodies, text }
}

/// "contact of body 1 (box) with body 2 (wall)", "revolute joint 0 (elbow)".
fn party(model: &drystone::Model, p: &Party) -> String {
    let names: Vec<String> = p.bodies.iter().map(|&b| model.describe(b)).collect();
    match p.joint {
        Some(j) if names.is_empty() => model.describe_joint(j),
        Some(j) => format!("{} of {}", model.describe_joint(j), names.join(" and ")),
        None => format!("contact of {}", names.join(" with ")),
    }
}

/// Velocities that were taken although nobody could find good ones.
pub(super) fn wild(r: &StepReport, asked: f64) -> Warning {
    let text = format!(
        "unsolved: the residual of {:.3e} m/s is far beyond all that was asked for ({asked:.3e} m/s), and no other solver did better",
        r.certificate.residual_max
    );
    Warning { step: r.step, kind: "unsolved", bodies: Vec::new(), text }
}

/// The first step whose bounces were cut.
pub(super) fn bounce(r: &StepReport, share: f64) -> Warning {
    let text = format!(
        "several contacts bounced at once, which would have given the bodies energy: this step took {share} of the restitution (solver.cut_bounces in the report counts such steps; shorter ones need it less)"
    );
    Warning { step: r.step, kind: "restitution", bodies: Vec::new(), text }
}

/// The first step that was taken under the exact law.
pub(super) fn pressed(world: &World, r: &StepReport) -> Warning {
    let parties: Vec<String> = r.contradiction.iter().map(|p| party(world.model(), p)).collect();
    let bodies = r.contradiction.first().map_or_else(Vec::new, |p| p.bodies.clone());
    let text = format!(
        "what moves would have pressed a body out far faster than itself, because the relaxed law lets what slides lift off: this step was taken under the exact law; hardest pressed: {} (solver.exact_steps in the report counts such steps; --model coulomb takes all of them so)",
        parties.join(", ")
    );
    Warning { step: r.step, kind: "pressed", bodies, text }
}

/// Bodies that came to be deep in each other.
pub(super) fn deep(world: &World, r: &StepReport, deep: &Deep) -> Warning {
    let [a, b] = deep.bodies.map(|b| world.model().describe(b));
    let text = format!(
        "{a} and {b} overlap by {:.3e} m, with {:.3e} m inside the smaller of them: they are pressed together, or were thrown at each other within a step, where shorter steps leave less",
        deep.depth, deep.size
    );
    Warning { step: r.step, kind: "overlap", bodies: deep.bodies.to_vec(), text }
}

/// A joint that no longer holds its bodies together.
pub(super) fn apart(world: &World, r: &StepReport, apart: &Apart) -> Warning {
    let name = party(world.model(), &apart.joint);
    let text = format!("the {name} is off by {:.3e} m: {}", apart.off, apart.advice());
    Warning { step: r.step, kind: "joints", bodies: apart.joint.bodies.clone(), text }
}
