//! Whether a step has brought about errors of position that are worth correcting, told without looking for
//! contacts and at joints once more.
//!
//! Contacts and joints were looked at where the step began. The velocities, which are known, take them from
//! there to where they are now, but for what is of second order, with r the radius of a shape, or the arm of
//! a joint:
//!
//! ```text
//!     ½ (h|ω|)² r            points of a body that turns (a ball about its centre excepted)
//!     h² |ω| |Δω| r          joints: their curvature was foretold for ω as it was before
//!     h (|Δv| + |Δω| r)      contacts were looked for as far as the velocities of before go, and somewhat further
//! ```
//!
//! The distance of convex shapes is a convex function of their displacement: it is no less than its tangent
//! says, so that straight motion alone brings none of them into another. On ground with valleys it may, and
//! nothing is taken for granted there.
//!
//! These are bounds: where they say no, there is nothing that corrections would not leave alone, and nothing
//! that a step does not resolve (arcs are looked at in any case). They save time, and decide nothing.

use drystone_solve::solver::Status;
use glam::DVec3;

use crate::formulation::rows::{Rows, SIZE, TIGHTER};
use crate::integrate::moved::Moved;
use crate::joint::{Kind, WORLD_BODY};
use crate::model::{ColliderSlot, NOBODY};
use crate::shape::Shape;
use crate::state::State;

/// Whether a step that ended with `status`, its positions integrated, may need a correction; `tolerance` over
/// the size of a pair, or joint.
pub(crate) fn may(w: &Moved, state: &State, rows: &Rows, status: Status, tolerance: f64) -> bool {
    status != Status::Converged
        || w.setup.settings.iterations == 0
        || !(TIGHTER * rows.worst <= tolerance)
        || rows.curved
        || w.collision.predictor.is_bent()
        || !contacts_are_calm(w, tolerance)
        || !shapes_are_calm(w, state)
        || !joints_are_calm(w, state, tolerance)
}

/// Whether no contact overlaps by more than is left alone.
fn contacts_are_calm(w: &Moved, tolerance: f64) -> bool {
    let h = w.setup.settings.h;
    w.collision.contacts.iter().all(|c| {
        let [i, j] = c.key.colliders;
        let off = arc(w, &w.setup.model.colliders[i as usize]) + arc(w, &w.setup.model.colliders[j as usize]);
        let left = tolerance * w.setup.model.pair_size(i, j);
        off - (c.gap + h * w.opening(c)) <= if off > left { 0.0 } else { left }
    })
}

/// Whether a collider turns as a ball does.
fn is_round(c: &ColliderSlot) -> bool {
    matches!(c.shape, Shape::Sphere { .. }) && c.place().position == DVec3::ZERO
}

/// How far a point of a collider may be off its tangent at the end of the step, m.
fn arc(w: &Moved, c: &ColliderSlot) -> f64 {
    let i = c.body as usize;
    let v = &w.v[i];
    let turn = w.setup.settings.h * DVec3::new(v[3], v[4], v[5]).length().max(w.saved.omega(i).length());
    if turn == 0.0 || is_round(c) { 0.0 } else { 0.5 * turn * turn * c.radius }
}

/// Whether no shape was led away from where its free motion takes it by so much that it may have come to one
/// that it has no contact with.
fn shapes_are_calm(w: &Moved, state: &State) -> bool {
    let h = w.setup.settings.h;
    // Beyond what gravity does in a step: half of it for each of two.
    let envelope = w.setup.envelope();
    let room = 0.5
        * (envelope.of_pair(w.setup.model.facts().smallest, [0; 2])
            - h * h * w.setup.settings.gravity.length());
    w.setup.model.colliders.iter().filter(|c| c.body != NOBODY).all(|c| {
        let Some(body) = w.setup.model.bodies.get(c.body as usize).filter(|b| b.alive) else { return true };
        if !c.shape.is_convex() {
            return false;
        }
        let i = c.body as usize;
        let bend = arc(w, c);
        if body.inv_mass <= 0.0 {
            return bend <= room;
        }
        let turned = state.omega[i] - w.saved.omega(i);
        let radius = if is_round(c) { 0.0 } else { c.radius };
        bend + h * (w.led_away(i) + radius * turned.length()) <= room
    })
}

