//! Emoji by Slack's names. Those that a workspace made itself are shown by name.

use crate::workspace::react::emoji::of_code;

/// Offered under every message, in this order.
pub(crate) const QUICK: [&str; 6] = [
    "+1",
    "eyes",
    "white_check_mark",
    "tada",
    "heart",
    "octagonal_sign",
];

/// The sign, if it is a known one.
pub(crate) fn sign(name: &str) -> Option<&'static str> {
    // Slack's own names, where they differ from everybody else's.
    let name = match name.split("::").next().unwrap_or(name) {
        "octagonal_sign" => "stop_sign",
        "thinking_face" => "thinking",
        name => name,
    };
    of_code(name)
}

/// What people read: the sign, or the name between colons.
pub(crate) fn shown(name: &str) -> String {
    sign(name).map_or_else(|| format!(":{name}:"), str::to_owned)
}

/// The name in words, for screen readers and hints.
pub(crate) fn spoken(name: &str) -> String {
    match name {
        "+1" => "thumbs up".to_owned(),
        "-1" => "thumbs down".to_owned(),
        "octagonal_sign" => "stop sign".to_owned(),
        other => other.replace(['_', '-'], " "),
    }
}

#[cfg(test)]
mod tests {
    use crate::page::render::emoji::*;

    #[test]
    fn every_quick_emoji_has_a_sign_and_a_name() {
        for name in QUICK {
            assert!(sign(name).is_some() && !spoken(name).is_empty(), "{name}");
        }
        assert_eq!(shown("no_such"), ":no_such:");
        assert_eq!(shown("+1::skin-tone-3"), "👍");
        assert_eq!(shown("thinking_face"), "🤔");
        assert_eq!(shown("woman_technologist"), "👩‍💻");
    }
}
