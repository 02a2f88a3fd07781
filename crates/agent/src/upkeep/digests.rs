//! What is kept of a thread that others are compared with: a few lines instead of its
//! logs. A thread is read once after its last model call, however many follow it, also
//! when the process starts anew: the digests of the last threads are a file of this role.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use butler_journal::write_whole;
use butler_playbook::{ThreadStory, ThreadUse};
use butler_protocol::{Entry, PlanSummary, Role, ThreadId};
use butler_slack::SlackError;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, Notify};

use crate::{
    Agent, OrWarn,
    tell::thread_logs,
    upkeep::{growing, pruning, stories},
};

/// Older threads say little about how the team works now.
const MOST: usize = 100;

/// What one thread says to later ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// How it went; nothing where no role was given a prompt.
    pub(crate) story: Option<ThreadStory>,
    /// Which learnings helped; nothing where nobody looked back.
    pub(crate) used: Option<ThreadUse>,
    /// The words with which a person opened it.
    pub(crate) request: Option<String>,
    /// Commands that failed in it, each once.
    pub(crate) failed: BTreeSet<String>,
}

impl Digest {
    /// From the logs of a thread.
    #[must_use]
    pub fn of(logs: &[(Role, Vec<Entry>)]) -> Self {
        let lines = || {
            let all = logs.iter().flat_map(|(_, entries)| entries);
            all.map(|entry| &entry.record)
        };
        Self {
            story: stories::story(logs),
            used: pruning::used(lines()),
            request: growing::request(lines()),
            failed: growing::failures(lines()),
        }
    }
}

/// A digest, and how many calls the thread had made when it was read: with another one
/// there is more to read.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    calls: u64,
    digest: Digest,
}

/// The digests of the last threads.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    kept: Mutex<Option<BTreeMap<ThreadId, Kept>>>,
    /// Something was merged: what learnings are worth is counted again.
    pub(crate) merged: Notify,
}

impl Digests {
    /// The digests of the last threads with a plan, the oldest first.
    pub(crate) async fn last(
        &self,
        agent: &Agent,
        plans: &[PlanSummary],
    ) -> Result<Vec<(ThreadId, Digest)>, SlackError> {
        let threads: BTreeMap<&ThreadId, u64> =
            plans.iter().map(|one| (&one.thread, one.calls)).collect();
        let old = threads.len().saturating_sub(MOST);
        let mut guard = self.kept.lock().await;
        let known = guard.get_or_insert_with(|| read(agent));
        let mut found = Vec::new();
        let mut news = false;
        for (thread, calls) in threads.into_iter().skip(old) {
            // A hub that does not count leaves nothing to go by.
            let same = |kept: &&Kept| kept.calls == calls && calls > 0;
            let digest = match known.get(thread).filter(same) {
                Some(kept) => kept.digest.clone(),
                None => {
                    news = true;
                    let digest = look(agent, thread).await?;
                    let kept = Kept {
                        calls,
                        digest: digest.clone(),
                    };
                    known.insert(thread.clone(), kept);
                    digest
                }
            };
            found.push((thread.clone(), digest));
        }
        if news {
            while known.len() > MOST {
                known.pop_first();
            }
            write(agent, known);
        }
        Ok(found)
    }
}

async fn look(agent: &Agent, thread: &ThreadId) -> Result<Digest, SlackError> {
    let logs = thread_logs::of_thread(agent, thread).await?.into_iter();
    let logs: Vec<_> = logs.map(|log| (log.role, log.entries)).collect();
    Ok(Digest::of(&logs))
}

fn file(agent: &Agent) -> PathBuf {
    let name = format!("digests-{}.json", agent.role());
    agent.threads().join(name)
}

/// What cannot be read is read from the logs again.
fn read(agent: &Agent) -> BTreeMap<ThreadId, Kept> {
    let text = fs::read(file(agent)).unwrap_or_default();
    let kept: Vec<(ThreadId, Kept)> = serde_json::from_slice(&text).unwrap_or_default();
    kept.into_iter().collect()
}

fn write(agent: &Agent, kept: &BTreeMap<ThreadId, Kept>) {
    let kept: Vec<_> = kept.iter().collect();
    let bytes = serde_json::to_vec(&kept).unwrap_or_default();
    write_whole(&file(agent), &bytes)
        .or_warn("what earlier threads say is read again after the next start");
}
