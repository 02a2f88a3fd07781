//! MCP servers: programs and addresses that offer tools to an agent.
//!
//! A [`Server`] is started at its first use, shared by all threads of its agent,
//! and ended with it; what it says is data that this crate bounds before anybody
//! sees it.
//!
//! ```text
//! Server ── start ── a program in the sandbox, talked to over a socket ─┐
//!   │                or an address, by streamable HTTP ─────────────────┤
//!   │                                                                   │
//!   ├── listing ── tools, compared with what a person accepted ─────────┤
//!   └── call ── answer, or an error that says what to do next ──────────┘
//! ```
//!
//! Both eras of the protocol are spoken: the handshake first, and `server/discover`
//! with servers that refuse it. A server gets nothing from us but calls: what it
//! asks for (our model, our files, a person's answer) is refused.
//!
//! What stays outside: which servers there are, who may use them, where what was
//! accepted is kept. A call of unknown effect is never repeated.

mod answer;
mod bounded;
mod handler;
mod link;
mod listing;
mod resources;
mod schema;
mod server;
mod start;

pub use answer::Answer;
pub use listing::{Accepted, ToolInfo, offered_name};
pub use server::{McpError, Server, ServerSpec, Times};
pub use start::Reach;
