//! Contacts that resist rolling or spinning: blocks of five rows whose moments share the normal of the
//! friction cone.
//!
//! ```text
//!     |γ_T| ≤ μ γ_n,     |M_T| ≤ ρ γ_n   about the two tangents, or   |M_n| ≤ σ γ_n   about the normal
//! ```
//!
//! with ρ and σ the arms of the pair's law (m) and moments as impulses (N m s). The moment rows are scaled by
//! the pair's size L, so that all rows are in m/s. Five rows have room for one pair of moments: where a law
//! has both ρ and σ, the moment about the normal is a row of its own, within ± σ times the normal impulse of
//! the last step.

use drystone_solve::colour::Colouring;
use drystone_solve::cone::Set;
use drystone_solve::parallel;
use drystone_solve::problem::{General, WORLD, basis};
use glam::DVec3;

use super::row::Row;
use crate::collide::{Velocities, velocity};

/// A contact as the problem sees it.
pub(super) struct Placed {
    /// Contact number.
    pub contact: u32,
    /// Second body may be [`WORLD`].
    pub pair: (u32, u32),
    /// Slot of the second body, whatever it is.
    pub other: u32,
    pub normal: DVec3,
    pub arms: [DVec3; 2],
    pub row: Row,
}

/// One block before colouring.
#[derive(Clone, Copy, Debug)]
struct Staged {
    contact: u32,
    pair: (u32, u32),
    set: Set,
    rows: usize,
    jacobian: [[f64; 12]; 5],
    bias: [f64; 5],
    compliance: f64,
}

/// Blocks of rolling contacts, and the way back.
#[derive(Debug, Default)]
pub(super) struct Turning {
    /// Contacts that are plain points, by number.
    pub points: Vec<u32>,
    staged: Vec<Staged>,
    colouring: Colouring,
    /// Where the blocks begin among the general ones, and their rows.
    first_block: usize,
    first_row: usize,
}

impl Turning {
    /// Sorts the contacts into points and those that turn.
    pub fn select(&mut self, contacts: usize, turns: impl Fn(usize) -> bool + Sync) {
        self.staged.clear();
        if parallel::all(contacts, |i| !turns(i)) {
            // Mostly the numbers themselves, which are there already.
            let known = self.points.len().min(contacts);
            let kept = parallel::all(known, |k| self.points[k] == k as u32);
            self.points.truncate(if kept { known } else { 0 });
            self.points.extend(self.points.len() as u32..contacts as u32);
            return;
        }
        self.points.clear();
        self.points.extend((0..contacts as u32).filter(|&i| !turns(i as usize)));
    }

    /// Adds a contact that turns.
    pub fn stage(&mut self, c: &Placed, v: &Velocities) {
        let n = c.normal;
        let [t1, t2] = basis(n.into()).map(DVec3::from_array);
        let length = c.row.size;
        let both = c.row.rolling > 0.0 && c.row.spinning > 0.0;
        // Two rows along one axis, each 1/√2 of it, bound their sum as one row would be.
        let (moments, arm) = if c.row.rolling > 0.0 {
            ([t1, t2], c.row.rolling)
        } else {
            ([n * std::f64::consts::FRAC_1_SQRT_2; 2], c.row.spinning)
        };
        let mut block = Staged {
            contact: c.contact,
            pair: c.pair,
            set: Set::Rolling5 { mu: c.row.mu, mu_r: arm / length },
            rows: 5,
            jacobian: [[0.0; 12]; 5],
            bias: [c.row.bias, c.row.drift.dot(t1), c.row.drift.dot(t2), 0.0, 0.0],
            compliance: c.row.compliance,
        };
        for (k, axis) in [n, t1, t2].into_iter().enumerate() {
            block.jacobian[k] = twelve(axis, c.arms[0].cross(axis), -axis, -c.arms[1].cross(axis));
        }
        for (k, axis) in moments.into_iter().enumerate() {
            block.jacobian[3 + k] = twelve(DVec3::ZERO, length * axis, DVec3::ZERO, -length * axis);
        }
        self.push(block, c, v);
        if both {
            let most = c.row.spinning / length * c.row.pressed.max(0.0);
            let mut row = Staged { set: Set::Interval { lo: -most, hi: most }, rows: 1, ..block };
            (row.bias, row.compliance) = ([0.0; 5], 0.0);
            row.jacobian[0] = twelve(DVec3::ZERO, length * n, DVec3::ZERO, -length * n);
            self.push(row, c, v);
        }
    }

