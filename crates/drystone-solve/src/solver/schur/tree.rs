//! Mechanisms: bodies held together by bilateral rows, and the block structure of S = J M⁻¹ Jᵀ + C over those
//! rows.
//!
//! A node is a run of at most six bilateral rows between the same two bodies: what a joint and its rigid
//! motors ask for. Two nodes are coupled where they share a body. Nodes are eliminated in a minimum-degree
//! order, leaves first, so that a tree of joints fills in nothing. Everything here depends on who is joined
//! to whom alone, and is kept while that stays.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cone::Set;
use crate::disjoint::DisjointSets;
use crate::problem::{Bodies, WORLD};

use super::kinematic_tree::KinematicTree;

/// Most rows of a node; every block of the factor is this square, padded.
pub(super) const SIZE: usize = 6;

/// A run of bilateral rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// First general block (each of one row), and how many.
    pub first: u32,
    pub rows: u32,
    /// Its bodies, the second one perhaps the world.
    pub bodies: [u32; 2],
}

/// What adds to a block of S: its slot, and the later node and the earlier one, each with its side.
pub(super) type Join = (u32, [(u32, u8); 2]);

/// All mechanisms of a problem.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// By mechanism, and within it in the order of elimination.
    pub nodes: Vec<Node>,
    /// Nodes of each mechanism.
    pub mechanisms: Vec<Range<usize>>,
    /// Mechanism of each body, or WORLD.
    pub mechanism_of: Vec<u32>,
    /// Nodes at each body, with the side on which it is.
    pub at_body: Vec<Vec<(u32, u8)>>,
    /// Blocks of S that are not zero before elimination: slot, and a node with its side, twice; those of one
    /// slot one behind the other.
    pub joins: Vec<Join>,
    pub joins_of: Vec<Range<usize>>,
    /// By node: its neighbours that come later, with the slot of the block between them.
    pub below: Vec<Vec<(u32, u32)>>,
    /// By node: what its elimination changes: slot (i, j), slots (i, k) and (j, k).
    pub updates: Vec<Vec<[u32; 3]>>,
    /// Slots of each mechanism; the first ones, by node, are the diagonal's.
    pub slots: Vec<usize>,
    /// Bodies of each mechanism, as its nodes name them one after the other, and the place of each body among
    /// them.
    pub bodies: Vec<Vec<u32>>,
    pub local: Vec<u32>,
    /// Mechanisms with the same number are built alike: the same nodes between the same bodies, eliminated in
    /// one order.
    pub shape: Vec<u32>,
    shapes: BTreeMap<Vec<[u32; 3]>, u32>,
    /// By shape: its bodies from the leaves on, unless joints close a loop.
    pub kinematic: Vec<Option<KinematicTree>>,
    /// What it was made of: bodies of the general blocks, and which of these are bilateral.
    a: Vec<u32>,
    b: Vec<u32>,
    free: Vec<bool>,
}

impl Tree {
    /// Whether it is this problem's.
    pub fn is_of(&self, p: &Bodies) -> bool {
        let g = &p.general;
        self.mechanism_of.len() == p.bodies()
            && self.a == g.a
            && self.b == g.b
            && g.set.iter().map(|set| *set == Set::Free).eq(self.free.iter().copied())
    }

    /// Takes the structure of a problem over; false if it is the one already known.
    pub fn load(&mut self, p: &Bodies) -> bool {
        if self.is_of(p) {
            return false;
        }
        let g = &p.general;
        let free = || g.set.iter().map(|set| *set == Set::Free);
        *self = Tree { a: g.a.clone(), b: g.b.clone(), free: free().collect(), ..Tree::default() };
        let mut runs = Vec::new();
        let mut i = 0;
        while i < g.a.len() {
            let same = |k: &usize| g.set[*k] == Set::Free && (g.a[*k], g.b[*k]) == (g.a[i], g.b[i]);
            let rows = (i..g.a.len()).take(SIZE).take_while(same).count();
            if rows > 0 {
                runs.push(Node { first: i as u32, rows: rows as u32, bodies: [g.a[i], g.b[i]] });
            }
            i += rows.max(1);
        }
        let mut sets = DisjointSets::new(p.bodies());
        for node in runs.iter().filter(|n| n.bodies[1] != WORLD) {
            sets.join(node.bodies[0], node.bodies[1]);
        }
        let mut groups: BTreeMap<u32, Vec<Node>> = BTreeMap::new();
        for node in runs {
            groups.entry(sets.root(node.bodies[0])).or_default().push(node);
        }
        self.mechanism_of = vec![WORLD; p.bodies()];
        self.at_body = vec![Vec::new(); p.bodies()];
        self.local = vec![WORLD; p.bodies()];
        for nodes in groups.into_values() {
            self.add(&nodes);
        }
        true
    }

