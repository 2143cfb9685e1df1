//! What users have called during a step.

use drystone_solve::Problem;

use crate::check::check_contacts;
use crate::contact::Contact;
use crate::model::Model;
use crate::report::StepError;
use crate::state::State;
use crate::workspace::Velocity;

type ProblemHook = Box<dyn FnMut(&Problem, &[f64]) + Send>;
type ContactHook = Box<dyn FnMut(&Model, &State, &mut Vec<Contact>) + Send>;

/// Functions of the user's, and copies that were asked for.
#[derive(Default)]
pub(crate) struct Hooks {
    pub contact: Option<ContactHook>,
    pub problem: Option<ProblemHook>,
    /// The velocity problem and its guess, where somebody waits for them.
    pub kept_problem: Option<(Problem, Vec<f64>)>,
}

impl Hooks {
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
}
