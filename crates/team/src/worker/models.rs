//! Which model works in this thread: the one a person asked for, else the one
//! for the plan's complexity, else the role's usual one.

use butler_journal::read;
use butler_turn::{Machine, Models, Setup};

use super::Worker;
use crate::{AgentConfig, TeamError, facts::Facts};

/// The models that the log asks for.
pub fn models_for(config: &AgentConfig, facts: &Facts) -> Models {
    let mut models = config.models.clone();
    if let Some(by_complexity) = &config.by_complexity {
        if let Some((_, plan)) = &facts.task {
            by_complexity
                .of(plan.complexity)
                .clone_into(&mut models.usual);
        }
        models.stronger = Some(by_complexity.complex.clone());
    }
    if let Some(chosen) = &facts.chosen_model {
        models.usual.clone_from(chosen);
    }
    // A way out to itself is none.
    let usual = models.usual.clone();
    models.fallback = models.fallback.filter(|other| *other != usual);
    models.stronger = models.stronger.filter(|other| *other != usual);
    models
}

impl Worker {
    /// Takes the choice of model up. Only between two activations: what is
    /// running keeps its model.
    pub(super) fn choose_model(&mut self) -> Result<(), TeamError> {
        let models = models_for(&self.seat.office.config, &self.seat.facts());
        let now = self.machine.setup();
        if now.models == models || !self.machine.is_idle() || !self.queue.is_empty() {
            return Ok(());
        }
        let setup = Setup {
            models,
            ..now.clone()
        };
        let log = tokio::task::block_in_place(|| read(self.journal.path()))?;
        self.machine = Machine::new(setup, &log.entries);
        Ok(())
    }
}
