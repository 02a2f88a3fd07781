//! The fixed names of the embedded workspace, and how ids are made from names.

use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};

/// The workspace.
pub(crate) const TEAM: &str = "T0WORKSHOP";
/// The app that all roles post through, as in Slack.
pub(crate) const APP: &str = "A0BUTLER";
/// The app's bot.
pub(crate) const BOT: &str = "B0BUTLER";
/// The app's user: what `<@…>` of the bot names.
pub(crate) const BOT_USER: &str = "U0BUTLER";
/// Its name.
pub(crate) const BOT_NAME: &str = "codebutler";

/// An id of letters and digits that the same words always give.
pub(crate) fn id_of(prefix: char, words: &[&str]) -> String {
    let hash = Sha256::digest(words.join("\n").as_bytes());
    let text = BASE32_NOPAD.encode(&hash);
    format!("{prefix}{}", &text[..10])
}

/// A channel name as Slack allows it: lower case, no spaces or dots, at most 80.
pub(crate) fn channel_name(wanted: &str) -> String {
    let mut name = String::new();
    for character in wanted.trim_start_matches('#').chars() {
        let fits = character.is_alphanumeric() || character == '_';
        let next = if fits { character } else { '-' };
        if next != '-' || !name.ends_with('-') {
            name.extend(next.to_lowercase());
        }
    }
    let name: String = name.trim_matches('-').chars().take(80).collect();
    if name.is_empty() {
        "general".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_what_slack_allows() {
        assert_eq!(channel_name("#My Repo.rs"), "my-repo-rs");
        assert_eq!(channel_name("a--b"), "a-b");
        assert_eq!(channel_name("  "), "general");
        assert_eq!(channel_name("über_app"), "über_app");
        assert_eq!(id_of('C', &["a", "b"]), id_of('C', &["a", "b"]));
        assert_ne!(id_of('C', &["a", "b"]), id_of('C', &["ab", ""]));
    }
}
