//! Who is here, what they may do, where they are logged in, and what was done.

use butler_protocol::{Standing, ThreadId};
use maud::{Markup, html};
use serde_json::Value;

use crate::{
    identity::{
        audit::{AuditEntry, AuditLine},
        people::{OWNER, PersonEntry, SessionEntry},
    },
    page::{Around, Here, layout, render::message, view::thread},
};

/// What the page shows.
pub(crate) struct PeopleView {
    /// What the visitor may do.
    pub(crate) standing: Option<Standing>,
    pub(crate) administers: bool,
    /// Everybody, for administrators.
    pub(crate) people: Vec<PersonEntry>,
    pub(crate) sessions: Vec<SessionEntry>,
    /// What was done last, newest first.
    pub(crate) done: Vec<AuditLine>,
    /// The invitation that was just made.
    pub(crate) link: Option<String>,
    pub(crate) around: Around,
}

/// The whole page.
pub(crate) fn page(view: &PeopleView) -> Markup {
    let about = html! { "You are " b { (view.around.person.name) } ": " (rights(view.standing)) };
    let content = html! {
        div.page {
            @if let Some(link) = &view.link { (invitation(link)) }
            @if view.administers && view.around.slack.is_none() { (invite()) }
        }
        (parts(view))
    };
    layout::overview(("People", &about), Here::People, &view.around, &content)
}

fn rights(standing: Option<Standing>) -> &'static str {
    standing.map_or("may do what the configuration allows", Standing::in_words)
}

/// What is swapped in when something changed.
pub(crate) fn parts(view: &PeopleView) -> Markup {
    let here = view.around.slack.is_none();
    html! {
        div.page data-part="people" {
            @if view.administers {
                section.panel { h2 { "Everybody" }
                    table.people { thead { tr { th scope="col" { "Name" } th scope="col" { "May" } th scope="col" { "Logged in" }
                        th scope="col" { span.hidden { "Send away" } } } }
                        tbody { @for person in &view.people { (row(person, here)) } } } }
            }
            section.panel { h2 { @if view.administers { "Sessions" } @else { "Where you are logged in" } }
                table.sessions { thead { tr { th scope="col" { "Name" } th scope="col" { "Browser" } th scope="col" { "Since" } th scope="col" { span.hidden { "End" } } } }
                    tbody { @for one in &view.sessions { (session(one)) } } } }
            @if !view.done.is_empty() {
                section.panel { h2 { "What was done" }
                    p.soft { code { "codebutler audit export" } " writes all of it, " code { "codebutler audit verify" } " checks it." }
                    ol.audit { @for line in &view.done { (deed(&line.entry)) } } }
            }
        }
    }
}

fn invitation(link: &str) -> Markup {
    html! {
        section.panel.invitation role="status" {
            h2 { "Send them this link" }
            p { input #invitation aria-label="Invitation" readonly value=(link); }
            p.soft { "It works once, within seven days, and is shown only now." }
        }
    }
}

fn invite() -> Markup {
    html! {
        section.panel { h2 { "Invite somebody" }
            form.line method="post" action="/people/invite" {
                label { "Name " input name="name" required maxlength="40" autocomplete="off"; }
                label { "Rights " (choice(Standing::Approver)) }
                button.primary type="submit" { "Make a link" }
            }
        }
    }
}

fn choice(now: Standing) -> Markup {
    html! {
        select name="role" {
            @for one in Standing::ALL {
                option value=(one) selected[one == now] { (one.in_words()) }
            }
        }
    }
}

fn row(person: &PersonEntry, here: bool) -> Markup {
    let fixed = person.name == OWNER || !here;
    html! {
        tr {
            th scope="row" { (person.name) }
            td {
                @if fixed { (rights(person.standing)) } @else {
                    form.line data-quiet method="post" action="/people/give" {
                        input type="hidden" name="id" value=(person.id);
                        label { span.hidden { "What " (person.name) " may do" } (choice(person.standing.unwrap_or(Standing::Maintainer))) }
                        button type="submit" { "Change" }
                    }
                }
            }
            td { @match (person.sessions, person.invited) {
                (0, true) => { "invited" }
                (0, false) => { "no" }
                (1, _) => { "in 1 browser" }
                (many, _) => { "in " (many) " browsers" }
            } }
            td { @if !fixed {
                form data-quiet method="post" action="/people/send-away" {
                    input type="hidden" name="id" value=(person.id);
                    button.danger type="submit" data-confirm={ "Send " (person.name) " away? Their sessions, tokens and links stop working." } { "Send away" }
                }
            } }
        }
    }
}

fn session(one: &SessionEntry) -> Markup {
    html! {
        tr {
            th scope="row" { (one.name) }
            td { @if one.browser.is_empty() { "a browser" } @else { (one.browser) } }
            td { @if one.created_ms > 0 { (message::time_ms(one.created_ms)) } }
            td { form data-quiet method="post" action="/people/end-session" {
                input type="hidden" name="id" value=(one.id);
                button type="submit" { "End" span.hidden { " the session of " (one.name) " in " (one.browser) } }
            } }
        }
    }
}

/// One line of the audit in words.
fn deed(entry: &AuditEntry) -> Markup {
    let text = |field: &str| entry.about[field].as_str().unwrap_or_default();
    let thread: Option<ThreadId> = serde_json::from_value(entry.about["thread"].clone()).ok();
    html! {
        li {
            (message::time_ms(entry.at_ms)) " " b { (entry.name) } " "
            @match entry.did.as_str() {
                "decided" => { "chose " b { (text("choice")) } " on a " (text("kind")) " card" }
                "merged" => { "merged #" (entry.about["pull"].as_u64().unwrap_or(0)) }
                "invited" | "gave rights" => { (entry.did) " " (text("name")) ", who is " (text("standing")) " now" }
                "sent away" => { "sent " (text("name")) " away" }
                "entered" => { "logged in" }
                other => { (other) }
            }
            @if let Some(thread) = &thread { " " a href=(thread::address(thread, "")) { "thread" } }
            @if entry.about["run"] != Value::Null { " by the start of a run" }
        }
    }
}
