//! Every repository and person at one glance, reached from the agents.

use butler_protocol::count_of;
use maud::{Markup, html};

use crate::{
    page::layout::{self, Around, Here, Live},
    views::company::{Company, PersonRow, RepoRow},
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
                    h2 { "People today" }
                    div.agents {
                        @for one in &company.people { (person(one)) }
                    }
                }
            }
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
                    span { (one.connected) " of " (count_of(one.agents as u64, "agent")) }
                    @for version in &one.versions { span { "version " (version) } }
                    span { "queue " (one.waiting) }
                    span { "today " (one.spent_today) " of " (one.day_cap) }
                    span { (count_of(one.calls_today.unsigned_abs(), "call")) }
                }
            }
        }
    }
}

fn person(one: &PersonRow) -> Markup {
    html! {
        article.agent {
            div {
                h3 { (one.name) }
                p.soft.facts {
                    span { "today " (one.spent_today) }
                    span { (count_of(one.calls_today.unsigned_abs(), "call")) }
                }
            }
        }
    }
}
