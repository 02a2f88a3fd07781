//! What a person can do to a thread at any time, as buttons: each says the word
//! that could be typed.

use butler_protocol::ThreadId;
use maud::{Markup, html};

/// The buttons of a thread: what this person can do to it now.
pub(super) fn buttons(thread: &ThreadId, can: &[&str], here: bool) -> Markup {
    html! {
        @if here && !can.is_empty() {
            section.acts aria-label="Act on this thread" {
                @for one in can { (word(thread, one, label(one), "")) }
            }
        }
    }
}

/// Merging and closing are decided on a card that comes first.
fn label(word: &str) -> &str {
    match word {
        "merge" => "Merge…",
        "close" => "Close…",
        "hold" => "Hold",
        "resume" => "Resume",
        "archive" => "Archive",
        other => other,
    }
}

/// A button that says a word in a thread.
pub(super) fn word(thread: &ThreadId, word: &str, label: &str, title: &str) -> Markup {
    html! {
        form.act method="post" action={ "/c/" (thread.channel) "/say" } enctype="multipart/form-data" {
            input type="hidden" name="thread_ts" value=(thread.root);
            input type="hidden" name="text" value=(word);
            button type="submit" title=[(!title.is_empty()).then_some(title)] { (label) }
        }
    }
}
