//! The channel and the thread.

use butler_vocab::{ActivityState, ChannelId, DecisionView, MessageTs};
use jiff::Timestamp;
use maud::{Markup, html};
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::Value;

use super::{
    blocks::{self, Place},
    layout::{self, Frame},
    text::{self, Names},
};
use crate::{
    desk::now_ms,
    error::Trouble,
    identity::Person,
    names::BOT_NAME,
    overview::ThreadView,
    workspace::{
        channels::{self, Channel},
        files,
    },
};

/// A channel as it is shown.
pub(super) struct ChannelView {
    pub(super) channel: Channel,
    pub(super) all: Vec<Channel>,
    pub(super) messages: Vec<Value>,
    pub(super) names: Names,
}

/// A thread as it is shown.
pub(super) struct ThreadPage {
    pub(super) channel: Channel,
    pub(super) all: Vec<Channel>,
    pub(super) view: ThreadView,
    pub(super) names: Names,
}

/// Everybody's name.
pub(super) fn names(db: &Connection) -> Result<Names, Trouble> {
    let users = channels::users(db)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(users
        .iter()
        .map(|user| (text(&user["id"]), text(&user["name"])))
        .collect())
}

pub(super) fn channel_page(view: &ChannelView, person: &Person, version: &str) -> Markup {
    let frame = Frame {
        title: &view.channel.name,
        all: &view.all,
        current: &view.channel,
        person,
        version,
    };
    let live = format!("/c/{}/live", view.channel.id);
    layout::page(
        &frame,
        &html! {
            h1 { "# " (view.channel.name) }
            section #live data-live=(live) data-channel=(view.channel.id) aria-live="polite" {
                (channel_live(view))
            }
            (composer(&view.channel.id, None))
        },
    )
}

pub(super) fn channel_live(view: &ChannelView) -> Markup {
    html! {
        @if view.messages.is_empty() {
            p.empty { "Nothing here yet. Say what you would like to have built." }
        }
        @for message in &view.messages {
            (message_card(message, &view.channel.id, &view.names, &[], true))
        }
    }
}

pub(super) fn thread_page(page: &ThreadPage, person: &Person, version: &str) -> Markup {
    let frame = Frame {
        title: &page.channel.name,
        all: &page.all,
        current: &page.channel,
        person,
        version,
    };
    let thread = &page.view.thread;
    let live = format!("/c/{}/{}/live", thread.channel, thread.root);
    layout::page(
        &frame,
        &html! {
            h1 { a href={ "/c/" (page.channel.id) } { "# " (page.channel.name) } " › thread" }
            section #live data-live=(live) data-channel=(thread.channel) data-root=(thread.root)
                aria-live="polite"
            { (thread_live(page)) }
            (composer(&thread.channel, Some(&thread.root)))
        },
    )
}

pub(super) fn thread_live(page: &ThreadPage) -> Markup {
    let view = &page.view;
    html! {
        (status(view))
        @for message in &view.messages {
            (message_card(message, &view.thread.channel, &page.names, &view.decisions, false))
        }
    }
}

/// "Coder · running cargo test · 0:42 · $0.18 of $5.00".
fn status(view: &ThreadView) -> Markup {
    let now = now_ms();
    let money = format!("{} of {}", view.cost.used, view.cost.cap);
    let working: Vec<_> = view.activity.iter().filter(|s| s.works(now)).collect();
    let parked: Vec<_> = view
        .activity
        .iter()
        .filter(|s| s.state == ActivityState::Parked)
        .collect();
    html! {
        p.status {
            @for standing in &working {
                span.working {
                    (standing.role.title())
                    @if let Some(step) = &standing.step { " · " (step) }
                    " · " (elapsed(now - standing.since_ms))
                }
            }
            @for standing in &parked {
                span.parked { (standing.role.title()) " is waiting" }
            }
            @if working.is_empty() && parked.is_empty() { span { "Nobody is working" } }
            span.cost { (money) }
        }
    }
}

