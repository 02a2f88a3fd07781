//! Worktrees that nobody works in any more. A thread that was silent for two days
//! is asked; a day later its worktree is put to sleep. Everything in it is saved,
//! and any message in the thread that needs it brings it back: nothing is deleted
//! here. What a closed thread left on the disk is packed when it is old, and old saves
//! for an undo go. Only the PM's process looks, at its start and every few hours.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use butler_journal::ThreadDir;
use butler_policy::Duty;
use butler_protocol::{Idem, MessageTs, ThreadId};
use butler_repo::{Error, PullState, Worktree};
use butler_slack::Message;
use butler_turn::Doing;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    Agent, AgentError, OrWarn,
    listen::buttons,
    tell::{
        thread_journal,
        thread_logs::{self, RoleLog},
    },
    thread::worker::attached,
};

/// Between two rounds at most, and an eighth of the silence that is respected.
const ROUND: Duration = Duration::from_secs(6 * 60 * 60);
/// How long what follows a merge or a closing may take.
const CLOSING: Duration = Duration::from_secs(30);
/// However little silence is respected, nobody looks more often.
const LEAST: Duration = Duration::from_millis(250);
/// Between two rounds at least, when something was due and could not be done.
const SOON: Duration = Duration::from_secs(60);
/// How long whoever hears everybody's presses may wait for one of them.
const GLANCE: Duration = Duration::from_secs(3);

/// How long silence is respected, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until a thread is asked.
    pub quiet_ms: i64,
    /// From then until its worktree goes to sleep.
    pub grace_ms: i64,
}

/// What is to be done about a silent thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing before this time.
    Wait(i64),
    /// Ask about the silence since this message.
    Ask(MessageTs),
    /// Put the worktree to sleep: nobody answered what was asked then.
    Sleep(MessageTs),
}

/// What follows from the messages of a thread. What we said about its silence is
/// no word in it, anything else is.
pub(crate) fn step(
    short: &str,
    messages: &[Message],
    patience: Patience,
    now_ms: i64,
) -> Option<Step> {
    let about_silence = |message: &&Message| {
        let tag = message.tag();
        tag.is_some_and(|tag| tag.idem.as_str().starts_with(&key(short, "")))
    };
    let last = messages.iter().rfind(|message| !about_silence(message))?;
    let asked = asked(short, &last.ts);
    let question = messages
        .iter()
        .find(|message| message.tag().is_some_and(|tag| tag.idem == asked));
    let due = match question {
        None => millis(&last.ts) + patience.quiet_ms,
        Some(question) => millis(&question.ts) + patience.grace_ms,
    };
    Some(match question {
        _ if now_ms < due => Step::Wait(due),
        None => Step::Ask(last.ts.clone()),
        Some(_) => Step::Sleep(last.ts.clone()),
    })
}

/// All of our words about silence begin with this.
fn key(short: &str, rest: &str) -> String {
    format!("{short}-quiet-{rest}")
}

/// The key of the question about the silence since `last`.
fn asked(short: &str, last: &MessageTs) -> Idem {
    Idem::new(key(short, &format!("ask-{last}")))
}

fn millis(ts: &MessageTs) -> i64 {
    i64::try_from(ts.seconds()).map_or(i64::MAX, |seconds| seconds.saturating_mul(1000))
}

