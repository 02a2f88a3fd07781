//! "Coder: running cargo test…" below a thread while somebody works there. Slack keeps
//! such a line for two minutes, or until the next message of the thread; it is no
//! message, rings nowhere, and a workspace without it is not asked twice.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use butler_protocol::Role;
use serde_json::json;
use tracing::debug;

use crate::{
    error::Result,
    hub::App,
    relay::{Relay, send::upstream::repeatable},
    store::{Db, Known},
};

/// Shown again before Slack takes it away.
const AGAIN_MS: i64 = 90_000;
/// A line that changes faster than this cannot be read.
const CALM_MS: i64 = 8_000;

/// A thread in which somebody works.
type Place = (String, String);

/// What was shown last, where and when.
#[derive(Debug, Default)]
pub(crate) struct Working(Mutex<Shown>);

#[derive(Debug, Default)]
struct Shown {
    lines: HashMap<Place, (String, i64)>,
    /// Slack knows no such lines.
    refused: bool,
}

struct Job {
    place: Place,
    role: Role,
    line: String,
}

/// Shows who works on what, where that is new.
pub(crate) async fn show(app: &Arc<App>, relay: &Arc<Relay>) -> Result<()> {
    let jobs = app.read(jobs).await?;
    let now = app.store.now_ms();
    for job in due(&relay.working, jobs, now) {
        let (channel, root) = &job.place;
        let args = json!({"channel_id": channel, "thread_ts": root, "status": job.line,
            "username": format!("codebutler.{}", job.role)});
        let shown = relay
            .upstream
            .once("assistant.threads.setStatus", &args)
            .await;
        if let Err(error) = shown
            && !repeatable(&error)
        {
            debug!(%error, "Slack shows no line about who works");
            relay.working.lock().refused = true;
        }
    }
    Ok(())
}

impl Working {
    fn lock(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is to be shown now; it counts as shown from here on.
fn due(working: &Working, jobs: Vec<Job>, now_ms: i64) -> Vec<Job> {
    let mut shown = working.lock();
    if shown.refused {
        return Vec::new();
    }
    shown
        .lines
        .retain(|place, _| jobs.iter().any(|job| job.place == *place));
    let mut found = Vec::new();
    for job in jobs {
        let wanted = match shown.lines.get(&job.place) {
            None => true,
            Some((line, at)) if *line == job.line => now_ms - at >= AGAIN_MS,
            Some((_, at)) => now_ms - at >= CALM_MS,
        };
        if wanted {
            let line = (job.line.clone(), now_ms);
            shown.lines.insert(job.place.clone(), line);
            found.push(job);
        }
    }
    found
}

/// Who works where, one per thread: who began last.
fn jobs(db: &Db) -> Result<Vec<Job>> {
    let rows = db.rows::<(Place, Known<Role>, Option<String>)>(
        "SELECT channel, root, role, step FROM (SELECT channel, root, role, step,
         row_number() OVER (PARTITION BY channel, root ORDER BY since_ms DESC, role) AS place
         FROM activity WHERE state = 'working' AND ?1 - heard_ms <= lease_ms) newest
         WHERE place = 1 ORDER BY channel, root",
        [db.now_ms()],
    )?;
    let job = |(place, Known(role), step): (Place, Known<Role>, Option<String>)| {
        let role = role?;
        let step = step.unwrap_or_else(|| "at work".to_owned());
        let line = format!("{}: {step}…", role.title());
        let line = line.chars().take(100).collect();
        Some(Job { place, role, line })
    };
    Ok(rows.into_iter().filter_map(job).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_when_it_is_new_calm_or_about_to_go() {
        let working = Working::default();
        let job = |line: &str| {
            vec![Job {
                place: ("C1".to_owned(), "1.0".to_owned()),
                role: Role::Coder,
                line: line.to_owned(),
            }]
        };
        let shown = |line: &str, now| due(&working, job(line), now).len();
        assert_eq!(shown("reading", 0), 1);
        assert_eq!(shown("reading", 2_000), 0, "known");
        assert_eq!(shown("testing", 4_000), 0, "too fast to be read");
        assert_eq!(shown("testing", 9_000), 1);
        assert_eq!(shown("testing", 100_000), 1, "before Slack takes it away");
        assert!(due(&working, Vec::new(), 101_000).is_empty());
        assert_eq!(shown("testing", 102_000), 1, "another stretch of work");
        working.lock().refused = true;
        assert_eq!(shown("writing", 200_000), 0);
    }
}
