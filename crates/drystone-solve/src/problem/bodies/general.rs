//! Blocks with explicit rows.

use std::ops::Range;

use crate::colour::Span;
use crate::cone::Set;

/// Blocks with explicit rows, in coloured order.
#[derive(Clone, Debug, Default)]
pub struct General {
    /// First body.
    pub a: Vec<u32>,
    /// Second body, or [`WORLD`](super::WORLD).
    pub b: Vec<u32>,
    /// Admissible set.
    pub set: Vec<Set>,
    /// First row of each block, and the number of rows at the end.
    pub first_row: Vec<u32>,
    /// Per row: (v_A, ω_A, v_B, ω_B) coefficients, scaled so that the row's velocity is in m/s.
    pub jacobian: Vec<[f64; 12]>,
    /// Per row, m/s.
    pub bias: Vec<f64>,
    /// Per row, (m/s)/(N s); empty where all is rigid.
    pub compliance: Vec<f64>,
    /// The colours.
    pub spans: Vec<Span>,
}

impl General {
    /// Forgets all blocks, keeps the memory.
    pub fn clear(&mut self) {
        self.a.clear();
        self.b.clear();
        self.set.clear();
        self.first_row.clear();
        self.jacobian.clear();
        self.bias.clear();
        self.compliance.clear();
        self.spans.clear();
    }

    /// Appends a rigid block with one Jacobian row and one bias for each row of its set; the caller keeps the
    /// coloured order.
    pub fn push(&mut self, (a, b): (u32, u32), set: Set, jacobian: &[[f64; 12]], bias: &[f64]) {
        if self.first_row.is_empty() {
            self.first_row.push(0);
        }
        self.a.push(a);
        self.b.push(b);
        self.set.push(set);
        self.jacobian.extend_from_slice(jacobian);
        self.bias.extend_from_slice(bias);
        self.first_row.push(self.jacobian.len() as u32);
    }

    /// The rows of block `i`.
    pub(crate) fn rows(&self, i: usize) -> Range<usize> {
        self.first_row[i] as usize..self.first_row[i + 1] as usize
    }

    /// Declares that no two blocks share a body, and that each joins one body to the world.
    pub fn one_colour(&mut self) {
        self.spans.clear();
        if !self.a.is_empty() {
            self.spans.push(Span { start: 0, two_end: 0, end: self.a.len() as u32, serial: false });
        }
    }
}
