//! The time line of a thread: where a person looks when they wonder "what is it
//! doing" or "why did it do that". Inputs and outputs are folded away.

pub(crate) mod groups;

use butler_protocol::{Ending, HandOver, Receipt, Role, ThreadId, Usd, Waiting, count_of};
use maud::{Markup, html};
use serde_json::Value;

use self::groups::{Filter, Part, Show, Step, Work};
use crate::{
    page::{
        Around,
        render::{Names, blocks, code, message, plan, text},
        status, thread_actions,
        view::{Tab, thread},
    },
    views::{Moment, What},
    workspace::Channel,
};

/// The most moments at once; the older ones are a link away.
const LIMIT: usize = 400;
/// The most of one output that is drawn.
const OUTPUT: usize = 20_000;

/// What the page shows.
pub(crate) struct TimelineView {
    pub(crate) channel: Channel,
    pub(crate) thread: ThreadId,
    /// What it is about.
    pub(crate) title: String,
    pub(crate) moments: Vec<Moment>,
    pub(crate) names: Names,
    pub(crate) around: Around,
    /// All of it, however long.
    pub(crate) all: bool,
    pub(crate) filter: Filter,
}

/// The whole page.
pub(crate) fn page(view: &TimelineView) -> Markup {
    let all = if view.all { "all=1&" } else { "" };
    let live = format!("/timeline/live?{all}{}", view.filter.query());
    let place = (&view.channel, &view.thread, view.title.as_str());
    let content = html! { (filters(view)) (parts(view)) };
    thread::framed(place, (Tab::Timeline, Some(&live)), &view.around, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(view: &TimelineView) -> Markup {
    let hidden = if view.all {
        0
    } else {
        view.moments.len().saturating_sub(LIMIT)
    };
    html! {
        div data-part="earlier" {
            @if hidden > 0 {
                p.earlier { a href={ (thread::address(&view.thread, "/timeline")) "?all=1" } { "Show the whole time line" }
                    " " span.soft { (hidden) " earlier moments" } }
            }
            @if view.moments.is_empty() { div.empty { h2 { "Nothing has happened yet" } } }
        }
        ol.timeline data-part="timeline" data-keyed {
            @for part in groups::group(&view.moments[hidden..], view.filter) {
                @match part {
                    Part::Said(step) => {
                        li id=(step.id) .said {
                            div.when { (message::time_ms(step.moment.at_ms)) (permalink(&step)) }
                            div.what { (told(step.moment, &step.id, &view.names)) }
                        }
                    }
                    Part::Work(work) => (stretch(view, &work)),
                }
            }
        }
    }
}

/// What is shown, chosen without script: a form that asks for another page.
fn filters(view: &TimelineView) -> Markup {
    let filter = view.filter;
    html! {
        form.filters method="get" {
            label { "Role "
                select name="role" {
                    option value="" { "everybody" }
                    @for role in Role::ALL { option value=(role.as_str()) selected[filter.role == Some(role)] { (role.title()) } }
                }
            }
            label { "Show "
                select name="show" {
                    @for show in Show::ALL { option value=(show.word()) selected[filter.show == show] { (show.label()) } }
                }
            }
            @if view.all { input type="hidden" name="all" value="1"; }
            button type="submit" { "Filter" }
            @if filter != Filter::default() { a href=(thread::address(&view.thread, "/timeline")) { "Show everything" } }
        }
    }
}

/// One stretch of work: folded, unless it goes on or was asked for.
fn stretch(view: &TimelineView, work: &Work<'_>) -> Markup {
    let first = work.steps.first().map_or("", |step| step.id.as_str());
    let open = work.ending.is_none() || view.filter.show != Show::All;
    html! {
        li.stretch id={ "w" (first) } {
            div.when { (message::time_ms(work.from_ms)) }
            details.activation id={ "a" (first) } open[open] {
                summary {
                    (who(Some(work.role)))
                    @if let Some(number) = work.activation { span.soft { "activation " (number) } }
                    span.soft { (count_of(work.steps.len(), "step")) }
                    span.soft { (duration(work.to_ms - work.from_ms)) }
                    @if let Some(ending) = work.ending { span.soft { (ended(ending)) } } @else { span.outcome { "goes on" } }
                    @if work.cost > Usd::ZERO { span.price { (work.cost) } }
                }
                ol {
                    @for step in &work.steps {
                        li id=(step.id) .(class(&step.moment.what)) {
                            div.what { (told(step.moment, &step.id, &view.names)) (undo(view, step.moment)) }
                            div.took { (bar(work, step)) (permalink(step)) }
                        }
                    }
                }
            }
        }
    }
}

/// When in its stretch a step took place, and how long it took.
fn bar(work: &Work<'_>, step: &Step<'_>) -> Markup {
    let whole = (work.to_ms - work.from_ms).max(1);
    let part = |ms: i64| (ms * 1000 / whole).clamp(0, 1000);
    let from = part(step.from_ms - work.from_ms);
    let width = part(step.to_ms - step.from_ms).max(4);
    html! {
        @if step.to_ms > step.from_ms {
            svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={ "took " (duration(step.to_ms - step.from_ms)) } {
                rect x=(from) y="0" width=(width) height="10" {}
            }
        }
    }
}

/// The whole time line, at this step.
fn permalink(step: &Step<'_>) -> Markup {
    html! { a.permalink href={ "?all=1#" (step.id) } aria-label="Link to this step" title="Link to this step" { "#" } }
}

/// The way back to the files as they were before a call. It says the word that could
/// be typed.
fn undo(view: &TimelineView, moment: &Moment) -> Markup {
    let What::Tool {
        saved: Some(number),
        ..
    } = moment.what
    else {
        return Markup::default();
    };
    html! {
        @if view.around.slack.is_none() {
            (thread_actions::word(&view.thread, &format!("undo {number}"), "Undo",
                "Bring the files back as they were before this call"))
        }
    }
}

fn class(what: &What) -> &'static str {
    match what {
        What::Message { .. } => "said",
        What::Turn { .. } => "turn",
        What::Tool {
            ok: Some(false), ..
        } => "tool failed",
        What::Tool { .. } => "tool",
        What::Asked { .. } | What::Decided { .. } => "decision",
        What::Checked { receipt, .. } if !receipt.green() => "receipt failed",
        What::Checked { .. } => "receipt",
        _ => "aside",
    }
}

fn who(role: Option<Role>) -> Markup {
    html! { @if let Some(role) = role { (status::badge(role)) strong { (role.title()) } " " } }
}

fn told(moment: &Moment, id: &str, names: &Names) -> Markup {
    let role = moment.role;
    match &moment.what {
        What::Message { message } => said(message, names),
        What::Turn {
            turn,
            model,
            text,
            calls,
            input_tokens,
            output_tokens,
            cost,
        } => html! {
            p.line { (who(role)) "turn " (turn) " · " code { (model) }
                span.soft { " · " (input_tokens) " in, " (output_tokens) " out"
                    @if *calls > 0 { " · " (calls) @if *calls == 1 { " call" } @else { " calls" } } }
                @if let Some(cost) = cost { span.price { (cost) } } }
            @if let Some(text) = text { (fold(id, "answer", &blocks::markdown(cut(text), names))) }
        },
        What::Tool {
            tool,
            input,
            output,
            ok,
            took_ms,
            ..
        } => tool_call(role, id, tool, input, output.as_deref(), *ok, *took_ms),
        What::Checked { receipt } => {
            html! { p.line { (who(role)) "ran the checks" } (checks(receipt)) }
        }
        What::HandedOver { kind, body } => html! {
            p.line { (who(role)) "received " strong { (word(&serde_json::json!(kind))) } }
            (hand_over(id, body, names))
        },
        What::Asked { request, kind } => html! {
            p.line { (who(role)) "asked for a decision about the " (word(&serde_json::json!(kind))) " " code { (request) } }
        },
        What::Decided {
            request,
            choice,
            person,
        } => html! {
            p.line { (who(role)) "took up " strong { (choice.past()) } " by "
                (names.get(person.as_str()).map_or(person.as_str(), String::as_str)) " " code { (request) } }
        },
        other => aside(role, id, other, names),
    }
}

fn aside(role: Option<Role>, id: &str, what: &What, names: &Names) -> Markup {
    html! {
        p.line.soft {
            (who(role))
            @match what {
                What::Started { activation } => { "began activation " (activation) }
                What::Ended { activation, ending } => { "ended activation " (activation) ": " (ended(ending)) }
                What::Prompt { tools, .. } => { "was briefed, with " (tools.len()) " tools" }
                What::Told { by, .. } => { "was told by " (by) }
                What::Parked { waiting } => (parked(waiting)),
                What::Model { model, reason } => { "goes on with " (model) ": " (reason) }
                What::Summary { .. } => "made a summary of what came before",
                _ => "noted",
            }
        }
        @match what {
            What::Prompt { text, .. } => (fold(id, "prompt", &code::block(cut(text), "md"))),
            What::Told { text, .. } | What::Summary { text } | What::Note { text } => {
                (fold(id, "text", &blocks::markdown(cut(text), names)))
            }
            _ => {}
        }
    }
}

fn said(message: &Value, names: &Names) -> Markup {
    let name = message["username"].as_str().or_else(|| {
        let user = message["user"].as_str()?;
        names.get(user).map(String::as_str)
    });
    let role: Option<Role> = name.and_then(|name| name.strip_prefix("codebutler.")?.parse().ok());
    let words = message["text"].as_str().unwrap_or_default();
    html! {
        p.line {
            @match role {
                Some(_) => (who(role)),
                None => { strong { (name.unwrap_or("somebody")) } " " }
            }
            a.soft href={ "../" (message["thread_ts"].as_str().or(message["ts"].as_str()).unwrap_or_default())
                "#m" (message["ts"].as_str().unwrap_or_default()) } { "in the thread" }
        }
        div.quote { (text::render(cut(words), names)) }
    }
}

fn tool_call(
    role: Option<Role>,
    id: &str,
    tool: &str,
    input: &Value,
    output: Option<&str>,
    ok: Option<bool>,
    took_ms: Option<i64>,
) -> Markup {
    let state = match ok {
        Some(true) => "ok",
        Some(false) => "failed",
        None => "running",
    };
    html! {
        details.fold id={ "x" (id) } {
            summary {
                (who(role)) code { (tool) } " " span.gist { (gist(input)) }
                span.outcome.(state) { (state) @if let Some(took) = took_ms { " · " (duration(took)) } }
            }
            @if !input.is_null() {
                p.soft { "Input" }
                (code::block(&serde_json::to_string_pretty(input).unwrap_or_default(), "json"))
            }
            @if let Some(output) = output { p.soft { "Output" } (code::block(cut(output), "")) }
        }
    }
}

/// The one value that says what a call is about.
fn gist(input: &Value) -> String {
    let key = [
        "command", "path", "pattern", "query", "url", "kind", "message", "question",
    ]
    .into_iter()
    .find(|key| input[*key].is_string());
    let value = key.and_then(|key| input[key].as_str()).unwrap_or_default();
    let line = value.lines().next().unwrap_or_default();
    line.chars().take(90).collect()
}

fn duration(ms: i64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{}:{:02} min", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// The checks of a receipt, one line each.
pub(crate) fn checks(receipt: &Receipt) -> Markup {
    html! {
        ul.checks {
            @for check in &receipt.checks {
                @let good = check.exit_code == Some(0);
                li {
                    span.outcome.(if good { "ok" } else { "failed" }) { (if good { "passed" } else { "failed" }) }
                    strong { (check.name) } code { (check.command) }
                    span.soft { (duration(i64::try_from(check.duration_ms).unwrap_or(0)))
                        @if let Some(counts) = check.counts { " · " (counts.passed) " passed, " (counts.failed) " failed" } }
                }
            }
            @for line in receipt.base_lines() { li.soft { (line) } }
            @for flag in &receipt.flags { li { span.outcome.failed { "flag" } (flag) } }
        }
        p.soft { "tree " code { (receipt.tree.as_str().chars().take(12).collect::<String>()) } }
    }
}

fn hand_over(id: &str, body: &HandOver, names: &Names) -> Markup {
    match body {
        HandOver::Task(task) => plan::card(&task.plan),
        HandOver::Design(design) => plan::design(design),
        HandOver::Look {
            summary, findings, ..
        } => plan::look(summary, findings),
        HandOver::Question { text, .. }
        | HandOver::Answer { text, .. }
        | HandOver::MapWanted { text, .. }
        | HandOver::Research { question: text, .. }
        | HandOver::Findings { text, .. } => fold(id, "text", &blocks::markdown(cut(text), names)),
        HandOver::Map { change, .. } => fold(id, "map", &blocks::markdown(&change.after(), names)),
        HandOver::ReadyForReview {
            summary, receipt, ..
        } => html! {
            (fold(id, "summary", &blocks::markdown(cut(summary), names)))
            @if let Some(receipt) = receipt { (checks(receipt)) }
        },
        HandOver::Conflict { files, .. } if files.is_empty() => {
            html! { p { "put on the default branch, to be checked again" } }
        }
        HandOver::Conflict { files, .. } => html! { p { "conflict in " (files.join(", ")) } },
        HandOver::FromForge { pr, news, .. } => {
            html! { p { (count_of(news.len(), "thing")) " happened to " (pr.to_string()) } }
        }
        HandOver::ReviewPlan(review) => plan::review(review),
        HandOver::Verdict { verdict, .. } => plan::verdict(verdict),
        HandOver::Retrospective(look_back) => plan::look_back(look_back),
    }
}

fn fold(id: &str, label: &str, inner: &Markup) -> Markup {
    html! { details.fold id={ "x" (id) } { summary { (label) } div.inner { (inner) } } }
}

fn ended(ending: &Ending) -> String {
    match ending {
        Ending::Done => "done".to_owned(),
        Ending::PassedOn => "passed on".to_owned(),
        Ending::Stopped => "stopped by a person".to_owned(),
        Ending::TurnLimit => "all its turns are used".to_owned(),
        Ending::OutOfMoney => "out of money".to_owned(),
        Ending::Stuck => "it was going in circles".to_owned(),
        Ending::Failed { reason } => reason.clone(),
    }
}

fn parked(waiting: &Waiting) -> String {
    match waiting {
        Waiting::Reply { .. } => "waits for an answer".to_owned(),
        Waiting::Replies { from, .. } => {
            let titles: Vec<&str> = from.iter().map(|role| role.title()).collect();
            format!("waits for answers of {}", titles.join(" and "))
        }
        Waiting::Person => "waits for a person".to_owned(),
        Waiting::Decision { request } => format!("waits for the decision {request}"),
        Waiting::Worktree => "waits for the worktree".to_owned(),
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('_', " ")
}

/// At most so much; what is missing can be had from `/v1`.
fn cut(text: &str) -> &str {
    match text.char_indices().nth(OUTPUT) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::page::view::timeline::*;

    #[test]
    fn a_call_says_what_it_is_about_in_one_line() {
        assert_eq!(gist(&json!({"command": "cargo test\nmore"})), "cargo test");
        assert_eq!(gist(&json!({"limit": 3})), "");
        assert_eq!(duration(420), "420 ms");
        assert_eq!(duration(61_500), "1:01 min");
    }

    #[test]
    fn inputs_and_outputs_are_inert() {
        let html = tool_call(
            Some(Role::Coder),
            "t1-coder",
            "<b>",
            &json!({"command": "</pre><script>"}),
            Some("</code><img src=x>"),
            Some(false),
            Some(5),
        )
        .into_string();
        assert!(
            !html.contains("<script") && !html.contains("<img") && !html.contains("<b>"),
            "{html}"
        );
    }
}
