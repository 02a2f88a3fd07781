//! What it cost: per day, role, model and thread, of everything or of one thread.

use butler_protocol::Usd;
use maud::{Markup, html};

use crate::{
    page::{
        Around, Here, layout,
        render::{
            chart::{self, Bar},
            sign::sign,
        },
        view::{Tab, thread},
    },
    views::bill::{Bill, Line},
    workspace::Channel,
};

/// The page of the whole workspace.
pub(crate) fn page(bill: &Bill, around: &Around) -> Markup {
    let about = html! { "Model calls, as the providers counted them" };
    let content = html! { (parts(bill)) };
    layout::overview(("Cost", &about), Here::Cost, around, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(bill: &Bill) -> Markup {
    html! { div.page data-part="cost" { (body(bill)) } }
}

/// The page of one thread.
pub(crate) fn of_thread(
    bill: &Bill,
    channel: &Channel,
    (id, title): (&butler_protocol::ThreadId, &str),
    around: &Around,
) -> Markup {
    let live = (Tab::Cost, Some("/cost/live"));
    thread::framed((channel, id, title), live, around, &parts(bill))
}

fn body(bill: &Bill) -> Markup {
    html! {
        @if bill.calls == 0 {
            div.empty { p.big { (sign("money")) } h2 { "Nothing spent yet" }
                p { "Every model call is priced here as soon as it is made." } }
        } @else {
            div.tiles {
                (tile("Total", bill.total, &match bill.calls { 1 => "1 model call".to_owned(), many => format!("{many} model calls") }))
                (tile("Today", bill.today, &format!("of {} a day", bill.day_cap)))
                (tile("Per call", average(bill), &format!("cap {} a thread", bill.thread_cap)))
            }
            @if bill.days.len() > 1 || !bill.threads.is_empty() {
                section.panel { h2 { "Per day" } (chart::columns(&bars(&bill.days, false), "US dollars per day, UTC")) }
            }
            div.pair {
                section.panel { h2 { "Per role" } (chart::rows("Role", &bars(&bill.roles, true))) }
                section.panel { h2 { "Per model" } (chart::rows("Model", &bars(&bill.models, false))) }
            }
            @if !bill.went_to.is_empty() {
                section.panel { h2 { "What the calls went to" }
                    table.bill {
                        thead { tr { th scope="col" { "What" } th scope="col" { "Calls" } th scope="col" { "Tokens" } } }
                        tbody { @for line in &bill.went_to {
                            tr { th scope="row" { (line.name) } td.figure { (line.calls) } td.figure { (grouped(line.tokens)) } }
                        } }
                    }
                }
            }
            @if !bill.threads.is_empty() {
                section.panel { h2 { "Per thread" } (chart::rows("Thread", &threads(bill))) }
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

/// Thousands apart, as in 12,345.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|part| std::str::from_utf8(part).ok())
        .collect();
    parts.join(",")
}

fn bars(lines: &[Line], colours: bool) -> Vec<Bar<'_>> {
    lines
        .iter()
        .map(|line| Bar {
            label: &line.name,
            cost: line.cost,
            calls: line.calls,
            link: None,
            class: if colours { &line.name } else { "plain" },
        })
        .collect()
}

fn threads(bill: &Bill) -> Vec<Bar<'_>> {
    bill.threads
        .iter()
        .map(|line| Bar {
            label: &line.title,
            cost: line.cost,
            calls: line.calls,
            link: Some(thread::address(&line.thread, "/cost")),
            class: "plain",
        })
        .collect()
}
