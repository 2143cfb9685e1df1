//! A world as bytes, and back: the run goes on bit for bit.
//!
//! What is saved is what decides the steps to come: settings, bodies, shapes, joints, materials, force
//! fields, emitters and sinks, and the state with its warm starts, sleepers, order of bodies and random
//! numbers. Functions of a program cannot be: a world that has them among its force fields, motors or guides
//! is refused by their names, and hooks are counted, so that a world that lacks them does not step as if
//! nothing had happened.
//!
//! The bytes are sealed ([`crate::seal`]); inside is MessagePack with structures as maps.

mod column;
mod model;
mod state;

use drystone_solve::solver;
use serde::{Deserialize, Serialize};

use crate::emitter::Flow;
use crate::field::{Field, Pair};
use crate::hooks::Hooks;
use crate::joint::Reaction;
use crate::seal::{self, LoadError};
use crate::settings::Settings;
use crate::state::State;
use crate::user_data::{Owner, UserData};
use crate::workspace::Workspace;
use crate::world::World;
use crate::world::step_hooks::StepHooks;
use model::SavedModel;
use state::SavedState;

const KIND: &str = "world";
const STATE: &str = "state";
/// Of the bytes that [`World::save`] makes.
const VERSION: u32 = 1;

/// Why a world cannot be saved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// A function of the program is part of it.
    #[error(
        "{0} is a function of the program, which cannot be saved: take a table or a formula that a file can hold"
    )]
    Function(String),
    /// What the format cannot hold.
    #[error("the world cannot be saved: {0}")]
    Format(String),
}

#[derive(Serialize, Deserialize)]
struct SavedWorld {
    settings: Settings,
    model: SavedModel,
    state: SavedState,
    flow: Flow,
    fields: Vec<Pair>,
    loose: bool,
    /// Of the joints in the last step, by slot.
    reactions: Vec<Reaction>,
    /// How many were called before and after steps, and on contacts.
    hooks: [usize; 3],
    /// Whether events are recorded.
    events: bool,
    /// Of bodies, colliders and joints.
    #[serde(default)]
    user_data: Vec<(Owner, [u64; 2])>,
}

impl World {
    /// The whole world as bytes: [`World::load`] makes one of them that goes on bit for bit, in this process
    /// or another. Hooks are not in it: they have to be set again before the next step. The contacts and
    /// events of the last step are not either: they are there again after the next one, whose contacts begin.
    ///
    /// ```
    /// use drystone::{BodyDef, Settings, Shape, World};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut world = World::new(Settings::default())?;
    /// world.add_body(BodyDef::fixed(Shape::HalfSpace))?;
    /// world.add_body(BodyDef::dynamic(Shape::Sphere { radius: 0.5 }, 1.0).at(glam::DVec3::Z))?;
    /// world.step()?;
    /// let mut other = World::load(&world.save()?)?;
    /// world.step()?;
    /// other.step()?;
    /// assert_eq!(other.state(), world.state());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where functions of the program are among its force fields, motors, trajectories or guides.
    pub fn save(&self) -> Result<Vec<u8>, SaveError> {
        let fields = self.pairs()?;
        let saved = SavedWorld {
            settings: self.settings.clone(),
            model: SavedModel::of(&self.model),
            state: SavedState::of(&self.state),
            flow: self.flow.clone(),
            fields,
            loose: self.loose,
            reactions: self.work.velocity.assembler.rows.reactions.clone(),
            hooks: self.count_hooks(),
            events: self.events.on,
            user_data: self.user_data.saved(|owner| self.owns(owner).is_ok()),
        };
        let mut bytes = Vec::new();
        let mut to = rmp_serde::Serializer::new(&mut bytes).with_struct_map();
        saved
            .serialize(&mut to)
            .map_err(|e| self.functions().err().unwrap_or_else(|| SaveError::Format(e.to_string())))?;
        Ok(seal::close(KIND, VERSION, &bytes))
    }

    /// Whether [`World::save`] will find functions of the program, without saving anything.
    ///
    /// # Errors
    /// As [`World::save`].
    pub fn check_saving(&self) -> Result<(), SaveError> {
        self.pairs()?;
        self.functions()
    }

    /// The force fields, which must not be functions.
    fn pairs(&self) -> Result<Vec<Pair>, SaveError> {
        let mut fields = Vec::new();
        for field in &self.fields {
            match field {
                Field::Pair(pair) => fields.push(*pair),
                Field::Callback { name, .. } => {
                    return Err(SaveError::Function(format!("the force field '{name}'")));
                }
            }
        }
        match self.stiff.first() {
            Some(force) => Err(SaveError::Function(format!("the stiff force '{}'", force.name))),
            None => Ok(fields),
        }
    }

