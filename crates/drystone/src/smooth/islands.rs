//! Which mechanisms a smooth step can take: what hangs together by joints is an island, and an island is taken as a whole or
//! not at all. Islands that nothing touches are taken, and the rest is left to the half-implicit scheme; where the scheme was named, bodies without joints are
//! taken too, if nothing in the world has a contact. The two do not meet within the step: a body that could reach another one has a contact with it.

use crate::contact::Contact;
use crate::model::Model;

/// The choice, and the buffers to make it.
#[derive(Clone, Debug, Default)]
pub(super) struct Islands {
    /// By body slot: another body of its island, or itself; the roots of islands with joints; which model that is of.
    root: Vec<u32>,
    heads: Vec<u32>,
    known: u64,
    /// Whether all dynamic bodies are on joints.
    all_jointed: bool,
    /// Of the islands' roots, those that are left out.
    out: Vec<bool>,
    /// By slot, whether a body or joint is taken.
    pub bodies: Vec<bool>,
    pub joints: Vec<bool>,
    /// Slots of the bodies that are taken, in rising order.
    pub moving: Vec<u32>,
    /// Whether all are.
    pub whole: bool,
}

fn find(root: &mut [u32], mut i: u32) -> u32 {
    while root[i as usize] != i {
        root[i as usize] = root[root[i as usize] as usize];
        i = root[i as usize];
    }
    i
}

impl Islands {
    /// All that has no contact and is awake; bodies without joints only if `free`. False if that is nothing.
    pub fn choose(
        &mut self,
        model: &Model,
        contacts: &[Contact],
        free: bool,
        asleep: impl Fn(usize) -> bool,
    ) -> bool {
        if model.revision() == 0 || model.revision() != self.known {
            self.hang_together(model);
        }
        self.out.clear();
        self.out.resize(model.bodies.len(), false);
        self.whole = contacts.is_empty() && (free || self.all_jointed);
        for body in contacts.iter().flat_map(|c| c.bodies) {
            self.leave_out(body);
        }
        for body in (0..model.bodies.len()).filter(|i| asleep(*i)) {
            if dynamic(model, body as u32) {
                self.leave_out(body as u32);
            }
        }
        let none = !self.whole && self.heads.iter().all(|head| self.out[*head as usize]);
        !none && self.settle(model)
    }

    /// What hangs together by joints.
    fn hang_together(&mut self, model: &Model) {
        self.known = model.revision();
        self.root.clear();
        self.root.extend(0..model.bodies.len() as u32);
        for j in model.joint_slots() {
            let [a, b] = model.joints[j].bodies;
            if dynamic(model, a) && dynamic(model, b) {
                let (a, b) = (find(&mut self.root, a), find(&mut self.root, b));
                self.root[a.max(b) as usize] = a.min(b);
            }
        }
        self.heads.clear();
        for j in model.joint_slots() {
            let some = model.joints[j].bodies.into_iter().find(|b| dynamic(model, *b));
            self.heads.extend(some.map(|body| find(&mut self.root, body)));
        }
        let mut on_joint = vec![false; model.bodies.len()];
        for body in model.joint_slots().flat_map(|j| model.joints[j].bodies).filter(|b| dynamic(model, *b)) {
            on_joint[body as usize] = true;
        }
        self.all_jointed = model.dynamic().all(|i| on_joint[i]);
        self.heads.sort_unstable();
        self.heads.dedup();
    }

    /// Leaves the island of a body out; what that means for the others says [`Islands::settle`].
    pub fn leave_out(&mut self, body: u32) {
        if (body as usize) < self.root.len() {
            let root = find(&mut self.root, body);
            self.out[root as usize] = true;
            self.whole = false;
        }
    }

    /// Leaves the island of a joint out.
    pub fn leave_out_joint(&mut self, model: &Model, j: usize) {
        let bodies = model.joints[j].bodies;
        if let Some(body) = bodies.into_iter().find(|b| dynamic(model, *b)) {
            self.leave_out(body);
        }
    }

    /// Draws up the lists. False if nothing is taken.
    pub fn settle(&mut self, model: &Model) -> bool {
        self.bodies.clear();
        self.bodies.resize(model.bodies.len(), false);
        self.joints.clear();
        self.joints.resize(model.joints.len(), false);
        for j in model.joint_slots() {
            for body in model.joints[j].bodies.into_iter().filter(|b| dynamic(model, *b)) {
                if !self.out[find(&mut self.root, body) as usize] {
                    self.bodies[body as usize] = true;
                    self.joints[j] = true;
                }
            }
        }
        if self.whole {
            model.dynamic().for_each(|i| self.bodies[i] = true);
        }
        self.moving.clear();
        self.moving.extend((0..self.bodies.len() as u32).filter(|i| self.bodies[*i as usize]));
        !self.moving.is_empty()
    }
}

fn dynamic(model: &Model, slot: u32) -> bool {
    model.bodies.get(slot as usize).is_some_and(|b| b.inv_mass > 0.0)
}
