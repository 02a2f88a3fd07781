//! `codebutler slack`: the app that the team speaks through in Slack.

mod channel;
mod check;
mod guide;
mod manifest;
mod setup;

use crate::{CliError, Exit, Ui};

pub(crate) use check::{running, troubles};
pub(crate) use guide::{Guided, guide};

/// Make a Slack app for the team, and see whether it is in order
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SlackCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SlackCommand {
    /// Connect this repository to Slack: app, tokens, channel, each checked at once
    ///
    /// Three steps: a link opens Slack's page with the app filled in, the two tokens are
    /// pasted, the channel is picked, made or joined. Can be repeated; what is right is
    /// kept. Without a terminal the tokens come from SLACK_BOT_TOKEN and SLACK_APP_TOKEN.
    Setup {
        /// The channel, by name; made when there is none
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
    },
    /// Check everything that setup does: tokens, scopes, Socket Mode, channel, running team
    Check,
    /// Print the manifest to make the app from, as JSON
    ///
    /// Paste it at https://api.slack.com/apps under "Create New App", "From a
    /// manifest". The app-level token is made by hand afterwards: "Basic
    /// Information", "App-Level Tokens", with the scope connections:write.
    Manifest,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    match &args.command {
        SlackCommand::Setup { channel } => setup::run(channel.as_deref(), ui),
        SlackCommand::Manifest => {
            ui.json_in_lines(manifest::manifest())?;
            Ok(Exit::Done)
        }
        SlackCommand::Check => check::run(ui),
    }
}
