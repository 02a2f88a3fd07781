//! Taking up a thread: the log on this disk is compared with the hub's copy of it. What
//! another process of the role wrote meanwhile is brought here before anything goes on,
//! and what was written here for nobody is put aside.

use butler_journal::{Journal, Presence, ThreadDir, adopt, read};
use butler_policy::Duty;
use butler_protocol::{Entry, Epoch, LogEnd, Record};
use butler_slack::{Control, Held, SlackError};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{Agent, AgentError, listen::work_key::WorkKey, thread::driver::on_disk};

/// What a model is told that goes on with what another process began.
const GOES_ON: &str = "The machine that worked on this is lost, and you go on on another one. \
    The worktree has what was saved of it, usually all of it up to the last result above. What a \
    call without a result did is not here, and neither is anything outside of the worktree; the \
    folder may have another name.";

/// A log that is ours, and what the hub had of it.
pub(super) struct TakenUp {
    pub(super) present: Presence,
    pub(super) journal: Journal,
    pub(super) log: Vec<Entry>,
    pub(super) held: Held,
}

/// Opens the log of a thread, as it is at the hub.
///
/// # Errors
/// When another process has the thread, or the hub or the disk does not answer.
pub(super) async fn take_up(
    agent: &Agent,
    work_key: &WorkKey,
    control: &Control,
) -> Result<TakenUp, AgentError> {
    let path = work_key.log(&agent.threads(), agent.role());
    let (present, ours) = on_disk(|| {
        let present = ThreadDir::enter(&agent.threads(), &work_key.thread)?;
        read(&path).map(|log| (present, log.entries))
    })?;
    let held = compared(control, work_key, &ours).await?;
    let theirs = held.entries.len();
    if theirs > 0 {
        let keep = held.keep.unwrap_or(0);
        info!(keep, theirs, "another process went on with this log");
        let entries = work_key.as_in_the_log(held.entries.clone());
        on_disk(|| adopt(&path, keep, &entries))?;
        bring_files(agent, work_key).await?;
    }
    let epoch = agent.group.epoch.max(Epoch(held.epoch));
    let (mut journal, mut log) = on_disk(|| Journal::open(&path, epoch))?;
    if theirs > 0 && is_under_way(&log) {
        let text = GOES_ON.to_owned();
        let note = on_disk(|| journal.append(Record::Note { text }, agent.now_ms()));
        log.push(note?);
    }
    Ok(TakenUp {
        present,
        journal,
        log,
        held,
    })
}

/// What the hub has beyond our lines. Where its lines are others, all of them: ours were
/// never told, so nothing followed from them.
async fn compared(
    control: &Control,
    work_key: &WorkKey,
    ours: &[Entry],
) -> Result<Held, SlackError> {
    let held = control
        .records_held(&work_key.thread, end(work_key, ours))
        .await?;
    let Some(last) = held.last.filter(|_| held.keep.is_none()) else {
        return Ok(held);
    };
    let upto = usize::try_from(last.seq).unwrap_or(usize::MAX);
    let known = ours.get(..upto).map(|ours| end(work_key, ours));
    if known == Some(last) {
        return Ok(held);
    }
    let nothing = end(work_key, &[]);
    control.records_held(&work_key.thread, nothing).await
}

/// Where a log ends, as the hub compares it.
pub(super) fn end(work_key: &WorkKey, log: &[Entry]) -> LogEnd {
    let last = log.last();
    LogEnd {
        base: work_key.base_at_the_hub(),
        seq: log.len() as u64,
        epoch: last.map_or(0, |entry| entry.epoch),
        at_ms: last.map_or(0, |entry| entry.at_ms),
    }
}

/// The branch as it is on the remote, and what was saved beside it. Files of an earlier
/// time here are saved and make room.
async fn bring_files(agent: &Agent, work_key: &WorkKey) -> Result<(), AgentError> {
    if !Duty::Build.is_of(agent.role()) {
        return Ok(());
    }
    let cancel = CancellationToken::new();
    let brought = agent.repo.bring_work(&work_key.thread, &cancel).await;
    if let Err(error) = &brought {
        warn!(%error, "the files of the thread are not brought yet");
    }
    Ok(brought?)
}

fn is_under_way(log: &[Entry]) -> bool {
    let mut turns = log.iter().rev().map(|entry| &entry.record);
    let turn = turns.find(|record| {
        matches!(
            record,
            Record::ActivationStarted { .. } | Record::ActivationEnded { .. }
        )
    });
    matches!(turn, Some(Record::ActivationStarted { .. }))
}
