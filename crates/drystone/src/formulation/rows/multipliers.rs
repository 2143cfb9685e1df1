//! Multipliers of the rows: the guess from the last step, and the way back to joints and their reactions.

use drystone_solve::cone::Set;
use drystone_solve::memory;
use drystone_solve::problem::General;
use glam::DVec3;

use super::law::is_motor;
use super::{NONE, PREFETCH_JOINTS, Rows};
use crate::joint::equation::MOST_ROWS;
use crate::joint::slot::{LAW_ROWS, ROWS};
use crate::joint::{JointState, Reaction};

impl Rows {
    /// Fills the guess for the general rows, which are `guess` and have these `sets`.
    pub(crate) fn warm_start(&self, joints: &[JointState], sets: &[Set], guess: &mut [f64]) {
        for (at, run) in self.places.windows(2).enumerate() {
            if let Some((j, _)) = self.coloured.1.get(at + 2 * PREFETCH_JOINTS) {
                memory::prefetch(joints, *j as usize);
            }
            for k in run[0] as usize..run[1] as usize {
                let Some(s) = self.row(k).filter(|s| s.joint != NONE) else { continue };
                let kept = joints[s.joint as usize].impulse[s.row as usize];
                guess[k] = match sets[k] {
                    Set::NonNegative => (if s.upper { -kept } else { kept }).max(0.0),
                    // A force motor's is known beforehand.
                    Set::Interval { lo, hi } => kept.clamp(lo, hi),
                    _ => kept,
                };
            }
        }
    }

    /// Leaves these multipliers of the general rows for the next step to start from, in place of those of the
    /// solution.
    pub(crate) fn hand_back_loads(&mut self, gamma: &[f64]) {
        for run in self.places.windows(2) {
            let rows = run[0] as usize..run[1] as usize;
            let Some(j) = self.row(rows.start).map(|s| s.joint).filter(|j| *j != NONE) else { continue };
            let mut next = [0.0; ROWS];
            for k in rows {
                let Some(s) = self.row(k) else { break };
                next[s.row as usize] += if s.upper { -gamma[k] } else { gamma[k] };
            }
            self.next[j as usize].impulse = next;
        }
    }

    /// Notes by how much rows, by their places, missed what they asked for, m/s; those of motors are kept.
    pub(crate) fn note_missed(&mut self, all: impl Iterator<Item = (usize, f64)>) {
        let mut missed = std::mem::take(&mut self.missed);
        missed.clear();
        missed.extend(all.filter_map(|(k, x)| {
            let s = self.row(k).filter(|s| s.joint != NONE && is_motor(s.row))?;
            Some((s.joint, s.row, x))
        }));
        missed.sort_unstable_by_key(|m| (m.0, m.1));
        self.missed = missed;
    }

    /// By how much the motor in this row of a joint missed what was asked for, m/s.
    pub(super) fn missed(&self, joint: usize, row: usize) -> f64 {
        let found = self.missed.binary_search_by_key(&(joint, row), |m| (m.0 as usize, m.1.into()));
        found.map_or(0.0, |at| self.missed[at].2)
    }

    /// Hands back the first of two solutions of a step: the second is added to it.
    pub(crate) fn keep(&mut self, general: &General, gamma: &[f64], h: f64) {
        self.hand_back(general, gamma, h);
        self.kept.clear();
        self.kept.extend(self.reactions.iter().copied().zip(self.next.iter().map(|n| n.impulse)));
    }

    /// Hands multipliers of the general rows, which are these, back to the joints.
    pub(crate) fn hand_back(&mut self, general: &General, gamma: &[f64], h: f64) {
        self.reactions.resize(self.next.len(), Reaction::default());
        // What has rows is written below.
        let with_rows = self.coloured.1.iter().filter(|(joint, _)| *joint != NONE).count();
        for j in 0..if with_rows < self.next.len() { self.next.len() } else { 0 } {
            // What sleeps keeps what held it; the others that are elsewhere say it themselves.
            if self.elsewhere.get(j) != Some(&true) {
                self.next[j].impulse.fill(0.0);
                self.reactions[j] = Reaction::default();
            }
        }
        let over = 1.0 / h;
        for (at, run) in self.places.windows(2).enumerate() {
            if let Some((j, _)) = self.coloured.1.get(at + 2 * PREFETCH_JOINTS) {
                memory::prefetch(&self.next, *j as usize);
                memory::prefetch(&self.reactions, *j as usize);
                memory::prefetch(&self.arms, *j as usize);
            }
            let rows = run[0] as usize..run[1] as usize;
            let Some(j) = self.row(rows.start).map(|s| s.joint).filter(|j| *j != NONE) else { continue };
            let (arm, length) = self.arms[j as usize];
            let (mut next, mut r) = ([0.0; ROWS], Reaction::default());
            let mut sum = [0.0; 6];
            for k in rows {
                let Some(s) = self.row(k) else { break };
                let (x, row, jacobian) = (gamma[k], s.row as usize, &general.jacobian[k]);
                next[row] += if s.upper { -x } else { x };
                let pull = x * over;
                let side = if s.turned { 0 } else { 6 };
                (0..6).for_each(|i| sum[i] += jacobian[side + i] * pull);
                let scale = if s.angular { length } else { 1.0 };
                match row.checked_sub(MOST_ROWS) {
                    None => r.equations[row] = pull * scale,
                    Some(law) => {
                        let (k, what) = (law / LAW_ROWS, law % LAW_ROWS);
                        let force = pull * scale * if s.upper { -1.0 } else { 1.0 };
                        [&mut r.motor, &mut r.limit, &mut r.friction, &mut r.spring][what][k] += force;
                    }
                }
            }
            r.force += DVec3::new(sum[0], sum[1], sum[2]);
            r.torque += DVec3::new(sum[3], sum[4], sum[5]) - arm.cross(r.force);
            self.next[j as usize].impulse = next;
            self.reactions[j as usize] = r;
        }
        for (j, (first, impulse)) in self.kept.drain(..).enumerate() {
            if self.elsewhere.get(j) == Some(&true) {
                continue;
            }
            self.reactions[j].add(&first);
            self.next[j].impulse.iter_mut().zip(impulse).for_each(|(x, first)| *x += first);
        }
    }
}
