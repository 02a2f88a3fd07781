//! This machine's clock, against that of a server that answers: a clock that is off
//! makes Slack and git mistrust what was said when.

use std::{path::Path, time::Duration};

use jiff::{Timestamp, fmt::rfc2822};

use crate::commands::setup::doctor::{Finding, Place};
use crate::{process, wiring};

const NAME: &str = "clock";
const PATIENCE: Duration = Duration::from_secs(5);
/// More than an answer takes.
const TOLERANCE: i64 = 60;

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let now = Timestamp::now();
    let shown = now.strftime("%Y-%m-%d %H:%M UTC").to_string();
    vec![match theirs(place) {
        Some(theirs) => judge(now, theirs, shown),
        None => Finding::ok(NAME, format!("{shown}, compared with nobody's")),
    }]
}

fn judge(now: Timestamp, theirs: Timestamp, shown: String) -> Finding {
    let off = now.as_second() - theirs.as_second();
    if off.abs() <= TOLERANCE {
        return Finding::ok(NAME, shown);
    }
    let way = if off > 0 { "ahead of" } else { "behind" };
    Finding::warning(
        NAME,
        format!("{shown}, {} s {way} the model endpoint", off.abs()),
        "set the clock, or let the system do it: `timedatectl set-ntp true`",
    )
}

/// What the first model endpoint that answers thinks the time is.
fn theirs(place: &Place) -> Option<Timestamp> {
    let settings = place.settings.as_ref()?;
    let endpoints = wiring::roles_by_endpoint(&settings.machine);
    let asked = process::run_on_one_thread(async |_| {
        let ca_file = settings.machine.network.ca_file.as_deref();
        let Ok(tls) = butler_tls::config(ca_file.map(Path::new)) else {
            return Ok(None);
        };
        let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
        let Ok(client) = client.timeout(PATIENCE).build() else {
            return Ok(None);
        };
        for (endpoint, _) in endpoints.values() {
            // Whatever it says, it says when; it gets no key.
            let Ok(answer) = client.head(&endpoint.base_url).send().await else {
                continue;
            };
            let date = answer.headers().get("date");
            let date = date.and_then(|date| date.to_str().ok());
            if let Some(date) = date.and_then(|date| rfc2822::parse(date).ok()) {
                return Ok(Some(date.timestamp()));
            }
        }
        Ok(None)
    });
    asked.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::setup::doctor::Level;

    #[test]
    fn a_clock_that_is_minutes_off_is_a_warning() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        for (theirs, level) in [
            ("2026-11-16T12:00:30Z", Level::Ok),
            ("2026-11-16T12:05:00Z", Level::Warning),
            ("2026-11-16T11:00:00Z", Level::Warning),
        ] {
            let found = judge(now, theirs.parse().unwrap(), String::new());
            assert_eq!(found.level, level, "{found:?}");
        }
        rfc2822::parse("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
    }
}