    /// Whether these are one mechanism, and one without loops.
    pub fn is_open(&self, mechanisms: &[u32]) -> bool {
        matches!(mechanisms, [m] if self.kinematic[self.shape[*m as usize] as usize].is_some())
    }

    /// Orders the nodes of one mechanism and works out its factor's structure.
    fn add(&mut self, nodes: &[Node]) {
        let (n, base) = (nodes.len(), self.nodes.len());
        let mut at_body: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (i, node) in nodes.iter().enumerate() {
            for b in node.bodies.into_iter().filter(|b| *b != WORLD) {
                at_body.entry(b).or_default().push(i as u32);
            }
        }
        let mut near: Vec<Vec<u32>> = vec![Vec::new(); n];
        for list in at_body.values() {
            for i in list {
                near[*i as usize].extend(list.iter().filter(|j| *j != i));
            }
        }
        near.iter_mut().for_each(|list| {
            list.sort_unstable();
            list.dedup();
        });
        let mut place = vec![u32::MAX; n];
        let mut order = Vec::with_capacity(n);
        let mut later: Vec<Vec<u32>> = Vec::with_capacity(n);
        for step in 0..n as u32 {
            let left = (0..n as u32).filter(|i| place[*i as usize] == u32::MAX);
            let Some(k) = left.min_by_key(|i| (near[*i as usize].len(), *i)) else { break };
            place[k as usize] = step;
            order.push(k);
            let around = std::mem::take(&mut near[k as usize]);
            for i in &around {
                let list = &mut near[*i as usize];
                list.extend(around.iter().filter(|j| *j != i));
                list.retain(|j| *j != k);
                list.sort_unstable();
                list.dedup();
            }
            later.push(around);
        }
        // From here on nodes are named by their place.
        let mut slots: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut slot = |i: u32, j: u32| {
            if i == j {
                return i;
            }
            let next = (n + slots.len()) as u32;
            *slots.entry((i.max(j), i.min(j))).or_insert(next)
        };
        for around in &mut later {
            around.iter_mut().for_each(|i| *i = place[*i as usize]);
            around.sort_unstable();
        }
        for (k, around) in later.iter().enumerate() {
            let k = k as u32;
            self.below.push(around.iter().map(|i| (*i, slot(*i, k))).collect());
            let mut updates = Vec::new();
            for (x, j) in around.iter().enumerate() {
                updates.extend(around[x..].iter().map(|i| [slot(*i, *j), slot(*i, k), slot(*j, k)]));
            }
            self.updates.push(updates);
        }
        let first = self.joins.len();
        let mechanism = self.mechanisms.len() as u32;
        for (body, list) in at_body {
            self.mechanism_of[body as usize] = mechanism;
            let mut here: Vec<(u32, u8)> = Vec::new();
            for i in list {
                let side = u8::from(nodes[i as usize].bodies[0] != body);
                here.push((place[i as usize], side));
            }
            here.sort_unstable();
            for (x, j) in here.iter().enumerate() {
                // The later node's rows lie along the block's rows, the earlier one's along its columns.
                self.joins.extend(here[x..].iter().map(|i| (slot(i.0, j.0), [*i, *j])));
            }
            self.at_body[body as usize] = here.iter().map(|(i, side)| (i + base as u32, *side)).collect();
        }
        self.joins[first..].sort_by_key(|join| join.0);
        self.joins_of.push(first..self.joins.len());
        self.slots.push(n + slots.len());
        self.nodes.extend(order.iter().map(|i| nodes[*i as usize]));
        self.mechanisms.push(base..base + n);
        let mut bodies = Vec::new();
        let mut built = Vec::with_capacity(n);
        for node in &self.nodes[base..] {
            let named = node.bodies.map(|b| {
                if b == WORLD {
                    return WORLD;
                }
                if self.local[b as usize] == WORLD {
                    self.local[b as usize] = bodies.len() as u32;
                    bodies.push(b);
                }
                self.local[b as usize]
            });
            built.push([node.rows, named[0], named[1]]);
        }
        let count = bodies.len();
        self.bodies.push(bodies);
        let next = self.shapes.len() as u32;
        if !self.shapes.contains_key(&built) {
            self.kinematic.push(KinematicTree::of(&built, count));
        }
        self.shape.push(*self.shapes.entry(built).or_insert(next));
    }
}
