//! Motion that scenes prescribe and measure: kinematic bodies that follow a path, and the creep of bodies at
//! rest.

use drystone::World;
use glam::DVec3;

/// Gives a kinematic body the velocity that brings it to `target` at the end of the coming step. A path
/// followed in this way adds up no rounding: the body ends where the path ends.
pub(super) fn bring(world: &mut World, slot: usize, target: DVec3) {
    let velocity = (target - world.state().position[slot]) / world.settings().h;
    if let Some(id) = world.model().id(slot as u32) {
        // The id is a living body's, and targets are finite: there is nothing to refuse.
        let _ = world.set_velocity(id, velocity, DVec3::ZERO);
    }
}

/// Distance gone at time `t` by what moves at `speed` from time `start` until it has gone `length`, m.
pub(super) fn ramp(t: f64, start: f64, speed: f64, length: f64) -> f64 {
    (speed * (t - start)).clamp(0.0, length)
}

/// Share of a way that starts and ends at rest, gone at time `t` when it begins at `start` and takes `span`.
/// The largest speed is 3/2 of the mean, the largest acceleration 6/span² of the way.
pub(super) fn ease(t: f64, start: f64, span: f64) -> f64 {
    let s = ((t - start) / span).clamp(0.0, 1.0);
    s * s * (3.0 - 2.0 * s)
}

/// Lets a kinematic body turn in its place, rad/s, world axes.
pub(super) fn spin(world: &mut World, slot: usize, omega: DVec3) {
    if let Some(id) = world.model().id(slot as u32) {
        let _ = world.set_velocity(id, DVec3::ZERO, omega);
    }
}

/// How far apart the places are that creep is taken from, s: between this and twice this.
const CREEP: f64 = 0.5;

/// How fast bodies that should stand still move, on average over the last half to whole second.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Creep {
    before: Option<(f64, Vec<DVec3>)>,
    latest: Option<(f64, Vec<DVec3>)>,
}

impl Creep {
    /// Notes the places of the first `n` bodies now and then.
    pub fn observe(&mut self, world: &World, n: usize) {
        let state = world.state();
        if self.latest.as_ref().is_none_or(|(t, _)| state.time - t >= CREEP) {
            self.before = self.latest.take();
            self.latest = Some((state.time, state.position[..n].to_vec()));
        }
    }

    /// The fastest, m/s; None before it can be told.
    pub fn speed(&self, world: &World) -> Option<f64> {
        let (t, places) = self.before.as_ref()?;
        let state = world.state();
        let way = |(x, y): (&DVec3, &DVec3)| (*x - *y).length();
        Some(places.iter().zip(&state.position).map(way).fold(0.0, f64::max) / (state.time - t))
    }
}
