//! From staged rows to the problem: joints are coloured, and their rows sorted by colour.

use drystone_solve::colour::Span;
use drystone_solve::problem::{General, WORLD};

use super::{NONE, Rows, Staged};
use crate::spatial_order::Order;

impl Rows {
    /// Colours the joints and puts their staged rows into the problem, those of one joint one behind the
    /// other: solvers may take the bilateral ones together. The colours are runs to be visited in order,
    /// because rows of a joint share bodies. Bodies of a problem are numbered by rank, those of staged rows
    /// by slot.
    pub(crate) fn finish(&mut self, ranks: &Order, bodies: usize, general: &mut General) {
        general.clear();
        let rank = |b: u32| if b == WORLD { b } else { ranks.rank(b) };
        let named = |s: &Staged| (s.joint, (rank(s.pair.0), rank(s.pair.1)));
        let runs = self.runs.iter().map(|&i| named(&self.staged[i as usize]));
        if bodies == self.coloured.0 && self.coloured.1.iter().copied().eq(runs) {
            self.places.clone_from(&self.runs);
            self.places.push(self.staged.len() as u32);
        } else {
            self.colour(named, bodies);
        }
        // One row a block, all of a run between the same bodies.
        for (run, (_, (a, b))) in self.places.windows(2).zip(&self.coloured.1) {
            general.a.resize(run[1] as usize, *a);
            general.b.resize(run[1] as usize, *b);
        }
        let n = self.staged.len();
        if self.order.is_empty() {
            std::mem::swap(&mut general.jacobian, &mut self.jacobians);
            std::mem::swap(&mut general.set, &mut self.sets);
            std::mem::swap(&mut general.bias, &mut self.biases);
        } else {
            let order = || self.order.iter().map(|i| *i as usize);
            general.jacobian.extend(order().map(|i| self.jacobians[i]));
            general.set.extend(order().map(|i| self.sets[i]));
            general.bias.extend(order().map(|i| self.biases[i]));
        }
        if n > 0 {
            general.first_row.extend(0..=n as u32);
        }
        if self.soft {
            general.compliance.extend((0..n).map_while(|k| Some(self.row(k)?.compliance)));
        }
        let row = |run: u32| self.places[run as usize];
        general.spans.extend(self.colouring.spans.iter().map(|s| {
            let (start, two_end, end) = (row(s.start), row(s.two_end), row(s.end));
            Span { start, two_end, end, serial: s.serial || end - start > s.end - s.start }
        }));
    }

    /// Colours the joints, in the order of their slots, and sorts the staged rows by colour.
    fn colour(&mut self, named: impl Fn(&Staged) -> (u32, (u32, u32)), bodies: usize) {
        // Rows of no joint come first, as they were staged.
        let mut by_slot: Vec<u32> = (0..self.runs.len() as u32).collect();
        let joint = |run: u32| self.staged[self.runs[run as usize] as usize].joint;
        by_slot.sort_by_key(|run| joint(*run).wrapping_add(1));
        let runs = by_slot.iter().map(|&run| named(&self.staged[self.runs[run as usize] as usize]));
        self.colouring.run(bodies, runs.map(|(_, pair)| pair));
        self.coloured.0 = bodies;
        self.coloured.1.clear();
        self.places.clear();
        for &at in &self.colouring.order {
            let run = by_slot[at as usize] as usize;
            let end = self.runs.get(run + 1).copied().unwrap_or(self.staged.len() as u32);
            self.places.push(self.order.len() as u32);
            self.order.extend(self.runs[run]..end);
            self.coloured.1.push(named(&self.staged[self.runs[run] as usize]));
        }
        self.places.push(self.order.len() as u32);
        // Only joints can be staged in another order.
        let mut left = vec![true; self.visits.len()];
        self.visits.clear();
        for (joint, _) in self.coloured.1.iter().filter(|(joint, _)| *joint != NONE) {
            self.visits.push(*joint);
            left[*joint as usize] = false;
        }
        self.visits.extend((0..left.len() as u32).filter(|j| left[*j as usize]));
    }
}
