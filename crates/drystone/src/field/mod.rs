//! Forces that act on bodies wherever they are: between pairs of them, and by a function of the user's.
//!
//! A field is a force beside gravity. The half-implicit scheme takes it at the start of the step, with the
//! other applied forces: v_free = v + h M⁻¹ f(q, v, t) [TasoraAnitescu2011, eq. 47a]; smooth steps take it at
//! both ends of each of their parts. That is explicit: a field must change slowly over a step. What is stiff
//! is better a [`crate::StiffForce`].

pub(crate) mod cells;
pub(crate) mod pair;

pub use pair::{Pair, Source};

use std::fmt;
use std::sync::Arc;

use glam::{DQuat, DVec3};
use rayon::prelude::*;

use crate::model::{Body, BodyId, Model};
use crate::state::State;
use cells::Cells;

/// A body as a field sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Which it is.
    pub id: BodyId,
    /// Its name, mass, inertia and charge.
    pub body: &'a Body,
    /// Centre of mass, m.
    pub position: DVec3,
    /// Orientation.
    pub rotation: DQuat,
    /// Of the centre of mass, m/s.
    pub velocity: DVec3,
    /// rad/s, world axes.
    pub angular_velocity: DVec3,
}

/// Force and torque on a body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wrench {
    /// N, at the centre of mass.
    pub force: DVec3,
    /// N m, world axes.
    pub torque: DVec3,
}

impl Wrench {
    /// A force at the centre of mass, N.
    pub fn force(force: DVec3) -> Self {
        Self { force, torque: DVec3::ZERO }
    }
}

pub(crate) type WrenchFn = dyn Fn(&View, f64) -> Wrench + Send + Sync;
pub(crate) type EnergyFn = dyn Fn(&View, f64) -> f64 + Send + Sync;

/// A force field.
#[derive(Clone)]
#[non_exhaustive]
pub enum Field {
    /// A force between pairs of bodies.
    Pair(Pair),
    /// A force and torque on each dynamic body by a function of its motion and the time (s).
    Callback {
        /// For messages.
        name: String,
        /// What acts on a body.
        wrench: Arc<WrenchFn>,
        /// Its potential, J, where it has one: counted in [`crate::World::energy`].
        energy: Option<Arc<EnergyFn>>,
    },
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Pair(pair) => f.debug_tuple("Pair").field(pair).finish(),
            Field::Callback { name, energy, .. } => {
                f.debug_struct("Callback").field("name", name).field("potential", &energy.is_some()).finish()
            }
        }
    }
}

impl Field {
    /// A field by a function of each dynamic body and the time. It may depend on these alone: it is called
    /// for several bodies at once, and more than once in a step.
    pub fn callback(
        name: impl Into<String>,
        wrench: impl Fn(&View, f64) -> Wrench + Send + Sync + 'static,
    ) -> Self {
        Field::Callback { name: name.into(), wrench: Arc::new(wrench), energy: None }
    }

    /// The same with its potential, J.
    pub fn potential(
        name: impl Into<String>,
        wrench: impl Fn(&View, f64) -> Wrench + Send + Sync + 'static,
        energy: impl Fn(&View, f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Field::Callback { name: name.into(), wrench: Arc::new(wrench), energy: Some(Arc::new(energy)) }
    }

    /// Says what is wrong with the definition, naming the field.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Field::Pair(pair) => pair.check(),
            Field::Callback { .. } => Ok(()),
        }
    }

    /// Says why it does not fit into a world with these periods.
    pub fn fits(&self, periodic: Option<&crate::collide::Periodic>) -> Result<(), String> {
        let (Field::Pair(pair), Some(p)) = (self, periodic) else { return Ok(()) };
        match (0..3).find(|&k| p.axes[k] && 2.0 * pair.cutoff > p.length(k)) {
            Some(k) => Err(format!(
                "cutoff must be at most half of the period, {} m along axis {k}, got {}",
                p.length(k),
                pair.cutoff
            )),
            None => Ok(()),
        }
    }
}

