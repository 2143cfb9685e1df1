//! Worlds and measures that several closed forms share.

use drystone::{BodyDef, BodyId, Settings, Shape, World};
use glam::{DQuat, DVec3};

/// m/s²
pub const G: f64 = 9.81;

/// Settings under which the solver's error is far below that of the time step.
pub fn precise(h: f64) -> Settings {
    Settings { h, tolerance: 1e-11, iterations: 50_000, ..Settings::default() }
}

/// A world with settings that are known to be valid.
pub fn world(settings: Settings) -> World {
    World::new(settings).expect("valid settings")
}

/// Adds a body that is known to be valid.
pub fn add(world: &mut World, def: BodyDef) -> BodyId {
    world.add_body(def).expect("a valid body")
}

/// Steps until `seconds` have passed.
pub fn run(world: &mut World, seconds: f64) {
    let steps = (seconds / world.settings().h).round() as usize;
    for _ in 0..steps {
        world.step().expect("a finite step");
    }
}

/// The placement of a slope: its normal leans by `angle` towards +x, so that downhill is [`downhill`].
pub fn slope(angle: f64) -> DQuat {
    DQuat::from_rotation_y(angle)
}

/// Unit vector down the slope.
pub fn downhill(angle: f64) -> DVec3 {
    slope(angle) * DVec3::X
}

/// A half-space turned to a slope, and a body lying on it: `height` is from the surface to the body's centre.
pub fn on_slope(h: f64, angle: f64, mu: f64, shape: Shape, height: f64) -> (World, BodyId) {
    let mut w = world(precise(h));
    add(&mut w, BodyDef::fixed(Shape::HalfSpace).turned(slope(angle)).friction(mu));
    let at = slope(angle) * DVec3::new(0.0, 0.0, height);
    let body = add(&mut w, BodyDef::dynamic(shape, 2.0).at(at).turned(slope(angle)).friction(mu));
    (w, body)
}

/// Five half-spaces that make an open box with its floor at z = 0 and walls at ±`half`.
pub fn tray(world: &mut World, half: f64, mu: f64) {
    add(world, BodyDef::fixed(Shape::HalfSpace).friction(mu));
    for (at, inwards) in [
        (DVec3::NEG_X, DVec3::X),
        (DVec3::X, DVec3::NEG_X),
        (DVec3::NEG_Y, DVec3::Y),
        (DVec3::Y, DVec3::NEG_Y),
    ] {
        let turn = DQuat::from_rotation_arc(DVec3::Z, inwards);
        add(world, BodyDef::fixed(Shape::HalfSpace).at(at * half).turned(turn).friction(mu));
    }
}

/// Asserts the validation rule for a quantity: off by at most 1 % at h = 1 ms, and of observed order 0.9 or
/// more when h is halved. `measure` takes h.
pub fn converges(name: &str, exact: f64, measure: impl Fn(f64) -> f64) {
    let (coarse, fine) = (measure(1e-3), measure(5e-4));
    let (e1, e2) = ((coarse - exact).abs() / exact.abs(), (fine - exact).abs() / exact.abs());
    // A value that is right to rounding has no order to speak of.
    let order = if e1.max(e2) < 1e-10 { f64::INFINITY } else { (e1 / e2).log2() };
    println!(
        "{name}: exact {exact:.8}, h = 1 ms {coarse:.8} (error {e1:.2e}), 0.5 ms {fine:.8} ({e2:.2e}), order {order:.3}"
    );
    assert!(e1 <= 0.01, "{name}: {coarse} at h = 1 ms, exact {exact}, error {e1:.2e}");
    assert!(order >= 0.9, "{name}: errors {e1:.3e} and {e2:.3e} give order {order:.3}");
}

/// The threshold of a yes-or-no question by bisection: `no` at `low`, `yes` at `high`.
pub fn threshold(mut low: f64, mut high: f64, width: f64, yes: impl Fn(f64) -> bool) -> f64 {
    assert!(!yes(low), "already at {low}");
    assert!(yes(high), "not even at {high}");
    while high - low > width {
        let middle = 0.5 * (low + high);
        *if yes(middle) { &mut high } else { &mut low } = middle;
    }
    0.5 * (low + high)
}
