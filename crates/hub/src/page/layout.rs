//! The frame of every page.

use butler_protocol::{ChannelId, MessageTs, Refusal};
use maud::{DOCTYPE, Markup, html};

use super::status;
use crate::{
    identity::Person,
    page::{
        render::sign::sign,
        view::{needs, welcome::Welcome},
    },
    presence::Member,
    views::{Need, reads::Unread},
    workspace::Channel,
};

/// Which entry of the side is the current one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Here<'a> {
    Needs,
    Search,
    Channel(&'a ChannelId),
    Board,
    Agents,
    Servers,
    Memory,
    Cost,
    People,
}

impl Here<'_> {
    fn address(self) -> String {
        match self {
            Here::Needs => "/needs".to_owned(),
            Here::Search => "/search".to_owned(),
            Here::Channel(id) => format!("/c/{id}"),
            Here::Board => "/board".to_owned(),
            Here::Agents => "/agents".to_owned(),
            Here::Servers => "/servers".to_owned(),
            Here::Memory => "/memory".to_owned(),
            Here::Cost => "/cost".to_owned(),
            Here::People => "/people".to_owned(),
        }
    }
}

/// What every page shows around its content.
pub(super) struct Around {
    pub(super) all: Vec<Channel>,
    /// What waits for the person.
    pub(super) needs: Vec<Need>,
    pub(super) unread: Unread,
    pub(super) team: Vec<Member>,
    pub(super) person: Person,
    pub(super) version: String,
    /// The workspace in Slack, when it is behind the hub: people write there.
    pub(super) slack: Option<String>,
    /// Whether somebody has MCP servers.
    pub(super) has_servers: bool,
    /// Why what is said in Slack does not arrive.
    pub(super) troubles: Vec<String>,
    /// The modal that an app has opened for the person.
    pub(super) modals: Markup,
    /// Whether an app of somebody else listens here.
    pub(super) has_apps: bool,
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
    let waiting = around.needs.len();
    let title = match waiting {
        0 => title.to_owned(),
        _ => format!("({waiting}) {title}"),
    };
    bare_with(
        &title,
        if waiting > 0 {
            "waiting.svg"
        } else {
            "icon.svg"
        },
        &html! {
            a.skip href="#content" { "Skip to the conversation" }
            p.offline role="alert" hidden { "The hub does not answer. Trying to reconnect…" }
            div.shell data-live=(live.address) data-channel=[live.channel] data-root=[live.root] {
                (side(here, around))
                main #content tabindex="-1" { (content) }
            }
            (around.modals)
            div.toast role="alert" hidden {}
            (keys())
        },
    )
}

/// A page beside the conversation: what it is called, what it shows, and its content.
pub(super) fn overview(
    (title, about): (&str, &Markup),
    here: Here<'_>,
    around: &Around,
    content: &Markup,
) -> Markup {
    let live = Live {
        address: format!("{}/live", here.address()),
        ..Live::default()
    };
    let content = html! { header.top { h1 { (title) } p.soft { (about) } } (content) };
    page(title, here, around, &live, &content)
}

fn side(here: Here<'_>, around: &Around) -> Markup {
    html! {
        div.side {
            p.brand { a href="/" { span.mark aria-hidden="true" { "◆" } " CodeButler" } }
            // On a phone this opens what has no room at the top, also without script.
            input.narrow-only #menu type="checkbox" aria-label="Menu";
            label.narrow-only.button.menu for="menu" aria-hidden="true" { (sign("menu")) }
            form.search role="search" method="get" action="/search" {
                input #search type="search" name="q" placeholder="Search" aria-label="Search threads, messages and files";
            }
            (nav(&here.address(), around))
            (team(&around.team))
            form.me method="post" action="/logout" {
                span { (around.person.name) }
                button.quiet type="submit" { "Log out" }
            }
            p.version { (around.version) }
        }
    }
}

