//! Painlevé's rod [Anitescu2005, "A Painleve paradox example"]: it slides on one end, and pushes itself into
//! the floor.
//!
//! With m the mass, l the length and I = m l²/12, a normal force f at the end gives the end the acceleration
//!
//! ```text
//!     -g + ... + (f/m) (1 + 3 cos θ (cos θ - μ sin θ))
//! ```
//!
//! (the slides print l/(2I) where l²/(4I) belongs). Where the bracket is negative no finite force keeps the
//! end out of the floor: the rod jams, its end stops at once and the rod tumbles over it. Time stepping has a
//! solution all the same, an impulse. The bracket can be negative for μ > 4/3 only.

use drystone::{BodyDef, MassProperties, Settings, Shape, World};
use drystone_solve::FrictionLaw;
use glam::{DQuat, DVec3};
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, exact, ground};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "painleve",
    title: "a rod that slides on one end jams where no finite force could hold it",
    citation: "Anitescu2005, slide 'A Painleve paradox example'",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("mu", "1.8", "", "coefficient of friction"),
    param("angle_deg", "63", "deg", "of the rod over the floor"),
    param("v0", "2", "m/s", "speed of sliding, against the lean"),
    param("h", "0.001", "s", "step"),
    param("T", "1.5", "s", "duration"),
];

const LENGTH: f64 = 1.0;
const MASS: f64 = 1.0;
/// Of the round ends, m.
const RADIUS: f64 = 0.005;

fn build(p: &Params) -> Result<Made, SceneError> {
    let mu = p.number("mu", 0.0, 10.0)?;
    let angle = p.number("angle_deg", 1.0, 89.0)?.to_radians();
    let v0 = p.positive("v0", 100.0)?;
    let inertia = MASS * LENGTH * LENGTH / 12.0;
    let mass = MassProperties::principal(MASS, DVec3::new(inertia, inertia, 1e-3 * inertia));
    // It leans towards +x and slides towards -x: friction on its end turns it further into the floor.
    let half = 0.5 * LENGTH;
    let axis = DVec3::new(angle.cos(), 0.0, angle.sin());
    let rod = BodyDef::dynamic(Shape::Capsule { radius: RADIUS, half_length: half }, MASS)
        .mass(mass)
        .planar(DVec3::Y)
        .turned(DQuat::from_rotation_arc(DVec3::Z, axis))
        .at(half * axis + RADIUS * DVec3::Z)
        .moving(-v0 * DVec3::X, DVec3::ZERO)
        .friction(mu)
        .named("rod");
    let bracket = 1.0 + 3.0 * angle.cos() * (angle.cos() - mu * angle.sin());
    Ok(Made {
        // The relaxed law would lift a sliding end off the floor, and there would be no paradox to see.
        settings: Settings { tolerance: 1e-9, model: FrictionLaw::Coulomb, ..exact() },
        seed: 1,
        bodies: vec![rod, ground(mu)],
        glass: Vec::new(),
        probe: Box::new(Rod { bracket, v0, jammed: None, strongest: 0.0, start: None, gain: 0.0 }),
    })
}

struct Rod {
    bracket: f64,
    v0: f64,
    /// When the end had lost nine tenths of its speed, s.
    jammed: Option<f64>,
    /// Largest normal force, N.
    strongest: f64,
    /// Energy at the start, J.
    start: Option<f64>,
    /// Largest gain over it, J.
    gain: f64,
}

impl Probe for Rod {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("jammed", &mut self.jammed);
        memory.keep("strongest", &mut self.strongest);
        memory.keep("start", &mut self.start);
        memory.keep("gain", &mut self.gain);
    }

    fn observe(&mut self, world: &World) {
        let state = world.state();
        let end = state.position[0] - state.rotation[0] * (DVec3::Z * 0.5 * LENGTH) - DVec3::Z * RADIUS;
        if self.jammed.is_none() && state.velocity_at(0, end).x.abs() < 0.1 * self.v0 {
            self.jammed = Some(state.time);
        }
        let force: f64 = world.contacts().iter().map(|c| c.normal_impulse()).sum();
        self.strongest = self.strongest.max(force / world.settings().h);
        let energy = world.energy().total();
        self.gain = self.gain.max(energy - *self.start.get_or_insert(energy));
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        results.insert("bracket".into(), number(self.bracket));
        results.insert("paradox".into(), json!(self.bracket < 0.0));
        results.insert("jammed_at_s".into(), self.jammed.map_or(json!(null), number));
        let weight = MASS * world.settings().gravity.length();
        results.insert("largest_force_over_weight".into(), number(self.strongest / weight));
        results.insert("energy_gain_j".into(), number(self.gain));
        results
    }
}
