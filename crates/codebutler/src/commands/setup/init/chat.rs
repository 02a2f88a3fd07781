//! The first question: where people and the team talk. What the channel is called
//! follows from the repository.

use std::path::Path;

use butler_config::Machine;

use crate::commands::setup::{
    init::{Args, ask},
    slack::{Guided, guide},
};
use crate::{CliError, Ui, slack_check::AppTokens};

/// The channel's name, and the tokens of Slack where that was chosen.
#[derive(Debug, Default)]
pub(crate) struct Chat {
    /// Nothing where the repo has its file and no flag names one.
    pub channel: Option<String>,
    /// Slack's id of it, once it is known.
    pub channel_id: Option<String>,
    pub slack: Option<AppTokens>,
}

impl Chat {
    fn on_the_page(channel: Option<String>) -> Self {
        Self {
            channel,
            ..Self::default()
        }
    }

    fn in_slack(channel: Option<String>, guided: Guided) -> Self {
        let (name, id) = match guided.channel {
            Some(picked) => (Some(picked.name), Some(picked.id)),
            None => (channel, None),
        };
        Self {
            channel: name,
            channel_id: id,
            slack: Some(guided.tokens),
        }
    }
}

/// Decides it.
pub(crate) fn choose(
    args: &Args,
    root: &Path,
    machine: &Machine,
    new_repo: bool,
    ask: bool,
    ui: &Ui,
) -> Result<Chat, CliError> {
    let channel = match (&args.channel, new_repo) {
        (None, false) => None,
        (given, _) => Some(channel(given.as_deref(), root)?),
    };
    let wished = match &channel {
        Some(name) => name.clone(),
        None => self::channel(None, root)?,
    };
    if args.slack {
        let guided = guide(machine, &wished, ask, ui)?;
        return Ok(Chat::in_slack(channel, guided));
    }
    let connected = machine.slack.bot_token.is_some();
    if !ask || !new_repo || connected || args.join.is_some() {
        return Ok(Chat::on_the_page(channel));
    }
    let choices = [
        format!("on a page of its own in your browser, channel #{wished}"),
        "in Slack, with an app of your own".to_owned(),
    ];
    let help = "Slack can be added later with `codebutler slack setup`";
    if ask::one_of("Where do you talk to the team?", help, &choices, 0)? == 0 {
        return Ok(Chat::on_the_page(channel));
    }
    let guided = guide(machine, &wished, ask, ui)?;
    if let Some(link) = &guided.link {
        ui.note(format_args!("your channel: {link}\n"));
    }
    Ok(Chat::in_slack(channel, guided))
}

fn channel(given: Option<&str>, root: &Path) -> Result<String, CliError> {
    let default = || channel_name(&root.file_name().unwrap_or_default().to_string_lossy());
    let name = given.map_or_else(default, str::to_owned);
    match channel_problem(&name) {
        None => Ok(name),
        Some(problem) => Err(CliError::user(format!(
            "the channel name {name}: {problem}"
        ))),
    }
}

/// Slack's rules: lower case, no spaces, at most 80 characters.
fn channel_problem(name: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_alphanumeric() && !c.is_uppercase() || matches!(c, '-' | '_');
    if name.is_empty() || name.chars().count() > 80 {
        Some("must have 1 to 80 characters")
    } else if !name.chars().all(allowed) {
        Some("only lower-case letters, digits, - and _")
    } else {
        None
    }
}

/// `codebutler-<repo>` within those rules.
fn channel_name(repo: &str) -> String {
    let lower = repo.to_lowercase();
    let plain = lower.chars().map(|c| {
        if c.is_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    });
    let name: String = "codebutler-".chars().chain(plain).take(80).collect();
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_names_keep_to_slacks_rules() {
        for (repo, name) in [
            ("app", "codebutler-app"),
            ("My App.rs", "codebutler-my-app-rs"),
            ("", "codebutler"),
            ("über_x", "codebutler-über_x"),
        ] {
            assert_eq!(channel_name(repo), name);
            assert_eq!(channel_problem(&channel_name(repo)), None, "{repo}");
        }
        assert_eq!(channel_name(&"x".repeat(200)).len(), 80);
        for bad in ["", "Has Space", "UPPER", &"x".repeat(81)] {
            assert!(channel_problem(bad).is_some(), "{bad}");
        }
    }
}
