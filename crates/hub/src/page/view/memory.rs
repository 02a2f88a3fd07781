//! What the team has learned: for each learning its age, its use, what threads with it
//! were like against those without, and what speaks against it. `codebutler memory`
//! says the same at a terminal.

use butler_protocol::{LearningFigures, count_of};
use maud::{Markup, html};

use crate::{
    page::{Around, Here, layout},
    views::memory::TeamMemory,
};

/// The whole page.
pub(crate) fn page(teams: &[TeamMemory], around: &Around) -> Markup {
    let about = html! { "What the team has learned, and whether it helps" };
    let content = html! { (parts(teams)) };
    layout::overview(("Memory", &about), Here::Memory, around, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(teams: &[TeamMemory]) -> Markup {
    let learned = teams.iter().filter(|team| !team.figures.is_empty());
    let learned: Vec<&TeamMemory> = learned.collect();
    html! {
        div.page data-part="memory" {
            @if learned.is_empty() {
                div.empty { h2 { "Nothing learned yet" }
                    p { "After a thread the Lead proposes what is worth keeping; say “remember: …” at any time." } }
            }
            @for team in &learned {
                @if learned.len() > 1 { h2 { (team.repo) } }
                @for one in &team.figures { (learning(one)) }
                p.soft { "Counted " time datetime=(moment(team.told_ms)) { (moment(team.told_ms)) } }
            }
        }
    }
}

fn learning(one: &LearningFigures) -> Markup {
    html! {
        section.panel aria-label=(one.title) {
            h2 { (one.title) " " span.chip { (one.file) }
                @if one.trial { " " span.chip { "on trial" } } }
            p.soft.facts {
                span { "id " code { (one.id) } }
                @if let Some(day) = one.day() { span { "since " (day) } }
                span { "used in " (count_of(one.with, "thread")) }
                @if one.helped > 0 { span { "named as helpful in " (one.helped) } }
            }
            p { (one.said) }
            @if let Some(why) = &one.against { p { strong { "Should go: " } (why) } }
            @if !one.trial {
                p.soft { "To try it: " code { "codebutler memory trial " (one.id) } }
            }
        }
    }
}

fn moment(at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms);
    at.map_or_else(
        |_| String::new(),
        |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    )
}
