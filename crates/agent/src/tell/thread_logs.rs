//! The logs of a thread, every role's: its own from this disk, the others' from the
//! hub. No agent reads another's files, so that agents can live on different machines.

use butler_journal::read;
use butler_protocol::{Entry, Role, ThreadId};
use butler_slack::SlackError;
use butler_turn::ThreadFold;

use crate::{Agent, listen::work_key::WorkKey};

/// One log, and what it says.
#[derive(Debug, Clone)]
pub(crate) struct RoleLog {
    /// Whose.
    pub(crate) role: Role,
    /// Its lines.
    pub(crate) entries: Vec<Entry>,
    /// What they say.
    pub(crate) fold: ThreadFold,
}

impl RoleLog {
    /// A log with what it says.
    pub(crate) fn new(role: Role, entries: Vec<Entry>) -> Self {
        let fold = ThreadFold::of(&entries);
        Self {
            role,
            entries,
            fold,
        }
    }
}

/// Every log of a thread, in the order of the team.
pub(crate) async fn of_thread(
    agent: &Agent,
    thread: &ThreadId,
) -> Result<Vec<RoleLog>, SlackError> {
    let told = agent.poster.control.logs(thread, &[]).await?;
    let mut logs = Vec::new();
    for role in Role::ALL {
        if role == agent.role() {
            logs.extend(own(agent, thread));
        } else {
            let entries = told.iter().filter(|line| line.role == role);
            logs.extend(parted(role, entries.map(|line| line.entry.clone())));
        }
    }
    Ok(logs)
}

/// This role's own logs of a thread, as they are on the disk. One that cannot be read
/// is left out here; its worker says so.
pub(crate) fn own(agent: &Agent, thread: &ThreadId) -> Vec<RoleLog> {
    let (threads, role) = (agent.threads(), agent.role());
    let keys = WorkKey::of(&threads, thread, role).into_iter();
    let logs = keys.filter_map(|key| read(&key.log(&threads, role)).ok());
    logs.map(|log| RoleLog::new(role, log.entries)).collect()
}

/// The hub keeps several logs of a role in one sequence: a research request begins at
/// a number of its own.
fn parted(role: Role, entries: impl Iterator<Item = Entry>) -> Vec<RoleLog> {
    let mut logs: Vec<Vec<Entry>> = Vec::new();
    let mut last = None;
    for entry in entries {
        let log = WorkKey::log_at_the_hub(entry.seq);
        match logs.last_mut().filter(|_| last == Some(log)) {
            Some(lines) => lines.push(entry),
            None => logs.push(vec![entry]),
        }
        last = Some(log);
    }
    logs.into_iter()
        .map(|log| RoleLog::new(role, log))
        .collect()
}

/// Whether a person has merged or closed this thread, here or on the forge.
pub(crate) fn is_closed(logs: &[RoleLog]) -> bool {
    logs.iter()
        .any(|log| log.fold.cards.is_closed() || log.fold.pulls.is_over())
}
