//! Newton's cradle: balls that hang side by side, the first of them drawn aside. With restitution 1 the last
//! one swings to the height from which the first one fell, and the others stay.
//!
//! Which balls move is decided by the order of the hits: balls that touch would all be hit at once, and
//! Moreau's law then sends the first one back and the others on together. There is a gap between them that
//! takes longer than one step.

use std::sync::Arc;

use drystone::{BodyDef, JointDef, Materials, PairLaw, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, exact, ground};
use crate::probe::{Results, number};
use crate::{Drive, Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "cradle",
    title: "Newton's cradle: one ball falls, one ball rises",
    citation: "Moreau1988",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "5", "", "balls"),
    param("e", "1", "", "coefficient of restitution"),
    param("angle_deg", "25", "deg", "by which the first is drawn aside"),
    param("gap", "0.0005", "m", "between the balls"),
    param("h", "0.0001", "s", "step"),
    param("T", "1.1", "s", "duration"),
];

const LENGTH: f64 = 1.0;
const RADIUS: f64 = 0.1;
/// Height of the hooks, m.
const HOOK: f64 = 1.5;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 2, 100)? as usize;
    let e = p.number("e", 0.0, 1.0)?;
    let angle = p.number("angle_deg", 0.0, 90.0)?.to_radians();
    let gap = p.number("gap", 0.0, 0.1)?;
    let hooks: Vec<DVec3> = (0..n)
        .map(|i| {
            let x = (i as f64 - 0.5 * (n as f64 - 1.0)) * (2.0 * RADIUS + gap);
            DVec3::new(x, 0.0, HOOK)
        })
        .collect();
    let mut bodies: Vec<BodyDef> = hooks
        .iter()
        .enumerate()
        .map(|(i, hook)| {
            let aside = if i == 0 { angle } else { 0.0 };
            let at = *hook - LENGTH * DVec3::new(aside.sin(), 0.0, aside.cos());
            BodyDef::solid(Shape::Sphere { radius: RADIUS }, 7800.0).at(at).named(format!("ball {i}"))
        })
        .collect();
    bodies.push(ground(0.0));
    Ok(Made {
        settings: Settings { tolerance: 1e-10, ..exact() },
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Cradle { e, hooks, drop: LENGTH * (1.0 - angle.cos()), highest: vec![0.0; n] }),
    })
}

struct Cradle {
    e: f64,
    hooks: Vec<DVec3>,
    /// Height from which the first one falls, m.
    drop: f64,
    /// How high each rose above its lowest place after the first one had fallen, m.
    highest: Vec<f64>,
}

impl Probe for Cradle {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("highest", &mut self.highest);
    }

    fn materials(&self) -> Materials {
        let mut materials = Materials::default();
        let _ = materials.set_other(PairLaw { restitution: self.e, ..PairLaw::default() });
        materials
    }

    fn drive(&self) -> Option<Drive> {
        let hooks = self.hooks.clone();
        Some(Arc::new(move |world| {
            if world.state().step > 0 {
                return;
            }
            for (i, hook) in hooks.iter().enumerate() {
                if let Some(id) = world.model().id(i as u32) {
                    let _ = world.add_joint(JointDef::ball(id, None::<drystone::BodyId>, *hook));
                }
            }
        }))
    }

    fn observe(&mut self, world: &World) {
        let state = world.state();
        // A quarter of the swing is over when the first one is at its lowest place.
        let quarter = 0.25 * std::f64::consts::TAU * (LENGTH / world.settings().gravity.length()).sqrt();
        if state.time > 1.05 * quarter {
            for (i, hook) in self.hooks.iter().enumerate() {
                let rise = state.position[i].z - (hook.z - LENGTH);
                self.highest[i] = self.highest[i].max(rise);
            }
        }
    }

    fn results(&mut self, _: &World) -> Results {
        let mut results = Results::new();
        let share = |x: &f64| x / self.drop.max(f64::MIN_POSITIVE);
        let last = self.highest.last().map_or(0.0, share);
        let others = self.highest[..self.highest.len() - 1].iter().map(share).fold(0.0, f64::max);
        results.insert("last_rise_over_drop".into(), number(last));
        results.insert("others_rise_over_drop".into(), number(others));
        results.insert("rises_m".into(), json!(self.highest));
        results
    }
}
