//! Which islands are built alike.

use crate::problem::{Bodies, Problem, WORLD};

use super::super::tree::Tree;
use super::{Sort, bodies_of};

/// Most rows that are no joint's, and most nodes: what is larger fills vectors by itself.
const MOST_ROWS: usize = 96;
const MOST_NODES: usize = 48;

/// Which islands are alike.
#[derive(Default)]
pub(in super::super) struct Groups {
    /// How each island is built: shape of its mechanism, then sort and bodies of every block; and a sum of
    /// that.
    words: Vec<u32>,
    ranges: Vec<(u64, u32, std::ops::Range<u32>)>,
    /// Bodies beyond the mechanism's own.
    others: Vec<u32>,
    /// Islands, those that are alike one behind the other, and the length of each such run.
    pub order: Vec<u32>,
    pub runs: Vec<u32>,
    /// By island: whether it is one that can be taken in a lane.
    pub apt: Vec<bool>,
    /// Bodies of those that can, its mechanism's first and the others as its blocks name them; where each
    /// island's begin, and the end.
    bodies: Vec<u32>,
    first_body: Vec<u32>,
}

impl Groups {
    /// Sorts the islands; those that are not for this file are runs of one.
    pub fn find(&mut self, problem: &Problem, p: &Bodies, tree: &Tree, islands: &[(Vec<u32>, Vec<u32>)]) {
        self.words.clear();
        self.ranges.clear();
        self.apt.clear();
        self.bodies.clear();
        self.first_body.clear();
        for (i, (blocks, mechanisms)) in islands.iter().enumerate() {
            let from = self.words.len();
            let mine =
                if let [m] = mechanisms[..] { self.describe(problem, p, tree, blocks, m) } else { false };
            self.first_body.push(self.bodies.len() as u32);
            if mine {
                self.bodies.extend_from_slice(&tree.bodies[mechanisms[0] as usize]);
                self.bodies.extend_from_slice(&self.others);
            } else {
                // Like no other.
                self.words.truncate(from);
                self.words.extend([WORLD, i as u32]);
            }
            self.apt.push(mine);
            let mut sum = 0xcbf2_9ce4_8422_2325u64;
            for w in &self.words[from..] {
                sum = (sum ^ u64::from(*w)).wrapping_mul(0x0100_0000_01b3);
            }
            self.ranges.push((sum, i as u32, from as u32..self.words.len() as u32));
        }
        self.first_body.push(self.bodies.len() as u32);
        self.ranges.sort_unstable_by_key(|r| (r.0, r.1));
        let words = |k: usize| {
            let range = &self.ranges[k].2;
            &self.words[range.start as usize..range.end as usize]
        };
        self.order.clear();
        self.order.extend(self.ranges.iter().map(|r| r.1));
        self.runs.clear();
        for k in 0..self.ranges.len() {
            match self.runs.last_mut() {
                Some(run) if words(k - 1) == words(k) => *run += 1,
                _ => self.runs.push(1),
            }
        }
    }

    /// The bodies of an island that can be taken in a lane.
    pub fn bodies(&self, island: u32) -> &[u32] {
        let at = |i: u32| self.first_body[i as usize] as usize;
        &self.bodies[at(island)..at(island + 1)]
    }

    fn describe(&mut self, problem: &Problem, p: &Bodies, tree: &Tree, blocks: &[u32], m: u32) -> bool {
        self.words.push(tree.shape[m as usize]);
        let own = tree.bodies[m as usize].len() as u32;
        self.others.clear();
        let mut rows = 0;
        for block in blocks {
            let i = *block as usize;
            let Some(sort) = Sort::of(problem.set(i)) else { return false };
            rows += problem.block(i).len();
            let bodies = bodies_of(p, i).map(|b| {
                if b == WORLD {
                    return WORLD;
                }
                if tree.mechanism_of[b as usize] == m {
                    return tree.local[b as usize];
                }
                let at = self.others.iter().position(|x| *x == b).unwrap_or(self.others.len());
                if at == self.others.len() {
                    self.others.push(b);
                }
                own + at as u32
            });
            self.words.extend([sort as u32, bodies[0], bodies[1]]);
        }
        rows <= MOST_ROWS && tree.mechanisms[m as usize].len() <= MOST_NODES
    }
}