/// The ways to everything, with what waits and what is new; swapped in on every page
/// when something happens anywhere.
pub(super) fn nav(at: &str, around: &Around) -> Markup {
    let entry = |target: &str, label: &str, count: usize, what: &str| {
        html! {
            li {
                a href=(target) aria-current=[(at == target).then_some("page")] {
                    (label)
                    @if count > 0 { " " span.badge.(what) { (count) span.hidden { " " (what) } } }
                }
            }
        }
    };
    html! {
        nav aria-label="Workspace" data-part="nav" data-at=(at) {
            @for trouble in &around.troubles { p.unheard role="alert" { (trouble) } }
            ul data-waiting=(around.needs.len()) data-needs=(needs::told(&around.needs)) {
                (entry("/needs", "Needs you", around.needs.len(), "waiting"))
            }
            ul.channels {
                @for channel in &around.all {
                    @let new = around.unread.in_channel(&channel.id);
                    (entry(&format!("/c/{}", channel.id), &format!("# {}", channel.name), new, "new"))
                }
            }
            ul.views {
                (entry("/board", "Board", 0, ""))
                (entry("/agents", "Agents", 0, ""))
                @if around.has_servers { (entry("/servers", "Tool servers", 0, "")) }
                (entry("/memory", "Memory", 0, ""))
                (entry("/cost", "Cost", 0, ""))
                (entry("/people", "People", 0, ""))
            }
        }
    }
}

/// The team as a part that is swapped when somebody comes or goes; by repository where
/// there are several.
pub(super) fn team(members: &[Member]) -> Markup {
    let teams: Vec<_> = members
        .chunk_by(|one, next| one.repo == next.repo)
        .collect();
    html! {
        section.presence aria-label="Team" data-part="team" {
            @for team in &teams {
                @let repo = team.first().map_or("", |one| one.repo.rsplit('/').next().unwrap_or(""));
                h2 { "Team" @if teams.len() > 1 { " of " (repo) } }
                (status::team(team))
            }
        }
    }
}

/// What the keyboard can do; opened by `?`.
fn keys() -> Markup {
    let rows = [
        ("j  k", "next and previous message, line, card or file"),
        ("o  Enter", "open it, or fold it"),
        ("c", "write"),
        ("/", "search"),
        ("Esc", "leave the text, close this"),
        ("g n", "go to what needs you"),
        ("g c", "go to the channel"),
        ("g b", "go to the board"),
        ("g a", "go to the agents"),
        ("g m", "go to the money"),
        ("g p", "go to the people"),
        ("Ctrl K", "jump to a thread, a person, a view or an action"),
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

/// A page with nothing around it.
fn narrow(title: &str, head: &str, inner: &Markup) -> Markup {
    let body = html! {
        main.narrow {
            p.brand { span.mark aria-hidden="true" { "◆" } " CodeButler" }
            h1 { (head) }
            (inner)
        }
    };
    bare_with(title, "icon.svg", &body)
}

fn bare_with(title: &str, icon: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · CodeButler" }
                link rel="icon" href={ "/assets/" (icon) } type="image/svg+xml";
                link rel="stylesheet" href="/assets/style.css";
                link rel="stylesheet" href="/assets/content.css";
                link rel="stylesheet" href="/assets/views.css";
                link rel="stylesheet" href="/assets/work.css";
                link rel="stylesheet" href="/assets/review.css";
                script type="module" src="/assets/page.js" {}
            }
            body { (body) }
        }
    }
}

/// Asks for the code of a login link, or for a press when it came along.
pub(super) fn login(code: &str, here: bool, failed: bool, welcome: &Welcome) -> Markup {
    narrow(
        "Log in",
        "Welcome",
        &html! {
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
        },
    )
}

/// No repo has joined yet.
pub(super) fn empty(version: &str) -> Markup {
    narrow(
        "Empty",
        "No repository has joined yet",
        &html! {
            p { "Run " code { "codebutler up" } " in a repository; its channel appears here." }
            p.version { (version) }
        },
    )
}

/// An address that leads nowhere.
pub(super) fn nowhere() -> Markup {
    narrow(
        "Nothing here",
        "Nothing here",
        &html! {
            p.problem role="alert" { "There is nothing at this address. The workspace is at /" }
            p { a href="/" { "Back to the workspace" } }
        },
    )
}

/// Something did not work; says what and offers the way back.
pub(super) fn problem(refusal: Refusal) -> Markup {
    narrow(
        "Problem",
        "That did not work",
        &html! {
            p.problem role="alert" { (refusal.sentence()) " (" code { (refusal.code()) } ")" }
            p { a href="/" { "Back to the workspace" } }
        },
    )
}
