//! Calls to Slack, each in its turn. "Too many" is waited out here; nobody above
//! hears of it.

use std::time::Duration;

use butler_slack::{Answered, SlackError, Web};
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tracing::debug;

use crate::error::Trouble;
use crate::relay::send::pace::{Pace, Pacer};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a call that may be repeated is repeated. Below the patience of an
/// agent's own client, which then asks again.
const PATIENCE: Duration = Duration::from_secs(40);

/// Slack, at its own pace.
pub(crate) struct Upstream {
    pub(crate) web: Web,
    pacer: Pacer,
}

impl Upstream {
    pub(crate) fn new(web: Web, pace: Pace) -> Self {
        Self {
            web,
            pacer: Pacer::new(pace),
        }
    }

    /// Makes a call once it is its turn, and again only when Slack said that it
    /// was not carried out ("too many").
    pub(crate) async fn once(
        &self,
        method: &str,
        channel: Option<&str>,
        args: &Value,
    ) -> Result<Answered, SlackError> {
        loop {
            self.pacer.turn(method, channel).await;
            match self.web.attempt(method, args.clone()).await {
                Err(SlackError::RateLimited { after, .. }) => {
                    debug!(method, wait_s = after.as_secs(), "Slack wants a pause");
                    self.pacer.pause(method, channel, after);
                }
                other => return other,
            }
        }
    }

    /// Makes a call that may be repeated, until it is answered or our patience
    /// is at its end.
    pub(crate) async fn call(
        &self,
        method: &str,
        channel: Option<&str>,
        args: &Value,
    ) -> Result<Value, SlackError> {
        let give_up = Instant::now() + PATIENCE;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.once(method, channel, args).await {
                Ok(answered) => return Ok(answered.body),
                Err(error) if repeatable(&error) && Instant::now() + pause < give_up => {
                    debug!(method, %error, "Slack does not answer yet");
                    sleep(jittered(pause)).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether the call has no verdict yet.
pub(crate) fn repeatable(error: &SlackError) -> bool {
    error.is_unclear() || matches!(error, SlackError::Unreachable { .. })
}

/// Between half of the pause and all of it: two hubs that fell together do not
/// come back together, and nobody spins.
pub(crate) fn jittered(pause: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    let half = millis / 2;
    Duration::from_millis(half + RandomState::new().hash_one(0u8) % (half + 1))
}

/// What the agent that asked is told.
impl From<SlackError> for Trouble {
    fn from(error: SlackError) -> Self {
        if repeatable(&error) {
            debug!(%error, "a call is put off");
            return Trouble::Away;
        }
        let code = error.code().unwrap_or_default();
        match KNOWN.iter().find(|known| **known == code) {
            Some(known) => Trouble::Refused(known),
            None => {
                tracing::warn!(%error, "Slack refused a call");
                Trouble::Refused("fatal_error")
            }
        }
    }
}

/// Slack's refusals that are passed on by name.
const KNOWN: &[&str] = &[
    "account_inactive",
    "already_reacted",
    "cannot_reply_to_message",
    "cant_delete_message",
    "cant_update_message",
    "channel_not_found",
    "edit_window_closed",
    "file_not_found",
    "file_uploads_disabled",
    "invalid_auth",
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_metadata_format",
    "invalid_name",
    "is_archived",
    "message_limit_exceeded",
    "message_not_found",
    "metadata_too_large",
    "missing_scope",
    "msg_blocks_too_long",
    "msg_blocks_too_many",
    "msg_too_long",
    "name_taken",
    "no_reaction",
    "no_text",
    "not_allowed_token_type",
    "not_authed",
    "not_in_channel",
    "not_reactable",
    "restricted_action",
    "storage_limit_reached",
    "thread_not_found",
    "token_expired",
    "token_revoked",
    "too_many_emoji",
    "too_many_reactions",
    "user_not_found",
    "user_not_in_channel",
];