/// Looks after the worktrees until `cancel`.
pub(crate) async fn keep_tidy(agent: Arc<Agent>, cancel: CancellationToken) {
    let quiet = u64::try_from(agent.rules().limits.patience.quiet_ms).unwrap_or(0);
    let most = ROUND.min(Duration::from_millis(quiet / 8));
    take_stock(&agent, &cancel).await;
    loop {
        let pause = round(&agent, &cancel).await.min(most).max(LEAST);
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// What this start finds: what a crash or a person left half way in a worktree is saved, and
/// written into the log of the process. It may be repeated, and nothing is taken away.
async fn take_stock(agent: &Agent, cancel: &CancellationToken) {
    match agent.repo.reconcile(cancel).await {
        Ok(odd) => {
            for one in odd {
                let (path, branch, what) = (one.path.display(), one.branch, one.what);
                info!(%path, ?branch, ?what, "found at the start");
            }
        }
        Err(error) => warn!(%error, "the worktrees could not be looked at"),
    }
}

/// One look at every worktree. Until when nothing is due.
async fn round(agent: &Arc<Agent>, cancel: &CancellationToken) -> Duration {
    let Some(worktrees) = agent
        .repo
        .list(cancel)
        .await
        .or_warn("the worktrees cannot be listed")
    else {
        return ROUND;
    };
    pack(agent, &worktrees).await;
    match agent.repo.prune_saved(agent.now_ms() / 1000, cancel).await {
        Ok(0) => {}
        Ok(count) => info!(count, "old saves of files are gone"),
        Err(error) => warn!(%error, "old saves of files could not be looked at"),
    }
    match agent.repo.pack_loose(cancel).await {
        Ok(false) => {}
        Ok(true) => info!("single objects of git are packed"),
        Err(error) => warn!(%error, "single objects of git could not be packed"),
    }
    let now = Duration::from_millis(u64::try_from(agent.now_ms()).unwrap_or(0));
    agent
        .repo
        .clear_locks(UNIX_EPOCH + now)
        .or_warn("locks that nobody holds stay");
    let threads = ThreadDir::list(&agent.threads()).unwrap_or_default();
    let mut pause = ROUND;
    for worktree in worktrees {
        let Some(thread) = threads.iter().find(|one| one.short() == worktree.short()) else {
            continue;
        };
        let next = match look(agent, thread, &worktree, cancel).await {
            Ok(next) => next,
            Err(error) => {
                warn!(%thread, %error, "a silent thread could not be looked after");
                Some(SOON)
            }
        };
        pause = pause.min(next.unwrap_or(ROUND));
    }
    pause
}

/// Packs the folders of closed threads and of answered questions that nobody has touched for long. The first
/// word in such a thread brings its folder back.
async fn pack(agent: &Arc<Agent>, awake: &[Worktree]) {
    let threads = agent.threads();
    let days = u64::from(agent.rules().limits.retention_days);
    let now = Duration::from_millis(u64::try_from(agent.now_ms()).unwrap_or(0));
    let before = UNIX_EPOCH + now.saturating_sub(Duration::from_secs(days * 24 * 60 * 60));
    let names: Vec<String> = awake.iter().map(|one| one.short().to_owned()).collect();
    ThreadDir::tidy(&threads);
    for thread in ThreadDir::list(&threads).unwrap_or_default() {
        if names.contains(&thread.short()) || !is_over(agent, &thread, before).await {
            continue;
        }
        let threads = threads.clone();
        let of = thread.clone();
        let packed =
            tokio::task::spawn_blocking(move || ThreadDir::pack(&threads, &of, before)).await;
        match packed {
            Ok(Ok(true)) => {
                info!(%thread, "the folder of a closed thread is packed");
                let forgotten = attached::folder_of(agent, &thread.short()).forget();
                if let Err(error) = forgotten {
                    warn!(%thread, %error, "attached files of a closed thread stay");
                }
            }
            Ok(Ok(false)) => {}
            Ok(Err(error)) => warn!(%thread, %error, "a closed thread could not be packed"),
            Err(error) => warn!(%thread, %error, "packing a closed thread failed"),
        }
    }
}

/// Whether a person has ended the thread, or nobody works and waits in it, and that
/// long ago.
async fn is_over(agent: &Agent, thread: &ThreadId, before: SystemTime) -> bool {
    let written = ThreadDir::new(&agent.threads(), thread).last_written();
    // A look at times is cheap, reading all logs is not.
    if written.is_none_or(|written| written >= before) {
        return false;
    }
    let logs = thread_logs::of_thread(agent, thread).await;
    let rests = |log: &RoleLog| matches!(log.fold.doing, None | Some(Doing::Nothing));
    logs.is_ok_and(|logs| thread_logs::is_closed(&logs) || logs.iter().all(rests))
}

/// Looks at one thread and does what is due. When to look again, if that is known.
async fn look(
    agent: &Arc<Agent>,
    thread: &ThreadId,
    worktree: &Worktree,
    cancel: &CancellationToken,
) -> Result<Option<Duration>, AgentError> {
    if in_work(agent, thread).await? {
        return Ok(None);
    }
    let pull = agent.forge.find(&worktree.branch, cancel).await?;
    if pull.is_some_and(|pull| pull.state == PullState::Open) {
        return Ok(None);
    }
    let messages = agent.poster.web.replies(thread).await?;
    let patience = agent.rules().limits.patience;
    let until = |due: i64| {
        let left = u64::try_from(due.saturating_sub(agent.now_ms())).unwrap_or(0);
        Duration::from_millis(left) + Duration::from_millis(1)
    };
    match step(&thread.short(), &messages, patience, agent.now_ms()) {
        None => Ok(None),
        Some(Step::Wait(due)) => Ok(Some(until(due))),
        Some(Step::Ask(last)) => {
            ask(agent, thread, &last).await?;
            Ok(Some(until(agent.now_ms() + patience.grace_ms)))
        }
        Some(Step::Sleep(last)) => {
            let text = "Nobody answered, so I put this thread's worktree to sleep. Branch, changed files and build output are saved; go on here whenever you like, and it is all back.";
            put_to_sleep(agent, thread, &last, text, cancel).await
        }
    }
}

/// Whether somebody works in the thread, or the Coder waits in the middle of it.
async fn in_work(agent: &Agent, thread: &ThreadId) -> Result<bool, AgentError> {
    Ok(work_goes_on(&thread_logs::of_thread(agent, thread).await?))
}

fn work_goes_on(logs: &[RoleLog]) -> bool {
    logs.iter().any(|log| match log.fold.doing {
        None | Some(Doing::Nothing | Doing::Stopped) => false,
        Some(Doing::Working(_)) => true,
        Some(Doing::Waiting(_)) => Duty::Build.is_of(log.role),
    })
}

/// The same, but what follows a merge, which is nobody's work any more, is waited for.
async fn still_in_work(agent: &Agent, thread: &ThreadId) -> Result<bool, AgentError> {
    let until = Instant::now() + CLOSING;
    loop {
        let logs = thread_logs::of_thread(agent, thread).await?;
        if !work_goes_on(&logs) {
            return Ok(false);
        }
        if !thread_logs::is_closed(&logs) || Instant::now() > until {
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn ask(agent: &Agent, thread: &ThreadId, last: &MessageTs) -> Result<(), AgentError> {
    let patience = agent.rules().limits.patience;
    let text = format!(
        "It has been quiet here for {}. Keep the worktree of this thread? Without an answer I put it to sleep in {}. Everything in it is saved and comes back with your next request here.",
        span(patience.quiet_ms),
        span(patience.grace_ms)
    );
    let idem = asked(&thread.short(), last);
    agent
        .poster
        .offer(thread, idem, &text, &buttons::quiet(last))
        .await?;
    Ok(())
}

/// A time as people say it, in the largest unit that has at least two of it.
fn span(ms: i64) -> String {
    const UNITS: [(i64, &str); 2] = [(60 * 60 * 1000, "hours"), (60 * 1000, "minutes")];
    let unit = UNITS.iter().find(|(length, _)| ms >= 2 * length);
    let (length, name) = unit.unwrap_or(&(1000, "seconds"));
    format!("{} {name}", ms / length)
}

/// Told before it is done: after a crash in between the next look does it, and the
/// same key says nothing twice.
async fn put_to_sleep(
    agent: &Arc<Agent>,
    thread: &ThreadId,
    last: &MessageTs,
    text: &str,
    cancel: &CancellationToken,
) -> Result<Option<Duration>, AgentError> {
    // Somebody is in it right now: later.
    let Some(free) = agent.repo.try_lock(thread)? else {
        return Ok(Some(SOON));
    };
    drop(free);
    thread_journal::keep(agent, thread, cancel).await;
    let idem = Idem::new(key(&thread.short(), &format!("asleep-{last}")));
    agent.poster.say(thread, idem, text).await?;
    agent.preparations.stop(thread).await;
    match agent.repo.hibernate(thread, cancel).await {
        Ok(_) => info!(%thread, "the worktree is asleep"),
        Err(Error::Busy { .. }) => return Ok(Some(SOON)),
        Err(error) => return Err(error.into()),
    }
    Ok(None)
}

/// A person puts the thread away, whatever state it is in. The next word in it
/// brings everything back.
pub(crate) async fn archive(
    agent: &Arc<Agent>,
    thread: &ThreadId,
    word: &str,
    who: &str,
) -> Result<(), AgentError> {
    if still_in_work(agent, thread).await? {
        let text = "Somebody is still at work in this thread. Say `stop` first, then `archive`.";
        return say(agent, thread, &format!("busy-{word}"), text).await;
    }
    let text = format!(
        "Archived by {who}. Branch, changed files and what was said are kept; `resume`, or any other word here, brings it back."
    );
    if agent.repo.find(thread).await?.is_none() {
        return say(agent, thread, &format!("archived-{word}"), &text).await;
    }
    let Ok(last) = word.parse::<MessageTs>() else {
        return Ok(());
    };
    if !sleeps_now(agent, thread, &last, &text, CLOSING).await? {
        let text = "Something still runs in this thread's worktree, so it stays. Say `archive` again in a moment.";
        return say(agent, thread, &format!("busy-{word}"), text).await;
    }
    Ok(())
}

/// What a person asked for: whoever is on the way out of the worktree, as after a stop, is
/// waited for. Whether it sleeps then.
async fn sleeps_now(
    agent: &Arc<Agent>,
    thread: &ThreadId,
    last: &MessageTs,
    text: &str,
    patience: Duration,
) -> Result<bool, AgentError> {
    let (never, until) = (CancellationToken::new(), Instant::now() + patience);
    while put_to_sleep(agent, thread, last, text, &never)
        .await?
        .is_some()
    {
        if Instant::now() > until {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(true)
}

async fn say(agent: &Agent, thread: &ThreadId, key: &str, text: &str) -> Result<(), AgentError> {
    let idem = Idem::new(format!("{}-{key}", thread.short()));
    agent.poster.say(thread, idem, text).await?;
    Ok(())
}

/// A press under the question.
pub(crate) async fn pressed(
    agent: &Arc<Agent>,
    (thread, last): (&ThreadId, &MessageTs),
    keep: bool,
    who: &str,
) -> Result<(), AgentError> {
    if keep {
        // A word like any other: silence is counted from here.
        let text = format!("Kept open by {who}.");
        return say(agent, thread, &format!("kept-{last}"), &text).await;
    }
    if in_work(agent, thread).await? {
        let text = "Work goes on here again, so the worktree stays. `!stop` ends the work.";
        return say(agent, thread, &format!("busy-{last}"), text).await;
    }
    let text = format!(
        "Closed by {who}. Branch, changed files and build output are saved; a new request here brings them back."
    );
    if !sleeps_now(agent, thread, last, &text, GLANCE).await? {
        let text = "Something still runs in this thread's worktree, so it stays. Say `archive` to put it away.";
        return say(agent, thread, &format!("busy-{last}"), text).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use butler_protocol::PostTag;
    use serde_json::json;

    use super::*;

    const PATIENCE: Patience = Patience {
        quiet_ms: 48_000,
        grace_ms: 24_000,
    };

    fn message(seconds: u64, idem: Option<&Idem>) -> Message {
        let mut message = json!({"ts": MessageTs::from_parts(seconds, 1), "text": "x"});
        if let Some(idem) = idem {
            let tag = PostTag::message(idem.clone(), Vec::new());
            message["metadata"] = tag.to_metadata();
        }
        serde_json::from_value(message).unwrap()
    }

    fn at(messages: &[Message], seconds: i64) -> Option<Step> {
        step("ab12", messages, PATIENCE, seconds * 1000)
    }

    #[test]
    fn a_thread_is_asked_once_and_sleeps_when_nobody_answers() {
        let last = MessageTs::from_parts(100, 1);
        let mut messages = vec![message(90, None), message(100, None)];
        assert_eq!(at(&messages, 147), Some(Step::Wait(148_000)));
        assert_eq!(at(&messages, 148), Some(Step::Ask(last.clone())));
        messages.push(message(150, Some(&asked("ab12", &last))));
        assert_eq!(at(&messages, 173), Some(Step::Wait(174_000)));
        assert_eq!(at(&messages, 174), Some(Step::Sleep(last.clone())));
        // Told, and killed before it was done: it is still to be done.
        let told = Idem::new(key("ab12", &format!("asleep-{last}")));
        messages.push(message(174, Some(&told)));
        assert_eq!(at(&messages, 175), Some(Step::Sleep(last)));
    }

    #[test]
    fn a_span_is_said_in_its_own_unit() {
        for (hours, said) in [
            (48.0, "48 hours"),
            (1.5, "90 minutes"),
            (0.001, "3 seconds"),
        ] {
            assert_eq!(span((hours * 3_600_000.0) as i64), said);
        }
    }

    #[test]
    fn any_word_begins_the_silence_anew() {
        let last = MessageTs::from_parts(100, 1);
        let kept = Idem::new(format!("ab12-kept-{last}"));
        let mut messages = vec![
            message(100, None),
            message(150, Some(&asked("ab12", &last))),
            message(160, Some(&kept)),
        ];
        assert_eq!(at(&messages, 190), Some(Step::Wait(208_000)));
        let again = MessageTs::from_parts(160, 1);
        assert_eq!(at(&messages, 208), Some(Step::Ask(again)));
        // What another thread was asked is nothing to us.
        messages.push(message(161, Some(&asked("zz99", &last))));
        assert_eq!(at(&messages, 208), Some(Step::Wait(209_000)));
        assert_eq!(at(&[], 208), None);
    }
}
