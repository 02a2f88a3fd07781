//! Block Kit to HTML: the blocks that our cards and common apps use. What is
//! unknown is left out; the text fallback is always there.

use butler_protocol::{ChannelId, MessageTs, Right};
use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::{
    page::render::{
        Names, code,
        elements::{self, Spot, element, list, plain},
        rich, text,
    },
    person_api::person_actions::act_of,
    workspace::card::VERDICT_BLOCK,
};

/// Where a message stands, for the form of its elements.
pub(crate) struct Place<'a> {
    pub(crate) channel: &'a ChannelId,
    pub(crate) ts: &'a MessageTs,
    pub(crate) root: &'a MessageTs,
    /// Whether elements may be used; not on cards that were decided.
    pub(crate) open: bool,
    /// How far the rights of whoever looks go: other buttons are not drawn.
    pub(crate) highest: Right,
}

/// Buttons that act on a thread are for those who have the right to it.
fn may_use(element: &Value, highest: Right) -> bool {
    let action = element["action_id"].as_str().unwrap_or_default();
    act_of(action).is_none_or(|act| act.right() <= highest)
}

/// Renders blocks: one form when there is something to press or to fill in.
pub(crate) fn render(blocks: &Value, place: &Place<'_>, names: &Names) -> Markup {
    let blocks = list(blocks);
    let inner = html! {
        @for block in blocks { (one(block, place.ts.as_str(), place.open.then_some(place.highest), names)) }
    };
    let acts = |block: &Value| {
        matches!(block["type"].as_str(), Some("actions" | "input"))
            || block["accessory"]["action_id"].is_string()
    };
    html! {
        @if place.open && blocks.iter().any(acts) {
            form.blocks data-quiet method="post" action={ "/c/" (place.channel) "/press" } {
                // Enter in a field would otherwise press the first button.
                button type="submit" disabled hidden {}
                input type="hidden" name="ts" value=(place.ts);
                input type="hidden" name="root" value=(place.root);
                (inner)
            }
        } @else {
            div.blocks { (inner) }
        }
    }
}

/// Blocks without a form of their own, for one that stands around them; `owner` makes
/// the ids of fields unique on the page.
pub(crate) fn fields(blocks: &Value, owner: &str, names: &Names) -> Markup {
    html! {
        @for block in list(blocks) { (one(block, owner, Some(Right::Administer), names)) }
    }
}

/// `open` says how far the rights of whoever may use the elements go.
fn one(block: &Value, owner: &str, open: Option<Right>, names: &Names) -> Markup {
    let id = block["block_id"].as_str().unwrap_or_default();
    let spot = Spot {
        block: id,
        dispatches: true,
        message: owner,
    };
    match block["type"].as_str().unwrap_or_default() {
        "header" => html! { h3 { (plain(&block["text"])) } },
        "section" => html! {
            div.section {
                div { (text_object(&block["text"], names)) }
                @if block["accessory"].is_object() && open.is_some() {
                    div.accessory { (element(&block["accessory"], &spot, "", names)) }
                }
                @if !list(&block["fields"]).is_empty() {
                    div.fields {
                        @for field in list(&block["fields"]) { div { (text_object(field, names)) } }
                    }
                }
            }
        },
        "rich_text" => rich::render(block, names),
        "markdown" => html! {
            div.markdown { (markdown(block["text"].as_str().unwrap_or_default(), names)) }
        },
        // Who decided is drawn from the record, not from the card's own words.
        "context" if id == VERDICT_BLOCK => html! {},
        "context" => html! {
            div.context {
                @for item in list(&block["elements"]) { (text_object(item, names)) }
            }
        },
        "actions" => html! {
            @if let Some(highest) = open {
                div.actions {
                    @for item in list(&block["elements"]).iter().filter(|item| may_use(item, highest)) {
                        (element(item, &spot, "", names))
                    }
                }
            }
        },
        "input" if open.is_some() => input(block, &spot, names),
        "divider" => html! { hr; },
        "image" => html! {
            p.context { (text::link(
                block["image_url"].as_str().unwrap_or_default(),
                block["alt_text"].as_str().unwrap_or("image"), names)) }
        },
        _ => html! {},
    }
}

