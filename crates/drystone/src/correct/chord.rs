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

use super::{Corrector, LEVERS, Place, REST, TIGHTER, Work};
use crate::assemble::rows::{Purpose, Wanted};
use crate::contact::{Contact, Gap, Touch};

/// Share of what is left alone that chords leave of joints' errors.
const FINE: f64 = 0.1;

impl Corrector {
    /// Corrects positions as [`Corrector::run`] does, with the assembler and the solver of the velocity problem, whose contacts are
    /// given; the number of rounds. None if there is more to do than this can.
    pub(crate) fn run_chords(
        &mut self,
        work: &mut Work,
        solver: &mut dyn Solver,
        contacts: &[Contact],
    ) -> Option<usize> {
        let Work { model, state, detector, assembler, how, v, asleep } = work;
        let share = how.reach / how.rounds as f64;
        if !self.looked {
            Place { model, detector, reach: how.envelope }.find(state, asleep, &mut self.contacts);
        }
        self.total.clear();
        let mut gaps = std::mem::take(&mut self.gaps);
        gaps.clear();
        gaps.extend(self.contacts.iter().map(Touch::gap));
        let same = are_same(contacts, &self.contacts);
        let turned = how.h * v.iter().map(|v| DVec3::new(v[3], v[4], v[5]).length()).fold(0.0, f64::max);
        let mut done = None;
        for round in 0..how.rounds {
            let purpose = Purpose::Position { h: how.h, share, wanted: Wanted::Biases };
            assembler.stage_rows(model, state, REST, purpose);
            let (joints, sizes) = (assembler.rows.worst, self.contacts.iter().map(Gap::size));
            let worst = gaps.iter().zip(sizes).map(|(gap, size)| -gap / size).fold(joints, f64::max);
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
            let finest = self.contacts.iter().map(Gap::size).fold(smallest, f64::min);
            if !same || worst > share || LEVERS * deepest > how.envelope || !assembler.pose_again(&gaps) {
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
            if 2.0 * way > how.envelope {
                break;
            }
            self.shift(model, state, moved, 1.0);
            self.looked = false;
            if 2.0 * turned * deepest + way * way / smallest <= FINE * how.accept * smallest {
                done = Some(round + 1);
                break;
            }
            assembler.gaps_ahead(&mut gaps);
        }
        self.gaps = gaps;
        done
    }
}

/// Whether these are the same contacts at the beginning and at the end of a step: of several between two bodies each is nearest to
/// where it was.
fn are_same(before: &[Contact], after: &[Gap]) -> bool {
    let nearest = |i: usize| {
        let way = |j: usize| after[i].point().distance_squared(before[j].point);
        let beside = |j: &usize| before[*j].bodies == before[i].bodies;
        before[i].bodies == after[i].bodies()
            && before[i].normal.dot(after[i].normal()) > 0.9
            && (i + 1..before.len()).take_while(beside).all(|j| way(i) <= way(j))
            && (0..i).rev().take_while(beside).all(|j| way(i) <= way(j))
    };
    before.len() == after.len() && (0..before.len()).all(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// What is at hand is of no use where contacts come and go.
    #[test]
    fn contacts_must_be_the_same() {
        let mut w = swing();
        w.step().unwrap();
        let gaps: Vec<Gap> = w.contacts.iter().map(|c| Gap::of(c, &w.model, || 0.1)).collect();
        assert!(are_same(&w.contacts, &gaps));
        assert!(!are_same(&w.contacts[1..], &gaps));
        let turned: Vec<Gap> = gaps.iter().rev().copied().collect();
        assert!(!are_same(&w.contacts, &turned));
    }
}
