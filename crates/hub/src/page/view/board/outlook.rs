//! What a team has before it: the roadmap, and open branches that would not merge.

use butler_protocol::{BranchClash, BranchName, Outlook, RoadmapEntry};
use maud::{Markup, html};

use crate::{page::view::thread, views::pulls::Pull};

/// The panels below the board; `repo` where there are several.
pub(crate) fn panels(ahead: &Outlook, repo: Option<&str>, pulls: &[Pull]) -> Markup {
    html! {
        @if !ahead.clashes.is_empty() {
            section.panel.forecast {
                h2 { "Forecast" @if let Some(repo) = repo { " of " (repo) } }
                ul { @for clash in &ahead.clashes { (line(clash, pulls)) } }
                @if ahead.order.len() > 1 {
                    p.soft { "Best merged in this order: "
                        @for (at, branch) in ahead.order.iter().enumerate() {
                            @if at > 0 { ", then " } (name(branch, pulls))
                        }
                    }
                }
            }
        }
        @if !ahead.roadmap.is_empty() {
            section.panel.roadmap {
                h2 { "Roadmap" @if let Some(repo) = repo { " of " (repo) } }
                @let done = ahead.roadmap.iter().filter(|item| item.state == "done").count();
                p.soft { (done) " of " (ahead.roadmap.len()) " done" }
                table { thead { tr { th scope="col" { "Item" } th scope="col" { "State" } th scope="col" { "After" } } }
                    tbody { @for item in &ahead.roadmap { (row(item)) } } }
            }
        }
    }
}

fn line(clash: &BranchClash, pulls: &[Pull]) -> Markup {
    html! {
        li {
            span.state.failing { "conflict" } " " (name(&clash.one, pulls))
            @match &clash.other {
                Some(other) => { " and " (name(other, pulls)) }
                None => { " and the default branch" }
            }
            span.soft { " in " @for (at, file) in clash.files.iter().enumerate() { @if at > 0 { ", " } code { (file) } } }
        }
    }
}

/// A pull request is known by its number, another branch by its name.
fn name(branch: &BranchName, pulls: &[Pull]) -> Markup {
    let pull = pulls.iter().find(|pull| pull.branch == branch.as_str());
    html! {
        @match pull {
            Some(pull) => { a href=(thread::address(&pull.thread, "/changes")) { "#" (pull.number) " " (pull.title) } }
            None => { code { (branch) } }
        }
    }
}

fn row(item: &RoadmapEntry) -> Markup {
    let before: Vec<String> = item.depends_on.iter().map(ToString::to_string).collect();
    html! {
        tr {
            th scope="row" { (item.number) ". " (item.title) }
            td { span.state.(class(&item.state)) { (item.state.replace('_', " ")) }
                @if !item.why.is_empty() { " " span.soft { (item.why) } } }
            td { (before.join(", ")) }
        }
    }
}

/// A word of the roadmap is no name of a class.
fn class(state: &str) -> &'static str {
    match state {
        "done" => "merged",
        "in_progress" => "working",
        "blocked" => "failing",
        "ready" => "open",
        _ => "away",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_roadmap_says_is_inert() {
        let probe = "</td><script>alert(1)</script>".to_owned();
        let ahead = Outlook {
            roadmap: vec![RoadmapEntry {
                number: 1,
                title: probe.clone(),
                state: probe.clone(),
                why: probe.clone(),
                depends_on: vec![2],
            }],
            clashes: vec![BranchClash {
                one: BranchName::new(&probe),
                other: None,
                files: vec![probe.clone()],
            }],
            order: Vec::new(),
        };
        let html = panels(&ahead, Some(&probe), &[]).into_string();
        assert!(!html.contains("<script"), "{html}");
        assert!(html.contains("the default branch"), "{html}");
    }
}