/// A field with its label; told only when a button is pressed, unless the block
/// asks otherwise.
fn input(block: &Value, spot: &Spot<'_>, names: &Names) -> Markup {
    let inside = &block["element"];
    let spot = Spot {
        dispatches: block["dispatch_action"] == true,
        ..*spot
    };
    let id = elements::field_id(&spot, inside["action_id"].as_str().unwrap_or_default());
    let grouped = matches!(
        inside["type"].as_str(),
        Some("checkboxes" | "radio_buttons")
    );
    let label = plain(&block["label"]);
    html! {
        div.input {
            @if grouped {
                span.label { (label) }
            } @else {
                label for=(id) {
                    (label) @if block["optional"] == true { span.soft { " (optional)" } }
                }
            }
            (element(inside, &spot, if grouped { label } else { "" }, names))
            @if block["hint"].is_object() { p.context { (plain(&block["hint"])) } }
        }
    }
}

fn text_object(object: &Value, names: &Names) -> Markup {
    match object["type"].as_str() {
        Some("mrkdwn") => text::render(plain(object), names),
        Some("plain_text") => html! { p { (plain(object)) } },
        _ => html! {},
    }
}

/// Markdown of models: raw HTML becomes text, links lead to the web only, and
/// nothing is loaded from elsewhere.
pub(crate) fn markdown(source: &str, names: &Names) -> Markup {
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut dropped = Vec::new();
    let mut fence: Option<(String, String)> = None;
    let events = Parser::new_ext(source, options).filter_map(|event| match (&mut fence, event) {
        (None, Event::Start(Tag::CodeBlock(kind))) => {
            let language = match kind {
                CodeBlockKind::Fenced(info) => {
                    info.split([' ', ',']).next().unwrap_or("").to_owned()
                }
                CodeBlockKind::Indented => String::new(),
            };
            fence = Some((language, String::new()));
            None
        }
        (Some((language, code)), Event::End(TagEnd::CodeBlock)) => {
            let block = code::block(code, language).into_string();
            fence = None;
            Some(Event::Html(CowStr::from(block)))
        }
        (Some((_, code)), Event::Text(text)) => {
            code.push_str(&text);
            None
        }
        (_, event) => Some(inert(event, &mut dropped, names)),
    });
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, events);
    PreEscaped(out)
}

/// An event without what could act: raw HTML becomes text, a link or picture
/// becomes a link to the web or only its label.
fn inert<'a>(event: Event<'a>, dropped: &mut Vec<bool>, names: &Names) -> Event<'a> {
    match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let web = text::is_web(&dest_url);
            dropped.push(!web);
            if web {
                let target = text::link(&dest_url, "", names).into_string();
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
        // A message is a part of the page: its headings stand below the page's.
        Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
            level: below(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
        other => other,
    }
}

const fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H4,
        _ => HeadingLevel::H5,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::page::render::blocks::*;

    fn shown(blocks: &Value, open: bool) -> String {
        let (channel, ts) = (ChannelId::new("C1"), "1700000000.000100".parse().unwrap());
        let place = Place {
            channel: &channel,
            ts: &ts,
            root: &ts,
            open,
            highest: Right::Administer,
        };
        render(blocks, &place, &Names::default()).into_string()
    }

    #[test]
    fn a_card_shows_its_buttons_only_while_it_is_open() {
        let card = json!([
            {"type": "header", "text": {"type": "plain_text", "text": "Plan <b>"}},
            {"type": "markdown", "text": "1. *do* it\n2. <script>x</script>"},
            {"type": "actions", "elements": [{"type": "button", "value": "k3m9qa",
                "action_id": "cb:k3m9qa:approve",
                "text": {"type": "plain_text", "text": "Approve"}}]},
        ]);
        let open = shown(&card, true);
        assert!(open.contains("data-action=\"cb:k3m9qa:approve\""), "{open}");
        assert!(
            open.contains("Plan &lt;b&gt;") && open.contains("<ol>"),
            "{open}"
        );
        assert!(!open.contains("<script"), "{open}");
        assert!(!shown(&card, false).contains("<button"));
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