    /// Folds a second body that is not dynamic into the bias.
    fn push(&mut self, mut block: Staged, c: &Placed, v: &Velocities) {
        if c.pair.1 == WORLD {
            let own = velocity(v, c.other);
            for k in 0..block.rows {
                block.bias[k] += block.jacobian[k][6..].iter().zip(own).map(|(j, x)| j * x).sum::<f64>();
                block.jacobian[k][6..].fill(0.0);
            }
        }
        self.staged.push(block);
    }

    /// Puts the blocks behind the general ones that are there.
    pub fn append(&mut self, bodies: usize, general: &mut General) {
        (self.first_block, self.first_row) = (general.a.len(), general.bias.len());
        if self.staged.is_empty() {
            return;
        }
        self.colouring.run(bodies, self.staged.iter().map(|s| s.pair));
        for &i in &self.colouring.order {
            let s = &self.staged[i as usize];
            general.push(s.pair, s.set, &s.jacobian[..s.rows], &s.bias[..s.rows]);
            if s.compliance > 0.0 || !general.compliance.is_empty() {
                general.compliance.resize(general.bias.len(), 0.0);
                general.compliance[general.bias.len() - s.rows] = s.compliance;
            }
        }
        if !general.compliance.is_empty() {
            general.compliance.resize(general.bias.len(), 0.0);
        }
        let first = self.first_block as u32;
        general.spans.extend(self.colouring.spans.iter().map(|s| drystone_solve::colour::Span {
            start: s.start + first,
            two_end: s.two_end + first,
            end: s.end + first,
            serial: s.serial,
        }));
    }

    /// Fills the guess of all general rows from the contacts' impulses; moments start from nothing.
    pub fn warm_start(&self, impulse: impl Fn(usize) -> DVec3, guess: &mut [f64]) {
        self.each(|s, row| {
            if s.rows == 5 {
                let impulse = impulse(s.contact as usize);
                for k in 0..3 {
                    guess[row + k] = axis(s, k).dot(impulse);
                }
            }
        });
    }

    /// Hands the multipliers of all general rows back to the contacts, as impulses in world axes.
    pub fn hand_back(&self, gamma: &[f64], mut to: impl FnMut(usize, DVec3)) {
        self.each(|s, row| {
            if s.rows == 5 {
                to(s.contact as usize, (0..3).map(|k| gamma[row + k] * axis(s, k)).sum());
            }
        });
    }

    /// The contact of a general block.
    pub fn contact_of(&self, block: usize) -> Option<u32> {
        let i = self.colouring.order.get(block.checked_sub(self.first_block)?)?;
        self.staged.get(*i as usize).map(|s| s.contact)
    }

    fn each(&self, mut what: impl FnMut(&Staged, usize)) {
        if self.staged.is_empty() {
            return;
        }
        let mut row = self.first_row;
        for &i in &self.colouring.order {
            let s = &self.staged[i as usize];
            what(s, row);
            row += s.rows;
        }
    }
}

fn axis(s: &Staged, k: usize) -> DVec3 {
    DVec3::new(s.jacobian[k][0], s.jacobian[k][1], s.jacobian[k][2])
}

fn twelve(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> [f64; 12] {
    let mut row = [0.0; 12];
    for (k, v) in [a, b, c, d].into_iter().enumerate() {
        row[3 * k..3 * k + 3].copy_from_slice(&v.to_array());
    }
    row
}
