//! Worlds that several tests share.

use drystone::{BodyDef, BodyId, Integrator, PairLaw, Settings, World};

/// m/s²
pub const G: f64 = 9.81;

/// A world in which all pairs have one law beside friction, solved far below what is measured.
pub fn world(h: f64, law: PairLaw) -> World {
    world_with(Settings { h, tolerance: 1e-11, iterations: 20_000, ..Settings::default() }, law)
}

/// The same under Moreau's rule.
pub fn midpoint(h: f64, law: PairLaw) -> World {
    let settings = Settings { h, tolerance: 1e-11, iterations: 20_000, ..Settings::default() };
    world_with(Settings { integrator: Integrator::Moreau { theta: 0.5 }, ..settings }, law)
}

pub fn world_with(settings: Settings, law: PairLaw) -> World {
    let mut w = World::new(settings).unwrap();
    w.materials_mut().set_other(law).unwrap();
    w
}

pub fn add(world: &mut World, def: BodyDef) -> BodyId {
    world.add_body(def).unwrap()
}

/// Steps until `seconds` have passed.
pub fn run(world: &mut World, seconds: f64) {
    for _ in 0..(seconds / world.settings().h).round() as usize {
        world.step().unwrap();
    }
}
