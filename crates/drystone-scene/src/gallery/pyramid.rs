//! Cannonball pyramids [Anitescu2005, "Solving the LCP"]: the published ones have 10, 21, 36, 55 and 210
//! bodies, which are the triangles of 4, 6, 8, 10 and 20 layers, all balls in one vertical plane. Pyramids on
//! a triangular and on a square base are offered too.

use drystone::{BodyDef, Settings, Shape, World};
use glam::DVec3;

use super::params::{ParamInfo, Params, param};
use super::{Entry, Made, ground};
use crate::probe::{Places, Results, support};
use crate::{Memory, Probe, SceneError};

pub(super) const ENTRY: Entry = Entry {
    name: "pyramid",
    title: "a pyramid of balls",
    citation: "Anitescu2005, slide 'Solving the LCP, h=0.05, PATH (Lemke)'",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamInfo] = &[
    param("layers", "4", "", "layers; the lowest has this many balls along an edge"),
    param("base", "line", "", "line (all balls in one plane, as published), triangle or square"),
    param("mu", "0.8", "", "coefficient of friction"),
    param("h", "0.01", "s", "step"),
    param("T", "2", "s", "duration"),
];

const RADIUS: f64 = 0.5;
const MASS: f64 = 1.0;

#[derive(Clone, Copy)]
enum Base {
    Line,
    Triangle,
    Square,
}

fn build(p: &Params) -> Result<Made, SceneError> {
    let layers = p.whole("layers", 1, 200)? as usize;
    let mu = p.number("mu", 0.0, 10.0)?;
    let base =
        p.choice("base", &[("line", Base::Line), ("triangle", Base::Triangle), ("square", Base::Square)])?;
    let start = places(base, layers);
    let ball = |x: &DVec3| BodyDef::dynamic(Shape::Sphere { radius: RADIUS }, MASS).at(*x).friction(mu);
    let mut bodies: Vec<BodyDef> = start.iter().map(ball).collect();
    let count = bodies.len();
    bodies.push(ground(mu));
    Ok(Made {
        settings: Settings::default(),
        seed: 1,
        bodies,
        glass: Vec::new(),
        probe: Box::new(Pyramid { places: Places::new(start, vec![2.0 * RADIUS; count]) }),
    })
}

/// Centres, layer by layer. Every ball of a layer touches its neighbours, and lies in the hollow between
/// those below.
fn places(base: Base, layers: usize) -> Vec<DVec3> {
    let d = 2.0 * RADIUS;
    let mut all = Vec::new();
    for k in 0..layers {
        let edge = layers - k;
        let up = k as f64;
        let along = |i: usize| i as f64 - 0.5 * (edge - 1) as f64;
        match base {
            Base::Line => {
                let z = RADIUS + up * d * 0.75f64.sqrt();
                all.extend((0..edge).map(|i| DVec3::new(d * along(i), 0.0, z)));
            }
            Base::Square => {
                let z = RADIUS + up * d * 0.5f64.sqrt();
                all.extend((0..edge * edge).map(|i| DVec3::new(d * along(i % edge), d * along(i / edge), z)));
            }
            Base::Triangle => {
                let z = RADIUS + up * d * (2.0f64 / 3.0).sqrt();
                let row = d * 0.75f64.sqrt();
                for j in 0..edge {
                    // Row j has one ball less; its centre of gravity, and so the pyramid's axis, is at a
                    // third.
                    let y = row * (j as f64 - (edge - 1) as f64 / 3.0);
                    all.extend(
                        (0..edge - j).map(|i| DVec3::new(d * (i as f64 - 0.5 * (edge - j - 1) as f64), y, z)),
                    );
                }
            }
        }
    }
    all
}

struct Pyramid {
    places: Places,
}

impl Probe for Pyramid {
    fn memory(&mut self, _: &mut Memory) {}

    fn results(&mut self, world: &World) -> Results {
        let mut results = Results::new();
        self.places.report(world, &mut results);
        support(world, &mut results);
        results
    }
}
