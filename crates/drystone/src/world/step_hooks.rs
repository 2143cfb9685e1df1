//! Functions of the user's that are called before and after steps.

use super::World;

pub(crate) type StepHook = Box<dyn FnMut(&mut World) + Send>;

/// They are called in the order in which they were added.
#[derive(Default)]
pub(crate) struct StepHooks {
    pub before: Vec<StepHook>,
    pub after: Vec<StepHook>,
    /// How many a loaded world had when it was saved; see [`World::count_hooks`].
    pub wanted: Option<[usize; 3]>,
}

impl StepHooks {
    /// Calls hooks with the world in hand: they are taken out meanwhile, and hooks they add go behind them.
    pub fn call(world: &mut World, which: fn(&mut StepHooks) -> &mut Vec<StepHook>) {
        let mut hooks = std::mem::take(which(&mut world.step_hooks));
        hooks.iter_mut().for_each(|hook| hook(world));
        let added = std::mem::take(which(&mut world.step_hooks));
        hooks.extend(added);
        *which(&mut world.step_hooks) = hooks;
    }
}

impl World {
    /// Whether any function of the user's is called in a step.
    pub(crate) fn has_hooks(&self) -> bool {
        self.hooks.want_problem() || self.count_hooks() != [0; 3]
    }

    /// How many are called before and after steps, and on contacts.
    pub(crate) fn count_hooks(&self) -> [usize; 3] {
        let StepHooks { before, after, .. } = &self.step_hooks;
        [before.len(), after.len(), usize::from(self.hooks.contact.is_some())]
    }
}
