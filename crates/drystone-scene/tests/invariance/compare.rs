//! Two runs of what is the same scene, step by step.

use drystone::solve::solver::Status;
use drystone::{StepReport, World};
use drystone_scene::load;
use drystone_scene::zoo::scene;
use glam::DVec3;

use crate::parts::Parts;

/// Every step is solved until residuals are below this share of the scene's speed.
pub const SOLVED: f64 = 1e-10;
/// What velocities may differ by after the first step, over the scene's speed. The two runs end at different
/// places within the tolerance, and velocities are off by the residual times a condition number: some 1e5 for
/// the worst of these scenes, with masses up to a million to one. An asymmetry of contacts or laws shows in
/// the third digit.
pub const SAME: f64 = 5e-5;
/// What that grows by in a step, as bodies hit each other.
pub const GROWTH: f64 = 4.0;
/// Steps compared.
pub const STEPS: usize = 3;

/// Kinds that are described by more than bodies, joints and settings, or that repeat in space.
pub const APART: [&str; 2] = ["emitter", "periodic"];

/// Kinds whose runs are not determined by the scene to rounding: the exact law of friction has several
/// solutions.
pub const UNDETERMINED: [&str; 1] = ["tilt-wall"];

/// Seeds whose differences of rounding grow by more than fourfold a step.
const SENSITIVE: [(u64, &str); 2] =
    [(31, "cones that turn over their rims within substeps"), (34, "a driven crank; not traced further")];

/// A scene as it begins and as it is after 25 steps, solved accurately; each with its name.
fn twice(name: &str, mut world: World, all: &mut Vec<(String, Parts)>) {
    for later in [0, 25] {
        if (0..later).any(|_| world.step().is_err()) {
            break;
        }
        let parts = Parts::of(&world).accurate(SOLVED);
        if parts.speed() > 0.0 {
            all.push((format!("{name}, after {later} steps"), parts));
        }
    }
}

/// Random scenes of these seeds, without some kinds.
pub fn scenes(seeds: impl IntoIterator<Item = u64>, without: &[&str]) -> Vec<(String, Parts)> {
    let mut all = Vec::new();
    for seed in seeds.into_iter().filter(|seed| !SENSITIVE.iter().any(|(s, _)| s == seed)) {
        let made = scene(seed).unwrap();
        let kind = made.kind.name;
        if !APART.contains(&kind) && !without.contains(&kind) {
            twice(&format!("seed {seed}, {kind}"), made.world, &mut all);
        }
    }
    all
}

/// Small scenes of the gallery.
pub fn gallery() -> Vec<(String, Parts)> {
    let mut all = Vec::new();
    for (name, set) in [
        ("stack", &[("n", "5"), ("shape", "box")][..]),
        ("stack", &[("n", "6"), ("ratio", "2")]),
        ("incline", &[]),
        ("slide", &[("shape", "sphere")]),
        ("pyramid", &[("layers", "3"), ("base", "triangle")]),
        ("arch", &[]),
        ("cradle", &[("h", "0.001")]),
        ("top", &[]),
        ("four-bar", &[]),
        ("pendulum", &[]),
    ] {
        let set: Vec<_> = set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let scene = load(name, &set).unwrap();
        twice(name, scene.world(scene.settings.clone()).unwrap(), &mut all);
    }
    all
}

/// What came of several comparisons.
#[derive(Default)]
pub struct Tally {
    /// Steps with contacts or joints that were compared.
    pub steps: usize,
    /// The largest difference, over what is allowed.
    pub worst: f64,
    /// What differs.
    pub faults: Vec<String>,
}

/// Position (m), velocity (m/s) and angular velocity (rad/s, world axes) of a body.
pub type Motion = [DVec3; 3];

/// The motion of the body in a slot.
pub fn motion(world: &World, slot: usize) -> Motion {
    let s = world.state();
    [s.position[slot], s.velocity[slot], s.world_omega(slot)]
}

impl Tally {
    /// Steps both worlds. `image` says what slot and motion in the second world should be for a body of the
    /// first; a run ends at a step that is not solved, or of which `skip` says that it cannot be compared.
    pub fn run(
        &mut self,
        name: &str,
        parts: &Parts,
        [a, b]: [&mut World; 2],
        image: impl Fn(&World, usize) -> (usize, Motion),
        skip: impl Fn(&StepReport) -> bool,
    ) {
        let mut allowed = SAME * parts.speed();
        for k in 0..STEPS {
            let (Ok(x), Ok(y)) = (a.step(), b.step()) else { break };
            let solved = |r: &StepReport| r.status == Status::Converged && !skip(r);
            if !solved(&x) || !solved(&y) {
                break;
            }
            let mut most = 0.0f64;
            for (i, part) in parts.bodies.iter().enumerate() {
                let (slot, [p, v, omega]) = image(a, i);
                let [q, u, turn] = motion(b, slot);
                let fast = (v - u).length() + part.radius() * (omega - turn).length();
                most = most.max(fast).max((p - q).length() / parts.settings.h);
            }
            self.worst = self.worst.max(most / allowed);
            if !(most <= allowed) {
                let share = most / parts.speed();
                self.faults.push(format!(
                    "{name}, step {k}: {share:.1e} of the speed; contacts {} and {}, substeps {} and {}, share of bounces {:?} and {:?}",
                    x.contacts, y.contacts, x.substeps, y.substeps, x.bounce, y.bounce
                ));
                break;
            }
            self.steps += usize::from(x.contacts > 0 || !parts.links.is_empty());
            allowed *= GROWTH;
        }
    }

    /// Fails unless enough steps were compared and none differs.
    pub fn check(&self, least: usize) {
        assert!(self.faults.is_empty(), "{:#?}", self.faults);
        assert!(self.steps >= least, "only {} steps were compared", self.steps);
    }
}

/// A scene that is taken apart and put together again does the same: nothing of it is forgotten.
#[test]
fn parts_are_all_of_a_scene() {
    let mut tally = Tally::default();
    for seed in 1..=60 {
        let mut made = scene(seed).unwrap();
        if APART.contains(&made.kind.name) || UNDETERMINED.contains(&made.kind.name) {
            continue;
        }
        let parts = Parts::of(&made.world).accurate(SOLVED);
        if parts.speed() > 0.0 {
            made.world.set_settings(parts.settings.clone()).unwrap();
            let name = format!("seed {seed}, {}", made.kind.name);
            let worlds = [&mut made.world, &mut parts.world()];
            tally.run(&name, &parts, worlds, |a, i| (i, motion(a, i)), |_| false);
        }
    }
    tally.check(50);
}
