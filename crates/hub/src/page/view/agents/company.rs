//! Every repository and person at one glance, reached from the agents; for administrators.

use butler_protocol::count_of;
use maud::{Markup, html};

use crate::{
    page::{Around, Here, Live, layout},
    store::retention::Held,
    views::company::{AgentRow, Company, LimitRow, PersonRow, RepoRow, Spent},
};

/// The whole page.
pub(crate) fn page(company: &Company, around: &Around) -> Markup {
    let live = Live {
        address: "/company/live".to_owned(),
        ..Live::default()
    };
    let content = html! {
        header.top { h1 { "All repositories" } p.soft { "The hub is " (company.version) } }
        div.page { (parts(company)) }
    };
    layout::page("All repositories", Here::Agents, around, &live, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(company: &Company) -> Markup {
    html! {
        div data-part="company" {
            @if company.repos.is_empty() {
                div.empty { h2 { "No repositories yet" } p { "They appear when one is set up." } }
            }
            div.agents {
                @for one in &company.repos { (repo(one)) }
            }
            @if !company.people.is_empty() {
                section.panel {
                    h2 { "People this month" }
                    div.agents {
                        @for one in &company.people { (person(one)) }
                    }
                }
            }
            @if !company.reached.is_empty() {
                section.panel {
                    h2 { "Limits that were reached" }
                    ul { @for one in &company.reached { (reached(one)) } }
                }
            }
            (store(&company.store))
        }
    }
}

fn repo(one: &RepoRow) -> Markup {
    let state = match (one.connected, one.waiting) {
        (0, 0) => "asleep",
        (0, _) => "offline",
        _ => "online",
    };
    html! {
        article.agent {
            div {
                h2 { (one.repo) " " span.state.(state) { (state) } }
                @if one.turned_away > 0 {
                    p.last-error { (count_of(one.turned_away as u64, "agent")) " not let in: releases too far apart" }
                }
                p.soft.facts {
                    span { (one.connected) " of " (count_of(one.agents.len() as u64, "agent")) }
                    @for version in &one.versions { span { "version " (version) } }
                    @for host in &one.hosts { span { "on " (host) } }
                    span { (count_of(one.open_threads.unsigned_abs(), "open thread")) }
                    span { "queue " (one.waiting) @if let Some(age) = long(one.oldest_seconds) { ", the oldest " (age) } }
                    span { "today " (money(&one.today)) }
                    span { "this month " (money(&one.month)) }
                    span { (count_of(one.calls_today.unsigned_abs(), "call")) " today" }
                }
                details {
                    summary { "Agents" }
                    ul { @for agent in &one.agents { (role(agent)) } }
                }
            }
        }
    }
}

fn role(one: &AgentRow) -> Markup {
    html! {
        li {
            (one.role.title()) ": " @if one.connected { "connected" } @else { "not connected" }
            @if !one.version.is_empty() { ", version " (one.version) }
            @if !one.host.is_empty() { ", on " (one.host) }
            @if let Some(age) = long(one.oldest_seconds) { ", the oldest in its queue " (age) }
        }
    }
}

fn person(one: &PersonRow) -> Markup {
    html! {
        article.agent {
            div {
                h3 { (one.name) }
                p.soft.facts {
                    span { "today " (money(&one.today)) }
                    span { "this month " (money(&one.month)) }
                    span { (count_of(one.calls_today.unsigned_abs(), "call")) " today" }
                }
            }
        }
    }
}

fn reached(one: &LimitRow) -> Markup {
    html! {
        li { (one.repo) ": " (one.limit) ", " (count_of(one.times, "time")) " since the hub started" }
    }
}

fn store(held: &Held) -> Markup {
    html! {
        section.panel {
            h2 { "Store" }
            p.soft.facts {
                span { (megabytes(held.bytes)) " MB" }
                span { (count_of(held.events.unsigned_abs(), "event")) }
                span { (count_of(held.lines.unsigned_abs(), "log line")) " at hand" }
                span { (count_of(held.packed.unsigned_abs(), "thread")) " packed" }
            }
        }
    }
}

fn money(spent: &Spent) -> Markup {
    html! { (spent.spent) @if let Some(of) = spent.of { " of " (of) } }
}

fn megabytes(bytes: i64) -> i64 {
    (bytes + 999_999) / 1_000_000
}

/// How long something has been waiting, in the largest unit that has at least two of it;
/// less than a minute is no waiting.
fn long(seconds: Option<i64>) -> Option<String> {
    let seconds = seconds.filter(|seconds| *seconds >= 60)?;
    let units = [(86_400, "day"), (3_600, "hour")];
    let unit = units.iter().find(|(length, _)| seconds >= 2 * length);
    let (length, name) = unit.unwrap_or(&(60, "minute"));
    Some(count_of((seconds / length).unsigned_abs(), name))
}
