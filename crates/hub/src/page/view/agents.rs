//! The agents: who is there, what they do, what waits for them, and the live log.

pub(crate) mod company;

use maud::{Markup, html};

use crate::{
    page::{Around, Here, layout, render::message, status, view::thread},
    views::agents::AgentView,
};

/// The whole page.
pub(crate) fn page(agents: &[AgentView], around: &Around) -> Markup {
    let about =
        html! { "One process per role and repository; " a href="/company" { "all repositories" } };
    let content = html! { div.page { (parts(agents)) (log()) } };
    layout::overview(("Agents", &about), Here::Agents, around, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(agents: &[AgentView]) -> Markup {
    html! {
        div data-part="agents" {
            @if agents.is_empty() {
                div.empty { h2 { "No agents yet" } p { "They appear when a repository joins." } }
            }
            div.agents {
                @for one in agents { (agent(one)) }
            }
        }
    }
}

fn agent(agent: &AgentView) -> Markup {
    let (member, known) = (&agent.member, &agent.known);
    let models = known.facts.models.iter().enumerate();
    let state = status::state_of(member);
    html! {
        article.agent.(state) {
            (status::badge(member.role))
            div {
                h2 { (member.role.title()) " " span.state.(state) { (state) } }
                p.soft.repo { (member.repo) }
                @if let Some(words) = &known.turned_away {
                    p.last-error { "Not let in: " (words) }
                }
                @for job in &member.working {
                    p.job { a href=(thread::address(&job.thread, "")) { (job.step.as_deref().unwrap_or("working")) } }
                }
                @if !known.facts.models.is_empty() {
                    p.models {
                        @for (place, model) in models {
                            @let rests = known.facts.resting.contains(model);
                            span { @if place > 0 { span.soft { "else " } } code { (model) }
                                @if rests { " " span.state.failing { "left alone: it keeps failing" } } }
                        }
                    }
                }
                @if let Some(error) = &known.last_error {
                    p.last-error { "Last error " (message::time_ms(error.at_ms)) ": " (error.text) }
                }
                dl.known {
                    (fact("Today", &html! { (agent.spent_today) }))
                    (fact("Queue", &html! { (member.queue) }))
                    // Without the commit that it was built from, which the hover has.
                    (fact("Version", &html! {
                        @match known.facts.version.split_whitespace().next() {
                            Some(short) => { span title=(known.facts.version) { (short) } }
                            None => { "—" }
                        }
                    }))
                    (fact("Connected", &html! {
                        @match member.connected_ms {
                            Some(at) => { (message::time_ms(at)) }
                            None => { "never" }
                        }
                    }))
                }
            }
        }
    }
}

fn fact(label: &str, value: &Markup) -> Markup {
    html! { div { dt { (label) } dd { (value) } } }
}

/// Filled by the script from `/v1/log`; without script the address is a page of lines.
fn log() -> Markup {
    html! {
        section.panel.log data-log="/v1/log" {
            h2 { "Live log" }
            form.filters {
                label { "Role "
                    select name="role" {
                        option value="" { "all" }
                        @for role in butler_protocol::Role::ALL { option value=(role.as_str()) { (role.title()) } }
                        option value="hub" { "Hub" }
                    }
                }
                label { "Level "
                    select name="level" {
                        option value="" { "all" }
                        @for level in ["error", "warn", "info", "debug"] { option value=(level) { (level) } }
                    }
                }
                label { "Contains " input type="search" name="text"; }
            }
            div.lines tabindex="0" role="log" aria-label="Log lines" aria-live="off" { }
            p.soft.nolog { "Log lines of hub and agents appear here while the page is open." }
        }
    }
}
