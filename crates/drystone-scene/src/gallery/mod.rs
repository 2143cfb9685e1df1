//! The gallery: named scenes with parameters, each with something to measure.

mod andrews;
mod arch;
pub(crate) mod arrange;
mod ballast;
mod brazil_nut;
mod bulk;
mod cam;
mod charges;
mod conveyor;
mod cradle;
mod drum;
mod ellipse;
mod elliptic;
mod feeder;
mod forklift;
mod four_bar;
mod hopper;
mod incline;
mod linkage;
mod machine;
mod motion;
mod packing;
mod painleve;
mod palletizer;
mod params;
mod pbr;
mod pendulum;
mod penetrometer;
mod pyramid;
mod radial;
mod shaker;
mod shear;
mod slide;
mod spider;
mod stack;
mod stones;
mod top;
mod track;
mod triaxial;
mod truck;
mod vessel;
mod wall;
mod wheel;

use drystone::{BodyDef, Settings, Shape, Stabilisation};
use drystone_solve::solver::nearest;
use glam::DVec3;
use serde::Serialize;

use crate::{Measurement, Probe, Scene, SceneError};

pub use params::{ParamInfo, Params};

/// For grains that are poured: one that is hit from above may be pushed sideways in a step by a tenth of its
/// radius and more, into others which it was not near, and corrections have to reach that far. What is left
/// of that may be a thousandth of it.
const POURING: Stabilisation = Stabilisation::Post { tolerance: 5e-4, accept: 1e-3, reach: 0.5, rounds: 6 };

/// A scene of the gallery.
#[derive(Serialize)]
pub struct Entry {
    /// What to call it by.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// Key in REFERENCES.bib and place.
    pub citation: &'static str,
    /// What can be set.
    pub params: &'static [ParamInfo],
    #[serde(skip)]
    build: fn(&Params) -> Result<Made, SceneError>,
}

/// Parameters that a live run has where the command line says nothing else.
pub fn live_defaults(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        "forklift" => &[("program", "drive"), ("T", "3600")],
        _ => &[],
    }
}

/// All of them.
pub const ENTRIES: &[Entry] = &[
    packing::ENTRY,
    shaker::ENTRY,
    pbr::ENTRY,
    stack::ENTRY,
    pyramid::ENTRY,
    wall::ENTRY,
    arch::ENTRY,
    palletizer::ENTRY,
    forklift::ENTRY,
    spider::ENTRY,
    ballast::ENTRY,
    ellipse::ENTRY,
    incline::ENTRY,
    slide::ENTRY,
    painleve::ENTRY,
    cradle::ENTRY,
    pendulum::ENTRY,
    four_bar::ENTRY,
    andrews::ENTRY,
    top::ENTRY,
    cam::ENTRY,
    feeder::ENTRY,
    brazil_nut::ENTRY,
    drum::ENTRY,
    hopper::ENTRY,
    conveyor::ENTRY,
    penetrometer::ENTRY,
    shear::ENTRY,
    triaxial::ENTRY,
    wheel::ENTRY,
    charges::ENTRY,
];

/// What a scene of the gallery decides by itself; the rest is the same for all.
struct Made {
    settings: Settings,
    seed: u64,
    bodies: Vec<BodyDef>,
    glass: Vec<usize>,
    probe: Box<dyn Probe>,
}

/// The entry of that name; the error says which there are.
pub fn find(name: &str) -> Result<&'static Entry, SceneError> {
    ENTRIES.iter().find(|e| e.name == name).ok_or_else(|| {
        let names: Vec<&str> = ENTRIES.iter().map(|e| e.name).collect();
        let hint = nearest(name, &names).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        SceneError::new(format!("there is no scene '{name}'{hint} (gallery: {})", names.join(", ")))
    })
}

impl Entry {
    /// The scene with some parameters set, the last of several with one name counting.
    pub fn scene(&self, set: &[(String, String)]) -> Result<Scene, SceneError> {
        let params = Params::new(self.name, self.params, set)?;
        let made = (self.build)(&params)?;
        Ok(Scene {
            materials: made.probe.materials(),
            flow: made.probe.flow(),
            fields: made.probe.fields(),
            name: self.name.into(),
            title: self.title.into(),
            citation: Some(self.citation.into()),
            settings: Settings { h: params.positive("h", 10.0)?, ..made.settings },
            duration: params.positive("T", 1e6)?,
            seed: made.seed,
            snaps: Vec::new(),
            joints: made.probe.joints(),
            controls: made.probe.controls(),
            bodies: made.bodies,
            glass: made.glass,
            order: Vec::new(),
            record: Default::default(),
            probe: Measurement::of(made.probe),
        })
    }
}

/// Four walls without a lid around |x| <= half.x, |y| <= half.y, from z = 0 up to `height`: -x, +x, -y, +y.
fn walls(half_x: f64, half_y: f64, height: f64, thickness: f64, mu: f64) -> Vec<BodyDef> {
    let t = 0.5 * thickness;
    let wall = |name: &str, half: DVec3, at: DVec3| {
        BodyDef::fixed(Shape::Box { half }).at(at).friction(mu).named(name)
    };
    let (up, along_x) = (0.5 * height, DVec3::new(half_x + t, 0.0, 0.5 * height));
    let along_y = DVec3::new(0.0, half_y + t, up);
    let (side, front) = (DVec3::new(t, half_y + thickness, up), DVec3::new(half_x, t, up));
    let mirror = |v: DVec3| DVec3::new(-v.x, -v.y, v.z);
    vec![
        wall("wall -x", side, mirror(along_x)),
        wall("wall +x", side, along_x),
        wall("wall -y", front, mirror(along_y)),
        wall("wall +y", front, along_y),
    ]
}

/// A floor at z = 0 without end.
fn ground(mu: f64) -> BodyDef {
    BodyDef::fixed(Shape::HalfSpace).friction(mu).named("floor")
}

/// For scenes of a body or two that are held against closed forms: solve far below what is being measured.
fn exact() -> Settings {
    Settings { tolerance: 1e-10, iterations: 5000, ..Settings::default() }
}
