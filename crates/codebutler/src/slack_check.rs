//! Whether a Slack app is in order: its tokens, and the scopes it was installed
//! with. Used by `init`, `doctor` and `slack check`; the hub asks again itself.

use butler_config::SlackTokens;
use butler_hub::missing_scopes;
use butler_protocol::Secret;
use butler_slack::{SharedEpoch, SlackError, Web};
use serde_json::json;
use url::Url;

use crate::error::CliError;

/// Where Slack is.
const SLACK: &str = "https://slack.com/";

/// Both tokens of an app, and where they are shown.
#[derive(Debug, Clone)]
pub(crate) struct AppTokens {
    /// The bot token.
    pub bot: Secret,
    /// The app-level token.
    pub app: Secret,
    /// Slack's address.
    pub base: Url,
}

/// The tokens of a configuration; none when there are none, and a mistake when
/// there is one of the two.
pub(crate) fn tokens(given: &SlackTokens) -> Result<Option<AppTokens>, CliError> {
    let lacks = |key: &str, what: &str| {
        Err(CliError::user(format!(
            "slack.{key} is missing in ~/.codebutler/config.json"
        ))
        .hint(what))
    };
    let (bot, app) = match (&given.bot_token, &given.app_token) {
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
    let base = given.api_url.as_deref().unwrap_or(SLACK);
    let base = Url::parse(base)
        .map_err(|error| CliError::user(format!("slack.apiUrl, {base}: {error}")))?;
    Ok(Some(AppTokens { bot, app, base }))
}

/// What Slack says about an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    /// The workspace's name.
    pub team: String,
    /// Scopes that it lacks.
    pub missing: Vec<&'static str>,
}

/// Why an app is not in order.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// Slack could not be asked.
    #[error("Slack does not answer: {0}")]
    Unreachable(SlackError),
    /// The bot token is not accepted.
    #[error("the bot token is not accepted: {0}")]
    Bot(SlackError),
    /// The app-level token is not accepted.
    #[error("the app-level token is not accepted: {0}")]
    App(SlackError),
}

/// Shows both tokens to Slack.
pub(crate) fn ask(tokens: &AppTokens) -> Result<Status, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(ask_now(tokens)),
        Err(error) => Err(Fault::Unreachable(SlackError::Answer {
            method: "auth.test".to_owned(),
            detail: error.to_string(),
        })),
    }
}

async fn ask_now(tokens: &AppTokens) -> Result<Status, Fault> {
    let sorted = |error: SlackError, fault: fn(SlackError) -> Fault| match error {
        SlackError::Unreachable { .. } | SlackError::Answer { .. } => Fault::Unreachable(error),
        SlackError::RateLimited { .. } => Fault::Unreachable(error),
        other => fault(other),
    };
    let web = |token: &Secret| Web::new(&tokens.base, token.clone(), SharedEpoch::default());
    let bot = web(&tokens.bot).map_err(Fault::Unreachable)?;
    let answered = bot.attempt("auth.test", json!({})).await;
    let answered = answered.map_err(|error| sorted(error, Fault::Bot))?;
    let app = web(&tokens.app).map_err(Fault::Unreachable)?;
    let opened = app.attempt("apps.connections.open", json!({})).await;
    opened.map_err(|error| sorted(error, Fault::App))?;
    Ok(Status {
        team: answered.body["team"].as_str().unwrap_or("Slack").to_owned(),
        missing: missing_scopes(&answered.scopes),
    })
}
