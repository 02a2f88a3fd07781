//! A run over the roadmap: how far it is, what it spent, and its items as a graph.
//! On a narrow page, and for whoever hears it, the same stands as a list.

use std::collections::HashMap;

use butler_protocol::{DevelopItem, ItemState, MergeMode, RunView};
use maud::{Markup, html};

use crate::page::view::thread;

const NODE: (u32, u32) = (200, 56);
const STEP: (u32, u32) = (248, 72);
const MARGIN: u32 = 4;
/// So many letters of a title fit into a node.
const LETTERS: usize = 21;

/// The run as a panel.
pub(crate) fn panel(run: &RunView) -> Markup {
    html! {
        section.panel.run aria-label="Roadmap" {
            h2 { a href=(thread::address(&run.thread, "")) { "Roadmap" }
                " " span.(state_class(run)) { (run.state.title()) } }
            p.soft.facts {
                @for state in ItemState::ALL {
                    @let count = run.count(state);
                    @if count > 0 { span { (count) " " (state.title()) } }
                }
                span { (run.spent) " of " (run.subject.budget) }
                span { (merging(run.mode)) }
            }
            progress max=(run.subject.items.len()) value=(run.count(ItemState::Merged)) aria-label="Items done" {}
            (graph(run))
            (list(run))
        }
    }
}

fn state_class(run: &RunView) -> String {
    format!("chip {}", run.state.title())
}

const fn merging(mode: MergeMode) -> &'static str {
    match mode {
        MergeMode::Person => "a person merges each",
        MergeMode::Merging => "merges what is green",
        MergeMode::Stacked => "stacked, a person merges each",
    }
}

/// How many items come before one, at the longest. What depends on something outside
/// the run begins where nothing comes before it; numbers that wait for each other
/// (the card refuses them) end the walk.
fn levels(items: &[DevelopItem]) -> HashMap<u32, u32> {
    let mut levels: HashMap<u32, u32> = items.iter().map(|item| (item.number, 0)).collect();
    for _ in 0..items.len() {
        for item in items {
            let before = item.depends_on.iter().filter_map(|one| levels.get(one));
            let level = before.max().map_or(0, |level| level + 1);
            levels.insert(item.number, level.min(items.len() as u32));
        }
    }
    levels
}

/// Where each node stands: its column is its level, its row the next that is free.
fn places(items: &[DevelopItem]) -> HashMap<u32, (u32, u32)> {
    let levels = levels(items);
    let mut used: HashMap<u32, u32> = HashMap::new();
    let mut places = HashMap::new();
    for item in items {
        let level = levels.get(&item.number).copied().unwrap_or(0);
        let row = used.entry(level).or_default();
        places.insert(
            item.number,
            (MARGIN + level * STEP.0, MARGIN + *row * STEP.1),
        );
        *row += 1;
    }
    places
}

fn graph(run: &RunView) -> Markup {
    let items = &run.subject.items;
    let places = places(items);
    let width = places.values().map(|(x, _)| x + NODE.0).max().unwrap_or(0) + MARGIN;
    let height = places.values().map(|(_, y)| y + NODE.1).max().unwrap_or(0) + MARGIN;
    html! {
        div.graph aria-hidden="true" {
            svg viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
                @for item in items {
                    @for before in &item.depends_on {
                        @if let (Some(from), Some(to)) = (places.get(before), places.get(&item.number)) {
                            path.edge d=(edge(*from, *to)) {}
                        }
                    }
                }
                @for item in items {
                    @if let Some(place) = places.get(&item.number) { (node(run, item, *place)) }
                }
            }
        }
    }
}

fn edge(from: (u32, u32), to: (u32, u32)) -> String {
    let (x1, y1) = (from.0 + NODE.0, from.1 + NODE.1 / 2);
    let (x2, y2) = (to.0, to.1 + NODE.1 / 2);
    let middle = u32::midpoint(x1, x2);
    format!("M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}")
}

fn node(run: &RunView, item: &DevelopItem, (x, y): (u32, u32)) -> Markup {
    let report = run.report(item.number);
    let mut title: String = item.title.chars().take(LETTERS).collect();
    if title.len() < item.title.len() {
        title.push('…');
    }
    let drawn = html! {
        g.node.(class(report.state)) transform={ "translate(" (x) " " (y) ")" } {
            title { (item.number) ". " (item.title) ": " (report.state.title()) " " (report.why) }
            rect width=(NODE.0) height=(NODE.1) rx="8" {}
            text.name x="12" y="23" { (item.number) ". " (title) }
            text.how x="12" y="43" { (report.state.title()) }
        }
    };
    // The list below has the same links for the keyboard.
    match run.items.iter().find(|one| one.number == item.number) {
        Some(one) => html! { a href=(thread::address(&one.thread, "")) tabindex="-1" { (drawn) } },
        None => drawn,
    }
}

const fn class(state: ItemState) -> &'static str {
    match state {
        ItemState::Waiting => "waiting",
        ItemState::Working => "working",
        ItemState::Asks => "asks",
        ItemState::Blocked => "blocked",
        ItemState::Merged => "merged",
        ItemState::GivenUp => "given-up",
    }
}

fn list(run: &RunView) -> Markup {
    html! {
        ul.items {
            @for item in &run.subject.items {
                @let report = run.report(item.number);
                @let begun = run.items.iter().find(|one| one.number == item.number);
                li {
                    span.how.(class(report.state)) { (report.state.title()) }
                    span.title {
                        @match begun {
                            Some(one) => { a href=(thread::address(&one.thread, "")) { (item.number) ". " (item.title) } }
                            None => { (item.number) ". " (item.title) }
                        }
                    }
                    span.soft { (told(item, &report.why)) }
                }
            }
        }
    }
}

/// Why it stands so, or what comes before it.
fn told(item: &DevelopItem, why: &str) -> String {
    if !why.is_empty() {
        return why.to_owned();
    }
    let before: Vec<String> = item.depends_on.iter().map(ToString::to_string).collect();
    match before.as_slice() {
        [] => String::new(),
        some => format!("after {}", some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Sha256Hex, Usd};

    use super::*;

    fn item(number: u32, depends_on: &[u32]) -> DevelopItem {
        DevelopItem {
            number,
            title: "t".into(),
            depends_on: depends_on.to_vec(),
            criteria: Vec::new(),
            sha256: Sha256Hex::of(""),
            cap: Usd::ZERO,
        }
    }

    #[test]
    fn no_two_items_share_a_place_and_all_stand_right_of_what_they_need() {
        let items = [
            item(1, &[]),
            item(2, &[1]),
            item(3, &[1]),
            item(4, &[2, 3]),
            item(5, &[99]),
            item(6, &[7]),
            item(7, &[6]),
        ];
        let places = places(&items);
        for (at, one) in items.iter().enumerate() {
            for other in &items[at + 1..] {
                assert_ne!(places[&one.number], places[&other.number]);
            }
        }
        for one in &items[..4] {
            for before in &one.depends_on {
                assert!(places[before].0 < places[&one.number].0);
            }
        }
    }
}
