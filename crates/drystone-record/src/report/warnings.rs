//! What a report warns of.

use std::borrow::Cow;

use drystone::{DeepOverlap, JointDrift, Party, Settings, StepReport, World};

use serde::{Deserialize, Serialize};

/// Something a reader of the report should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Step number.
    pub step: u64,
    /// One word.
    pub kind: Cow<'static, str>,
    /// Body slots.
    pub bodies: Vec<u32>,
    /// In words.
    pub text: String,
}

/// Rows that could not do what they ask for.
pub fn contradiction(world: &World, r: &StepReport) -> Warning {
    let model = world.model();
    let names: Vec<String> = r.contradiction.iter().map(|p| party(model, p)).collect();
    let bodies = match r.contradiction.first() {
        // The bodies of the first contact, or of all joints: those of the others are in the text.
        Some(p) if p.joint.is_none() => p.bodies.clone(),
        _ => {
            let mut all: Vec<u32> = Vec::new();
            for b in r.contradiction.iter().flat_map(|p| &p.bodies) {
                if !all.contains(b) {
                    all.push(*b);
                }
            }
            all
        }
    };
    let who = if names.is_empty() {
        "it is not known where".into()
    } else {
        format!("largest impulses: {}", names.join(", "))
    };
    let text = format!(
        "constraints contradict each other: rows that ask for a motion (moving walls, motors, overlaps, bounces, limits) missed more than half of it; {who}"
    );
    Warning { step: r.step, kind: "wedged".into(), bodies, text }
}

/// A run with too few steps within the tolerance.
pub(super) fn unsolved(converged: u64, steps: u64, settings: &Settings) -> Warning {
    let named = settings.solver != "auto";
    let mut help = Vec::new();
    if settings.budget.is_some() {
        help.push("a larger --budget-ms".to_string());
    }
    if settings.iterations < Settings::default().iterations {
        help.push(format!("more --iterations (the cap is {})", settings.iterations));
    }
    if named {
        help.push("--solver auto".into());
    }
    if help.is_empty() {
        help.push("a shorter --step, or a larger --tolerance if that is accurate enough".into());
    }
    let text = format!(
        "not solved: {converged} of {steps} steps are within the tolerance of {:e} m/s, so that results may be off by much; what helps: {}",
        settings.tolerance,
        help.join(", or ")
    );
    Warning { step: steps, kind: "unsolved".into(), bodies: Vec::new(), text }
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

/// The first step whose bounces were cut.
pub(super) fn bounce(r: &StepReport, share: f64) -> Warning {
    let text = format!(
        "bounces or joint curvature would have added energy to an island; they were scaled by {share:.3} in this step (solver.cut_bounces in the report counts such steps; a shorter --step makes them rarer)"
    );
    Warning { step: r.step, kind: "restitution".into(), bodies: Vec::new(), text }
}

/// Bodies that came to be deep in each other.
pub(super) fn deep(world: &World, r: &StepReport, deep: &DeepOverlap) -> Warning {
    let [a, b] = deep.bodies.map(|b| world.model().describe(b));
    let text = format!(
        "{a} and {b} overlap by {:.3e} m, with {:.3e} m inside the smaller of them: they are pressed together, or hit each other at speed within a step: a shorter --step reduces this",
        deep.depth, deep.size
    );
    Warning { step: r.step, kind: "overlap".into(), bodies: deep.bodies.to_vec(), text }
}

/// A joint that no longer holds its bodies together.
pub fn apart(world: &World, r: &StepReport, apart: &JointDrift) -> Warning {
    let name = party(world.model(), &apart.joint);
    let text = format!("the {name} is off by {:.3e} m: {}", apart.off, apart.advice());
    Warning { step: r.step, kind: "joints".into(), bodies: apart.joint.bodies.clone(), text }
}

/// Two bodies whose motion even the shortest substeps did not resolve.
pub(super) fn unresolved(world: &World, r: &StepReport, bodies: [u32; 2]) -> Warning {
    let [a, b] = bodies.map(|b| world.model().describe(b));
    let text = format!(
        "the motion of {a} and {b} is not resolved by {} substeps; they may overlap or pass through each other (substepped.unresolved_steps in the report counts such steps): take a shorter --step, or more --max-substeps",
        world.settings().max_substeps
    );
    Warning { step: r.step, kind: "unresolved".into(), bodies: bodies.to_vec(), text }
}
