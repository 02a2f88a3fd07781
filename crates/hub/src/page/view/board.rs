//! The board: runs over the roadmap, threads by phase, and pull requests.

mod outlook;
mod run;

use butler_protocol::{Outlook, PullStatus, RunState, RunView};
use maud::{Markup, html};

use crate::{
    page::{
        Around, Here, layout,
        render::{message, sign::sign},
        status,
        view::thread,
    },
    views::{
        Need,
        board::{Phase, ThreadCard},
        pulls::Pull,
    },
};

/// What the board shows.
pub(crate) struct BoardView {
    pub(crate) threads: Vec<ThreadCard>,
    pub(crate) pulls: Vec<Pull>,
    /// Runs over the roadmap, newest first.
    pub(crate) runs: Vec<RunView>,
    /// What each repository's team has before it.
    pub(crate) outlooks: Vec<(String, Outlook)>,
    pub(crate) around: Around,
}

/// The whole page.
pub(crate) fn page(view: &BoardView) -> Markup {
    let about = html! { "Threads by where they stand" };
    let content = html! { (parts(view)) };
    layout::overview(("Board", &about), Here::Board, &view.around, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(view: &BoardView) -> Markup {
    html! {
        div.page data-part="board" {
            @for run in runs_shown(&view.runs) { (run::panel(run)) }
            @if view.threads.is_empty() {
                div.empty { p.big { (sign("columns")) } h2 { "No threads yet" }
                    p { "Write in a channel; its threads appear here with their phase." } }
            } @else {
                div.board tabindex="0" role="region" aria-label="Threads by phase" {
                    @for phase in Phase::ALL { (column(phase, view)) }
                }
                @if !view.pulls.is_empty() { (pulls(&view.pulls)) }
            }
            @for (repo, ahead) in &view.outlooks {
                @let several = view.outlooks.len() > 1;
                (outlook::panels(ahead, several.then_some(repo.as_str()), &view.pulls))
            }
        }
    }
}

/// All that go on; of those that are over the newest one.
fn runs_shown(all: &[RunView]) -> impl Iterator<Item = &RunView> {
    let goes_on = |run: &&RunView| matches!(run.state, RunState::Running | RunState::Paused);
    let over = all.iter().find(|run| !goes_on(run));
    let newest = over.filter(|_| !all.iter().any(|run| goes_on(&run)));
    all.iter().filter(goes_on).chain(newest)
}

fn column(phase: Phase, view: &BoardView) -> Markup {
    let mine = view.threads.iter().filter(|card| card.phase == phase);
    let mine: Vec<_> = mine.collect();
    html! {
        section.column aria-label=(phase.title()) {
            h2 { (phase.title()) " " span.count { (mine.len()) } }
            @if mine.is_empty() { p.soft.none { "—" } }
            @for card in mine { (thread_card(card, &view.around)) }
        }
    }
}

fn thread_card(card: &ThreadCard, around: &Around) -> Markup {
    let mine = |need: &&Need| need.thread == card.thread;
    let needs: Vec<_> = around.needs.iter().filter(mine).collect();
    let new = around.unread.in_thread(&card.thread);
    let state = match (needs.first(), &card.pull) {
        (Some(need), _) => need.kind.colour(),
        _ if !card.working.is_empty() => "busy",
        (None, Some((_, PullStatus::Merged))) => "merged",
        _ => "quiet",
    };
    html! {
        article.ticket.(state) {
            p { a href=(thread::address(&card.thread, "")) { (card.title) } }
            @for (role, job) in &card.working {
                p.job { (status::badge(*role)) span { (role.title()) " " span.soft { (job.step.as_deref().unwrap_or("working")) } } }
            }
            @for need in needs { p { span.need.(need.kind.colour()) title=(need.why) { "Needs you: " (need.kind.label()) } } }
            @if new > 0 { p { span.badge.new { (new) " new" } } }
            p.soft.facts {
                span { "# " (card.channel) }
                @if let Some((number, state)) = &card.pull {
                    a href=(thread::address(&card.thread, "/changes")) { "#" (number) " " (state.as_str()) }
                }
                span { (card.replies) @if card.replies == 1 { " reply" } @else { " replies" } }
                span { (card.spent) }
            }
        }
    }
}

fn pulls(all: &[Pull]) -> Markup {
    html! {
        section.panel {
            h2 { "Pull requests" }
            ul.pulls {
                @for pull in all {
                    li {
                        span.state.(pull.state.as_str()) { (pull.state.as_str()) }
                        a href=(thread::address(&pull.thread, "/changes")) { "#" (pull.number) " " (pull.title) }
                        @if !pull.branch.is_empty() { code { (pull.branch) } }
                        (message::time_ms(pull.at_ms))
                    }
                }
            }
        }
    }
}
