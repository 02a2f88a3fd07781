//! The channel: its threads, newest at the end, and where new ones begin.

use butler_protocol::{MessageTs, ThreadId};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    page::{
        Around, Here, Live, apps,
        composer::composer,
        layout,
        render::{FileTexts, Names, Scene, message, sign::sign},
        view::welcome::Welcome,
    },
    presence::Job,
    workspace::Channel,
};

/// A channel as it is shown to somebody.
pub(crate) struct ChannelView {
    pub(crate) channel: Channel,
    pub(crate) messages: Vec<Value>,
    pub(crate) names: Names,
    pub(crate) around: Around,
    pub(crate) files: FileTexts,
}

/// The whole page.
pub(crate) fn page(view: &ChannelView, welcome: &Welcome) -> Markup {
    let id = &view.channel.id;
    let live = Live {
        address: format!("/c/{id}/live"),
        channel: Some(id),
        root: None,
    };
    let content = html! {
        header.top { h1 { "# " (view.channel.name) } p.soft { (view.channel.repo) } }
        (welcome.banner())
        @if view.around.slack.is_none() { (welcome.requests(id)) }
        (list(view))
        (composer(id, None, view.around.slack.as_deref()))
        @if view.around.has_apps { (apps::offers(id, None)) }
    };
    layout::page(
        &view.channel.name,
        Here::Channel(id),
        &view.around,
        &live,
        &content,
    )
}

/// What is swapped in when something changed.
pub(crate) fn parts(view: &ChannelView) -> Markup {
    html! { (list(view)) }
}

fn list(view: &ChannelView) -> Markup {
    let scene = Scene {
        in_channel: true,
        ..Scene::new(&view.channel.id, &view.names, &view.files, &view.around)
    };
    html! {
        div.messages data-part="messages" data-keyed role="log" aria-label="Threads" {
            @if view.messages.is_empty() {
                div.empty #empty {
                    p.big { (sign("hand")) }
                    h2 { "Nothing here yet" }
                    p { "Say what you would like to have built. The PM answers in a thread, asks what is unclear and proposes a plan with a price; nothing is built before you approve it." }
                }
            }
            @for message in &view.messages {
                div.entry #{ "e" (message["ts"].as_str().unwrap_or_default()) } {
                    (message::card(message, &scene))
                    @if message["is_ephemeral"] != true { (open_thread(message, view)) }
                }
            }
        }
    }
}

fn open_thread(message: &Value, view: &ChannelView) -> Markup {
    let channel = &view.channel.id;
    let root = message["thread_ts"]
        .as_str()
        .or(message["ts"].as_str())
        .unwrap_or_default();
    let replies = message["reply_count"].as_u64().unwrap_or(0);
    let latest = MessageTs::deserialize(&message["latest_reply"]).ok();
    let thread = root.parse().ok();
    let new = thread.map_or(0, |root| {
        let thread = ThreadId::new(channel.clone(), root);
        view.around.unread.in_thread(&thread)
    });
    let working = view.around.team.iter().flat_map(|member| {
        let here = |job: &&Job| job.thread.channel == *channel && job.thread.root.as_str() == root;
        let jobs = member.working.iter().filter(here);
        jobs.map(|job| (member.role, job.step.as_deref()))
    });
    html! {
        p.open {
            a href={ "/c/" (channel) "/" (root) } {
                @match replies {
                    0 => { "Reply" }
                    1 => { "1 reply" }
                    _ => { (replies) " replies" }
                }
            }
            @if new > 0 { " " span.badge.new { (new) " new" } }
            @if let Some(latest) = latest { " " span.soft { "last " (message::time(&latest)) } }
            @for (role, step) in working {
                " " span.at { (role.title()) @if let Some(step) = step { " · " (step) } }
            }
        }
    }
}
