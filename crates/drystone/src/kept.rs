//! The velocity problem of a step and its solution, kept for who asks after the step.

use drystone_solve::Problem;
use glam::DVec3;

use crate::formulation::Assembler;

/// No contact: the block is a joint's.
const NONE: u32 = u32::MAX;

/// A problem, its multipliers, and the contacts that its blocks belong to. The way from blocks to contacts is
/// kept, too, since corrections of positions build other problems in the same place.
pub(crate) struct Kept {
    pub problem: Problem,
    pub gamma: Vec<f64>,
    contacts: Vec<u32>,
}

impl Default for Kept {
    fn default() -> Self {
        Self { problem: Problem::Bodies(Default::default()), gamma: Vec::new(), contacts: Vec::new() }
    }
}

impl Kept {
    /// A copy of what was posed, with its multipliers.
    pub fn new(problem: &Problem, gamma: &[f64], assembler: &Assembler) -> Self {
        let contact = |block| assembler.contact_of(block).map_or(NONE, |i| i as u32);
        Self {
            problem: problem.clone(),
            gamma: gamma.to_vec(),
            contacts: (0..problem.blocks()).map(contact).collect(),
        }
    }

    /// The contact of a block, if it is one's.
    pub fn contact_of(&self, block: usize) -> Option<usize> {
        self.contacts.get(block).filter(|i| **i != NONE).map(|i| *i as usize)
    }

    /// The impulse of each of `count` contacts under multipliers of the problem, N s.
    pub fn impulses(&self, gamma: &[f64], count: usize) -> Vec<DVec3> {
        let mut out = vec![DVec3::ZERO; count];
        let Problem::Bodies(p) = &self.problem else { return out };
        let points = p.points.len();
        for block in 0..self.contacts.len() {
            let Some(to) = self.contact_of(block).and_then(|i| out.get_mut(i)) else { continue };
            *to = match block.checked_sub(points) {
                None => {
                    let frame = p.points.frame(block);
                    (0..3).map(|r| gamma[3 * block + r] * DVec3::from_array(frame[r])).sum()
                }
                // A contact that resists rolling or spinning: its first rows push, the others turn.
                Some(general) => {
                    let first = p.general.first_row[general] as usize;
                    let axis = |row: usize| {
                        let j = &p.general.jacobian[row];
                        DVec3::new(j[0], j[1], j[2])
                    };
                    (first..first + 3).map(|row| gamma[3 * points + row] * axis(row)).sum()
                }
            };
        }
        out
    }
}
