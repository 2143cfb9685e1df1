//! An ellipse dropped on a table [Anitescu2005, "Elliptic body simulation"]: axes 4 and 8, dropped from a
//! height of 8 with angular velocity 3. The slides show how far it sinks into the table, with and without
//! constraint stabilisation: a step that lets the linearised gap reach zero leaves an overlap of O(h²); one
//! that only stops the approach adds such an overlap in every step, O(h) in all.
//!
//! The body is an ellipsoid with the inertia of the lamina, locked to its plane.

use drystone::{BodyDef, MassProperties, Settings, Shape, World};
use glam::DVec3;
use serde_json::json;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, exact, ground};
use crate::probe::{Results, number};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "ellipse",
    title: "an ellipse dropped on a table: how far it sinks in, by step size and stabilisation",
    citation: "Anitescu2005, slides 'Elliptic body simulation' and 'Infeasibility behavior'",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("height", "8", "m", "of the centre at the start"),
    param("omega", "3", "rad/s", "angular velocity at the start"),
    param("mu", "0.3", "", "coefficient of friction"),
    param("h", "0.01", "s", "step"),
    param("T", "5", "s", "duration"),
];

/// Semi-axes in the plane of motion, x and z, and across it, y: m.
const HALF: DVec3 = DVec3::new(4.0, 1.0, 2.0);
const MASS: f64 = 1.0;
/// The report says the infeasibility over time in so many stretches at most.
const STRETCHES: usize = 100;

fn build(p: &Params) -> Result<Made, SceneError> {
    let height = p.number("height", HALF.max_element(), 1e6)?;
    let omega = p.number("omega", -1e3, 1e3)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let (a, c) = (HALF.x * HALF.x, HALF.z * HALF.z);
    let lamina = MassProperties::principal(MASS, 0.25 * MASS * DVec3::new(c, a + c, a));
    let body = BodyDef::dynamic(Shape::ellipsoid(HALF), MASS)
        .mass(lamina)
        .planar(DVec3::Y)
        .at(DVec3::Z * height)
        .moving(DVec3::ZERO, DVec3::Y * omega)
        .friction(mu);
    Ok(Made {
        settings: Settings { envelope: Some(0.0), ..exact() },
        seed: 1,
        bodies: vec![body, ground(mu)],
        glass: Vec::new(),
        probe: Box::new(Ellipse { depths: Vec::new(), off_plane: 0.0 }),
    })
}

struct Ellipse {
    /// (time, how deep it is in the table) after every step.
    depths: Vec<(f64, f64)>,
    /// How far it ever left its plane, m.
    off_plane: f64,
}

/// Height of the lowest point: the ellipsoid reaches |A n| below its centre, A being the matrix of its
/// semi-axes.
fn lowest(world: &World) -> f64 {
    let state = world.state();
    let down = state.rotation[0].conjugate() * DVec3::Z;
    state.position[0].z - (HALF * down).length()
}

impl Probe for Ellipse {
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("depths", &mut self.depths);
        memory.keep("off_plane", &mut self.off_plane);
    }

    fn observe(&mut self, world: &World) {
        let state = world.state();
        self.depths.push((state.time, (-lowest(world)).max(0.0)));
        self.off_plane = self.off_plane.max(state.position[0].y.abs());
    }

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        let deepest = |part: &[(f64, f64)]| part.iter().map(|d| d.1).fold(0.0, f64::max);
        let stretch = self.depths.len().div_ceil(STRETCHES).max(1);
        let over_time: Vec<_> = self
            .depths
            .chunks(stretch)
            .filter_map(|part| Some(json!([part.last()?.0, deepest(part)])))
            .collect();
        results.insert("infeasibility_max_m".into(), number(deepest(&self.depths)));
        results.insert("infeasibility_last_m".into(), number((-lowest(world)).max(0.0)));
        results.insert("infeasibility_over_time".into(), json!(over_time));
        let landed = self.depths.iter().find(|d| d.1 > 0.0).map(|d| number(d.0));
        results.insert("touches_at_s".into(), landed.unwrap_or(json!(null)));
        results.insert("off_plane_m".into(), number(self.off_plane));
        results
    }
}
