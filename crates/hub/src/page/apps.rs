//! What apps of others show and offer beside the conversation: a modal lies over every
//! page until it is sent or closed, and where such an app listens its commands and
//! shortcuts can be used. Everything works without script.

use std::sync::Arc;

use axum::{Form, Router, body::Bytes, extract::Path, response::Redirect, routing::post};
use butler_protocol::{ChannelId, MessageTs};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::{Turned, state::Filled, visit::Visit};
use crate::{
    error::{Refusal, Trouble},
    hub::App,
    page::render::{Names, blocks, elements::plain},
    person_api::{edits, person_actions},
    workspace::modals::{
        self,
        interactions::{self, UNANSWERED},
    },
};

/// The two buttons of every modal; no element of an app has such a name.
const SEND: &str = "send";
const CLOSE: &str = "close";

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/modals/{id}", post(modal))
        .route("/c/{channel}/apps", post(used))
}

/// The topmost modal of a person, as a part of every page.
pub(super) fn modals(views: &[Value], names: &Names) -> Markup {
    html! {
        div data-part="modals" {
            @if let Some(view) = views.last() { (shown(view, names)) }
        }
    }
}

fn shown(view: &Value, names: &Names) -> Markup {
    let id = view["id"].as_str().unwrap_or_default();
    let kept = with_state(&view["blocks"], &view["state"]["values"]);
    let word = |field: &str, usual: &'static str| match plain(&view[field]) {
        "" => usual.to_owned(),
        given => given.to_owned(),
    };
    html! {
        div.shade {
            section.modal role="dialog" aria-labelledby="modal-title" {
                h2 #modal-title { (plain(&view["title"])) }
                @for (block, what) in view["errors"].as_object().into_iter().flatten() {
                    p.problem role="alert" {
                        @if block != UNANSWERED { (label_of(&view["blocks"], block)) ": " }
                        (what.as_str().unwrap_or_default())
                    }
                }
                form.blocks data-quiet method="post" action={ "/modals/" (id) } {
                    // Enter in a field would otherwise press the first button.
                    button type="submit" disabled hidden {}
                    (blocks::fields(&kept, id, names))
                    div.actions {
                        @if view["submit"].is_object() {
                            button.primary type="submit" name="press" value=(SEND) { (word("submit", "Send")) }
                        }
                        button type="submit" name="press" value=(CLOSE) { (word("close", "Close")) }
                    }
                }
            }
        }
    }
}

/// What people call a field that something is wrong with.
fn label_of<'a>(blocks: &'a Value, id: &'a str) -> &'a str {
    let mut all = blocks.as_array().into_iter().flatten();
    let found = all.find(|block| block["block_id"] == id);
    found.map_or(id, |block| plain(&block["label"]))
}

/// The blocks with what was filled in before as their first values.
fn with_state(blocks: &Value, state: &Value) -> Value {
    let mut blocks = blocks.clone();
    for block in blocks.as_array_mut().into_iter().flatten() {
        let id = block["block_id"].as_str().unwrap_or_default().to_owned();
        let element = &mut block["element"];
        let action = element["action_id"].as_str().unwrap_or_default().to_owned();
        let Some(given) = state[&id][&action].as_object() else {
            continue;
        };
        for (field, value) in given.iter().filter(|(field, _)| *field != "type") {
            let initial = match field.strip_prefix("selected_") {
                Some(what) => format!("initial_{what}"),
                None => format!("initial_{field}"),
            };
            element[initial] = value.clone();
        }
    }
    blocks
}

/// A way to use commands and shortcuts of an app that listens here.
pub(super) fn offers(channel: &ChannelId, root: Option<&MessageTs>) -> Markup {
    let address = format!("/c/{channel}/apps");
    html! {
        details.apps #apps {
            summary { "Apps" }
            form data-quiet method="post" action=(address) {
                label for="app-command" { "Slash command" }
                input #app-command name="command" placeholder="/deploy now" maxlength="2000" required;
                button type="submit" { "Run" }
            }
            form data-quiet method="post" action=(address) {
                label for="app-shortcut" { "Shortcut, by its callback id" }
                input #app-shortcut name="callback_id" maxlength="255" required;
                @if let Some(root) = root {
                    label.tick {
                        input type="checkbox" name="ts" value=(root);
                        " on the first message of this thread"
                    }
                }
                button type="submit" { "Use" }
            }
        }
    }
}

type Sent = Result<Redirect, Turned>;

/// A modal is sent or closed, or an element of it is used.
async fn modal(Visit { app, person, .. }: Visit, Path(id): Path<String>, body: Bytes) -> Sent {
    person_actions::only_here(&app)?;
    let filled = Filled::read(&body);
    let channel = app
        .write(move |tx| {
            let view = modals::get(tx.db(), &id)?;
            let blocks = &view.body["blocks"];
            match filled.pressed() {
                SEND => interactions::submit(tx, &person, &id, Some(&filled.state(blocks)))?,
                CLOSE => interactions::put_away(tx, &person, &id)?,
                _ => interactions::press(tx, &person, &id, filled.press(blocks)?)?,
            }
            Ok(view.thread.channel)
        })
        .await?;
    Ok(Redirect::to(&format!("/c/{channel}")))
}

/// A command as it is typed, or a shortcut by its name.
#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    command: String,
    #[serde(default)]
    callback_id: String,
    ts: Option<MessageTs>,
}

async fn used(
    Visit { app, person, .. }: Visit,
    Path(channel): Path<ChannelId>,
    Form(used): Form<Used>,
) -> Sent {
    let back = match &used.ts {
        Some(ts) => Redirect::to(&format!("/c/{channel}/{ts}")),
        None => Redirect::to(&format!("/c/{channel}")),
    };
    let typed = used.command.trim();
    if !typed.is_empty() {
        let (command, text) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        edits::type_command(&app, person, channel, command, text.trim()).await?;
        return Ok(back);
    }
    let name = used.callback_id.trim().to_owned();
    if name.is_empty() {
        return Err(Trouble::Refused(Refusal::InvalidCommand).into());
    }
    person_actions::only_here(&app)?;
    let rules = app.rules.clone();
    app.write(move |tx| {
        interactions::shortcut(tx, &rules, &person, &name, &channel, used.ts.as_ref())
    })
    .await?;
    Ok(back)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_modal_shows_what_was_filled_in_and_what_is_wrong_and_nothing_becomes_markup() {
        let view = json!({"id": "V1", "type": "modal",
            "title": {"type": "plain_text", "text": "<b>Reject"},
            "submit": {"type": "plain_text", "text": "Go"}, "close": null,
            "errors": {"why": "too <i>short", "": "The app did not answer."},
            "state": {"values": {"why": {"reason": {"type": "plain_text_input", "value": "no"}}}},
            "blocks": [{"type": "input", "block_id": "why",
                "label": {"type": "plain_text", "text": "Why"},
                "element": {"type": "plain_text_input", "action_id": "reason"}}]});
        let html = modals(&[json!({"id": "V0"}), view], &Names::default()).into_string();
        for part in [
            "action=\"/modals/V1\"",
            "value=\"no\"",
            "Why: too &lt;i&gt;short",
            ">The app did not answer.",
            "&lt;b&gt;Reject",
            ">Go</button>",
            ">Close</button>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("V0") && !html.contains("<i>"), "{html}");
        assert!(
            !modals(&[], &Names::default())
                .into_string()
                .contains("form")
        );
    }
}
