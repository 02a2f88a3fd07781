//! Where people write: text, files by button, paste or drop.

use butler_vocab::{ChannelId, MessageTs};
use maud::{Markup, html};

/// A form that works without script; the script adds progress and previews.
pub(super) fn composer(channel: &ChannelId, root: Option<&MessageTs>) -> Markup {
    let label = if root.is_some() {
        "Reply in this thread"
    } else {
        "What would you like to have built?"
    };
    html! {
        form.composer method="post" action={ "/c/" (channel) "/say" } enctype="multipart/form-data"
            data-stays[root.is_some()]
        {
            label.hidden for="text" { (label) }
            ul.chosen aria-label="Files to send" hidden {}
            progress max="100" value="0" aria-label="Upload" hidden {}
            textarea #text name="text" rows="1" placeholder=(label) maxlength="40000" {}
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
