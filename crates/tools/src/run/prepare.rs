//! A command that the runtime itself runs in a folder: one of the repo's
//! `prepare` list, or the copying of what an earlier one made. Not a tool, since
//! no model asks for it. It is confined like every command, and the network is
//! open only when the caller says so.

use std::{path::PathBuf, time::Duration};

use butler_sandbox::{Ended, Network, Sandbox};
use tokio_util::sync::CancellationToken;

use crate::{Workplace, content::clip, run::confine};

/// Installing everything from nothing is slow; for ever is not.
const WALL: Duration = Duration::from_secs(1200);

/// Shown of what a command wrote, where one line has to do.
const LINE: usize = 200;

/// A command of the runtime.
#[derive(Debug, Clone)]
pub struct RuntimeCommand {
    /// For a shell, in the folder.
    pub command: String,
    pub network: Network,
    /// Visible besides what every command sees.
    pub readable: Vec<PathBuf>,
    /// Writable besides what every command may write.
    pub writable: Vec<PathBuf>,
}

impl RuntimeCommand {
    /// One that sees what every command sees.
    pub fn new(command: impl Into<String>, network: Network) -> Self {
        Self {
            command: command.into(),
            network,
            readable: Vec::new(),
            writable: Vec::new(),
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparing {
    pub ok: bool,
    /// In a few words, as in `exit 1`.
    pub verdict: String,
    pub output: String,
    /// The program that it is about was not found.
    pub missing: bool,
}

impl Preparing {
    /// The last line that says something: where the reason mostly stands.
    pub fn last_line(&self) -> String {
        let mut lines = self.output.lines().rev().map(str::trim);
        let last = lines.find(|line| !line.is_empty()).unwrap_or_default();
        match last.char_indices().nth(LINE) {
            Some((end, _)) => format!("{}…", &last[..end]),
            None => last.to_owned(),
        }
    }
}

/// Runs one in a workplace. `None` when it was cancelled.
pub async fn prepare(
    place: &Workplace,
    sandbox: &Sandbox,
    command: &RuntimeCommand,
    cancel: &CancellationToken,
) -> Option<Preparing> {
    let mut profile = confine::profile(place, command.network, WALL);
    profile.protected.extend(command.readable.iter().cloned());
    profile.writable.extend(command.writable.iter().cloned());
    let shell = confine::shell(place, &command.command, command.network);
    match sandbox.run(&shell, &profile, cancel, None).await {
        Ok(exit) if exit.ended == Ended::Cancelled => None,
        Ok(exit) => Some(Preparing {
            ok: exit.success(),
            verdict: confine::ending(&exit),
            output: clip::plain(&exit.output),
            missing: exit.code == Some(127),
        }),
        Err(error) => Some(Preparing {
            ok: false,
            verdict: format!("could not be run: {}", confine::chain(&error)),
            output: String::new(),
            missing: false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_last_line_with_words_is_shown_and_not_all_of_it() {
        let wrote = |output: &str| Preparing {
            ok: false,
            verdict: String::new(),
            output: output.to_owned(),
            missing: false,
        };
        assert_eq!(wrote("a\n  the reason \n\n \n").last_line(), "the reason");
        assert_eq!(wrote("").last_line(), "");
        let long = wrote(&"ü".repeat(LINE + 1)).last_line();
        assert_eq!(long.chars().count(), LINE + 1, "{long}");
    }
}
