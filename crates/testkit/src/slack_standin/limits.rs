//! Who is told to wait: a window of a minute per method, and a pause between
//! two posts to one channel.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

/// What is answered with 429.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Calls per minute of the methods of tiers 1 to 4.
    pub tiers: [usize; 4],
    /// Between two posts to one channel, after a short burst.
    pub spacing: Duration,
    /// How many posts may come at once.
    pub burst: usize,
    /// What `Retry-After` says, in seconds.
    pub retry_after: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tiers: [10, 20, 50, 100],
            spacing: Duration::from_secs(1),
            burst: 3,
            retry_after: 1,
        }
    }
}

impl Limits {
    /// Nobody is told to wait.
    #[must_use]
    pub fn none() -> Self {
        Self {
            tiers: [usize::MAX; 4],
            spacing: Duration::ZERO,
            ..Self::default()
        }
    }
}

/// When which method was called.
#[derive(Debug, Default)]
pub(super) struct Meter {
    calls: HashMap<String, VecDeque<Instant>>,
}

impl Meter {
    /// Whether a call is within the limits; a refused one does not count.
    pub(super) fn admits(&mut self, limits: &Limits, method: &str, channel: Option<&str>) -> bool {
        let now = Instant::now();
        let (key, most, window) = match (method, channel) {
            ("chat.postMessage", Some(channel)) => {
                if limits.spacing.is_zero() {
                    return true;
                }
                let burst = u32::try_from(limits.burst).unwrap_or(1);
                (
                    format!("post {channel}"),
                    limits.burst,
                    limits.spacing * burst,
                )
            }
            _ => match tier(method) {
                Some(tier) => (
                    method.to_owned(),
                    limits.tiers[tier - 1],
                    Duration::from_secs(60),
                ),
                None => return true,
            },
        };
        let past = self.calls.entry(key).or_default();
        while past
            .front()
            .is_some_and(|at| now.duration_since(*at) >= window)
        {
            past.pop_front();
        }
        if past.len() >= most {
            return false;
        }
        past.push_back(now);
        true
    }
}

fn tier(method: &str) -> Option<usize> {
    Some(match method {
        "apps.connections.open" => 1,
        "conversations.list"
        | "conversations.create"
        | "reactions.remove"
        | "users.list"
        | "usergroups.users.list" => 2,
        "chat.update"
        | "chat.delete"
        | "conversations.history"
        | "conversations.replies"
        | "conversations.info"
        | "conversations.join"
        | "reactions.add"
        | "reactions.get"
        | "bots.info"
        | "team.info" => 3,
        "conversations.members"
        | "users.info"
        | "files.info"
        | "files.getUploadURLExternal"
        | "files.completeUploadExternal"
        | "chat.postEphemeral" => 4,
        _ => return None,
    })
}
