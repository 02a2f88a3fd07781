//! The Slack app, when there is one: tokens and scopes.

use butler_config::Settings;

use crate::commands::setup::doctor::{Finding, Place};
use crate::{
    commands::environment,
    slack_check::{self, Fault, Status},
};

const NAME: &str = "slack";

pub(crate) fn examine(_: &Place) -> Vec<Finding> {
    // A file that cannot be read is another probe's finding.
    let Ok((machine, _)) = Settings::machine(&environment) else {
        return Vec::new();
    };
    let tokens = match slack_check::tokens(&machine.slack) {
        Ok(Some(tokens)) => tokens,
        Ok(None) => {
            let what = "no tokens; the built-in workspace is used";
            return vec![Finding::ok(NAME, what)];
        }
        Err(error) => {
            let fix = "`codebutler init --slack` asks for both tokens";
            return vec![Finding::failed(NAME, error.plain(), fix)];
        }
    };
    vec![match slack_check::ask(&tokens) {
        Ok(Status { team, missing }) if missing.is_empty() => {
            Finding::ok(NAME, format!("the app is installed in {team}"))
        }
        Ok(Status { team, missing }) => Finding::failed(
            NAME,
            format!("the app in {team} lacks {}", missing.join(", ")),
            "add them under \"OAuth & Permissions\" and install the app again",
        ),
        Err(fault @ Fault::Unreachable(_)) => Finding::warning(
            NAME,
            fault.to_string(),
            "check the network; the hub goes on as soon as Slack answers",
        ),
        Err(fault) => Finding::failed(
            NAME,
            fault.to_string(),
            "`codebutler init --slack` asks for new tokens",
        ),
    }]
}
