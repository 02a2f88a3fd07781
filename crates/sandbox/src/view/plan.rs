//! Views that were planned, kept for the next command in the same worktree. One
//! is used again only while the disk would answer every question it asked in the
//! same way.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Profile,
    spec::BaseRoot,
    view::{Step, looks::Looks},
};

/// As many worktrees as helpers are kept for.
const MOST: usize = 3;

/// What commands with the same places see.
#[derive(Debug)]
pub(crate) struct Plan {
    pub profile: Profile,
    /// In namespaces: what a helper builds once.
    pub base_root: Option<Arc<BaseRoot>>,
    /// Whether other commands can use the same base root.
    pub again: bool,
    /// What comes on top of it for each command.
    pub steps: Vec<Step>,
    /// Where a placeholder must stand while a command runs.
    pub missing: Vec<PathBuf>,
    pub looks: Looks,
}

/// Those of one sandbox; the one that was used last is last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plans(Arc<Mutex<Vec<Arc<Plan>>>>);

impl Plans {
    /// One for the same places that still holds.
    pub(crate) fn find(&self, profile: &Profile) -> Option<Arc<Plan>> {
        let found = {
            let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let at = plans
                .iter()
                .position(|plan| plan.profile.has_places_of(profile))?;
            let found = plans.remove(at);
            plans.push(Arc::clone(&found));
            found
        };
        found.looks.hold().then_some(found)
    }

    pub(crate) fn keep(&self, plan: &Arc<Plan>) {
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|other| !other.profile.has_places_of(&plan.profile));
        if plans.len() >= MOST {
            plans.remove(0);
        }
        plans.push(Arc::clone(plan));
    }
}
