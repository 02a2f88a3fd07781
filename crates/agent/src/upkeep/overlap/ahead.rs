//! What the team has before it, for the board: the roadmap, and which open branches would
//! not merge. Looked at by the one who looks after the roadmap, at the start and after
//! something happened in the channel; where nothing happens it costs nothing.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use butler_playbook::{Item, Roadmap, Status};
use butler_protocol::{BranchClash, Outlook, RoadmapEntry};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::open_branches;
use crate::{Agent, AgentError, decide::roadmap, tell::render::names};

/// What happens together is looked at once.
const TOGETHER: Duration = Duration::from_secs(5);
/// More of a roadmap helps nobody on a page.
const ITEMS: usize = 100;
const CLASHES: usize = 30;

/// What was seen last.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    seen: Mutex<Outlook>,
    stirred: Notify,
}

impl Ahead {
    /// Something happened: a look is worth its while.
    pub(crate) fn stir(&self) {
        self.stirred.notify_one();
    }

    /// What was seen last.
    pub(crate) fn now(&self) -> Outlook {
        self.held().clone()
    }

    fn held(&self) -> MutexGuard<'_, Outlook> {
        // Whole values only are put behind this lock.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks again and again, until the process ends.
pub(crate) async fn keep_looking(agent: Arc<Agent>, life: CancellationToken) {
    loop {
        match look(&agent, &life).await {
            Ok(seen) => *agent.develop.ahead.held() = seen,
            Err(error) => tracing::debug!(%error, "what is ahead cannot be told now"),
        }
        tokio::select! {
            () = life.cancelled() => return,
            () = agent.develop.ahead.stirred.notified() => {}
        }
        tokio::select! {
            () = life.cancelled() => return,
            () = tokio::time::sleep(TOGETHER) => {}
        }
    }
}

async fn look(agent: &Agent, cancel: &CancellationToken) -> Result<Outlook, AgentError> {
    let roadmap = roadmap::of(agent, cancel).await?;
    let open = open_branches(agent, None, cancel).await?;
    let forecast = agent.repo.forecast(&open, cancel).await?;
    let stale = forecast.stale.iter().map(|one| BranchClash {
        one: one.branch.clone(),
        other: None,
        files: names(&one.files),
    });
    let clashes = forecast.clashes.iter().map(|clash| BranchClash {
        one: clash.one.clone(),
        other: Some(clash.other.clone()),
        files: names(&clash.files),
    });
    Ok(Outlook {
        roadmap: entries(&roadmap),
        clashes: stale.chain(clashes).take(CLASHES).collect(),
        order: forecast.order(),
    })
}

/// Every item in words that the page knows.
fn entries(roadmap: &Roadmap) -> Vec<RoadmapEntry> {
    let ready: Vec<u32> = roadmap.ready().iter().map(|item| item.number).collect();
    let state = |item: &Item| match &item.status {
        Status::Pending if ready.contains(&item.number) => "ready".to_owned(),
        Status::Pending => "waiting".to_owned(),
        Status::Blocked(_) => "blocked".to_owned(),
        other => other.to_string(),
    };
    let entry = |item: &Item| RoadmapEntry {
        number: item.number,
        title: item.title.clone(),
        state: state(item),
        why: match &item.status {
            Status::Blocked(why) => why.clone(),
            _ => String::new(),
        },
        depends_on: item.depends_on.clone(),
    };
    roadmap.items().iter().take(ITEMS).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_says_whether_it_could_begin() {
        let text = "# Roadmap\n\n## 1. Base\n- Status: done\n\n## 2. Page\n- Depends on: 1\n\n\
                    ## 3. Form\n- Depends on: 2\n\n## 4. Avatars\n- Status: blocked (a decision)\n";
        let all = entries(&Roadmap::parse(text));
        let told: Vec<_> = all
            .iter()
            .map(|one| (one.number, one.state.as_str(), one.why.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (1, "done", ""),
                (2, "ready", ""),
                (3, "waiting", ""),
                (4, "blocked", "a decision")
            ]
        );
    }
}