/// Where bodies are and how they move, by slot; angular velocities in body axes.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub x: &'a [DVec3],
    pub q: &'a [DQuat],
    pub v: &'a [DVec3],
    pub w: &'a [DVec3],
    pub time: f64,
}

impl<'a> Placed<'a> {
    /// Bodies as they are.
    pub fn of(s: &'a State) -> Self {
        Self { x: &s.position, q: &s.rotation, v: &s.velocity, w: &s.omega, time: s.time }
    }

    pub fn view<'b>(&self, model: &'b Model, i: usize) -> Option<View<'b>> {
        self.view_at(model, i, i)
    }

    /// Of the body of a slot, whose numbers are at place `k`.
    fn view_at<'b>(&self, model: &'b Model, slot: usize, k: usize) -> Option<View<'b>> {
        Some(View {
            id: model.id(slot as u32)?,
            body: &model.bodies[slot],
            position: self.x[k],
            rotation: self.q[k],
            velocity: self.v[k],
            angular_velocity: self.q[k] * self.w[k],
        })
    }
}

/// What the fields do, by body slot, and the buffers to find it.
#[derive(Debug, Default)]
pub(crate) struct Acting {
    /// Empty where there are no fields.
    pub wrench: Vec<Wrench>,
    cells: Cells,
}

impl Acting {
    /// Works out all fields. What acts on bodies that are not dynamic is there too: the reaction to what they
    /// do.
    pub fn at(&mut self, fields: &[Field], model: &Model, placed: Placed) {
        self.wrench.clear();
        if fields.is_empty() {
            return;
        }
        self.wrench.resize(model.bodies.len(), Wrench::default());
        for field in fields {
            match field {
                Field::Pair(pair) => pair.act(model, placed.x, &mut self.cells, &mut self.wrench),
                Field::Callback { wrench, .. } => {
                    self.wrench.par_iter_mut().enumerate().with_min_len(256).for_each(|(i, sum)| {
                        if model.bodies[i].inv_mass > 0.0
                            && let Some(view) = placed.view(model, i)
                        {
                            let one = wrench(&view, placed.time);
                            sum.force += one.force;
                            sum.torque += one.torque;
                        }
                    });
                }
            }
        }
    }

    /// Works out all fields on the bodies in `slots` alone, which are `placed` in that order, as the wrenches
    /// then are. The others are where `state` has them.
    pub fn on_some(&mut self, fields: &[Field], model: &Model, state: &State, slots: &[u32], placed: Placed) {
        self.wrench.clear();
        if fields.is_empty() {
            return;
        }
        self.wrench.resize(slots.len(), Wrench::default());
        for field in fields {
            match field {
                Field::Pair(pair) => {
                    let mut x = state.position.clone();
                    slots.iter().zip(placed.x).for_each(|(slot, at)| x[*slot as usize] = *at);
                    let mut all = vec![Wrench::default(); x.len()];
                    pair.act(model, &x, &mut self.cells, &mut all);
                    self.wrench
                        .iter_mut()
                        .zip(slots)
                        .for_each(|(sum, i)| sum.force += all[*i as usize].force);
                }
                Field::Callback { wrench, .. } => {
                    for (k, slot) in slots.iter().map(|i| *i as usize).enumerate() {
                        let moves = model.bodies[slot].inv_mass > 0.0;
                        if let Some(view) = placed.view_at(model, slot, k).filter(|_| moves) {
                            let one = wrench(&view, placed.time);
                            self.wrench[k].force += one.force;
                            self.wrench[k].torque += one.torque;
                        }
                    }
                }
            }
        }
    }

    /// On one body.
    #[inline]
    pub fn on(&self, slot: usize) -> Wrench {
        self.wrench.get(slot).copied().unwrap_or_default()
    }
}
