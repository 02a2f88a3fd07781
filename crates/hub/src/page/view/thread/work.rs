//! Live work: what the roles of a thread do this very moment. Folded away on the thread's
//! page; while it is open its parts stream in, and the agents send them.

use std::sync::Arc;

use axum::{Router, extract::Path, http::HeaderMap, response::Response, routing::get};
use butler_protocol::{ChannelId, LiveStep, LiveWork, MessageTs, Role, ThreadId};
use maud::{Markup, html};

use crate::{
    hub::App,
    page::{Turned, render::diff, status, view::thread, visit::Visit},
    presence::live_work::{self, Picture},
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/c/{channel}/{ts}/work", get(stream))
}

async fn stream(
    Visit { app, person, .. }: Visit,
    Path(at): Path<(ChannelId, MessageTs)>,
    headers: HeaderMap,
) -> Result<Response, Turned> {
    let drawn = |picture: &Picture| parts(picture).into_string();
    Ok(live_work::stream(&app, person, at, headers, drawn).await?)
}

/// The fold on the thread's page; the script fills it while it is open.
pub(crate) fn fold(thread: &ThreadId) -> Markup {
    html! {
        details.fold.work #work data-work=(thread::address(thread, "/work")) {
            summary { "Watch the work" span.soft { "words, output and change as they come" } }
            div.inner data-part="work" { noscript { "Needs script; without it the time line has every step." } }
        }
    }
}

/// What the fold shows.
fn parts(picture: &Picture) -> Markup {
    html! {
        div data-part="work" {
            @if picture.is_empty() { p.soft { "Nobody is working here right now." } }
            @for (role, work) in picture { (of_role(*role, work)) }
        }
    }
}

fn of_role(role: Role, work: &LiveWork) -> Markup {
    let changed = diff::files(&work.diff);
    let id = |what: &str| format!("work-{role}-{what}");
    html! {
        section.at-work aria-label=(role.title()) {
            h3 { (status::badge(role)) (role.title())
                @if let Some(running) = &work.running { span.soft { (running) } } }
            @if !work.saying.trim().is_empty() {
                p.saying.tail { (work.saying) }
            }
            @if !work.output.is_empty() {
                pre.output.tail tabindex="0" aria-label={ "Output of " (work.running.as_deref().unwrap_or("the last command")) } { (work.output) }
            }
            @if !work.steps.is_empty() {
                details.fold id=(id("steps")) {
                    summary { "Checklist" span.soft { (done(&work.steps)) " of " (work.steps.len()) } }
                    ul.steps { @for step in &work.steps { li.(class(step)) { (step.text) } } }
                }
            }
            @if !changed.is_empty() {
                @let added: usize = changed.iter().map(|file| file.added).sum();
                @let removed: usize = changed.iter().map(|file| file.removed).sum();
                details.fold id=(id("diff")) {
                    summary { "Change so far" span.counts { span.plus { "+" (added) } " " span.minus { "−" (removed) } }
                        span.soft { (changed.len()) @if changed.len() == 1 { " file" } @else { " files" } } }
                    pre.code tabindex="0" aria-label="Change so far" { code { (diff::lines(&work.diff)) } }
                }
            }
        }
    }
}

fn done(steps: &[LiveStep]) -> usize {
    let settled = |step: &&LiveStep| matches!(step.state.as_str(), "done" | "dropped");
    steps.iter().filter(settled).count()
}

/// An agent's word is no name of a class.
fn class(step: &LiveStep) -> &'static str {
    match step.state.as_str() {
        "doing" => "doing",
        "done" => "done",
        "dropped" => "dropped",
        _ => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_model_or_a_command_says_is_inert() {
        let thread: ThreadId = "C1/1700000000.000100".parse().unwrap();
        let probe = "</pre><img src=x><script>alert(1)</script>".to_owned();
        let work = LiveWork {
            saying: probe.clone(),
            running: Some(probe.clone()),
            output: probe.clone(),
            steps: vec![LiveStep {
                state: probe.clone(),
                text: probe.clone(),
            }],
            diff: format!("diff --git a/x b/x\n@@ -1 +1 @@\n+{probe}\n"),
            ..LiveWork::nothing(thread)
        };
        let html = parts(&Picture::from([(Role::Coder, Arc::new(work))])).into_string();
        assert!(
            !html.contains("<script") && !html.contains("<img"),
            "{html}"
        );
        assert!(html.contains("+1") && html.contains("1 file"), "{html}");
    }
}
