//! All that is measured of a scene: by the scene itself, and by what its file puts on top.

use std::collections::BTreeMap;
use std::ops::Deref;

use drystone::World;
use serde_json::Value;

use crate::Probe;
use crate::memory::{self, Memory};

/// Something that a scene file puts on top of what a scene measures: `[[probe]]`, `[stop]`. No method has a
/// default, so that none can be forgotten.
pub(crate) trait Layer: Send {
    /// Called before the first step, if the run is not resumed.
    fn begin(&mut self, world: &World);
    /// Called after every step.
    fn observe(&mut self, world: &World);
    /// As [`Probe::memory`].
    fn memory(&mut self, memory: &mut Memory);
    /// As [`Probe::columns`].
    fn columns(&self) -> Vec<String>;
    /// As [`Probe::row`].
    fn row(&mut self, world: &World) -> Vec<f64>;
    /// As [`Probe::results`], added to those of the layers below.
    fn results(&mut self, world: &World, results: &mut BTreeMap<String, Value>);
    /// As [`Probe::stop`].
    fn stop(&self) -> Option<String>;
}

/// A scene's own probe, and the layers of its file over it.
///
/// What layers have no part in (joints, drives, paint) is asked of the scene's own probe by `Deref`: nothing
/// is forwarded method by method. There is no `DerefMut`: a method that changes a probe is one of those
/// below, or cannot be called.
pub struct Measurement {
    own: Box<dyn Probe>,
    layers: Vec<Box<dyn Layer>>,
}

impl Measurement {
    /// Of a scene without layers.
    pub fn of(own: Box<dyn Probe>) -> Self {
        Self { own, layers: Vec::new() }
    }

    /// Puts a layer on top.
    pub(crate) fn add(&mut self, layer: impl Layer + 'static) {
        self.layers.push(Box::new(layer));
    }

    /// Called before the first step, if the run is not resumed.
    pub fn begin(&mut self, world: &World) {
        self.own.begin(world);
        self.layers.iter_mut().for_each(|l| l.begin(world));
    }

    /// Called after every step.
    pub fn observe(&mut self, world: &World) {
        self.own.observe(world);
        self.layers.iter_mut().for_each(|l| l.observe(world));
    }

    /// Whether it has to see every step; layers always have.
    pub fn observes(&self) -> bool {
        !self.layers.is_empty() || self.own.observes()
    }

    /// What it has seen so far, as bytes.
    ///
    /// # Errors
    /// Naming a field that cannot be written.
    pub fn save(&mut self) -> Result<Vec<u8>, String> {
        memory::save(|memory| self.memory(memory))
    }

    /// Gives it what that of the same scene has [saved](Self::save).
    ///
    /// # Errors
    /// Naming a field that was not saved, or one that it does not have.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), String> {
        memory::load(|memory| self.memory(memory), bytes)
    }

    /// See [`Probe::memory`].
    pub fn memory(&mut self, memory: &mut Memory) {
        self.own.memory(memory);
        self.layers.iter_mut().for_each(|l| l.memory(memory));
    }

    /// Names of what there is for a row of a table, with units: of the scene, then layer by layer.
    pub fn columns(&self) -> Vec<String> {
        self.own.columns().into_iter().chain(self.layers.iter().flat_map(|l| l.columns())).collect()
    }

    /// The values of [`Measurement::columns`] now.
    pub fn row(&mut self, world: &World) -> Vec<f64> {
        let mut row = self.own.row(world);
        self.layers.iter_mut().for_each(|l| row.extend(l.row(world)));
        row
    }

    /// Called at the end.
    pub fn results(&mut self, world: &World) -> BTreeMap<String, Value> {
        let mut results = self.own.results(world);
        self.layers.iter_mut().for_each(|l| l.results(world, &mut results));
        results
    }

    /// Why the run is to end before its time; asked after [`Measurement::observe`].
    pub fn stop(&self) -> Option<String> {
        self.own.stop().or_else(|| self.layers.iter().find_map(|l| l.stop()))
    }
}

impl Deref for Measurement {
    type Target = dyn Probe;

    fn deref(&self) -> &Self::Target {
        self.own.as_ref()
    }
}
