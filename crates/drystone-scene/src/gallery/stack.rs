//! A stack: bodies on each other, each `ratio` times as heavy as the one below.

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, ground};
use crate::probe::{Places, Results, number, support};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "stack",
    title: "bodies on each other, each heavier or lighter than the one below",
    citation: "TasoraAnitescu2011, section 6.2: bodies stacked in a vertical row are the worst case",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("n", "10", "", "bodies"),
    param("ratio", "1", "", "mass of a body over that of the one below"),
    param("shape", "sphere", "", "sphere or box; 1 m across"),
    param("mu", "0.6", "", "coefficient of friction"),
    param("h", "0.01", "s", "step"),
    param("T", "5", "s", "duration"),
];

/// Beyond this, sums of masses in doubles say nothing about the lightest.
const LARGEST_RATIO: f64 = 1e12;

fn build(p: &Params) -> Result<Made, SceneError> {
    let n = p.whole("n", 1, 100_000)? as usize;
    let ratio = p.number("ratio", 1e-6, 1e6)?;
    let mu = p.number("mu", 0.0, 10.0)?;
    let ball = Shape::Sphere { radius: 0.5 };
    let shape = p.choice("shape", &[("sphere", true), ("box", false)])?;
    let shape = if shape { ball } else { Shape::Box { half: DVec3::splat(0.5) } };
    let span = ratio.ln().abs() * (n - 1) as f64;
    if span > LARGEST_RATIO.ln() {
        let text = format!(
            "must keep the heaviest body below {LARGEST_RATIO:e} times the lightest, got {ratio} for {n} bodies"
        );
        return Err(p.refuse("ratio", text));
    }
    let mut mass = 1.0;
    let mut bodies = Vec::with_capacity(n + 1);
    for i in 0..n {
        bodies.push(BodyDef::dynamic(shape.clone(), mass).at(DVec3::Z * (0.5 + i as f64)).friction(mu));
        mass *= ratio;
    }
    let start = bodies.iter().map(|b| b.position).collect();
    bodies.push(ground(mu));
    Ok(Made {
        settings: Settings::default(),
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Stack {
            top: n - 1,
            height: n as f64 - 0.5,
            places: Places::new(start, vec![1.0; n]),
        }),
    })
}

struct Stack {
    top: usize,
    height: f64,
    places: Places,
}

impl Probe for Stack {
    fn memory(&mut self, _: &mut Memory) {}

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        self.places.report(world, &mut results);
        support(world, &mut results);
        results.insert("top_drop_m".into(), number(self.height - world.state().position[self.top].z));
        results
    }
}
