//! The checklist as people see it: one message in the thread, edited as the list
//! moves. It says how far the work is, how long it took and what was spent. The
//! work never waits for it, it wakes nobody, and no other role is told of it.

use std::{
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_protocol::{Idem, MessageTs, Record, Role, RoleEntry, ThreadId, Usd};
use butler_slack::SlackError;
use butler_turn::{Progress, Sign};
use tokio::{sync::watch, task::JoinHandle};
use tracing::{debug, warn};

use crate::{
    develop::message,
    tell::{poster::Poster, render},
};

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

/// Whether a post is the checklist, or the message of a run: a picture of the work, no
/// part of it.
pub(crate) fn is_checklist(key: &Idem) -> bool {
    key.as_str().ends_with(KEY) || key.as_str().ends_with(message::KEY)
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
    let mut shown = None;
    let mut message = None;
    loop {
        let now = wanted.borrow_and_update().clone();
        let known = now.progress.shown.as_ref().map(|(ts, _)| ts.clone());
        message = message.or(known);
        if shown != Some(now.progress.moves) {
            match put(&now, message.as_ref()).await {
                Ok(ts) => {
                    shown = Some(now.progress.moves);
                    let record = Record::ChecklistShown {
                        message: ts.clone(),
                        moves: now.progress.moves,
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
    // Cosmetic: without the figures the rest is still worth showing.
    let kinds = ["activation_started", "activation_ended", "settled"];
    let told = poster.control.logs(thread, &kinds).await;
    let told = told.unwrap_or_default();
    let text = drawn(progress, took(&told, poster.role), spent(&told));
    let message = if let Some(message) = message {
        message.clone()
    } else {
        let research = research.as_deref().map(|id| format!("-{id}"));
        let research = research.unwrap_or_default();
        let key = format!("{}-{}{research}{KEY}", thread.short(), poster.role);
        let key = Idem::new(key);
        poster.say(thread, key, &text).await?.ts
    };
    poster.edit(thread, &message, &text).await?;
    Ok(message)
}

/// The message.
fn drawn(progress: &Progress, took_ms: i64, spent: Usd) -> String {
    let settled = |(sign, _): &&(Sign, String)| matches!(sign, Sign::Done | Sign::Dropped);
    let done = progress.steps.iter().filter(settled).count();
    let mut text = format!(
        "**{done} of {}** · {}",
        progress.steps.len(),
        minutes(took_ms)
    );
    // Where no price is known no amount is made up.
    if spent > Usd::ZERO {
        let _ = write!(text, " · {spent} in this thread");
    }
    for (sign, step) in &progress.steps {
        let mark = match sign {
            Sign::Open => "☐",
            Sign::Doing => "▶",
            Sign::Done => "☑",
            Sign::Dropped => "✕",
        };
        let line = render::cut(step, STEP);
        text.push_str(&format!("\n{mark} {line}"));
    }
    text
}

/// From the beginning of the role's last activation to the last that is known of it.
fn took(told: &[RoleEntry], role: Role) -> i64 {
    let own = || told.iter().filter(|line| line.role == role);
    let began = own().rfind(|line| {
        let record = &line.entry.record;
        matches!(record, Record::ActivationStarted { .. })
    });
    let last = own().map(|line| line.entry.at_ms).max();
    match (began, last) {
        (Some(began), Some(last)) => last - began.entry.at_ms,
        _ => 0,
    }
}

/// What all roles have spent in the thread.
fn spent(told: &[RoleEntry]) -> Usd {
    let costs = told.iter().map(|line| match &line.entry.record {
        Record::Settled { cost, .. } => *cost,
        _ => Usd::ZERO,
    });
    costs.sum()
}

fn minutes(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => "under a minute".to_owned(),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        let text = drawn(&progress, 29_000, Usd::from_cents(18));
        let begins = "**2 of 4** · under a minute · $0.18 in this thread\n\
             ☑ add the flag\n✕ rename the file\n▶ test it\n☐ xxx";
        assert!(text.starts_with(begins), "{text}");
        assert!(text.ends_with("x…") && text.len() < 400, "{text}");
        for (ms, told) in [
            (59_999, "under a minute"),
            (11 * 60_000, "11 min"),
            (124 * 60_000, "2 h 4 min"),
        ] {
            assert_eq!(minutes(ms), told);
        }
    }

    #[test]
    fn time_and_money_come_from_the_logs_of_the_thread() {
        let line = |role: Role, at_ms: i64, record: serde_json::Value| -> RoleEntry {
            let entry = json!({"seq": 1, "epoch": 1, "at_ms": at_ms, "record": record});
            serde_json::from_value(json!({"role": role, "entry": entry})).unwrap()
        };
        let paid = |nanos: i64| {
            json!({"t": "settled", "reserve": "r", "cost": nanos, "model": "m",
            "usage": {"input": 1, "output": 1}})
        };
        let began = |number: u32| json!({"t": "activation_started", "activation": number});
        let told = [
            line(Role::Pm, 1_000, began(1)),
            line(Role::Pm, 2_000, paid(30_000_000)),
            line(Role::Coder, 5_000, began(1)),
            line(Role::Coder, 70_000, began(2)),
            line(Role::Coder, 95_000, paid(70_000_000)),
            line(Role::Reviewer, 990_000, began(1)),
        ];
        assert_eq!(took(&told, Role::Coder), 25_000);
        assert_eq!(took(&told, Role::Lead), 0);
        assert_eq!(spent(&told), Usd::from_cents(10));
    }
}
