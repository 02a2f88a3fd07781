//! Where people write: text, files by button, paste or drop.

use butler_protocol::{ChannelId, MessageTs};
use maud::{Markup, html};

use crate::{person_api::message_form::TYPED, workspace::files::SIZE_LIMIT};

/// A form that works without script; the script adds progress and previews.
/// With Slack behind the hub people write there, and are shown the way.
pub(super) fn composer(
    channel: &ChannelId,
    root: Option<&MessageTs>,
    slack: Option<&str>,
) -> Markup {
    if let Some(workspace) = slack {
        return elsewhere(&place(workspace, channel, root), root.is_some());
    }
    let label = if root.is_some() {
        "Reply in this thread"
    } else {
        "What would you like to have built?"
    };
    html! {
        form.composer method="post" action={ "/c/" (channel) "/say" } enctype="multipart/form-data"
            data-stays[root.is_some()] data-most=(SIZE_LIMIT) data-typed=(TYPED)
        {
            label.hidden for="text" { (label) }
            ul.chosen aria-label="Files to send" hidden {}
            p.sending hidden { progress max="100" value="0" aria-label="Upload" {} output {} }
            textarea #text name="text" rows="1" placeholder=(label) {}
            @if let Some(root) = root { input type="hidden" name="thread_ts" value=(root); }
            div.tools {
                label.attach {
                    span aria-hidden="true" { "📎" } span { "Attach" }
                    input type="file" name="file" multiple aria-label="Attach files";
                }
                span.hint { kbd { "Enter" } " sends · " kbd { "Shift" } "+" kbd { "Enter" } " new line · " kbd { "?" } " keys" }
                button.primary type="submit" { "Send" }
            }
        }
    }
}

fn elsewhere(address: &str, in_thread: bool) -> Markup {
    html! {
        p.elsewhere role="note" {
            "This page only shows what is said in Slack: write, react and press buttons there. "
            a href=(address) rel="noreferrer" {
                @if in_thread { "Open this thread in Slack" } @else { "Open this channel in Slack" }
            }
        }
    }
}

/// Slack's own address of a channel or a message.
fn place(workspace: &str, channel: &ChannelId, root: Option<&MessageTs>) -> String {
    let workspace = workspace.trim_end_matches('/');
    match root {
        Some(root) => {
            let digits = root.as_str().replace('.', "");
            format!("{workspace}/archives/{channel}/p{digits}")
        }
        None => format!("{workspace}/archives/{channel}"),
    }
}