fn elapsed(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

fn message_card(
    message: &Value,
    channel: &ChannelId,
    names: &Names,
    decisions: &[DecisionView],
    in_channel: bool,
) -> Markup {
    let Ok(ts) = MessageTs::deserialize(&message["ts"]) else {
        return html! {};
    };
    let root = MessageTs::deserialize(&message["thread_ts"]).unwrap_or_else(|_| ts.clone());
    let card = decisions.iter().find(|view| view.asked.message == ts);
    let place = Place {
        channel,
        ts: &ts,
        root: &root,
        open: !in_channel && card.is_none_or(|view| view.decided.is_none()),
    };
    let by_bot = message["bot_id"].is_string();
    html! {
        article.message.bot[by_bot] #{ "m" (ts) } {
            header {
                strong { (author(message, names)) }
                " "
                time datetime=(iso(&ts)) { (clock(&ts)) }
                @if message["edited"].is_object() { " " span.edited { "edited" } }
            }
            @if message["blocks"].is_array() {
                (blocks::render(&message["blocks"], &place, names))
            } @else {
                (text::render(message["text"].as_str().unwrap_or_default(), names))
            }
            (attached(message))
            @if let Some(decided) = card.and_then(|view| view.decided.as_ref()) {
                p.decided {
                    (decided.choice.label()) " · "
                    (names.get(decided.person.as_str()).map_or(decided.person.as_str(), String::as_str))
                }
            }
            (reactions(message))
            @if in_channel { (open_thread(message, channel, &root)) }
        }
    }
}

/// Pictures and sounds in place, everything else as a link.
fn attached(message: &Value) -> Markup {
    let all = message["files"].as_array().map_or(&[][..], Vec::as_slice);
    html! {
        @for file in all {
            @let link = format!("/files/{}", file["id"].as_str().unwrap_or_default());
            @let name = file["title"].as_str().unwrap_or_default();
            @let kind = file["mimetype"].as_str().unwrap_or_default();
            p.file {
                @if !files::is_shown_in_place(kind) {
                    a href=(link) { (name) }
                } @else if kind.starts_with("audio/") {
                    audio controls src=(link) title=(name) {}
                } @else {
                    a href=(link) { img src=(link) alt=(name) loading="lazy"; }
                }
            }
        }
    }
}

fn author(message: &Value, names: &Names) -> String {
    if let Some(name) = message["username"].as_str() {
        return name.to_owned();
    }
    let user = message["user"].as_str().unwrap_or(BOT_NAME);
    names.get(user).cloned().unwrap_or_else(|| user.to_owned())
}

fn reactions(message: &Value) -> Markup {
    let all = message["reactions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    html! {
        @if !all.is_empty() {
            ul.reactions {
                @for reaction in all {
                    li { (emoji(reaction["name"].as_str().unwrap_or_default())) " "
                        (reaction["count"].as_u64().unwrap_or(0)) }
                }
            }
        }
    }
}

/// The few emoji that the team uses; others are shown by name.
fn emoji(name: &str) -> String {
    let known = match name.split("::").next().unwrap_or(name) {
        "eyes" => "👀",
        "white_check_mark" => "✅",
        "+1" | "thumbsup" => "👍",
        "-1" | "thumbsdown" => "👎",
        "octagonal_sign" => "🛑",
        "tada" => "🎉",
        "warning" => "⚠️",
        "rocket" => "🚀",
        "heart" => "❤️",
        "x" => "❌",
        other => return format!(":{other}:"),
    };
    known.to_owned()
}

fn open_thread(message: &Value, channel: &ChannelId, root: &MessageTs) -> Markup {
    let replies = message["reply_count"].as_u64().unwrap_or(0);
    html! {
        p.open {
            a href={ "/c/" (channel) "/" (root) } {
                @match replies {
                    0 => { "Reply" }
                    1 => { "1 reply" }
                    _ => { (replies) " replies" }
                }
            }
        }
    }
}

fn composer(channel: &ChannelId, root: Option<&MessageTs>) -> Markup {
    let label = if root.is_some() {
        "Reply in this thread"
    } else {
        "Start a thread"
    };
    html! {
        form.composer method="post" action={ "/c/" (channel) "/say" } enctype="multipart/form-data" {
            label.hidden for="text" { (label) }
            textarea #text name="text" rows="2" placeholder=(label) {}
            label.attach { "Attach" input type="file" name="file" multiple aria-label="Attach files"; }
            @if let Some(root) = root { input type="hidden" name="thread_ts" value=(root); }
            button.primary type="submit" { "Send" }
        }
    }
}

fn moment(ts: &MessageTs) -> Timestamp {
    let seconds = i64::try_from(ts.seconds()).unwrap_or(0);
    Timestamp::from_second(seconds).unwrap_or_default()
}

fn iso(ts: &MessageTs) -> String {
    moment(ts).to_string()
}

fn clock(ts: &MessageTs) -> String {
    moment(ts).strftime("%Y-%m-%d %H:%M").to_string()
}
