//! When the next call may be made. Slack counts per method and minute, and posts
//! per channel; six agents share what one app may ask. A call takes its turn
//! here, so that Slack hardly ever has to say "too many", and nobody else does.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

/// How fast Slack may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Calls per minute of a method in tier 1 to 4.
    pub per_minute: [u32; 4],
    /// Between two posts to one channel.
    pub spacing: Duration,
}

impl Default for Pace {
    /// What Slack documents; between posts a little more, because what leaves a
    /// second apart may arrive closer together.
    fn default() -> Self {
        Self {
            per_minute: [1, 20, 50, 100],
            spacing: Duration::from_millis(1_100),
        }
    }
}

impl Pace {
    /// The least time between two calls, and how much of it may be saved up. Of
    /// a minute's calls two fifths may come at once; the rest trickles, so that
    /// no window of a minute holds more than Slack allows.
    fn of(&self, method: &str) -> (Duration, Duration) {
        if method == "chat.postMessage" {
            return (self.spacing, Duration::ZERO);
        }
        let per_minute = self.per_minute[tier(method) - 1].max(1);
        let interval = Duration::from_secs(100) / per_minute;
        (interval, interval * (per_minute * 2 / 5))
    }
}

/// Slack's tiers; what is not listed is rare and counts as tier 3.
fn tier(method: &str) -> usize {
    match method {
        "conversations.list" | "conversations.create" | "reactions.remove" | "users.list" => 2,
        "users.info"
        | "files.info"
        | "files.getUploadURLExternal"
        | "files.completeUploadExternal"
        | "chat.postEphemeral"
        | "chat.getPermalink"
        | "auth.test" => 4,
        _ => 3,
    }
}

/// The queues, one per method, and one per channel for posts.
#[derive(Debug)]
pub(crate) struct Pacer {
    pace: Pace,
    /// When the calls that were let through will have been paid for.
    paid: Mutex<HashMap<String, Instant>>,
}

impl Pacer {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            pace,
            paid: Mutex::default(),
        }
    }

    /// Waits for this call's turn.
    pub(crate) async fn turn(&self, method: &str, channel: Option<&str>) {
        let at = self.book(&key(method, channel), method, Instant::now());
        sleep_until(at).await;
    }

    /// Takes the next free place.
    fn book(&self, key: &str, method: &str, now: Instant) -> Instant {
        let (interval, saved) = self.pace.of(method);
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        let due = paid.entry(key.to_owned()).or_insert(now);
        let place = (*due).max(now);
        *due = place + interval;
        place.checked_sub(saved).unwrap_or(now).max(now)
    }

    /// Slack wants a pause: nobody calls before it is over.
    pub(crate) fn pause(&self, method: &str, channel: Option<&str>, pause: Duration) {
        self.hold(method, channel, Instant::now() + pause);
    }

    fn hold(&self, method: &str, channel: Option<&str>, until: Instant) {
        let (_, saved) = self.pace.of(method);
        let until = until + saved;
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        let due = paid.entry(key(method, channel)).or_insert(until);
        *due = (*due).max(until);
    }
}

fn key(method: &str, channel: Option<&str>) -> String {
    match (method, channel) {
        ("chat.postMessage", Some(channel)) => format!("{method} {channel}"),
        _ => method.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::relay::send::pace::*;

    fn places(pacer: &Pacer, method: &str, calls: u32, now: Instant) -> Vec<Duration> {
        let book = |_| pacer.book(&key(method, Some("C1")), method, now);
        (0..calls).map(book).map(|at| at - now).collect()
    }

    #[test]
    fn posts_keep_their_distance_in_one_channel_and_not_in_two() {
        let pacer = Pacer::new(Pace::default());
        let now = Instant::now();
        let seconds: Vec<u64> = places(&pacer, "chat.postMessage", 4, now)
            .iter()
            .map(Duration::as_secs)
            .collect();
        assert_eq!(seconds, [0, 1, 2, 3]);
        let other = pacer.book(
            &key("chat.postMessage", Some("C2")),
            "chat.postMessage",
            now,
        );
        assert_eq!(other, now);
    }

    #[test]
    fn no_minute_holds_more_calls_than_slack_allows() {
        for (method, allowed) in [
            ("conversations.history", 50),
            ("reactions.remove", 20),
            ("users.info", 100),
        ] {
            let pacer = Pacer::new(Pace::default());
            let all = places(&pacer, method, 400, Instant::now());
            for (n, start) in all.iter().enumerate() {
                let end = *start + Duration::from_secs(60);
                let within = all[n..].iter().filter(|at| **at < end).count();
                assert!(within <= allowed, "{method}: {within} calls in a minute");
            }
            assert!(all[allowed * 2 / 5 - 1].is_zero(), "{method} has no burst");
        }
    }

    #[test]
    fn a_pause_holds_for_everybody_who_asks() {
        let pacer = Pacer::new(Pace::default());
        let now = Instant::now();
        let place = |method: &str| pacer.book(&key(method, None), method, now) - now;
        assert_eq!(place("chat.update"), Duration::ZERO);
        pacer.hold("chat.update", None, now + Duration::from_secs(30));
        assert!(place("chat.update") >= Duration::from_secs(30));
        assert_eq!(place("chat.delete"), Duration::ZERO);
    }
}
