//! Whose turn it is: what a person allowed at the start is decided item by item, and
//! of several that could be merged at once the one first that makes the fewest
//! conflicts. Items that stood on merged work are put on the default branch.

use std::collections::BTreeSet;

use butler_protocol::{
    DecisionKind, MergeMode, PrNumber, PullStatus, RunDecide, RunItem, RunView, ThreadId,
};
use tokio::time::{Duration, Instant};
use tracing::warn;

use super::Runner;
use crate::{
    AgentError,
    develop::{next::stands_on, stacking},
};

/// So long the next merge waits for one that was decided.
const ONE_MERGE: Duration = Duration::from_secs(60);

/// What is remembered between two looks, to save work only.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The merge that was decided last.
    merging: Option<(ThreadId, Instant)>,
    /// What the hub would not decide: it waits for a person.
    refused: BTreeSet<ThreadId>,
    /// What was ready at once, and the order that was found for it.
    order: Option<(Vec<ThreadId>, Vec<u32>)>,
    /// Branches that stand on the default branch.
    moved_up: BTreeSet<ThreadId>,
}

impl Runner {
    /// The run without what the hub would not decide.
    pub(super) fn as_decidable(&mut self, mut view: RunView) -> RunView {
        for item in &mut view.items {
            if item.allowed.is_none() {
                self.turns.refused.remove(&item.thread);
            } else if self.turns.refused.contains(&item.thread) {
                item.allowed = None;
            }
        }
        view
    }

    /// The items whose merge card is open, in the order in which they should be merged.
    pub(super) async fn merge_order(&mut self, view: &RunView) -> Result<Vec<u32>, AgentError> {
        let open = |item: &&RunItem| item.open.contains(&DecisionKind::Merge);
        let ready: Vec<&RunItem> = view.items.iter().filter(open).collect();
        if ready.len() < 2 {
            return Ok(ready.iter().map(|item| item.number).collect());
        }
        let threads: Vec<ThreadId> = ready.iter().map(|item| item.thread.clone()).collect();
        if let Some((known, order)) = &self.turns.order
            && *known == threads
        {
            return Ok(order.clone());
        }
        let repo = &self.agent.repo;
        let mut branches = Vec::new();
        for item in &ready {
            let worktree = repo.find(&item.thread).await?;
            branches.extend(worktree.map(|worktree| (worktree.branch, item.number)));
        }
        let names: Vec<_> = branches.iter().map(|(branch, _)| branch.clone()).collect();
        let forecast = repo.forecast(&names, &self.cancel).await?;
        let found = forecast.order().into_iter().filter_map(|branch| {
            let mut known = branches.iter();
            known
                .find(|(one, _)| *one == branch)
                .map(|(_, number)| *number)
        });
        let mut found: Vec<u32> = found.collect();
        // What has no worktree here comes last.
        let all = ready.iter().map(|item| item.number);
        found.extend(all.filter(|number| !branches.iter().any(|(_, one)| one == number)));
        let order = after_what_they_need(view, found);
        self.turns.order = Some((threads, order.clone()));
        Ok(order)
    }

    /// Whether a merge that was decided is under way.
    pub(super) fn is_merging(&self, view: &RunView) -> bool {
        let Some((thread, since)) = &self.turns.merging else {
            return false;
        };
        let mut items = view.items.iter();
        let under_way = items
            .find(|item| item.thread == *thread)
            .is_some_and(|item| {
                let over = matches!(
                    item.pull,
                    Some((_, PullStatus::Merged | PullStatus::Closed))
                );
                !over && !item.open.contains(&DecisionKind::Merge)
            });
        under_way && since.elapsed() < ONE_MERGE
    }

    /// It is the item's turn.
    pub(super) async fn decide(&mut self, view: &RunView, number: u32) -> Result<(), AgentError> {
        let Some(item) = view.items.iter().find(|item| item.number == number) else {
            return Ok(());
        };
        let wanted = RunDecide {
            request: view.request.clone(),
            number,
        };
        if item.allowed == Some(DecisionKind::Merge) {
            self.turns.merging = Some((item.thread.clone(), Instant::now()));
        }
        match self.agent.poster.control.run_decide(&wanted).await {
            Err(error) if error.refusal().is_some() => {
                warn!(%error, number, "a card of a run waits for a person");
                self.turns.refused.insert(item.thread.clone());
            }
            decided => decided?,
        }
        self.agent.develop.poke();
        Ok(())
    }

    /// An item that stood on merged work goes to the default branch. What fails is
    /// tried again at the next look, and at the merge itself.
    pub(super) async fn move_up(&mut self, view: &RunView, number: u32) {
        let Some(item) = view.items.iter().find(|item| item.number == number) else {
            return;
        };
        if self.turns.moved_up.contains(&item.thread) {
            return;
        }
        let pull: Option<PrNumber> = item.pull.map(|(number, _)| number);
        match stacking::advance(&self.agent, &item.thread, pull, &self.cancel).await {
            Ok(true) => drop(self.turns.moved_up.insert(item.thread.clone())),
            Ok(false) => {}
            Err(error) => warn!(%error, number, "an item stays on merged work for now"),
        }
    }

    /// Before the PM of an item gets it: its branch begins on the dependency that is
    /// not merged yet. Gives the number of that one.
    pub(super) async fn stack(
        &mut self,
        view: &RunView,
        item: &RunItem,
    ) -> Result<Option<u32>, AgentError> {
        if view.mode != MergeMode::Stacked {
            return Ok(None);
        }
        let roadmap = self.known_roadmap().await?;
        let Some(below) = stands_on(view, item.number, &roadmap) else {
            return Ok(None);
        };
        let begun = view.items.iter().find(|one| one.number == below);
        let Some((pull, _)) = begun.and_then(|begun| begun.pull) else {
            return Ok(None);
        };
        let pull = self.agent.forge.view(pull, &self.cancel).await?;
        let repo = &self.agent.repo;
        repo.stack(&item.thread, &pull.branch, &self.cancel).await?;
        Ok(Some(below))
    }
}

/// The same order, with everything behind what it depends on.
fn after_what_they_need(view: &RunView, wanted: Vec<u32>) -> Vec<u32> {
    let needs = |number: u32| {
        let mut items = view.subject.items.iter();
        let item = items.find(|item| item.number == number);
        item.map_or(&[][..], |item| item.depends_on.as_slice())
    };
    let (mut left, mut order) = (wanted, Vec::new());
    while !left.is_empty() {
        let free = |number: &u32| !needs(*number).iter().any(|before| left.contains(before));
        let at = left.iter().position(free).unwrap_or(0);
        order.push(left.remove(at));
    }
    order
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_needed_is_merged_first_whatever_the_forecast_says() {
        let item = |number: u32, after: &[u32]| {
            json!({"number": number, "title": "t", "depends_on": after, "criteria": [],
                "sha256": "00", "cap": 1})
        };
        let view: RunView = serde_json::from_value(json!({
            "request": "abcdef", "thread": {"channel": "C1", "root": "1700000000.000100"},
            "person": "U1", "mode": "stacked", "state": "running", "spent": 0,
            "subject": {"items": [item(1, &[]), item(2, &[1]), item(3, &[])],
                "at_once": 2, "budget": 3},
            "items": [],
        }))
        .unwrap();
        assert_eq!(after_what_they_need(&view, vec![2, 3, 1]), [3, 1, 2]);
        assert_eq!(after_what_they_need(&view, vec![3, 2]), [3, 2]);
    }
}
