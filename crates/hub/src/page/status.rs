//! Who is working: the card of a thread with its Stop, and the team's presence.

use butler_protocol::{ActivityState, PullStatus, Role, ThreadId};
use maud::{Markup, html};

use crate::{
    page::{Around, render::sign::sign},
    presence::{Member, activity::Status},
    views::overview::ThreadView,
};

/// "Coder · running cargo test · 0:42 · $0.18 of $5.00", and Stop where people
/// can say it; else what the thread waits for, or how it ended.
pub(super) fn card(view: &ThreadView, around: &Around) -> Markup {
    let now = view.at_ms;
    let working: Vec<_> = view.activity.iter().filter(|s| s.works(now)).collect();
    html! {
        div.status role="status" {
            @for status in &working {
                p.working {
                    (badge(status.role))
                    span {
                        strong { (status.role.title()) }
                        @if let Some(step) = &status.step { " · " span.step { (step) } }
                    }
                    (elapsed(status.since_ms, now))
                }
            }
            @if working.is_empty() { (rests(view, around)) }
            (spent(view))
            @if around.slack.is_none() && !working.is_empty() { (stop(&view.thread)) }
        }
    }
}

/// Nobody works: what waits for this person, for others, or how it ended.
fn rests(view: &ThreadView, around: &Around) -> Markup {
    let parked = |status: &&Status| status.state == ActivityState::Parked;
    let parked: Vec<_> = view.activity.iter().filter(parked).collect();
    let needs = around
        .needs
        .iter()
        .filter(|need| need.thread == view.thread);
    let needs: Vec<_> = needs.collect();
    let waits = view.decisions.iter().any(|view| view.decided.is_none());
    html! {
        @for need in &needs {
            p.rests.(need.kind.colour()) { span.dot.(need.kind.colour()) aria-hidden="true" {} span { (need.why) } }
        }
        @if !needs.is_empty() {
        } @else if waits {
            p.rests.asks { span.dot.asks aria-hidden="true" {} "Waits for somebody who may decide" }
        } @else if !parked.is_empty() {
            @for status in &parked {
                p { (badge(status.role)) span { strong { (status.role.title()) } " is waiting for an answer" } }
            }
        } @else {
            @match view.pull {
                Some((number, PullStatus::Merged)) => p.rests { span.state.merged { "merged" } "#" (number) " is on the default branch" },
                Some((number, PullStatus::Closed)) => p.rests { span.state.closed { "closed" } "#" (number) " was not merged" },
                Some((number, PullStatus::Open)) => p.rests { span.state.open { "open" } "#" (number) " is open, nobody works on it" },
                None => p.rests.soft { "Nothing is going on here. Write to go on." },
            }
        }
    }
}

fn spent(view: &ThreadView) -> Markup {
    let (used, cap) = (view.cost.used, view.cost.cap);
    html! {
        p.cost {
            span { (used) " of " (cap) }
            meter min="0" max=(cap.nanos().max(1)) value=(used.nanos())
                high=(cap.nanos() / 10 * 8) aria-label="Spent of the cap" {}
        }
    }
}

/// Says "stop" in the thread: everybody obeys it, and it stands in the story.
fn stop(thread: &ThreadId) -> Markup {
    html! {
        form data-quiet method="post" action={ "/c/" (thread.channel) "/" (thread.root) "/stop" } {
            button.danger #stop type="submit" { "Stop" }
        }
    }
}

/// Ticks in the browser; a timer is not read out again and again.
fn elapsed(since_ms: i64, now: i64) -> Markup {
    let seconds = (now - since_ms).max(0) / 1000;
    html! {
        span.elapsed role="timer" data-elapsed=(seconds) {
            (seconds / 60) ":" (format!("{:02}", seconds % 60))
        }
    }
}

/// A role's sign in its colour.
pub(super) fn badge(role: Role) -> Markup {
    html! { span.avatar.small.(role.as_str()) aria-hidden="true" { (sign(role.as_str())) } }
}

/// The team at the side: who is there, and who works.
pub(super) fn team(members: &[Member]) -> Markup {
    html! {
        ul.team {
            @for member in members {
                @let state = state_of(member);
                li {
                    span.dot.(state) aria-hidden="true" {}
                    span { (member.role.title()) }
                    @match member.working.first() {
                        Some(job) => {
                            a.soft href={ "/c/" (job.thread.channel) "/" (job.thread.root) } {
                                (job.step.as_deref().unwrap_or("working"))
                            }
                        }
                        None => { span.soft { (state) } }
                    }
                }
            }
        }
    }
}

/// In one word.
pub(super) fn state_of(member: &Member) -> &'static str {
    if member.online && member.failing {
        "failing"
    } else if !member.working.is_empty() {
        "working"
    } else if member.online {
        "ready"
    } else {
        "away"
    }
}
