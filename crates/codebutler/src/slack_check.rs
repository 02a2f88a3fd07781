//! A Slack app seen from the command line: are its tokens what they should be, does it
//! have its scopes, can it listen, which channels are there. Used by `init`, `slack
//! setup`, `slack check` and `doctor`; the hub asks again itself.

use std::{path::PathBuf, time::Duration};

use butler_config::{Machine, SlackTokens};
use butler_hub::missing_scopes;
use butler_protocol::Secret;
use butler_slack::{Answered, Ended, Hearing, SlackError, Socket, Web, Workspace};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{CliError, process};

/// Where Slack is.
const SLACK: &str = "https://slack.com/";
/// So long the first word over the socket is waited for.
const FIRST_WORD: Duration = Duration::from_secs(15);
/// After so many tries in a row it is called blocked.
const TRIES: u32 = 2;

/// Both tokens of an app, and where they are shown.
#[derive(Debug, Clone)]
pub(crate) struct AppTokens {
    /// The bot token.
    pub bot: Secret,
    /// The app-level token.
    pub app: Secret,
    /// Slack's address.
    pub base: Url,
    /// Certificates to trust besides the usual ones.
    pub ca_file: Option<PathBuf>,
}

/// The tokens of a configuration; none when there are none, and a mistake when
/// there is one of the two.
pub(crate) fn tokens(machine: &Machine) -> Result<Option<AppTokens>, CliError> {
    let lacks = |key: &str, what: &str| {
        Err(CliError::user(format!(
            "slack.{key} is missing in ~/.codebutler/config.json"
        ))
        .hint(what))
    };
    let SlackTokens {
        bot_token,
        app_token,
        ..
    } = &machine.slack;
    let (bot, app) = match (bot_token, app_token) {
        (None, None) => return Ok(None),
        (None, Some(_)) => {
            return lacks(
                "botToken",
                "the bot token stands under \"OAuth & Permissions\"",
            );
        }
        (Some(_), None) => {
            return lacks(
                "appToken",
                "make one under \"Basic Information\", \"App-Level Tokens\", with connections:write",
            );
        }
        (Some(bot), Some(app)) => (bot.clone(), app.clone()),
    };
    Ok(Some(AppTokens {
        bot,
        app,
        base: workspace(machine)?.base,
        ca_file: machine.network.ca_file.clone().map(PathBuf::from),
    }))
}

/// Where this machine finds Slack.
pub(crate) fn workspace(machine: &Machine) -> Result<Workspace, CliError> {
    let base = machine.slack.api_url.as_deref().unwrap_or(SLACK);
    let base = Url::parse(base)
        .map_err(|error| CliError::user(format!("slack.apiUrl, {base}: {error}")))?;
    let ca_file = machine.network.ca_file.clone().map(PathBuf::from);
    Ok(Workspace::with_file(base, ca_file))
}

/// Why an app is not in order.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// Slack could not be asked.
    #[error("Slack does not answer: {0}")]
    Unreachable(String),
    /// What was given is another kind of token.
    #[error("{0}")]
    Kind(&'static str),
    /// The bot token is not accepted.
    #[error("the bot token is not accepted: {0}")]
    Bot(SlackError),
    /// The app-level token is not accepted, or Socket Mode is off.
    #[error("{0}")]
    App(Ended),
    /// Slack says no to something else.
    #[error("{0}")]
    Refused(SlackError),
}

/// What Slack says about an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    /// The workspace's name.
    pub team: String,
    /// Its address, `https://…slack.com/`.
    pub url: String,
    /// Scopes that it lacks.
    pub missing: Vec<&'static str>,
}

/// Calls Slack with one token, from ordinary code.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    web: Web,
}

impl Caller {
    pub(crate) fn new(workspace: &Workspace, token: &Secret) -> Result<Self, Fault> {
        let web = Web::at(workspace, token.clone()).map_err(Fault::Refused)?;
        Ok(Self { web })
    }

    /// One call, tried once.
    pub(crate) fn call(&self, method: &str, args: Value) -> Result<Value, SlackError> {
        attempt(&self.web, method, args).map(|answered| answered.body)
    }

