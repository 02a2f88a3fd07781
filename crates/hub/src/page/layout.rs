//! The frame of every page.

use maud::{DOCTYPE, Markup, html};

use crate::{identity::Person, workspace::channels::Channel};

/// What stands around the content.
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    pub(super) all: &'a [Channel],
    pub(super) current: &'a Channel,
    pub(super) person: &'a Person,
    pub(super) version: &'a str,
}

/// A page with the channel list at its side.
pub(super) fn page(frame: &Frame<'_>, content: &Markup) -> Markup {
    bare(
        frame.title,
        &html! {
            a.skip href="#content" { "Skip to the conversation" }
            div.shell {
                nav.side aria-label="Channels" {
                    p.brand { "CodeButler" }
                    ul {
                        @for channel in frame.all {
                            li {
                                a href={ "/c/" (channel.id) }
                                    aria-current=[(channel.id == frame.current.id).then_some("page")]
                                { "# " (channel.name) }
                            }
                        }
                    }
                    form.me method="post" action="/logout" {
                        span { (frame.person.name) }
                        button.quiet type="submit" { "Log out" }
                    }
                    p.version { (frame.version) }
                }
                main #content { (content) }
            }
        },
    )
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
                link rel="stylesheet" href="/assets/style.css";
                script src="/assets/live.js" defer {}
            }
            body { (body) }
        }
    }
}

/// Asks for the code of a login link, or for a press when it came along.
pub(super) fn login(code: &str, failed: bool) -> Markup {
    bare(
        "Log in",
        &html! {
            main.narrow {
                h1 { "CodeButler" }
                @if failed {
                    p.problem role="alert" {
                        "This code was used already or is too old. "
                        code { "codebutler link" } " gives another."
                    }
                }
                form method="post" action="/login" {
                    @if code.is_empty() {
                        label for="code" { "Code from " code { "codebutler link" } }
                        input #code name="code" autocomplete="off" required;
                    } @else {
                        input type="hidden" name="code" value=(code);
                    }
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
pub(super) fn problem(code: &str) -> Markup {
    bare(
        "Problem",
        &html! {
            main.narrow {
                h1 { "That did not work" }
                p.problem role="alert" { (sentence(code)) " (" code { (code) } ")" }
                p { a href="/" { "Back to the workspace" } }
            }
        },
    )
}

fn sentence(code: &str) -> &'static str {
    match code {
        "channel_not_found" => "There is no such channel.",
        "thread_not_found" | "message_not_found" => "There is no such message.",
        "already_decided" => "Somebody decided about this card before.",
        "not_an_approver" => "You are not among the people who may approve this.",
        "not_the_card" | "unknown_request" | "unknown_action" => "This button is not valid here.",
        "no_text" => "There was nothing to say.",
        "msg_too_long" => "That is too long for one message.",
        "foreign_origin" => "This request did not come from this page.",
        _ => "The workspace refused.",
    }
}