    /// Names a function among joints, guides and emitters.
    fn functions(&self) -> Result<(), SaveError> {
        let refused = |x: &dyn erased::Probe| x.is_refused();
        for j in self.model.joint_slots() {
            if refused(&self.model.joints[j]) {
                let name = self.model.describe_joint(j as u32);
                return Err(SaveError::Function(format!("what drives {name}")));
            }
        }
        for i in self.model.slots() {
            if self.model.bodies[i].guide.as_ref().is_some_and(|g| refused(g)) {
                return Err(SaveError::Function(format!("the guide of {}", self.model.describe(i as u32))));
            }
        }
        for (k, emitter) in self.flow.emitters.iter().enumerate() {
            if refused(emitter) {
                return Err(SaveError::Function(format!("the guide of a body of emitter {k}")));
            }
        }
        Ok(())
    }

    /// A world from what [`World::save`] made, without its hooks.
    ///
    /// # Errors
    /// For bytes that are something else, damaged, or of a version that is not known yet.
    pub fn load(bytes: &[u8]) -> Result<World, LoadError> {
        let body = seal::open(KIND, VERSION, bytes)?;
        let saved: SavedWorld = rmp_serde::from_slice(body).map_err(|e| LoadError::Damaged(e.to_string()))?;
        saved.world().map_err(LoadError::Damaged)
    }

    /// How many hooks before steps, after steps and on contacts a loaded world still lacks.
    pub(crate) fn missing_hooks(&self) -> Option<[usize; 3]> {
        let (wanted, there) = (self.step_hooks.wanted?, self.count_hooks());
        let missing = [0, 1, 2].map(|k| wanted[k].saturating_sub(there[k]));
        (missing != [0; 3]).then_some(missing)
    }

    /// Lets a loaded world step without the hooks that it had when it was saved.
    pub fn forgo_hooks(&mut self) {
        self.step_hooks.wanted = None;
    }
}

impl State {
    /// The state as bytes, for another world of the same bodies: see [`World::restore`].
    ///
    /// # Errors
    /// Where the format cannot hold it.
    pub fn save(&self) -> Result<Vec<u8>, SaveError> {
        let mut bytes = Vec::new();
        let mut to = rmp_serde::Serializer::new(&mut bytes).with_struct_map();
        SavedState::of(self).serialize(&mut to).map_err(|e| SaveError::Format(e.to_string()))?;
        Ok(seal::close(STATE, VERSION, &bytes))
    }

    /// A state from what [`State::save`] made.
    ///
    /// # Errors
    /// For bytes that are something else, damaged, or of a version that is not known yet.
    pub fn load(bytes: &[u8]) -> Result<State, LoadError> {
        let body = seal::open(STATE, VERSION, bytes)?;
        let saved: SavedState = rmp_serde::from_slice(body).map_err(|e| LoadError::Damaged(e.to_string()))?;
        saved.state().map_err(LoadError::Damaged)
    }
}

impl SavedWorld {
    fn world(self) -> Result<World, String> {
        self.settings.check()?;
        let solver = solver::make(&self.settings.solver).map_err(|e| e.0)?;
        let (model, mut state) = (self.model.model()?, self.state.state()?);
        // It is this world's, and complete.
        state.whose = Default::default();
        let mut world = World {
            work: Box::new(Workspace::new(&self.settings, solver)),
            settings: self.settings,
            model,
            whole: crate::state::State::new(0),
            state: crate::state::State::new(0),
            flow: self.flow,
            fields: self.fields.into_iter().map(Field::Pair).collect(),
            stiff: Vec::new(),
            loose: false,
            hooks: Hooks::default(),
            step_hooks: StepHooks {
                wanted: Some(self.hooks).filter(|h| *h != [0; 3]),
                ..StepHooks::default()
            },
            events: Default::default(),
            accelerations: Default::default(),
            places: Default::default(),
            user_data: UserData::loaded(self.user_data),
        };
        world.events.on = self.events;
        world.restore(state).map_err(|e| e.to_string())?;
        world.loose = self.loose;
        world.work.velocity.assembler.rows.reactions = self.reactions;
        Ok(world)
    }
}

mod erased {
    use serde::Serialize;

    /// Whether something has a part that cannot be written.
    pub trait Probe {
        fn is_refused(&self) -> bool;
    }

    impl<T: Serialize> Probe for T {
        fn is_refused(&self) -> bool {
            rmp_serde::to_vec(self).is_err()
        }
    }
}
