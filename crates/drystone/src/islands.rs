//! What hangs together by contacts and joints.

use drystone_solve::disjoint::DisjointSets;

use crate::model::Model;

/// Islands of dynamic bodies, by body slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Islands {
    sets: DisjointSets,
    /// By root: whether all of its bodies are ready.
    ready: Vec<bool>,
}

impl Islands {
    /// Draws up the islands of bodies that `contacts` and joints join, and which of them have only bodies
    /// that are `ready`.
    pub fn run(
        &mut self,
        model: &Model,
        contacts: impl Iterator<Item = [u32; 2]>,
        ready: impl Fn(usize) -> bool,
    ) {
        self.sets.reset(model.bodies.len());
        for bodies in contacts {
            self.join(model, bodies);
        }
        for j in model.joint_slots() {
            self.join(model, model.joints[j].bodies);
        }
        self.ready.clear();
        self.ready.resize(model.bodies.len(), true);
        for i in model.dynamic() {
            let root = self.sets.root(i as u32) as usize;
            self.ready[root] &= ready(i);
        }
    }

    /// The lowest slot of the body's island, if all of the island is ready.
    pub fn ready(&mut self, slot: usize) -> Option<u32> {
        let root = self.sets.root(slot as u32);
        self.ready[root as usize].then_some(root)
    }

    /// The lowest slot of the body's island.
    pub fn root(&mut self, slot: u32) -> u32 {
        self.sets.root(slot)
    }

    fn join(&mut self, model: &Model, [a, b]: [u32; 2]) {
        let dynamic = |b: u32| model.bodies.get(b as usize).is_some_and(|b| b.inv_mass > 0.0);
        if dynamic(a) && dynamic(b) {
            self.sets.join(a, b);
        }
    }
}
