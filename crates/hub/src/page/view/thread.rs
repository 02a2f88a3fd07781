//! A thread: the conversation, who works on it, and the way to its other views.

pub(crate) mod file;
pub(crate) mod work;

use butler_protocol::{DecisionKind, DecisionView, Plan, RequestId, Right, ThreadId};
use maud::{Markup, html};
use serde_json::Value;

use crate::{
    page::{
        Around, Here, Live, apps,
        composer::composer,
        layout,
        render::{FileTexts, Names, Scene, message},
        status, thread_actions,
    },
    views::{needs, overview::ThreadView},
    workspace::Channel,
};

/// How many messages a page holds at first.
pub(crate) const PAGE: usize = 100;

/// A thread as it is shown to somebody.
pub(crate) struct ThreadPage {
    pub(crate) channel: Channel,
    pub(crate) view: ThreadView,
    /// What only the reader sees.
    pub(crate) own: Vec<Value>,
    pub(crate) names: Names,
    pub(crate) around: Around,
    pub(crate) files: FileTexts,
    /// Plans that wait on cards, for those who may decide about them.
    pub(crate) plans: Vec<(RequestId, Plan)>,
    /// Names of models that can build them.
    pub(crate) pool: Vec<String>,
    /// Cards that the reader may decide about.
    pub(crate) decidable: Vec<RequestId>,
    pub(crate) highest: Right,
    /// True when an older part is shown.
    pub(crate) older: bool,
}

/// The views of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Conversation,
    Timeline,
    Changes,
    Cost,
}

/// The whole page.
pub(crate) fn page(page: &ThreadPage) -> Markup {
    let thread = &page.view.thread;
    let content = html! {
        div.split {
            aside.rail aria-label="Status" { (rail(page)) }
            div.talk {
                (earlier(page))
                (list(page))
                @if page.older {
                    p.newer { a href=(address(thread, "")) { "Back to the newest messages" } }
                } @else {
                    (work::fold(thread))
                    (composer(&thread.channel, Some(&thread.root), page.around.slack.as_deref()))
                    @if page.around.has_apps { (apps::offers(&thread.channel, Some(&thread.root))) }
                }
            }
        }
    };
    let live = (!page.older).then_some("/live");
    let title = title(page);
    let place = (&page.channel, thread, title.as_str());
    framed(place, (Tab::Conversation, live), &page.around, &content)
}

/// A view of a thread; `live` is the address of its parts, below the thread's.
pub(crate) fn framed(
    (channel, thread, title): (&Channel, &ThreadId, &str),
    (tab, live): (Tab, Option<&str>),
    around: &Around,
    content: &Markup,
) -> Markup {
    let live = Live {
        address: live.map_or_else(String::new, |below| address(thread, below)),
        channel: Some(&thread.channel),
        root: Some(&thread.root),
    };
    let content = html! { (head(channel, thread, title, tab)) (content) };
    let title = match tab {
        Tab::Conversation => title.to_owned(),
        Tab::Timeline => format!("Time line: {title}"),
        Tab::Changes => format!("Changes: {title}"),
        Tab::Cost => format!("Cost: {title}"),
    };
    layout::page(&title, Here::Channel(&channel.id), around, &live, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(page: &ThreadPage) -> Markup {
    html! {
        (rail(page))
        (earlier(page))
        (list(page))
    }
}

/// The address of a thread and what is below it.
pub(crate) fn address(thread: &ThreadId, below: &str) -> String {
    format!("/c/{}/{}{below}", thread.channel, thread.root)
}

/// The way back, and the thread's views.
fn head(channel: &Channel, thread: &ThreadId, title: &str, current: Tab) -> Markup {
    let tab = |below: &str, label: &str, tab: Tab| {
        html! {
            a href=(address(thread, below)) aria-current=[(tab == current).then_some("page")] { (label) }
        }
    };
    html! {
        header.top {
            h1 title=(title) { a.soft href={ "/c/" (channel.id) } { "# " (channel.name) } span.soft { " › " } (title) }
            nav.tabs aria-label="Views of this thread" {
                (tab("", "Conversation", Tab::Conversation))
                (tab("/timeline", "Time line", Tab::Timeline))
                (tab("/changes", "Changes", Tab::Changes))
                (tab("/cost", "Cost", Tab::Cost))
            }
        }
    }
}

fn title(page: &ThreadPage) -> String {
    let root = page.view.messages.first();
    needs::title_of(
        root.and_then(|root| root["text"].as_str())
            .unwrap_or_default(),
    )
}

fn rail(page: &ThreadPage) -> Markup {
    html! {
        div data-part="status" { (status::card(&page.view, &page.around)) (decisions(&page.view.decisions)) (thread_actions::buttons(&page.view.thread, &page.view.can, page.around.slack.is_none())) }
    }
}

/// What was decided in a long thread, and the way to each card.
fn decisions(all: &[DecisionView]) -> Markup {
    let name = |view: &DecisionView| match view.asked.kind {
        DecisionKind::Plan => "Plan",
        DecisionKind::Command => "Command",
        DecisionKind::Learning => "Learning",
        DecisionKind::Merge => "Merge",
        DecisionKind::Roadmap => "Roadmap",
        DecisionKind::Develop => "Run",
        DecisionKind::Maps => "Project maps",
        DecisionKind::Picture => "Picture",
        DecisionKind::Cap => "Budget",
    };
    html! {
        @if !all.is_empty() {
            section.decisions {
                h2 { "Decisions" }
                ul {
                    @for view in all {
                        li {
                            a href={ "#m" (view.asked.message) } { (name(view)) }
                            @match &view.decided {
                                Some(decided) => { span.soft { (decided.choice.past()) } }
                                None => { span.open { "waiting" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn earlier(page: &ThreadPage) -> Markup {
    let first = page
        .view
        .messages
        .get(1)
        .and_then(|message| message["ts"].as_str());
    html! {
        div data-part="earlier" {
            @if let (1.., Some(first)) = (page.view.earlier, first) {
                p.earlier {
                    a href={ (address(&page.view.thread, "")) "?before=" (first) }
                        data-earlier={ (address(&page.view.thread, "/live")) "?before=" (first) }
                    { "Show earlier messages" }
                    " " span.soft { (page.view.earlier) " more" }
                }
            }
        }
    }
}

fn list(page: &ThreadPage) -> Markup {
    let scene = Scene {
        decisions: &page.view.decisions,
        decidable: &page.decidable,
        highest: page.highest,
        plans: &page.plans,
        pool: &page.pool,
        ..Scene::new(
            &page.view.thread.channel,
            &page.names,
            &page.files,
            &page.around,
        )
    };
    html! {
        div.messages data-part="messages" data-keyed role="log" aria-label="Conversation" {
            @for message in page.view.messages.iter().chain(&page.own) {
                (message::card(message, &scene))
            }
        }
    }
}
