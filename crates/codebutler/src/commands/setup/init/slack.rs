//! The tokens of a Slack app, taken from the environment or asked for, and shown
//! to Slack before anything is written.

use butler_config::{Machine, SlackTokens};
use butler_protocol::Secret;

use crate::commands::setup::init::ask::secret;
use crate::{
    commands::environment,
    error::CliError,
    slack_check::{self, AppTokens, Fault, Status},
    ui::Ui,
};

/// Where the tokens are looked for, and what is asked when they are not there.
const BOT: (&str, &str) = (
    "SLACK_BOT_TOKEN",
    "Bot token (xoxb-…, under \"OAuth & Permissions\"):",
);
const APP: (&str, &str) = (
    "SLACK_APP_TOKEN",
    "App-level token (xapp-…, with connections:write):",
);

/// Both tokens, once Slack has accepted them.
pub(crate) fn collect(machine: &Machine, ask: bool, ui: &Ui) -> Result<AppTokens, CliError> {
    let given = SlackTokens {
        bot_token: Some(token(BOT, ask)?),
        app_token: Some(token(APP, ask)?),
        api_url: machine.slack.api_url.clone(),
    };
    let tokens =
        slack_check::tokens(&given)?.ok_or_else(|| CliError::user("no Slack tokens were given"))?;
    match slack_check::ask(&tokens) {
        Ok(Status { team, missing }) => {
            ui.note(format_args!("Slack accepts the tokens for {team}"));
            if !missing.is_empty() {
                ui.note(format_args!(
                    "the app lacks {}; add these scopes and install it again",
                    missing.join(", ")
                ));
            }
        }
        Err(fault @ Fault::Unreachable(_)) => {
            ui.note(format_args!("{fault}; the tokens are kept unchecked"));
        }
        Err(fault) => {
            return Err(CliError::user(fault)
                .hint("make the app from `codebutler slack manifest`; nothing was written"));
        }
    }
    Ok(tokens)
}

fn token((variable, question): (&str, &str), ask: bool) -> Result<Secret, CliError> {
    match environment(variable).filter(|token| !token.is_empty()) {
        Some(token) => Ok(Secret::new(token)),
        None if ask => secret(question)?.ok_or_else(|| CliError::user("no token was given")),
        None => Err(
            CliError::user(format!("the environment variable {variable} is not set"))
                .hint("make the app from `codebutler slack manifest`"),
        ),
    }
}
