//! Names of bodies and joints that stay with them, whatever slots are given away.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use drystone::{BodyDef, Flow, Model};

/// Tells the bodies of a run apart by name, in the order of the scene.
///
/// A body that the scene begins with is called by its name if no other is. All others are called by their
/// name, or `body`, and their number: the slot, and after a point how many bodies had the slot before.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Bodies that the scene begins with.
    first: usize,
    /// Their slots in the order of the scene; empty where that is the order of the slots.
    order: Vec<usize>,
    /// Names that several have, or may come to have.
    shared: HashSet<String>,
}

impl Labels {
    /// Of a scene's bodies, `order` being their numbers in the order of its file.
    pub fn new(bodies: &[BodyDef], flow: &Flow, order: &[usize]) -> Self {
        let mut count: HashMap<&str, usize> = HashMap::new();
        for name in bodies.iter().filter_map(|b| b.name.as_deref()) {
            *count.entry(name).or_default() += 1;
        }
        let come = flow.emitters.iter().flat_map(|e| &e.bodies).filter_map(|b| b.name.as_deref());
        let several = count.iter().filter(|(_, n)| **n > 1).map(|(name, _)| *name);
        let shared = several.chain(come).map(String::from).collect();
        Self { first: bodies.len(), order: order.to_vec(), shared }
    }

    /// Whether a slot has the body that the scene gave it.
    fn is_first(&self, model: &Model, slot: usize) -> bool {
        slot < self.first && model.bodies[slot].generation == 0
    }

    /// Slots with bodies in the order of the scene, then those that came later.
    pub fn slots<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = usize> + 'a {
        let own = (0..self.first.min(model.bodies.len()))
            .map(|k| self.order.get(k).copied().unwrap_or(k))
            .filter(|i| model.bodies[*i].alive && self.is_first(model, *i));
        own.chain(model.slots().filter(|i| !self.is_first(model, *i)))
    }

    /// What the body in a slot is called.
    pub fn body<'a>(&self, model: &'a Model, slot: usize) -> Cow<'a, str> {
        let body = &model.bodies[slot];
        let number = || match body.generation {
            0 => slot.to_string(),
            generation => format!("{slot}.{generation}"),
        };
        match body.name.as_deref() {
            None | Some("") => format!("body {}", number()).into(),
            Some(name) if self.is_first(model, slot) && !self.shared.contains(name) => name.into(),
            Some(name) => format!("{name} {}", number()).into(),
        }
    }

    /// What a joint is called.
    pub fn joint<'a>(&self, model: &'a Model, slot: usize) -> Cow<'a, str> {
        let joint = &model.joints[slot];
        match joint.name.as_deref() {
            Some(name) if !name.is_empty() => name.into(),
            _ => format!("joint {slot}").into(),
        }
    }
}
