//! What waits for the person who looks, and why. The page to keep open.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::{
    page::{
        Around, Here, Live, layout,
        render::{message, sign::sign},
        status,
        view::thread,
    },
    views::Need,
};

/// The whole page.
pub(crate) fn page(around: &Around) -> Markup {
    let live = Live {
        address: "/needs/live".to_owned(),
        ..Live::default()
    };
    let content = html! {
        header.top { h1 { "Needs you" } p.soft { "What waits for you, the longest first" }
            // Shown by the script where the browser can.
            button.quiet #notify type="button" hidden { "Tell me in this browser" } }
        (parts(around))
    };
    layout::page("Needs you", Here::Needs, around, &live, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(around: &Around) -> Markup {
    html! {
        div.page data-part="needs" {
            @if around.needs.is_empty() {
                div.empty { p.big { (sign("rest")) } h2 { "Nothing waits for you" }
                    p { "Plans, questions, merges, and threads that stopped or failed appear here." } }
            } @else {
                ul.needs { @for need in &around.needs { (line(need)) } }
            }
        }
    }
}

/// The most that one look tells.
const TOLD: usize = 20;

/// What the script tells about the newest: the oldest were told long ago.
pub(crate) fn told(needs: &[Need]) -> String {
    let newest = needs.iter().rev().take(TOLD);
    let all = newest.map(|need| {
        json!({"key": need.key(), "title": need.title, "why": need.why, "address": address(need)})
    });
    Value::Array(all.collect()).to_string()
}

/// Where it is: the card or the question itself.
fn address(need: &Need) -> String {
    let mut address = thread::address(&need.thread, "");
    if let Some(message) = &need.message {
        address.push_str(&format!("#m{message}"));
    }
    address
}

fn line(need: &Need) -> Markup {
    html! {
        li {
            span.need.(need.kind.colour()) { (need.kind.label()) }
            div {
                p { a href=(address(need)) { (need.title) } }
                p.soft { @if let Some(role) = need.from { (status::badge(role)) " " } (need.why) }
            }
            p.soft.when { span { "# " (need.channel) } " " (message::time_ms(need.since_ms)) }
        }
    }
}
