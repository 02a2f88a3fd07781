//! The Slack app, when there is one: tokens and scopes.

use butler_config::Settings;

use crate::commands::setup::{
    doctor::{Finding, Place},
    slack::{running, troubles},
};
use crate::{
    commands::environment,
    slack_check::{self, Fault, Status},
};

const NAME: &str = "slack";

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    // A file that cannot be read is another probe's finding.
    let Ok((machine, _)) = Settings::machine(&environment) else {
        return Vec::new();
    };
    let tokens = match slack_check::tokens(&machine) {
        Ok(Some(tokens)) => tokens,
        Ok(None) => {
            let what = "no tokens; the built-in workspace is used";
            return vec![Finding::ok(NAME, what)];
        }
        Err(error) => {
            let fix = "`codebutler slack setup` asks for both tokens";
            return vec![Finding::failed(NAME, error.plain(), fix)];
        }
    };
    let mut found = vec![match slack_check::ask(&tokens) {
        Ok(Status { team, missing, .. }) if missing.is_empty() => {
            Finding::ok(NAME, format!("the app is installed in {team}"))
        }
        Ok(Status { team, missing, .. }) => Finding::failed(
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
            "`codebutler slack setup` asks for new tokens",
        ),
    }];
    found.extend(team(place));
    found
}

/// What the team that runs says itself.
fn team(place: &Place) -> Option<Finding> {
    const TEAM: &str = "slack, the team";
    Some(match running(place.settings.as_ref()?) {
        Ok(None) => return None,
        Ok(Some(status)) if status.is_null() => Finding::warning(
            TEAM,
            "the hub that runs was started without Slack".to_owned(),
            "`codebutler restart`, or end `codebutler up` and start it again",
        ),
        Ok(Some(status)) => match troubles(&status).as_slice() {
            [] => Finding::ok(TEAM, "what people say in Slack arrives"),
            troubles => Finding::failed(
                TEAM,
                troubles.join("; "),
                "`codebutler slack check` says more",
            ),
        },
        Err(error) => Finding::warning(TEAM, error.plain(), "`codebutler status` shows the hub"),
    })
}
