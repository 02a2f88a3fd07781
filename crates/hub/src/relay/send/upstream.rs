//! Calls to Slack, each in its turn. "Too many" is waited out here; nobody above
//! hears of it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use butler_slack::{Answered, SlackError, Web};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tracing::{debug, error};

use crate::{
    error::{Refusal, Trouble},
    hub::Ownership,
    relay::{
        scopes,
        send::pace::{Pace, Pacer},
    },
};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// In place of an answer of Slack, which was not asked.
const NOT_OWNER: &str = "not_the_owner";
/// How long a call that may be repeated is repeated. Below the patience of an
/// agent's own client, which then asks again.
const PATIENCE: Duration = Duration::from_secs(40);

/// Slack, at its own pace.
pub(crate) struct Upstream {
    pub(crate) web: Web,
    pacer: Pacer,
    /// Only the owner asks Slack: its pace is the app's.
    ownership: Ownership,
    /// The name under which Slack refuses the token, while it does.
    refused: Mutex<Option<String>>,
    /// What the app may do, as Slack said last.
    scopes: Mutex<Vec<String>>,
}

impl Upstream {
    pub(crate) fn new(web: Web, pace: Pace, ownership: Ownership) -> Self {
        Self {
            web,
            ownership,
            pacer: Pacer::new(pace),
            refused: Mutex::default(),
            scopes: Mutex::default(),
        }
    }

    /// Asked by every hub, because each must know who it is.
    pub(crate) async fn who_are_we(&self) -> Result<Answered, SlackError> {
        let answered = self.web.attempt("auth.test", Value::Null).await;
        self.note(&answered);
        answered
    }

    /// Makes a call once it is its turn, and again only when Slack said that it
    /// was not carried out ("too many"). Nothing is sent once this hub cannot be sure to
    /// be the owner.
    pub(crate) async fn once(&self, method: &str, args: &Value) -> Result<Answered, SlackError> {
        let channel = args["channel"].as_str();
        loop {
            self.pacer.turn(method, channel).await;
            let attempt = self.web.attempt(method, args.clone());
            let Some(outcome) = self.ownership.while_sure(attempt).await else {
                return Err(SlackError::Api {
                    method: method.to_owned(),
                    code: NOT_OWNER.to_owned(),
                });
            };
            match outcome {
                Err(SlackError::RateLimited { after, .. }) => {
                    debug!(method, wait_s = after.as_secs(), "Slack wants a pause");
                    self.pacer.pause(method, channel, after);
                }
                other => {
                    self.note(&other);
                    return other;
                }
            }
        }
    }

    /// Under which name Slack refuses the token, if it does.
    pub(crate) fn refused(&self) -> Option<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.clone()
    }

    /// The scopes that the app lacks; none while Slack has not said.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        match scopes.is_empty() {
            true => Vec::new(),
            false => scopes::missing(&scopes),
        }
    }

    fn note(&self, outcome: &Result<Answered, SlackError>) {
        let code = match outcome {
            Ok(answered) => {
                if !answered.scopes.is_empty() {
                    let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
                    scopes.clone_from(&answered.scopes);
                }
                None
            }
            Err(error) if error.is_final() => error.code().map(str::to_owned),
            Err(_) => return,
        };
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Some(code)) = (refused.as_ref(), &code) {
            error!(
                "Slack does not accept the bot token any more ({code}); `codebutler slack setup` asks for new ones"
            );
        }
        *refused = code;
    }

    /// Makes a call that may be repeated, until it is answered or our patience
    /// is at its end.
    pub(crate) async fn call(&self, method: &str, args: &Value) -> Result<Value, SlackError> {
        let give_up = Instant::now() + PATIENCE;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.once(method, args).await {
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

/// What reads a thread from its root, or a channel where no thread is named.
pub(crate) fn reader_of(root: Option<&str>, args: &mut Value) -> &'static str {
    match root {
        Some(root) => {
            args["ts"] = json!(root);
            "conversations.replies"
        }
        None => "conversations.history",
    }
}

/// The messages that Slack answered with.
pub(crate) fn messages(page: &Value) -> impl Iterator<Item = &Value> {
    page["messages"].as_array().into_iter().flatten()
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
        if error.code() == Some(NOT_OWNER) {
            return Trouble::NotOwner;
        }
        if repeatable(&error) {
            debug!(%error, "a call is put off");
            return Trouble::Away;
        }
        match error.refusal() {
            Some(known) => Trouble::Refused(known),
            None => {
                tracing::warn!(%error, "Slack refused a call");
                Trouble::Refused(Refusal::FatalError)
            }
        }
    }
}