/// Whether no joint's curvature is another than was foretold.
fn joints_are_calm(w: &Moved, state: &State, tolerance: f64) -> bool {
    let h = w.setup.settings.h;
    w.setup.model.joints.iter().filter(|j| j.alive).all(|joint| {
        // A bound, and seldom met.
        let left = tolerance * SIZE * joint.length / TIGHTER;
        (0..2).all(|k| {
            if joint.bodies[k] == WORLD_BODY || w.unforetold(state, joint, k) <= left * left {
                return true;
            }
            let i = joint.bodies[k] as usize;
            let (before, change) = (w.saved.omega(i), state.omega[i] - w.saved.omega(i));
            // What a hinge turns about stays where it is.
            let axis = joint.frames[k].rotation * DVec3::Z;
            let hinge = matches!(joint.kind, Kind::Revolute | Kind::Cylindrical);
            let tilt = |x: DVec3| if hinge { (x - x.dot(axis) * axis).length() } else { x.length() };
            let (spin, turn) = (before.length() + change.length(), change.length());
            let origin = spin * turn * joint.frames[k].position.length();
            let axes = (spin * tilt(change) + turn * tilt(before)) * joint.length;
            h * h * (origin + axes) <= left
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;
    use crate::settings::Integrator;
    use crate::setup::Setup;
    use crate::{BodyDef, JointDef, MassProperties, Settings};

    const TOLERANCE: f64 = 1e-4;

    fn after(steps: usize, mut w: World) -> bool {
        (0..steps).for_each(|_| {
            w.step().unwrap();
        });
        let World { model, settings, fields, stiff, state, work, .. } = &w;
        let setup = Setup { model, settings, fields, stiff };
        let step = Moved { setup, collision: &work.collision, v: &work.free.v, saved: &work.substeps.saved };
        !may(&step, state, &work.velocity.assembler.rows, Status::Converged, TOLERANCE)
    }

    /// A shape on the ground, `low` m in it, with a velocity.
    fn on_the_ground(shape: Shape, height: f64, low: f64, v: DVec3, omega: DVec3) -> World {
        let mut w = World::new(Settings { h: 5e-3, ..Settings::default() }).unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace)).unwrap();
        let at = DVec3::Z * (height - low);
        w.add_body(BodyDef::dynamic(shape, 1.0).at(at).moving(v, omega)).unwrap();
        w
    }

    #[test]
    fn rest_is_calm_and_a_blow_is_not() {
        let cube = || Shape::cuboid(DVec3::splat(0.1));
        let rest = DVec3::ZERO;
        assert!(after(3, on_the_ground(cube(), 0.1, 0.0, rest, rest)));
        assert!(!after(1, on_the_ground(cube(), 0.1, 0.0, -DVec3::Z, rest)), "it came down at 1 m/s");
        assert!(!after(1, on_the_ground(cube(), 0.1, 2e-5, rest, rest)), "it overlaps");
    }

    /// Nobody sees a ball turn.
    #[test]
    fn balls_may_spin() {
        let (up, spin) = (DVec3::Z * 5.0, DVec3::new(0.0, 8.0, 0.0));
        assert!(after(1, on_the_ground(Shape::sphere(0.1), 3.0, 0.0, up, spin)));
        assert!(!after(1, on_the_ground(Shape::cuboid(DVec3::splat(0.1)), 3.0, 0.0, up, spin)));
    }

    /// A rod on a hinge at its end: at rest, falling, and turning about an axis through it.
    #[test]
    fn joints_that_turn_are_looked_at() {
        let rod = |axis: DVec3, anchor: DVec3, omega: DVec3| {
            let mut w = World::new(Settings { h: 5e-3, ..Settings::default() }).unwrap();
            let mass = MassProperties::principal(1.0, DVec3::new(0.01, 0.1, 0.1));
            let def =
                BodyDef::bare(mass).at(DVec3::X * 0.5).moving(omega.cross(-anchor + DVec3::X * 0.5), omega);
            let id = w.add_body(def).unwrap();
            w.add_joint(JointDef::revolute(None, id, anchor, axis)).unwrap();
            w
        };
        assert!(after(3, rod(DVec3::Z, DVec3::ZERO, DVec3::ZERO)), "held against gravity");
        assert!(!after(20, rod(DVec3::Y, DVec3::ZERO, DVec3::ZERO)), "it falls about its end");
        assert!(after(3, rod(DVec3::X, DVec3::X * 0.5, DVec3::X * 8.0)), "it spins about its own axis");
    }

    /// What corrections would leave alone does not stay, and no position problem is posed for it.
    #[test]
    fn small_errors_go_with_the_motion() {
        let mut w =
            World::new(Settings { h: 5e-3, integrator: Integrator::Euler, ..Settings::default() }).unwrap();
        let mass = MassProperties::principal(1.0, DVec3::new(0.01, 0.1, 0.1));
        let id = w.add_body(BodyDef::bare(mass).at(DVec3::X * 0.5)).unwrap();
        w.add_joint(JointDef::revolute(None, id, DVec3::ZERO, DVec3::Z)).unwrap();
        w.step().unwrap();
        w.state.position[id.slot as usize] += DVec3::new(3e-7, 0.0, -4e-7);
        assert!(w.joint_error().position > 2e-7);
        let report = w.step().unwrap();
        assert_eq!(report.position_rounds, 0);
        assert!(w.joint_error().position < 1e-9, "{:e}", w.joint_error().position);
    }
}
