//! Who is working: the card of a thread with its Stop, and the team's presence.

use butler_protocol::{ActivityState, Role, ThreadId};
use maud::{Markup, html};

use crate::page::render::emoji;
use crate::{presence::Member, views::overview::ThreadView};

/// "Coder · running cargo test · 0:42 · $0.18 of $5.00", and Stop where people
/// can say it.
pub(super) fn card(view: &ThreadView, here: bool) -> Markup {
    let now = view.at_ms;
    let working: Vec<_> = view.activity.iter().filter(|s| s.works(now)).collect();
    let parked: Vec<_> = view
        .activity
        .iter()
        .filter(|s| s.state == ActivityState::Parked)
        .collect();
    let waits = view.decisions.iter().any(|view| view.decided.is_none());
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
            @if working.is_empty() {
                @if waits {
                    p.waiting { span.dot.waiting aria-hidden="true" {} "Waiting for your decision" }
                } @else {
                    @for status in &parked {
                        p { (badge(status.role)) span { strong { (status.role.title()) } " is waiting for an answer" } }
                    }
                }
                @if parked.is_empty() && !waits { p.soft { "Nobody is working" } }
            }
            (spent(view))
            @if here && !working.is_empty() { (stop(&view.thread)) }
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
    let sign = emoji::sign(role.icon().trim_matches(':')).unwrap_or_default();
    html! { span.avatar.small.(role.as_str()) aria-hidden="true" { (sign) } }
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
    if !member.working.is_empty() {
        "working"
    } else if member.online {
        "ready"
    } else {
        "away"
    }
}
