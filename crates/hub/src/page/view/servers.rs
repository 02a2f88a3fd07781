//! MCP servers: what each does, what its tools cost, what went wrong last.

use butler_protocol::{ServerState, count_of};
use maud::{Markup, html};

use crate::{
    page::{Around, Here, layout, status},
    presence::servers::RoleServer,
};

/// The whole page.
pub(crate) fn page(servers: &[RoleServer], around: &Around) -> Markup {
    let about = html! { "MCP servers, started at their first use" };
    let content = html! { div.page { (parts(servers)) } };
    layout::overview(("Tool servers", &about), Here::Servers, around, &content)
}

/// What is swapped in when something changed.
pub(crate) fn parts(servers: &[RoleServer]) -> Markup {
    html! {
        div data-part="servers" {
            @if servers.is_empty() {
                div.empty {
                    h2 { "No servers" }
                    p { "`codebutler mcp add` adds one; a role that may use it shows it here." }
                }
            }
            div.agents {
                @for server in servers { (one(server)) }
            }
        }
    }
}

fn one(server: &RoleServer) -> Markup {
    let RoleServer {
        repo,
        role,
        status: now,
    } = server;
    let state = match now.state {
        ServerState::Running => "working",
        ServerState::Resting | ServerState::Starting => "idle",
        ServerState::Failed | ServerState::Changed => "offline",
    };
    html! {
        article.agent {
            (status::badge(*role))
            div {
                h2 { (now.name) " " span.state.(state) { (now.state.label()) } }
                p.soft { (role.title()) ", " (repo) }
                p.soft.facts {
                    span { (count_of(now.tools as u64, "tool")) }
                    @if now.listed {
                        span { "about " (count_of(now.tokens as u64, "token")) " in every request" }
                    } @else {
                        span { "about " (count_of(now.tokens as u64, "token")) ", looked for when needed" }
                    }
                }
                @if let Some(error) = &now.error {
                    details { summary { "What went wrong last" } pre { (error) } }
                }
            }
        }
    }
}
