//! Two scenes in one world that have nothing to do with each other are what each of them is alone, bit for
//! bit.

use drystone::{BodyDef, JointDef, Settings, Shape, World};
use drystone_scene::zoo::scene;
use glam::DVec3;

use crate::compare::APART;
use crate::parts::Parts;
use crate::{bits, steps};

/// Where the second scene is, m: what is left of its digits there it has alone, too.
const FAR: DVec3 = DVec3::new(4096.0, -2048.0, 1024.0);

/// What is left of a difference that begins with another rounding, after the first step that has it, over the
/// largest number: one of sums of some ten numbers, times the condition of the step's problem; or one
/// iteration more or fewer of a solver that stops at the tolerance.
const ROUNDED: f64 = 1e-5;

/// The first step at which a scene differs from what it is alone.
struct Difference {
    /// Which of the two, and when.
    what: String,
    /// The largest difference of numbers, over the largest number.
    size: f64,
}

/// Runs two scenes, each alone and both together.
fn difference(a: &Parts, b: &Parts, steps: usize) -> Option<Difference> {
    let (mut one, mut two, mut both) = (a.world(), b.world(), a.and(b).world());
    for k in 0..steps {
        let alone = (one.step().is_ok(), two.step().is_ok());
        if both.step().is_err() || alone != (true, true) {
            return None;
        }
        let all = bits(&both, a.len() + b.len());
        let [x, y] = [bits(&one, a.len()), bits(&two, b.len())];
        let (first, second) = all.split_at(x.len());
        for (name, together, alone) in [("first", first, x), ("second", second, y)] {
            if together != alone {
                let pairs = || together.iter().zip(&alone).map(|(a, b)| [a, b].map(|x| f64::from_bits(*x)));
                let off = pairs().map(|[a, b]| (a - b).abs()).fold(0.0, f64::max);
                let size = off / pairs().map(|[a, b]| a.abs().max(b.abs())).fold(0.0, f64::max);
                return Some(Difference { what: format!("the {name}, step {k}, by {size:.0e}"), size });
            }
        }
    }
    None
}

/// Kinds that do not leave others their bits, and why.
const SHARED: [(&str, &str); 13] = [
    ("belt", MOVES),
    ("closing", MOVES),
    ("crush", MOVES),
    ("drum", MOVES),
    ("mixer", MOVES),
    ("shaker", MOVES),
    ("shear", MOVES),
    ("tilt-wall", MOVES),
    ("motors", MOVES),
    ("flaps", HELD),
    ("planar-hinge", HELD),
    ("sleeve", HELD),
    ("triaxial", "the sweeps over mechanisms are counted for all of them together"),
];
const MOVES: &str =
    "where one contact has a wall or belt that moves, the biases of all have three numbers: other rounding";
const HELD: &str =
    "where one island is held to its energy, the velocities of all are summed anew: other rounding";

/// Pairs of random scenes with the same settings and laws.
#[test]
fn another_scene_does_not_matter() {
    let mut waiting: Vec<(u64, &str, Parts)> = Vec::new();
    let (mut faults, mut pairs) = (Vec::new(), 0);
    for seed in 1..=200 {
        let made = scene(seed).unwrap();
        let shared = SHARED.iter().any(|(kind, _)| *kind == made.kind.name);
        if APART.contains(&made.kind.name) || shared {
            continue;
        }
        let parts = Parts::of(&made.world);
        let alike = |(_, _, p): &(u64, &str, Parts)| {
            (&p.settings, &p.materials) == (&parts.settings, &parts.materials)
        };
        match waiting.iter().position(alike) {
            None => waiting.push((seed, made.kind.name, parts)),
            Some(k) => {
                let (other, kind, first) = waiting.swap_remove(k);
                pairs += 1;
                if let Some(d) = difference(&first, &parts.moved(FAR), steps(&made)) {
                    faults
                        .push(format!("seeds {other} ({kind}) and {seed} ({}): {}", made.kind.name, d.what));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(pairs > 40, "{pairs}");
}

/// Things that go on far away, and whether they leave others their bits.
fn strangers(settings: &Settings) -> Vec<(&'static str, bool, World)> {
    let ball = |r: f64| BodyDef::solid(Shape::sphere(r), 1000.0).friction(0.5);
    let world = || World::new(settings.clone()).unwrap();
    let add = |w: &mut World, body: BodyDef| w.add_body(body.at(FAR)).unwrap();
    let mut all = Vec::new();

    let mut w = world();
    let spinning = BodyDef::solid(Shape::cuboid(DVec3::new(0.1, 0.3, 0.5)), 1000.0);
    add(&mut w, spinning.moving(DVec3::ZERO, DVec3::new(100.0, 200.0, 50.0)));
    all.push(("a box that spins", true, w));

    let mut w = world();
    let bed = Shape::cuboid(DVec3::new(5.0, 1.0, 0.5));
    add(&mut w, BodyDef::fixed(bed).friction(0.5).surface_velocity(DVec3::X * 2.0));
    w.add_body(ball(0.2).at(FAR + DVec3::Z * 0.7)).unwrap();
    all.push(("a ball on a belt", false, w));

    let mut w = world();
    let wall = BodyDef::kinematic(Shape::cuboid(DVec3::splat(1.0))).friction(0.5);
    add(&mut w, wall.moving(DVec3::X * 5.0, DVec3::ZERO));
    w.add_body(ball(0.2).at(FAR + DVec3::X * 1.25)).unwrap();
    all.push(("a ball that a wall hits", false, w));

    let mut w = world();
    let bob = add(&mut w, ball(0.2));
    w.add_joint(JointDef::ball(None, bob, FAR + DVec3::X)).unwrap();
    all.push(("a pendulum", true, w));

    let mut w = world();
    add(&mut w, ball(1e-3).moving(DVec3::X * 100.0, DVec3::ZERO));
    all.push(("a grain that flies", true, w));
    all
}

/// What spins, swings or flies far away changes no bit; what moves others changes the rounding at most.
#[test]
fn what_goes_on_far_away_does_not_matter() {
    let mut faults = Vec::new();
    for seed in 1..=60 {
        let made = scene(seed).unwrap();
        if APART.contains(&made.kind.name) || made.kind.name == "triaxial" {
            continue;
        }
        let parts = Parts::of(&made.world);
        let held = SHARED.iter().any(|(kind, why)| *kind == made.kind.name && *why == HELD);
        for (name, exact, mut other) in strangers(&parts.settings) {
            *other.materials_mut() = parts.materials.clone();
            let allowed = if exact && !held { 0.0 } else { ROUNDED };
            match difference(&parts, &Parts::of(&other), steps(&made)) {
                Some(d) if !(d.size <= allowed) => {
                    faults.push(format!("seed {seed} ({}) and {name}: {}", made.kind.name, d.what));
                }
                _ => {}
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
