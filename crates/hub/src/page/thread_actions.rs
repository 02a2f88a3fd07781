//! What a person can do to a thread at any time, as buttons: each says the word
//! that could be typed.

use butler_protocol::{DecisionKind, ThreadId};
use maud::{Markup, html};

use crate::views::overview::ThreadView;

/// The buttons beside a thread. Those about a merge only where there is one.
pub(super) fn buttons(view: &ThreadView, here: bool) -> Markup {
    let merge = |one: &butler_protocol::DecisionView| one.asked.kind == DecisionKind::Merge;
    let waits = view.decisions.iter().any(merge);
    html! {
        @if here {
            section.decisions aria-label="Act on this thread" {
                @if waits {
                    (word(&view.thread, "merge", "Merge…", ""))
                    (word(&view.thread, "hold", "Hold", ""))
                    (word(&view.thread, "close", "Close…", ""))
                }
                (word(&view.thread, "archive", "Archive", ""))
            }
        }
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
