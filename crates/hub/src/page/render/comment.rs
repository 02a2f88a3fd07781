//! A comment on lines of a change, and the form for one.

use butler_protocol::{ThreadId, UserId};
use maud::{Markup, html};

use crate::{
    page::render::{Names, code, diff::FileChange, message, text},
    person_api::person_actions::written,
    views::{Comment, Side},
};

/// What comments need to know of their surroundings.
pub(crate) struct Talk<'a> {
    pub(crate) thread: &'a ThreadId,
    pub(crate) me: &'a UserId,
    pub(crate) names: &'a Names,
    /// The page to come back to, with its query.
    pub(crate) back: &'a str,
    /// Whether people act on the page; with Slack behind the hub they act there.
    pub(crate) here: bool,
    /// The hash of what the file's change is now.
    pub(crate) digest: &'a str,
}

impl Talk<'_> {
    pub(crate) fn address(&self, below: &str) -> String {
        format!(
            "/c/{}/{}/review/{below}",
            self.thread.channel, self.thread.root
        )
    }
}

/// A comment: a draft can be taken back, one that was sent leads to its message.
pub(crate) fn shown(one: &Comment, talk: &Talk<'_>) -> Markup {
    let id = one.person.as_str();
    let name = talk.names.get(id).cloned().unwrap_or_else(|| id.to_owned());
    let thread = talk.thread;
    html! {
        article.comment.draft[one.sent.is_none()] {
            header {
                strong { (name) } " "
                @match &one.sent {
                    Some((number, ts)) => {
                        a.chip href={ "/c/" (thread.channel) "/" (thread.root) "#m" (ts) } { "P" (number) }
                        @if one.digest != talk.digest { " " span.chip.done { "changed since" } }
                    }
                    None => span.chip { "not sent yet" },
                }
                " " span.soft { (lines(one)) } " " (message::time_ms(one.at_ms))
            }
            @if one.digest != talk.digest { details.quote { summary { "What it was about" } (code::block(&one.quote, code::language_of(&one.lines.path))) } }
            @if !one.text.is_empty() { div { (text::render(&written(&one.text), talk.names)) } }
            @if let Some(suggestion) = &one.suggestion {
                p.soft { "Suggested instead" }
                (code::block(suggestion, code::language_of(&one.lines.path)))
            }
            @if one.sent.is_none() && one.person == *talk.me {
                form method="post" action=(talk.address("drop")) {
                    input type="hidden" name="id" value=(one.id);
                    input type="hidden" name="back" value=(talk.back);
                    button.quiet type="submit" { "Take back" }
                }
            }
        }
    }
}

fn lines(one: &Comment) -> String {
    let (first, last) = (one.lines.first, one.lines.last);
    let version = match one.lines.side {
        Side::Old => " before the change",
        Side::New => "",
    };
    match first == last {
        true => format!("line {first}{version}"),
        false => format!("lines {first} to {last}{version}"),
    }
}

/// Asks for a comment on lines, or for other words in their place.
pub(crate) fn form(
    file: &FileChange<'_>,
    (side, first, last): (Side, u32, u32),
    talk: &Talk<'_>,
) -> Markup {
    let quote = file.quote(side, first, last).unwrap_or_default();
    html! {
        form.comment method="post" action=(talk.address("comment")) {
            input type="hidden" name="path" value=(file.path);
            input type="hidden" name="side" value=(side.letter());
            input type="hidden" name="back" value=(talk.back);
            p.line {
                label { "From line " input type="number" name="first" value=(first) min="1" required; }
                label { "to " input type="number" name="last" value=(last) min="1" required; }
            }
            label for="comment-text" { "What should the Coder change here?" }
            textarea #comment-text name="text" rows="3" autofocus {}
            @if side == Side::New {
                details #comment-suggestion {
                    summary { "Suggest other lines" }
                    label for="suggested" { "These lines become exactly" }
                    // The first line break after the tag is not part of the text.
                    textarea.mono #suggested name="suggestion" rows=(quote.lines().count().clamp(2, 12)) { "\n" (quote) }
                }
            }
            p.line {
                button.primary type="submit" { "Add to the review" }
                a href=(talk.back) { "Cancel" }
            }
        }
    }
}
