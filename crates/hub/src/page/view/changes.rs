//! The pull request of a thread: what it changes, what the checks and the
//! Reviewer said, and the card that merges it.

use butler_protocol::{DecisionKind, DecisionView, HandOver, ThreadId};
use maud::{Markup, html};
use serde_json::Value;

use crate::page::{
    layout::{self, Around, Here, Live},
    render::{
        blocks, diff,
        message::{self, Scene},
        plan,
        text::Names,
    },
    view::{
        thread::{self, Tab},
        timeline,
    },
};
use crate::{
    views::{
        pulls::Pull,
        timeline::{Moment, What},
    },
    workspace::channels::Channel,
};

/// What the page shows.
pub(crate) struct ChangesView {
    pub(crate) channel: Channel,
    pub(crate) thread: ThreadId,
    pub(crate) pull: Option<Pull>,
    pub(crate) moments: Vec<Moment>,
    pub(crate) decisions: Vec<DecisionView>,
    /// The messages that carry the merge cards.
    pub(crate) cards: Vec<Value>,
    pub(crate) names: Names,
    pub(crate) around: Around,
}

/// The whole page.
pub(crate) fn page(view: &ChangesView) -> Markup {
    let live = Live {
        address: thread::address(&view.thread, "/changes/live"),
        channel: Some(&view.thread.channel),
        root: Some(&view.thread.root),
    };
    let content = html! { (thread::head(&view.channel, &view.thread, Tab::Changes)) (parts(view)) };
    layout::page(
        "Changes",
        Here::Channel(&view.channel.id),
        &view.around,
        &live,
        &content,
    )
}

/// What is swapped in when something changed.
pub(crate) fn parts(view: &ChangesView) -> Markup {
    html! {
        div.page data-part="changes" {
            @match &view.pull {
                None => {
                    div.empty { p.big aria-hidden="true" { "🌱" } h2 { "No pull request yet" }
                        p { "It appears when the Coder hands its work over for review." } }
                }
                Some(pull) => (shown(view, pull)),
            }
        }
    }
}

fn shown(view: &ChangesView, pull: &Pull) -> Markup {
    let diff = pull.diff.as_deref().unwrap_or_default();
    let files = diff::files(diff);
    let (added, removed) = files.iter().fold((0, 0), |(added, removed), file| {
        (added + file.added, removed + file.removed)
    });
    html! {
        section.panel.pull {
            h2 { span.state.(pull.state.as_str()) { (pull.state.as_str()) } " #" (pull.number) " " (pull.title) }
            p.soft.facts {
                code { (pull.branch) }
                span { "at " code { (pull.head.chars().take(10).collect::<String>()) } }
                span { (files.len()) @if files.len() == 1 { " file" } @else { " files" } }
                span.counts { span.plus { "+" (added) } " " span.minus { "−" (removed) } }
                (message::time_ms(pull.at_ms))
            }
            @if !pull.body.is_empty() { div.markdown { (blocks::markdown(&pull.body, &view.names)) } }
        }
        (merge_card(view))
        div.pair {
            section.panel { h2 { "Checks" } (checks(&view.moments)) }
            section.panel { h2 { "Review" } (review(&view.moments)) }
        }
        @if files.is_empty() {
            p.soft { "The diff is not known here." }
        } @else {
            (diff::change(diff))
        }
    }
}

/// The newest merge card, with its buttons while it waits.
fn merge_card(view: &ChangesView) -> Markup {
    let newest = view
        .decisions
        .iter()
        .rev()
        .find(|one| one.asked.kind == DecisionKind::Merge);
    let card = newest.and_then(|one| {
        let ts = one.asked.message.as_str();
        view.cards.iter().find(|message| message["ts"] == ts)
    });
    let scene = Scene {
        channel: &view.thread.channel,
        names: &view.names,
        decisions: &view.decisions,
        me: &view.around.person,
        plans: &[],
        snippets: &std::collections::HashMap::new(),
        in_channel: false,
        here: view.around.slack.is_none(),
    };
    html! { @if let Some(card) = card { (message::card(card, &scene)) } }
}

fn checks(moments: &[Moment]) -> Markup {
    let newest = moments.iter().rev().find_map(|moment| match &moment.what {
        What::Checked { receipt } => Some((receipt, moment)),
        _ => None,
    });
    html! {
        @match newest {
            Some((receipt, moment)) => { (timeline::checks(receipt)) p { (message::time_ms(moment.at_ms)) } }
            None => { p.soft { "No receipt was left here." } }
        }
    }
}

fn review(moments: &[Moment]) -> Markup {
    let newest = moments.iter().rev().find_map(|moment| match &moment.what {
        What::HandedOver { body, .. } => match &**body {
            HandOver::Verdict { verdict, .. } => Some(verdict),
            _ => None,
        },
        _ => None,
    });
    html! {
        @match newest {
            Some(verdict) => (plan::verdict(verdict)),
            None => { p.soft { "Not reviewed yet." } }
        }
    }
}
