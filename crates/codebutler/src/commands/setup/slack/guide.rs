//! From nothing to a channel that answers, in three steps: the app from a link, its two
//! tokens, the channel. Every answer is tried at once, and one that does not work is
//! said and asked for again; nothing that was right before is lost.

use std::path::PathBuf;

use butler_config::Machine;
use butler_protocol::Secret;
use butler_slack::Workspace;

use super::{
    channel::{self, Picked, Wrong},
    manifest,
};
use crate::{
    CliError, Paint, Ui, browser,
    commands::{environment, setup::init::ask},
    process,
    slack_check::{self, AppTokens, Caller, Fault, Status},
};

const BOT: (&str, &str) = (
    "SLACK_BOT_TOKEN",
    "Bot token (xoxb-…, under \"OAuth & Permissions\"):",
);
const APP: (&str, &str) = (
    "SLACK_APP_TOKEN",
    "App-level token (xapp-…, under \"Basic Information\"):",
);

/// What was found out.
#[derive(Debug)]
pub(crate) struct Guided {
    pub tokens: AppTokens,
    /// Nothing when Slack could not be asked.
    pub channel: Option<Picked>,
    pub link: Option<String>,
}

/// Leads through it; without questions everything comes from the environment.
pub(crate) fn guide(
    machine: &Machine,
    wished: &str,
    asks: bool,
    ui: &Ui,
) -> Result<Guided, CliError> {
    let workspace = slack_check::workspace(machine)?;
    if asks && !(given(BOT.0) && given(APP.0)) {
        first_step(ui);
    }
    let bot = token(BOT, asks, ui, |token| bot(&workspace, token, asks, ui))?;
    if asks && !given(APP.0) {
        ui.note(
            "\nStep 2 of 3: under \"Basic Information\", \"App-Level Tokens\", \
             generate a token with the scope connections:write.",
        );
    }
    let app = token(APP, asks, ui, |token| app(&workspace, token, ui))?;
    let tokens = AppTokens {
        bot,
        app,
        base: workspace.base.clone(),
        ca_file: machine.network.ca_file.clone().map(PathBuf::from),
    };
    let Ok(Status { url, .. }) = slack_check::bot(&workspace, &tokens.bot) else {
        let (channel, link) = (None, None);
        return Ok(Guided {
            tokens,
            channel,
            link,
        });
    };
    let caller = Caller::new(&workspace, &tokens.bot).map_err(CliError::user)?;
    let picked = match asks {
        true => {
            ui.note("\nStep 3 of 3: the channel where you talk to the team.");
            channel::ask_for(&caller, wished, ui)?
        }
        false => match channel::use_named(&caller, wished) {
            Ok(picked) => picked,
            Err(Wrong::Stopped(error)) => return Err(error),
            Err(Wrong::Again(why)) => return Err(CliError::user(why)),
        },
    };
    let link = channel::greet(&caller, &picked, &url, asks, ui)?;
    Ok(Guided {
        tokens,
        channel: Some(picked),
        link: Some(link),
    })
}

fn first_step(ui: &Ui) {
    let link = manifest::link();
    ui.note(
        "\nStep 1 of 3: make the app. The link has it filled in: press Create, then \
         \"Install to Workspace\", and copy the bot token from \"OAuth & Permissions\".",
    );
    ui.note(format_args!("\n{link}\n"));
    ui.note(
        "Without a browser here: `codebutler slack manifest` prints the same as a file, for \
         https://api.slack.com/apps, \"From a manifest\".\n",
    );
    if browser::is_there() {
        // Where it cannot be opened the link is there to be copied.
        let _ = process::wait_for(browser::open(&link));
    }
}

fn given(variable: &str) -> bool {
    environment(variable).is_some_and(|token| !token.is_empty())
}

/// How a token was found.
enum Tried {
    Right,
    /// Slack could not be asked.
    Unchecked,
    Wrong,
}

/// A token from the environment, or asked for until it is right.
fn token(
    (variable, question): (&str, &str),
    asks: bool,
    ui: &Ui,
    check: impl Fn(&Secret) -> Result<Tried, CliError>,
) -> Result<Secret, CliError> {
    let mut next = environment(variable)
        .filter(|token| !token.is_empty())
        .map(Secret::new);
    if next.is_none() && !asks {
        return Err(
            CliError::user(format!("the environment variable {variable} is not set"))
                .hint("make the app from `codebutler slack manifest`"),
        );
    }
    loop {
        let token = match next.take() {
            Some(token) => token,
            None => match ask::secret(question)? {
                Some(token) => token,
                None => {
                    ui.note(format_args!("{} no token was given", "✗".red()));
                    continue;
                }
            },
        };
        match check(&token)? {
            Tried::Right | Tried::Unchecked => return Ok(token),
            Tried::Wrong if asks => {}
            Tried::Wrong => {
                let error = CliError::user(format!("{variable} cannot be used; why is above"));
                return Err(error.hint("nothing was written"));
            }
        }
    }
}

fn bot(workspace: &Workspace, token: &Secret, asks: bool, ui: &Ui) -> Result<Tried, CliError> {
    match slack_check::bot(workspace, token) {
        Ok(Status { team, missing, .. }) if missing.is_empty() => {
            ui.note(format_args!(
                "{} Slack accepts the bot token for {team}",
                "✓".green()
            ));
            Ok(Tried::Right)
        }
        Ok(Status { team, missing, .. }) => {
            ui.note(format_args!(
                "{} the app in {team} lacks {}; add these scopes under \"OAuth & Permissions\" and install it again",
                "✗".red(),
                missing.join(", ")
            ));
            if !asks {
                return Ok(Tried::Right);
            }
            let choices = ["look again", "go on without them", "another token"].map(str::to_owned);
            match ask::one_of("What now?", "", &choices, 0)? {
                0 => bot(workspace, token, asks, ui),
                1 => Ok(Tried::Right),
                _ => Ok(Tried::Wrong),
            }
        }
        Err(fault) => Ok(told(&fault, ui)),
    }
}

fn app(workspace: &Workspace, token: &Secret, ui: &Ui) -> Result<Tried, CliError> {
    match slack_check::app(workspace, token) {
        Ok(()) => {
            ui.note(format_args!(
                "{} Slack is heard over its socket",
                "✓".green()
            ));
            Ok(Tried::Right)
        }
        Err(fault) => Ok(told(&fault, ui)),
    }
}

fn told(fault: &Fault, ui: &Ui) -> Tried {
    match fault {
        Fault::Unreachable(_) => {
            ui.note(format_args!(
                "{} {fault}; the token is kept unchecked",
                "!".yellow()
            ));
            Tried::Unchecked
        }
        _ => {
            ui.note(format_args!("{} {fault}", "✗".red()));
            Tried::Wrong
        }
    }
}
