//! Corrections by the velocity problem's own matrices.
//!
//! A step turns bodies by a few hundredths of a radian, so that ∇Φ at its start is nearly that at its end: Newton's method with a slope
//! that is not renewed,
//!
//! ```text
//!     M Δq = Σ β D(q₀),      0 ≤ Φ(q) + ∇Φ(q₀)ᵀ Δq  ⊥  β ≥ 0,      q ← q ⊕ Δq
//! ```
//!
//! A round leaves of the errors about the angle by which bodies have turned, and takes neither Jacobians nor a factor. Where
//! anything is out of the ordinary, the position problem is posed as it should be.

use drystone_solve::solver::{Solver, Status, Stop};
use glam::DVec3;

use super::{Correction, Corrector, LEVERS, Place, REST, TIGHTER, Task};
use crate::assemble::rows::{Purpose, Wanted};
use crate::contact::{Contact, Gap, Touch};

/// Share of what is left alone that chords leave of joints' errors.
const FINE: f64 = 0.5;

impl Corrector {
    /// Corrects positions as [`Corrector::run`] does, with the assembler and the solver of the velocity problem, whose contacts are
    /// given; the number of rounds. None if there is more to do than this can.
    pub(crate) fn run_chords(
        &mut self,
        task: &mut Task,
        solver: &mut dyn Solver,
        contacts: &[Contact],
    ) -> Option<usize> {
        let Task { model, state, detector, assembler, how, v, asleep } = task;
        let (model, how) = (*model, *how);
        let share = how.reach / how.rounds as f64;
        Place { model, detector, reach: how.envelope }.find(state, asleep, &mut self.contacts);
        self.total.clear();
        let paired = self.pair_up(contacts, how)?;
        let mut gaps = std::mem::take(&mut self.gaps);
        let turned = how.h * v.iter().map(|v| DVec3::new(v[3], v[4], v[5]).length()).fold(0.0, f64::max);
        let mut room = paired;
        let mut done = None;
        for round in 0..how.rounds {
            let purpose = Purpose::Position { h: how.h, share, wanted: Wanted::Biases };
            assembler.stage_rows(model, state, REST, purpose);
            let joints = assembler.rows.worst;
            let worst = gaps.iter().zip(&self.sizes).map(|(gap, size)| -gap / size).fold(joints, f64::max);
            let strict = worst.max(TIGHTER * joints);
            if round == 0 {
                self.expected = strict > how.tolerance;
            }
            if strict <= if round == 0 { how.tolerance } else { FINE * how.accept } {
                done = Some(round);
                break;
            }
            let deepest = gaps.iter().fold(assembler.rows.deepest, |deepest, gap| deepest.max(-gap));
            let smallest = assembler.rows.smallest / TIGHTER;
            let finest = self.sizes.iter().copied().fold(smallest, f64::min);
            if worst > share || LEVERS * deepest > how.envelope || !assembler.pose_again(&gaps) {
                break;
            }
            let stop = Stop {
                tolerance: 0.25 * how.tolerance * finest,
                iterations: how.iterations,
                ..Stop::default()
            };
            let solution = solver.solve_again(&assembler.problem, &stop);
            let Some(solution) = solution.filter(|s| s.status == Status::Converged) else { break };
            let moved = assembler.sorted_velocities(&solution.gamma);
            let way = self.longest_way(model, state, moved);
            room -= 2.0 * way;
            if room < 0.0 {
                break;
            }
            self.shift(model, state, moved, 1.0);
            if 2.0 * turned * deepest + way * way / smallest <= FINE * how.accept * smallest {
                done = Some(round + 1);
                break;
            }
            assembler.gaps_ahead(&mut gaps);
        }
        self.gaps = gaps;
        done
    }

    /// Gaps at the end of a step, and sizes, of the contacts of its start; how far corrections may bring two bodies together that have
    /// no such contact. None if it is not clear which contact is which, or there is no such room.
    fn pair_up(&mut self, before: &[Contact], how: Correction) -> Option<f64> {
        // What nothing is found of is further away than was looked.
        self.gaps.clear();
        self.gaps.resize(before.len(), how.envelope);
        self.sizes.clear();
        self.sizes.resize(before.len(), f64::INFINITY);
        let mut room = how.envelope;
        let mut done = 0;
        for run in self.contacts.chunk_by(|a, b| a.bodies() == b.bodies()) {
            let here = |c: &Contact| c.bodies == run[0].bodies();
            // The order is the same: what was passed over is gone.
            let first = before[done..].iter().position(here).map(|k| done + k);
            let Some(first) =
                first.filter(|first| before[*first..].iter().take_while(|c| here(c)).count() == run.len())
            else {
                if first.is_some() {
                    return None;
                }
                // What has come up must stay open, but for what is left alone anyway.
                let ahead = run.iter().map(|c| c.gap() + how.tolerance * c.size());
                room = ahead.fold(room, f64::min);
                continue;
            };
            done = first + run.len();
            if !are_same(&before[first..done], run) {
                return None;
            }
            for (k, c) in (first..).zip(run) {
                (self.gaps[k], self.sizes[k]) = (c.gap(), c.size());
            }
        }
        (room >= 0.0).then_some(room)
    }
}