    /// Everything of a listing.
    pub(crate) fn all(
        &self,
        method: &str,
        field: &str,
        mut args: Value,
    ) -> Result<Vec<Value>, SlackError> {
        let mut found = Vec::new();
        loop {
            let page = self.call(method, args.clone())?;
            found.extend(page[field].as_array().into_iter().flatten().cloned());
            match page["response_metadata"]["next_cursor"].as_str() {
                Some(next) if !next.is_empty() && args["cursor"] != json!(next) => {
                    args["cursor"] = json!(next);
                }
                _ => return Ok(found),
            }
        }
    }
}

/// Shows both tokens to Slack.
pub(crate) fn ask(tokens: &AppTokens) -> Result<Status, Fault> {
    let workspace = Workspace::with_file(tokens.base.clone(), tokens.ca_file.clone());
    let status = bot(&workspace, &tokens.bot)?;
    app(&workspace, &tokens.app)?;
    Ok(status)
}

/// The bot token: its kind, whether it is accepted, which scopes are missing.
pub(crate) fn bot(workspace: &Workspace, token: &Secret) -> Result<Status, Fault> {
    if token.expose().starts_with("xapp-") {
        let swapped = "that is the app-level token; the bot token begins with xoxb-";
        return Err(Fault::Kind(swapped));
    }
    if !token.expose().starts_with("xoxb-") {
        return Err(Fault::Kind("a bot token begins with xoxb-"));
    }
    let web = Web::at(workspace, token.clone()).map_err(Fault::Refused)?;
    let answered = attempt(&web, "auth.test", json!({})).map_err(|error| match error {
        error if away(&error) => Fault::Unreachable(error.whole()),
        error => Fault::Bot(error),
    })?;
    let text = |name: &str| answered.body[name].as_str().unwrap_or_default().to_owned();
    Ok(Status {
        team: text("team"),
        url: text("url"),
        missing: missing_scopes(&answered.scopes),
    })
}

/// The app-level token: its kind, and whether a word comes over the socket.
pub(crate) fn app(workspace: &Workspace, token: &Secret) -> Result<(), Fault> {
    if token.expose().starts_with("xoxb-") {
        let swapped = "that is the bot token; the app-level token begins with xapp-";
        return Err(Fault::Kind(swapped));
    }
    if !token.expose().starts_with("xapp-") {
        return Err(Fault::Kind("an app-level token begins with xapp-"));
    }
    let heard = async {
        let cancel = CancellationToken::new();
        let socket = Socket::start(workspace, token.clone(), cancel).map_err(Fault::Refused)?;
        let mut hearing = socket.hearing();
        let said = |hearing: &Hearing| match hearing {
            Hearing::Reconnecting { tries, .. } => *tries >= TRIES,
            _ => true,
        };
        // Whatever it is by then.
        let _ = tokio::time::timeout(FIRST_WORD, hearing.wait_for(said)).await;
        let last = hearing.borrow().clone();
        socket.close().await;
        match last {
            Hearing::Connected { .. } => Ok(()),
            Hearing::Ended(ended) => Err(Fault::App(ended)),
            Hearing::Reconnecting { why, .. } => Err(Fault::Unreachable(format!(
                "no WebSocket: {}; HTTPS_PROXY and network.caFile are used",
                why.unwrap_or_else(|| "nothing came".to_owned())
            ))),
        }
    };
    process::wait_for(heard).unwrap_or_else(|error| Err(Fault::Unreachable(error.to_string())))
}

/// Whether Slack said nothing at all.
pub(crate) fn away(error: &SlackError) -> bool {
    matches!(
        error,
        SlackError::Unreachable { .. } | SlackError::Answer { .. } | SlackError::RateLimited { .. }
    )
}

/// One call, tried once.
fn attempt(web: &Web, method: &str, args: Value) -> Result<Answered, SlackError> {
    process::wait_for(web.attempt(method, args)).unwrap_or_else(|error| {
        Err(SlackError::Answer {
            method: method.to_owned(),
            detail: error.to_string(),
        })
    })
}
