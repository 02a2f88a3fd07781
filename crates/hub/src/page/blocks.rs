//! Block Kit to HTML: the blocks that our cards and common apps use. What is
//! unknown is left out; the text fallback is always there.

use butler_vocab::{ChannelId, MessageTs};
use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use super::text::{self, Names};

/// Where a message stands, for the forms of its buttons.
pub(super) struct Place<'a> {
    pub(super) channel: &'a ChannelId,
    pub(super) ts: &'a MessageTs,
    pub(super) root: &'a MessageTs,
    /// Whether buttons may be pressed; not on cards that were decided.
    pub(super) open: bool,
}

/// Renders blocks.
pub(super) fn render(blocks: &Value, place: &Place<'_>, names: &Names) -> Markup {
    let blocks = blocks.as_array().map_or(&[][..], Vec::as_slice);
    html! {
        @for block in blocks { (one(block, place, names)) }
    }
}

fn one(block: &Value, place: &Place<'_>, names: &Names) -> Markup {
    match block["type"].as_str().unwrap_or_default() {
        "header" => html! { h3 { (plain(&block["text"])) } },
        "section" => html! {
            div.section {
                (text_object(&block["text"], names))
                @for field in list(&block["fields"]) {
                    div.field { (text_object(field, names)) }
                }
                @if block["accessory"].is_object() { (element(&block["accessory"], place)) }
            }
        },
        "markdown" => html! {
            div.markdown { (markdown(block["text"].as_str().unwrap_or_default())) }
        },
        "context" => html! {
            div.context {
                @for item in list(&block["elements"]) { (text_object(item, names)) }
            }
        },
        "actions" if place.open => html! {
            div.actions {
                @for item in list(&block["elements"]) { (element(item, place)) }
            }
        },
        "divider" => html! { hr; },
        "image" => html! {
            p.context { (text::link(
                block["image_url"].as_str().unwrap_or_default(),
                block["alt_text"].as_str().unwrap_or("image"))) }
        },
        _ => html! {},
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
}

fn plain(text: &Value) -> &str {
    text["text"].as_str().unwrap_or_default()
}

fn text_object(object: &Value, names: &Names) -> Markup {
    match object["type"].as_str() {
        Some("mrkdwn") => text::render(plain(object), names),
        Some("plain_text") => html! { p { (plain(object)) } },
        _ => html! {},
    }
}

/// A button is a form of its own, so that it works without script.
fn element(element: &Value, place: &Place<'_>) -> Markup {
    if element["type"] != "button" || !place.open {
        return html! {};
    }
    let style = match element["style"].as_str() {
        Some("primary") => "primary",
        Some("danger") => "danger",
        _ => "",
    };
    html! {
        form method="post" action={ "/c/" (place.channel) "/press" } {
            input type="hidden" name="ts" value=(place.ts);
            input type="hidden" name="root" value=(place.root);
            input type="hidden" name="action_id" value=(element["action_id"].as_str().unwrap_or_default());
            @if let Some(value) = element["value"].as_str() {
                input type="hidden" name="value" value=(value);
            }
            button class=(style) type="submit" { (plain(&element["text"])) }
        }
    }
}

/// Markdown of models: raw HTML becomes text, links lead to the web only, and
/// nothing is loaded from elsewhere.
pub(super) fn markdown(source: &str) -> Markup {
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut dropped = Vec::new();
    let events = Parser::new_ext(source, options).map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let web = ["http://", "https://", "mailto:"]
                .iter()
                .any(|scheme| dest_url.to_ascii_lowercase().starts_with(scheme));
            dropped.push(!web);
            if web {
                let target = text::link(&dest_url, "").into_string();
                // The opening tag only; the label follows as events.
                Event::Html(CowStr::from(target.replace("</a>", "")))
            } else {
                Event::Text(CowStr::from(""))
            }
        }
        Event::End(TagEnd::Link | TagEnd::Image) => match dropped.pop() {
            Some(false) => Event::Html(CowStr::from("</a>")),
            _ => Event::Text(CowStr::from("")),
        },
        other => other,
    });
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, events);
    PreEscaped(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(blocks: &Value, open: bool) -> String {
        let (channel, ts) = (ChannelId::new("C1"), "1700000000.000100".parse().unwrap());
        let place = Place {
            channel: &channel,
            ts: &ts,
            root: &ts,
            open,
        };
        render(blocks, &place, &Names::new()).into_string()
    }

    #[test]
    fn a_card_shows_its_buttons_only_while_it_is_open() {
        let card = butler_slack::blocks::card(
            butler_vocab::DecisionKind::Plan,
            &butler_vocab::RequestId::new("k3m9qa"),
            "Plan <b>",
            "1. *do* it\n2. <script>x</script>",
            "branch",
        );
        let open = shown(&card.blocks, true);
        assert!(open.contains("value=\"cb:k3m9qa:approve\""), "{open}");
        assert!(
            open.contains("Plan &lt;b&gt;") && open.contains("<ol>"),
            "{open}"
        );
        assert!(!open.contains("<script"), "{open}");
        assert!(!shown(&card.blocks, false).contains("<button"));
    }

    #[test]
    fn nothing_in_blocks_becomes_markup() {
        let probe = "\"><img src=x onerror=alert(1)>";
        let html = shown(
            &json!([
                {"type": "header", "text": {"type": "plain_text", "text": probe}},
                {"type": "section", "text": {"type": "mrkdwn", "text": probe},
                 "fields": [{"type": "plain_text", "text": probe}],
                 "accessory": {"type": "button", "action_id": probe, "value": probe,
                    "style": probe, "text": {"type": "plain_text", "text": probe}}},
                {"type": "image", "image_url": "javascript:alert(1)", "alt_text": probe},
                {"type": "markdown", "text": "<img src=x> [a](javascript:alert(1)) ![b](http://e.vil/x.png)"},
                {"type": probe},
            ]),
            true,
        );
        assert!(
            !html.contains("<img") && !html.contains("href=\"javascript"),
            "{html}"
        );
        assert!(html.contains("href=\"http://e.vil/x.png\""), "{html}");
    }
}
