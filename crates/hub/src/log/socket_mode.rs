//! Socket Mode, the server's side. Each process of our agents has one connection that
//! counts, the newest; apps of others may have several, and each envelope goes to one of
//! them. What nobody has acknowledged waits in the store.

mod answers;
mod holding;
pub(crate) mod options;
mod queue;
mod rich_text;
pub(crate) mod sharing;
mod subscriber;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    extract::{Query, State, WebSocketUpgrade},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use butler_protocol::{Speaks, cannot_work_together, visible_line};
use serde::Deserialize;
use tracing::warn;

use crate::{
    agent_api::joining,
    error::Result,
    hub::App,
    identity::{Agent, tokens::random_text},
    log::Notice,
    store::{Tx, shared},
};

/// What a connection holds to read into, for as long as it lives. Acknowledgements are short;
/// the usual 128 KiB would be 150 MiB for 1,200 agents that say nothing.
const READ_AT_ONCE: usize = 4 * 1024;

const TICKET_LIFE: Duration = Duration::from_secs(60);

/// Tickets for sockets: each opens one connection, soon.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<HashMap<String, (Agent, Instant)>>);

impl Tickets {
    pub(crate) fn issue(&self, agent: Agent) -> String {
        let ticket = random_text();
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, (_, issued)| issued.elapsed() < TICKET_LIFE);
        tickets.insert(ticket.clone(), (agent, Instant::now()));
        ticket
    }

    fn redeem(&self, ticket: &str) -> Option<Agent> {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (agent, issued) = tickets.remove(ticket)?;
        (issued.elapsed() < TICKET_LIFE).then_some(agent)
    }
}

/// A ticket for an agent, at this hub or any other of the same store.
pub(crate) async fn ticket(app: &App, agent: Agent) -> Result<String> {
    if app.store.meets().is_none() {
        return Ok(app.sockets.tickets.issue(agent));
    }
    let ticket = random_text();
    let kept = ticket.clone();
    let keep = move |tx: &mut Tx<'_>| shared::keep_ticket(tx.db(), &kept, &agent);
    app.write(keep).await?;
    Ok(ticket)
}

/// Whose ticket it is; it is used up.
async fn holder(app: &App, ticket: &str) -> Option<Agent> {
    if app.store.meets().is_none() {
        return app.sockets.tickets.redeem(ticket);
    }
    let ticket = ticket.to_owned();
    let take = move |tx: &mut Tx<'_>| shared::take_ticket(tx.db(), &ticket);
    app.write(take).await.ok().flatten()
}

/// What stands behind the question mark of a socket's address.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    ticket: String,
    /// Set by our own client: which exchange it speaks. It understands epochs and our
    /// reasons.
    codebutler: Option<u32>,
    /// The oldest exchange that it still understands.
    oldest: Option<u32>,
    /// The version of its binary.
    #[serde(default)]
    version: String,
    /// Which of several processes of its role it is.
    process: Option<String>,
    /// Slack's way to ask for frequent refreshes.
    debug_reconnects: Option<String>,
}

/// `GET /link/?ticket=…`, upgraded to a WebSocket.
pub(crate) async fn handle(
    State(app): State<Arc<App>>,
    Query(asked): Query<Asked>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(agent) = holder(&app, &asked.ticket).await else {
        return (StatusCode::UNAUTHORIZED, "the ticket is used or unknown").into_response();
    };
    let upgrade = upgrade
        .max_message_size(1024 * 1024)
        .read_buffer_size(READ_AT_ONCE);
    if let Some(words) = introduced(&app, &agent, &asked) {
        return upgrade.on_upgrade(move |socket| subscriber::turn_away(words, socket));
    }
    let client = subscriber::Client {
        knows_us: asked.codebutler.is_some(),
        process: asked.process.as_deref().map(named).filter(|name| {
            let ours = asked.codebutler.is_some();
            ours && !name.is_empty()
        }),
        refreshes: asked.debug_reconnects.as_deref() == Some("true"),
    };
    upgrade.on_upgrade(async move |socket| {
        let machine = agent.machine.clone();
        tokio::select! {
            () = subscriber::serve(Arc::clone(&app), agent, client, socket) => {}
            // Its next try is refused by its token.
            () = joining::until_revoked(&app, machine) => {}
        }
    })
}

/// The name of a process, as it is kept.
fn named(process: &str) -> String {
    visible_line(process).chars().take(100).collect()
}

/// Remembers what an agent of ours says about itself; why it is turned away, if it is. It
/// gets no epoch then: whoever works for its role goes on.
fn introduced(app: &App, agent: &Agent, asked: &Asked) -> Option<String> {
    let exchange = asked.codebutler?;
    let speaks = Speaks {
        version: visible_line(&asked.version).chars().take(100).collect(),
        exchange,
        oldest: asked.oldest.unwrap_or(exchange),
    };
    let words = cannot_work_together(&speaks, &app.speaks());
    if let Some(words) = &words {
        warn!(role = %agent.role, repo = agent.repo, "{words}");
    }
    app.presence
        .facts
        .introduced(agent.key, speaks.version, words.clone());
    app.notices.send(Arc::new(Notice::Presence)).ok();
    words
}

#[cfg(test)]
mod tests {
    use butler_protocol::Role;

    use super::*;

    #[test]
    fn a_ticket_opens_one_connection() {
        let tickets = Tickets::default();
        let agent = Agent {
            key: 1,
            repo: "r".into(),
            role: Role::Pm,
            machine: None,
        };
        let ticket = tickets.issue(agent.clone());
        assert_eq!(tickets.redeem(&ticket), Some(agent));
        assert_eq!(tickets.redeem(&ticket), None);
        assert_eq!(tickets.redeem(""), None);
    }
}
