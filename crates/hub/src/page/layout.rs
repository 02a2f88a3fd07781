//! The frame of every page.

use butler_protocol::{ChannelId, MessageTs, Refusal};
use maud::{DOCTYPE, Markup, html};

use super::status;
use crate::page::view::welcome::Welcome;
use crate::{identity::Person, presence::Member, workspace::channels::Channel};

/// Which entry of the side is the current one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Here<'a> {
    Channel(&'a ChannelId),
    Board,
    Agents,
    Cost,
}

/// What every page shows around its content.
pub(super) struct Around {
    pub(super) all: Vec<Channel>,
    pub(super) team: Vec<Member>,
    pub(super) person: Person,
    pub(super) version: String,
    /// The workspace in Slack, when it is behind the hub: people write there.
    pub(super) slack: Option<String>,
}

/// Where the parts of a page come from when something changed.
#[derive(Default)]
pub(super) struct Live<'a> {
    pub(super) address: String,
    /// Only what happens here concerns the page; everything without it.
    pub(super) channel: Option<&'a ChannelId>,
    pub(super) root: Option<&'a MessageTs>,
}

/// A page with the channel list at its side.
pub(super) fn page(
    title: &str,
    here: Here<'_>,
    around: &Around,
    live: &Live<'_>,
    content: &Markup,
) -> Markup {
    bare(
        title,
        &html! {
            a.skip href="#content" { "Skip to the conversation" }
            p.offline role="alert" hidden { "The hub does not answer. Trying to reconnect…" }
            div.shell data-live=(live.address) data-channel=[live.channel] data-root=[live.root] {
                (side(here, around))
                main #content tabindex="-1" { (content) }
            }
            div.toast role="alert" hidden {}
            (keys())
        },
    )
}

fn side(here: Here<'_>, around: &Around) -> Markup {
    let entry = |target: &str, label: &str, current: Here<'_>| {
        html! {
            li { a href=(target) aria-current=[(here == current).then_some("page")] { (label) } }
        }
    };
    html! {
        div.side {
            p.brand { a href="/" { span.mark aria-hidden="true" { "◆" } " CodeButler" } }
            nav aria-label="Workspace" {
                ul {
                    @for channel in &around.all {
                        (entry(&format!("/c/{}", channel.id), &format!("# {}", channel.name), Here::Channel(&channel.id)))
                    }
                }
                ul.views {
                    (entry("/board", "Board", Here::Board))
                    (entry("/agents", "Agents", Here::Agents))
                    (entry("/cost", "Cost", Here::Cost))
                }
            }
            @if !around.team.is_empty() {
                section.presence aria-label="Team" {
                    h2 { "Team" }
                    (team(&around.team))
                }
            }
            form.me method="post" action="/logout" {
                span { (around.person.name) }
                button.quiet type="submit" { "Log out" }
            }
            p.version { (around.version) }
        }
    }
}

/// The team as a part that is swapped when somebody comes or goes.
pub(super) fn team(members: &[Member]) -> Markup {
    html! { div data-part="team" { (status::team(members)) } }
}

/// What the keyboard can do; opened by `?`.
fn keys() -> Markup {
    let rows = [
        ("j  k", "next and previous message"),
        ("o  Enter", "open the thread of the message"),
        ("c", "write"),
        ("Esc", "leave the text, close this"),
        ("g c", "go to the channel"),
        ("g b", "go to the board"),
        ("g a", "go to the agents"),
        ("g m", "go to the money"),
        ("?", "these keys"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl {
                @for (keys, meaning) in rows {
                    div {
                        dt { @for key in keys.split_whitespace() { kbd { (key) } " " } }
                        dd { (meaning) }
                    }
                }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

fn bare(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · CodeButler" }
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/style.css";
                link rel="stylesheet" href="/assets/content.css";
                link rel="stylesheet" href="/assets/views.css";
                script type="module" src="/assets/page.js" {}
            }
            body { (body) }
        }
    }
}

/// Asks for the code of a login link, or for a press when it came along.
pub(super) fn login(code: &str, here: bool, failed: bool, welcome: &Welcome) -> Markup {
    bare(
        "Log in",
        &html! {
            main.narrow {
                p.brand { span.mark aria-hidden="true" { "◆" } " CodeButler" }
                h1 { "Welcome" }
                p.soft { "A link lets one browser in, once. Your session stays on this machine." }
                @if failed {
                    p.problem role="alert" {
                        "This code was used already or is too old. "
                        (welcome.another_code())
                    }
                }
                form method="post" action="/login" {
                    @if code.is_empty() {
                        label for="code" { "Code from " (welcome.source_of_codes()) }
                        input #code name="code" autocomplete="off" required;
                    } @else {
                        input type="hidden" name="code" value=(code);
                    }
                    @if here { input type="hidden" name="here" value="1"; }
                    button.primary type="submit" { "Open the workspace" }
                }
            }
        },
    )
}

/// No repo has joined yet.
pub(super) fn empty(version: &str) -> Markup {
    bare(
        "Empty",
        &html! {
            main.narrow {
                h1 { "No repository has joined yet" }
                p { "Run " code { "codebutler up" } " in a repository; its channel appears here." }
                p.version { (version) }
            }
        },
    )
}

/// Something did not work; says what and offers the way back.
pub(super) fn problem(refusal: Refusal) -> Markup {
    bare(
        "Problem",
        &html! {
            main.narrow {
                h1 { "That did not work" }
                p.problem role="alert" { (refusal.sentence()) " (" code { (refusal.code()) } ")" }
                p { a href="/" { "Back to the workspace" } }
            }
        },
    )
}
