//! What users have called during a step.

use drystone_solve::Problem;

use crate::check::check_contacts;
use crate::contact::Contact;
use crate::model::Model;
use crate::report::StepError;
use crate::state::State;
use crate::workspace::Velocity;
use crate::world::World;

pub(crate) type StepHook = Box<dyn FnMut(&mut World) + Send>;
type ProblemHook = Box<dyn FnMut(&Problem, &[f64]) + Send>;
type ContactHook = Box<dyn FnMut(&Model, &State, &mut Vec<Contact>) + Send>;

/// Functions of the user's, and copies that were asked for.
#[derive(Default)]
pub(crate) struct Hooks {
    pub contact: Option<ContactHook>,
    pub problem: Option<ProblemHook>,
    /// The velocity problem and its guess, where somebody waits for them.
    pub kept_problem: Option<(Problem, Vec<f64>)>,
    pub before: Vec<StepHook>,
    pub after: Vec<StepHook>,
    /// How many a loaded world had when it was saved; see [`Hooks::count`].
    pub wanted: Option<[usize; 3]>,
}

impl Hooks {
    /// Whether anybody is called in a step.
    pub fn any(&self) -> bool {
        self.contact.is_some() || self.want_problem() || !self.before.is_empty() || !self.after.is_empty()
    }

    /// How many are called before and after steps, and on contacts.
    pub fn count(&self) -> [usize; 3] {
        [self.before.len(), self.after.len(), usize::from(self.contact.is_some())]
    }

    /// Whether somebody wants to see the velocity problem.
    pub fn want_problem(&self) -> bool {
        self.problem.is_some() || self.kept_problem.is_some()
    }

    /// Shows the posed problem and its guess.
    pub fn show_problem(&mut self, velocity: &Velocity) {
        let guess = &velocity.assembler.guess;
        if let Some(hook) = &mut self.problem {
            hook(velocity.posed(), guess);
        }
        if let Some(kept) = &mut self.kept_problem {
            *kept = (velocity.posed().clone(), guess.clone());
        }
    }

    /// Shows the contacts of a step, which may be changed or removed.
    pub fn show_contacts(
        &mut self,
        model: &Model,
        state: &State,
        contacts: &mut Vec<Contact>,
        step: u64,
    ) -> Result<(), StepError> {
        if let Some(hook) = &mut self.contact {
            hook(model, state, contacts);
            check_contacts(model, contacts, step)?;
            contacts.sort_unstable_by_key(|c| (state.order.place(model, c.key.colliders), c.key.feature));
        }
        Ok(())
    }

    /// Calls hooks with the world in hand: they are taken out meanwhile, and hooks they add go behind them.
    pub fn call(world: &mut World, which: fn(&mut Hooks) -> &mut Vec<StepHook>) {
        let mut hooks = std::mem::take(which(&mut world.hooks));
        hooks.iter_mut().for_each(|hook| hook(world));
        let added = std::mem::take(which(&mut world.hooks));
        hooks.extend(added);
        *which(&mut world.hooks) = hooks;
    }
}
