//! What it cost: per day, role, model and thread, of everything or of one thread.

use butler_protocol::Usd;
use maud::{Markup, html};

use crate::page::{
    layout::{self, Around, Here, Live},
    render::chart::{self, Bar},
    view::thread::{self, Tab},
};
use crate::{
    views::bill::{Bill, Line},
    workspace::channels::Channel,
};

/// The page of the whole workspace.
pub(crate) fn page(bill: &Bill, around: &Around) -> Markup {
    let live = Live {
        address: "/cost/live".to_owned(),
        ..Live::default()
    };
    let content = html! {
        header.top { h1 { "Cost" } p.soft { "Model calls, as the providers counted them" } }
        (parts(bill))
    };
    layout::page("Cost", Here::Cost, around, &live, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(bill: &Bill) -> Markup {
    html! { div.page data-part="cost" { (body(bill)) } }
}

/// The page of one thread.
pub(crate) fn of_thread(
    bill: &Bill,
    channel: &Channel,
    id: &butler_protocol::ThreadId,
    around: &Around,
) -> Markup {
    let live = Live {
        address: thread::address(id, "/cost/live"),
        channel: Some(&id.channel),
        root: Some(&id.root),
    };
    let content = html! { (thread::head(channel, id, Tab::Cost)) (parts(bill)) };
    layout::page("Cost", Here::Channel(&channel.id), around, &live, &content)
}

fn body(bill: &Bill) -> Markup {
    html! {
        @if bill.calls == 0 {
            div.empty { p.big aria-hidden="true" { "💰" } h2 { "Nothing spent yet" }
                p { "Every model call is priced here as soon as it is made." } }
        } @else {
            div.tiles {
                (tile("Total", bill.total, &format!("{} model calls", bill.calls)))
                (tile("Today", bill.today, &format!("of {} a day", bill.day_cap)))
                (tile("Per call", average(bill), &format!("cap {} a thread", bill.thread_cap)))
            }
            @if bill.days.len() > 1 || !bill.threads.is_empty() {
                section.panel { h2 { "Per day" } (chart::columns(&bars(&bill.days, false), "US dollars per day, UTC")) }
            }
            div.pair {
                section.panel { h2 { "Per role" } (chart::rows(&bars(&bill.roles, true))) }
                section.panel { h2 { "Per model" } (chart::rows(&bars(&bill.models, false))) }
            }
            @if !bill.went_to.is_empty() {
                section.panel { h2 { "What the calls went to" }
                    table { tbody {
                        @for line in &bill.went_to {
                            tr { th scope="row" { (line.name) }
                                td { (calls(line.calls.try_into().unwrap_or(i64::MAX))) }
                                td { (line.tokens) " tokens" } }
                        }
                    } }
                }
            }
            @if !bill.threads.is_empty() {
                section.panel { h2 { "Per thread" } (chart::rows(&threads(bill))) }
            }
        }
    }
}

fn average(bill: &Bill) -> Usd {
    Usd::from_nanos(bill.total.nanos() / bill.calls.max(1))
}

fn tile(label: &str, figure: Usd, note: &str) -> Markup {
    html! { div.tile { p.soft { (label) } p.number { (figure) } p.soft { (note) } } }
}

fn calls(count: i64) -> String {
    if count == 1 {
        "1 call".to_owned()
    } else {
        format!("{count} calls")
    }
}

fn bars(lines: &[Line], colours: bool) -> Vec<Bar<'_>> {
    lines
        .iter()
        .map(|line| Bar {
            label: &line.name,
            cost: line.cost,
            note: calls(line.calls),
            link: None,
            class: if colours { &line.name } else { "plain" },
        })
        .collect()
}

fn threads(bill: &Bill) -> Vec<Bar<'_>> {
    bill.threads
        .iter()
        .map(|line| Bar {
            label: if line.title.is_empty() {
                "a thread"
            } else {
                &line.title
            },
            cost: line.cost,
            note: calls(line.calls),
            link: Some(thread::address(&line.thread, "/cost")),
            class: "plain",
        })
        .collect()
}
