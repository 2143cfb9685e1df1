//! Without anything fixed and without gravity, momentum and angular momentum stay what they are, and energy
//! does not grow.

use drystone::{Stabilisation, World};
use drystone_scene::zoo::scene;
use glam::DVec3;

use crate::compare::APART;
use crate::parts::Parts;

/// Of all bodies: Σ m v, Σ (m x × v + I ω) about the origin, kinetic energy; and what the first two are sums
/// of, without signs.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    momentum: DVec3,
    angular: DVec3,
    energy: f64,
    sizes: [f64; 2],
}

impl Sums {
    fn of(world: &World) -> Self {
        let (model, s) = (world.model(), world.state());
        let mut sum = Self::default();
        for i in model.dynamic() {
            let mass = &model.bodies[i].mass;
            let p = mass.mass * s.velocity[i];
            let spin = mass.inertia * s.omega[i];
            sum.momentum += p;
            sum.angular += s.position[i].cross(p) + s.rotation[i] * spin;
            sum.energy += 0.5 * (p.dot(s.velocity[i]) + s.omega[i].dot(spin));
            sum.sizes[0] += p.length();
            sum.sizes[1] += s.position[i].length() * p.length() + spin.length();
        }
        sum
    }
}

/// Steps taken: the farthest bodies would be at the centre after the fourth.
const STEPS: usize = 12;
/// A hundred bodies, each of whose terms is rounded some ten times, over the sum of all terms without signs.
const ROUNDING: f64 = 1e-13;
/// What the integrator of free rotation leaves in a step, at up to a radian a step, over the same.
const TURNING: f64 = 2e-5;
/// Share of the energy that an island may gain in a step by rounding and the tolerance, times the steps.
const SLACK: f64 = 1e-6 * STEPS as f64;
/// The same for bodies that are no balls: energy is held in the velocity problem, where a body has turned
/// freely already, and its spin is kicked before it turns. To second order in the angle of a step these are
/// the same.
const KICKED: f64 = 1e-3;

/// Bodies and joints of random scenes, free and thrown at each other.
fn thrown() -> impl Iterator<Item = (String, Parts)> {
    (1..=100).filter_map(|seed| {
        let made = scene(seed).unwrap();
        if APART.contains(&made.kind.name) {
            return None;
        }
        let parts = Parts::of(&made.world);
        let parts = parts.gathered(4.0 * parts.settings.h);
        (parts.speed() > 0.0).then(|| (format!("seed {seed}, {}", made.kind.name), parts))
    })
}

/// Whether all bodies turn like balls.
fn are_balls(parts: &Parts) -> bool {
    parts.bodies.iter().all(|b| {
        let i = b.def.mass.inertia.to_cols_array_2d();
        i[0][0] == i[1][1] && i[1][1] == i[2][2]
    })
}

/// Forces between bodies are opposite: the sum of m v changes by rounding alone, whatever happens between
/// them, and however roughly it is solved.
#[test]
fn momentum_is_kept() {
    let (mut faults, mut contacts) = (Vec::new(), 0);
    for (name, parts) in thrown() {
        let mut w = parts.world();
        let start = Sums::of(&w);
        for k in 0..STEPS {
            let Ok(report) = w.step() else { break };
            contacts += report.contacts;
            let now = Sums::of(&w);
            let off = (now.momentum - start.momentum).length() / start.sizes[0].max(now.sizes[0]);
            if !(off <= ROUNDING) {
                faults.push(format!("{name}, step {k}: {off:.1e}"));
                break;
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(contacts > 1000, "{contacts}");
}

/// The two forces of a contact act at the two surfaces, a gap apart: that alone, and the accuracy with which
/// bodies that are no balls turn freely, changes angular momentum.
#[test]
fn angular_momentum_changes_by_gaps_alone() {
    let (mut faults, mut contacts) = (Vec::new(), 0);
    for (name, mut parts) in thrown().filter(|(_, parts)| parts.is_passive()) {
        // Corrections of positions move masses; and the contacts of all but the last substep are not told.
        (parts.settings.stabilisation, parts.settings.max_substeps) = (Stabilisation::None, 1);
        let allowed = if are_balls(&parts) { ROUNDING } else { TURNING };
        let mut w = parts.world();
        let (start, mut last) = (Sums::of(&w), Sums::of(&w));
        for k in 0..STEPS {
            let Ok(report) = w.step() else { break };
            contacts += report.contacts;
            let now = Sums::of(&w);
            let gaps: DVec3 = w.contacts().iter().map(|c| (c.gap * c.normal).cross(c.impulse)).sum();
            let off = (now.angular - last.angular - gaps).length() / start.sizes[1].max(now.sizes[1]);
            if !(off <= allowed) {
                faults.push(format!("{name}, step {k}: {off:.1e} of {allowed:.0e}"));
                break;
            }
            last = now;
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(contacts > 1000, "{contacts}");
}

/// Bodies that nothing drives never have more kinetic energy than at the start.
#[test]
fn energy_is_never_above_that_of_the_start() {
    let (mut faults, mut contacts) = (Vec::new(), 0);
    for (name, parts) in thrown().filter(|(_, parts)| parts.is_passive()) {
        let mut w = parts.world();
        let start = Sums::of(&w).energy;
        let slack = if are_balls(&parts) { SLACK } else { KICKED };
        for k in 0..STEPS {
            let Ok(report) = w.step() else { break };
            contacts += report.contacts;
            let more = Sums::of(&w).energy / start - 1.0;
            if !(more <= slack) {
                faults.push(format!("{name}, step {k}: {more:.1e}"));
                break;
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(contacts > 1000, "{contacts}");
}
