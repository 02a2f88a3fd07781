//! `codebutler slack`: the app that the team speaks through in Slack.

use butler_config::Settings;
use butler_hub::SCOPES;
use serde_json::{Value, json};

use crate::{
    commands::environment,
    error::CliError,
    exit::Exit,
    slack_check::{self, Status},
    ui::Ui,
};

/// Make a Slack app for the team, and see whether it is in order
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SlackCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SlackCommand {
    /// Print the manifest to make the app from, as JSON
    ///
    /// Paste it at https://api.slack.com/apps under "Create New App", "From a
    /// manifest". The app-level token is made by hand afterwards: "Basic
    /// Information", "App-Level Tokens", with the scope connections:write.
    Manifest,
    /// Show the configured tokens to Slack and name the scopes that are missing
    Check,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    match args.command {
        SlackCommand::Manifest => {
            ui.json_in_lines(manifest())?;
            Ok(Exit::Done)
        }
        SlackCommand::Check => check(ui),
    }
}

fn check(ui: &Ui) -> Result<Exit, CliError> {
    let (machine, _) = Settings::machine(&environment)?;
    let Some(tokens) = slack_check::tokens(&machine.slack)? else {
        return Err(CliError::user("no Slack tokens are configured")
            .hint("`codebutler init --slack` asks for them"));
    };
    let Status { team, missing } = slack_check::ask(&tokens).map_err(CliError::user)?;
    ui.line(format_args!("the app is installed in {team}"))?;
    if missing.is_empty() {
        return Ok(Exit::Done);
    }
    ui.line(format_args!(
        "missing scopes: {}; add them and install the app again",
        missing.join(", ")
    ))?;
    Ok(Exit::Findings)
}

/// What Slack makes the app from.
fn manifest() -> Value {
    json!({
        "display_information": {
            "name": "CodeButler",
            "description": "A self-hosted software team that works in your Slack threads",
            "background_color": "#1f2937",
        },
        "features": {
            "bot_user": {"display_name": "codebutler", "always_online": true},
            "app_home": {"home_tab_enabled": false, "messages_tab_enabled": true,
                "messages_tab_read_only_enabled": false},
        },
        "oauth_config": {"scopes": {"bot": SCOPES}},
        "settings": {
            "event_subscriptions": {"bot_events": [
                "app_mention", "member_joined_channel", "message.channels", "message.groups",
                "message.im", "reaction_added", "reaction_removed",
            ]},
            "interactivity": {"is_enabled": true},
            "org_deploy_enabled": false,
            "socket_mode_enabled": true,
            "token_rotation_enabled": false,
        },
    })
}

#[cfg(test)]
mod tests {
    use crate::commands::setup::slack::*;

    /// Each event is silent without its scope.
    #[test]
    fn every_event_and_feature_has_its_scope() {
        let manifest = manifest();
        let scopes = manifest["oauth_config"]["scopes"]["bot"].to_string();
        let events = manifest["settings"]["event_subscriptions"]["bot_events"].to_string();
        for (event, scope) in [
            ("app_mention", "app_mentions:read"),
            ("message.channels", "channels:history"),
            ("message.groups", "groups:history"),
            ("message.im", "im:history"),
            ("reaction_added", "reactions:read"),
            ("member_joined_channel", "channels:read"),
        ] {
            assert!(events.contains(event) && scopes.contains(scope), "{event}");
        }
        assert!(scopes.contains("commands") && scopes.contains("chat:write.customize"));
        assert_eq!(manifest["settings"]["socket_mode_enabled"], true);
        assert_eq!(manifest["settings"]["interactivity"]["is_enabled"], true);
    }

    /// Slack's own limits on names and descriptions.
    #[test]
    fn texts_are_short_enough_for_slack() {
        let manifest = manifest();
        let about = &manifest["display_information"];
        assert!(about["name"].as_str().unwrap().len() <= 35);
        assert!(about["description"].as_str().unwrap().len() <= 140);
    }
}
