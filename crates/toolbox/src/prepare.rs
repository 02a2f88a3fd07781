//! One command of the repo's `prepare` list: not a tool, since no model asks for
//! it. The words come from the repo's own configuration, the walls are those of
//! every command, and the network is open only when the caller says so.

use std::time::Duration;

use butler_jail::{Ended, Jail, Network};
use tokio_util::sync::CancellationToken;

use crate::{Workplace, clip, confine};

/// Installing everything from nothing is slow; for ever is not.
const WALL: Duration = Duration::from_secs(1200);

/// Shown of a command that failed: the end is where the reason stands.
const TAIL: usize = 1500;

/// How a command of the list ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparing {
    /// Whether it did its work.
    pub ok: bool,
    /// In a few words, as in `exit 1 after 3.0 s`.
    pub verdict: String,
    /// The end of what it wrote.
    pub tail: String,
}

/// Runs one command of the list in a workplace. `None` when it was cancelled.
pub async fn prepare(
    place: &Workplace,
    jail: &Jail,
    command: &str,
    network: Network,
    cancel: &CancellationToken,
) -> Option<Preparing> {
    let profile = confine::walls(place, network, WALL);
    let shell = confine::shell(place, command);
    match jail.run(&shell, &profile, cancel, None).await {
        Ok(exit) if exit.ended == Ended::Cancelled => None,
        Ok(exit) => Some(Preparing {
            ok: exit.success(),
            verdict: confine::verdict(&exit),
            tail: tail(&clip::plain(&exit.output)),
        }),
        Err(error) => Some(Preparing {
            ok: false,
            verdict: format!("could not be run: {}", confine::chain(&error)),
            tail: String::new(),
        }),
    }
}

fn tail(text: &str) -> String {
    let text = text.trim_end();
    let mut from = text.len().saturating_sub(TAIL);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    if from == 0 {
        return text.to_owned();
    }
    format!("…{}", &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_output_is_kept_whole_letters_only() {
        assert_eq!(tail("short\n\n"), "short");
        let long = "ü".repeat(TAIL);
        let kept = tail(&long);
        assert!(kept.starts_with('…') && kept.len() <= TAIL + '…'.len_utf8());
    }
}
