//! A scene that is seen from a train does the same: a constant velocity of everything, floors and walls
//! included, changes nothing but where things are.

use drystone::{BodyDef, Function, MassProperties, Motion, StepReport, World};
use glam::{DQuat, DVec3};

use crate::compare::{SOLVED, Tally, motion, scenes};
use crate::parts::{Part, Parts, id};

/// Longer than any run, s.
const LONG: f64 = 1024.0;

/// The same scene with the velocity `v` of everything. What was fixed becomes kinematic; joints with the
/// world become joints with a kinematic body that is added last.
fn shifted(old: &Parts, v: DVec3) -> Parts {
    let mut new = old.clone();
    for b in &mut new.bodies {
        b.v += v;
        b.def.velocity += v;
        match &mut b.def.guide {
            Some(guide) => {
                let (start, end) = (old.time, old.time + LONG);
                let way = Function::Ramp { from: 0.0, to: LONG, start, end };
                *guide = std::mem::take(guide).and_along(v, way);
            }
            None if b.def.motion == Motion::Static => b.def.motion = Motion::Kinematic,
            None => {}
        }
    }
    let frame = new.len();
    let mut used = false;
    for link in &mut new.links {
        for body in [&mut link.def.a, &mut link.def.b] {
            used |= body.is_none();
            body.get_or_insert(id(frame));
        }
    }
    if used {
        let bare = BodyDef::bare(MassProperties::principal(1.0, DVec3::ONE));
        let def = BodyDef { motion: Motion::Kinematic, velocity: v, ..bare };
        new.bodies.push(Part { def, x: DVec3::ZERO, q: DQuat::IDENTITY, v, omega: DVec3::ZERO });
    }
    new
}

/// Runs scenes and what they are with a velocity of the size of their own.
fn compare(scenes: Vec<(String, Parts)>, skip: fn(&StepReport) -> bool) -> Tally {
    let mut tally = Tally::default();
    for (name, parts) in scenes {
        // Some scenes have bodies that are locked to the plane across y.
        let across = if parts.bodies.iter().any(|b| b.def.planar.is_some()) { 0.0 } else { -1.25 };
        let v = parts.speed() * DVec3::new(0.75, across, 0.5);
        let (mut a, mut b) = (parts.world(), shifted(&parts, v).world());
        let image = |a: &World, i: usize| {
            let [x, u, omega] = motion(a, i);
            let fixed = parts.bodies[i].def.motion == Motion::Static;
            let u = if fixed { DVec3::ZERO } else { u };
            (i, [x + v * (a.state().time - parts.time), u + v, omega])
        };
        tally.run(&name, &parts, [&mut a, &mut b], image, skip);
    }
    tally
}

/// Steps in which an island was held to the energy that it had: the slack of that, and what counts as energy
/// at all, are those of the world's frame.
fn held(report: &StepReport) -> bool {
    report.bounce.is_some()
}

/// Bodies that nothing holds, thrown at each other, do the same with a common velocity on top.
#[test]
fn a_common_velocity_of_free_bodies_does_not_matter() {
    let free = |(name, parts): (String, Parts)| {
        let h = parts.settings.h;
        (name, parts.gathered(4.0 * h).accurate(SOLVED))
    };
    let all = scenes(1..=100, &[]).into_iter().map(free).filter(|(_, p)| p.speed() > 0.0).collect();
    compare(all, held).check(100);
}

/// The same on floors and between walls that move along. Without compliance: that of rows that ask for a
/// motion is for what moves in the world's frame.
#[test]
fn a_common_velocity_of_everything_does_not_matter() {
    let mut all = scenes(1..=100, &[]);
    all.iter_mut().for_each(|(_, parts)| parts.settings.compliance = 0.0);
    compare(all, held).check(100);
}
