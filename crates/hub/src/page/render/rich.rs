//! Slack's `rich_text` as HTML: structure only, so no word of it is markup. The
//! cards are drawn with it. Blanks and line ends stay as they were written.

use maud::{Markup, html};
use serde_json::Value;

use crate::page::render::{Names, text};

pub(crate) fn render(block: &Value, names: &Names) -> Markup {
    html! {
        div.rich { @for element in list(block) { (one(element, names)) } }
    }
}

fn one(element: &Value, names: &Names) -> Markup {
    match element["type"].as_str().unwrap_or_default() {
        "rich_text_section" => html! { p { (inline(element, names)) } },
        "rich_text_preformatted" => html! { pre { (inline(element, names)) } },
        "rich_text_quote" => html! { blockquote { (inline(element, names)) } },
        "rich_text_list" if element["style"] == "ordered" => html! {
            ol { @for item in list(element) { li { (inline(item, names)) } } }
        },
        "rich_text_list" => html! {
            ul { @for item in list(element) { li { (inline(item, names)) } } }
        },
        _ => html! {},
    }
}

fn inline(element: &Value, names: &Names) -> Markup {
    html! {
        @for piece in list(element) {
            @let words = piece["text"].as_str().unwrap_or_default();
            @let style = &piece["style"];
            @if piece["type"] == "link" {
                @let target = piece["url"].as_str().unwrap_or_default();
                (text::link(target, if words.is_empty() { target } else { words }, names))
            } @else if piece["type"] == "emoji" {
                ":" (piece["name"].as_str().unwrap_or_default()) ":"
            } @else if style["code"] == true {
                code { (words) }
            } @else if style["bold"] == true {
                strong { (words) }
            } @else if style["italic"] == true {
                em { (words) }
            } @else {
                (words)
            }
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value["elements"].as_array().map_or(&[][..], Vec::as_slice)
}
