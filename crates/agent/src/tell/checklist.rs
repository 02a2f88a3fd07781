//! The checklist as people see it: one message in the thread, edited as the list
//! moves. It says how far the work is, how long it took and what was spent. The
//! work never waits for it, it wakes nobody, and no other role is told of it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_protocol::{Idem, MessageTs, Record, ThreadId, Usd};
use butler_slack::SlackError;
use butler_turn::{Progress, Sign};
use tokio::{sync::watch, task::JoinHandle};
use tracing::{debug, warn};

use crate::tell::poster::Poster;

/// Slack takes about one edit a second in a channel, for all threads together.
const GAP: Duration = Duration::from_secs(3);
/// The most of a step that is shown.
const STEP: usize = 160;
/// What its key ends with.
const KEY: &str = "-checklist";

/// Shows the newest state, in a task of its own.
#[derive(Debug, Default)]
pub(crate) struct Board {
    newest: Mutex<Option<(watch::Sender<Wanted>, JoinHandle<()>)>>,
}

/// What people should see.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) poster: Poster,
    pub(crate) thread: ThreadId,
    /// The one question that the work is about, for the Researcher.
    pub(crate) research: Option<String>,
    pub(crate) progress: Progress,
    /// Where to leave what must be in the log.
    pub(crate) records: Arc<Mutex<Vec<Record>>>,
}

/// Whether a post is the checklist: a picture of the work, no part of it.
pub(crate) fn is_checklist(key: &Idem) -> bool {
    key.as_str().ends_with(KEY)
}

impl Board {
    /// Has this shown, unless something newer comes before its turn.
    pub(crate) fn show(&self, wanted: Wanted) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*newest {
            Some((sender, task)) if !task.is_finished() => drop(sender.send_replace(wanted)),
            _ => {
                let (sender, receiver) = watch::channel(wanted);
                let task = tokio::spawn(keep_showing(receiver));
                *newest = Some((sender, task));
            }
        }
    }
}

/// Until nobody wants anything any more; the last state is shown before.
async fn keep_showing(mut wanted: watch::Receiver<Wanted>) {
    let mut shown_ms = None;
    let mut message = None;
    loop {
        let now = wanted.borrow_and_update().clone();
        let known = now.progress.shown.as_ref().map(|(ts, _)| ts.clone());
        message = message.or(known);
        if shown_ms != Some(now.progress.moved_ms) {
            match put(&now, message.as_ref()).await {
                Ok(ts) => {
                    shown_ms = Some(now.progress.moved_ms);
                    let record = Record::ChecklistShown {
                        message: ts.clone(),
                        moved_ms: now.progress.moved_ms,
                    };
                    message = Some(ts);
                    let records = &now.records;
                    let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
                    records.push(record);
                }
                // The next state shows the same and more.
                Err(error) if error.is_stop() => debug!("the checklist of a stopped thread stays"),
                Err(error) => warn!(%error, "the checklist could not be shown"),
            }
            tokio::time::sleep(GAP).await;
        }
        if wanted.changed().await.is_err() {
            return;
        }
    }
}

/// The key is the same for the whole thread: a message of which a crash took the
/// record is found again. It may show an older state, so it is edited then, too.
async fn put(wanted: &Wanted, message: Option<&MessageTs>) -> Result<MessageTs, SlackError> {
    let Wanted {
        poster,
        thread,
        research,
        progress,
        ..
    } = wanted;
    // Cosmetic: without the figure the rest is still worth showing.
    let spent = poster.control.logs(thread, &["settled"]).await.ok();
    let spent = spent.map(|lines| {
        let costs = lines.iter().map(|line| match &line.entry.record {
            Record::Settled { cost, .. } => *cost,
            _ => Usd::ZERO,
        });
        costs.sum()
    });
    let text = drawn(progress, spent);
    let message = if let Some(message) = message {
        message.clone()
    } else {
        let research = research.as_deref().map(|id| format!("-{id}"));
        let research = research.unwrap_or_default();
        let key = format!("{}-{}{research}{KEY}", thread.short(), poster.role);
        let key = Idem::new(key);
        poster.say(thread, key, &text, Vec::new()).await?.ts
    };
    poster.edit(thread, &message, &text).await?;
    Ok(message)
}

/// The message.
fn drawn(progress: &Progress, spent: Option<Usd>) -> String {
    let settled = |(sign, _): &&(Sign, String)| matches!(sign, Sign::Done | Sign::Dropped);
    let done = progress.steps.iter().filter(settled).count();
    let took = took(progress.moved_ms - progress.began_ms);
    let spent = spent.map_or_else(String::new, |spent| format!(" · {spent} in this thread"));
    let mut text = format!("**{done} of {}** · {took}{spent}", progress.steps.len());
    for (sign, step) in &progress.steps {
        let mark = match sign {
            Sign::Open => "☐",
            Sign::Doing => "▶",
            Sign::Done => "☑",
            Sign::Dropped => "✕",
        };
        let mut line: String = step.chars().take(STEP).collect();
        if line.len() < step.len() {
            line.push('…');
        }
        text.push_str(&format!("\n{mark} {line}"));
    }
    text
}

fn took(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => "under a minute".to_owned(),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_how_far_how_long_and_how_much() {
        let mut progress = Progress::default();
        progress.steps = vec![
            (Sign::Done, "add the flag".to_owned()),
            (Sign::Dropped, "rename the file".to_owned()),
            (Sign::Doing, "test it".to_owned()),
            (Sign::Open, "x".repeat(500)),
        ];
        progress.began_ms = 1_000;
        progress.moved_ms = 30_000;
        let text = drawn(&progress, Some(Usd::from_cents(18)));
        let begins = "**2 of 4** · under a minute · $0.18 in this thread\n\
             ☑ add the flag\n✕ rename the file\n▶ test it\n☐ xxx";
        assert!(text.starts_with(begins), "{text}");
        assert!(text.ends_with("x…") && text.len() < 400, "{text}");
        progress.moved_ms = 12 * 60_000;
        assert!(drawn(&progress, None).starts_with("**2 of 4** · 11 min\n"));
        progress.moved_ms = 125 * 60_000;
        assert!(drawn(&progress, None).starts_with("**2 of 4** · 2 h 4 min\n"));
    }
}