/// Whether the contacts of two bodies are the same at the beginning and at the end of a step: each is nearest to where it was.
fn are_same(before: &[Contact], after: &[Gap]) -> bool {
    let nearest = |i: usize| {
        let way = |j: usize| after[i].point().distance_squared(before[j].point);
        before[i].normal.dot(after[i].normal()) > 0.9 && (0..before.len()).all(|j| way(i) <= way(j))
    };
    (0..before.len()).all(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Stabilisation;
    use crate::{BodyDef, Filter, Function, JointDef, Motor, Settings, Shape, World};

    /// A box on the ground that swings a parallelogram of three bars: a loop, and no equation twice.
    fn swing() -> World {
        let settings = Settings { h: 1e-2, solver: "schur".into(), tolerance: 1e-6, ..Settings::default() };
        let mut w = World::new(settings).unwrap();
        w.add_body(BodyDef::fixed(Shape::HalfSpace).friction(0.8)).unwrap();
        let bar = |half: DVec3, at: DVec3| {
            let def = BodyDef::dynamic(Shape::cuboid(half), 0.2).at(at);
            def.filter(Filter { layers: 0, mask: 0 })
        };
        let base = Shape::cuboid(DVec3::new(0.3, 0.2, 0.05));
        let base = w.add_body(BodyDef::dynamic(base, 5.0).at(DVec3::Z * 0.05).friction(0.8)).unwrap();
        let post = DVec3::new(0.01, 0.02, 0.1);
        let [left, right] = [-0.1, 0.1].map(|x| w.add_body(bar(post, DVec3::new(x, 0.0, 0.2))).unwrap());
        let top = w.add_body(bar(DVec3::new(0.1, 0.01, 0.02), DVec3::Z * 0.3)).unwrap();
        let at = |x: f64, z: f64| DVec3::new(x, 0.0, z);
        let lead = Function::Sine { mean: 0.0, amplitude: 0.4, frequency: 0.8, phase: 0.0 };
        let joints = [
            JointDef::revolute(base, left, at(-0.1, 0.1), DVec3::Y).motor(0, Motor::position(lead)),
            JointDef::revolute(base, right, at(0.1, 0.1), DVec3::Y),
            JointDef::revolute(left, top, at(-0.1, 0.3), DVec3::Y),
            JointDef::point_on_line(right, top, at(0.1, 0.3), DVec3::Y),
        ];
        joints.into_iter().for_each(|joint| {
            w.add_joint(joint).unwrap();
        });
        w
    }

    #[test]
    fn loops_stay_closed() {
        let mut w = swing();
        let (mut corrected, mut worst) = (0, 0.0f64);
        for step in 0..120 {
            let report = w.step().unwrap();
            assert!(report.contacts >= 4, "it stands");
            assert!(w.solver.keeps_factors(), "step {step} was not solved by elimination");
            corrected += usize::from(report.position_rounds > 0);
            worst = worst.max(w.joint_error().position);
        }
        assert!(corrected > 60, "{corrected} steps were corrected");
        // What corrections leave alone: see `TIGHTER`.
        assert!(worst < 1e-7, "{worst:e}");
    }

    /// What the tangents leave out is found for the velocities that a step will have, from the last step's change.
    #[test]
    fn steady_changes_are_foreseen() {
        let drift = |forgets: bool| {
            let mut w = swing();
            w.settings.stabilisation = Stabilisation::None;
            // It is thrown into its motion by the first step.
            (0..60).fold(0.0f64, |most, step| {
                if forgets {
                    w.state.change.clear();
                }
                let before = w.joint_error().position;
                w.step().unwrap();
                if step < 5 { 0.0 } else { most.max((w.joint_error().position - before).abs()) }
            })
        };
        let [with, without] = [false, true].map(drift);
        assert!(with < 0.3 * without && without < 1e-3, "{with:e} and {without:e}");
    }

    /// What is foreseen is part of the state.
    #[test]
    fn a_saved_state_goes_on_bit_for_bit() {
        let go_on = |w: &mut World| {
            (0..20).for_each(|_| {
                w.step().unwrap();
            });
            w.state().hash()
        };
        let mut w = swing();
        go_on(&mut w);
        let saved = w.state().clone();
        let end = go_on(&mut w);
        w.restore(saved).unwrap();
        assert_eq!(go_on(&mut w), end);
    }

    /// A contact that goes is open, one that comes leaves little room, and two in place of one are of no use.
    #[test]
    fn contacts_may_come_and_go() {
        let mut w = swing();
        w.step().unwrap();
        let (contacts, envelope) = (&w.contacts, w.envelope());
        assert!(contacts.len() >= 4);
        let how = Correction {
            tolerance: 1e-4,
            accept: 1e-4,
            reach: 0.1,
            rounds: 3,
            iterations: 10,
            envelope,
            h: 1e-2,
            keep: false,
        };
        let gaps: Vec<Gap> = contacts.iter().map(|c| Gap::of(c, &w.model, || 0.1)).collect();
        let mut corrector = Corrector { contacts: gaps.clone(), ..Corrector::default() };
        assert_eq!(corrector.pair_up(contacts, how), Some(envelope));
        assert_eq!(corrector.gaps[1], gaps[1].gap());
        assert!(corrector.pair_up(&contacts[1..], how).is_none(), "one more of the same bodies");
        corrector.contacts.reverse();
        assert!(corrector.pair_up(contacts, how).is_none(), "it has turned around");
        corrector.contacts.clear();
        assert_eq!(corrector.pair_up(contacts, how), Some(envelope), "all are gone");
        assert!(corrector.gaps.iter().all(|gap| *gap == envelope));
        corrector.contacts = gaps;
        let room = corrector.pair_up(&[], how);
        assert!(room.is_some_and(|room| room < envelope), "{room:?}");
    }
}
