//! What agents say about themselves (`POST /agent/v1/facts`), and the last thing that went
//! wrong in each, from its log. In memory only: an agent says it again to a hub that forgot.
//! Of several hubs behind one address it tells whichever the balancer chooses, so what nobody
//! repeats is not taken for how things stand.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{Json, Router, extract::DefaultBodyLimit, routing::post};
use butler_protocol::{AgentFacts, LogLevel, LogLine, visible_line};
use serde::Serialize;
use serde_json::Value;

use crate::{
    agent_api::Caller,
    error::{Answer, done},
    hub::App,
    log::{AgentKey, Notice},
};

/// Models of one agent, and characters of a name or an error.
const MODELS: usize = 10;
const WORDS: usize = 300;
const BODY_LIMIT: usize = 64 * 1024;
/// An agent says it each minute. What is older than this it may have told another hub
/// otherwise.
const OLD_MS: i64 = 150_000;

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LastError {
    pub(crate) at_ms: i64,
    pub(crate) text: String,
}

/// What is known of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Known {
    #[serde(flatten)]
    pub(crate) facts: AgentFacts,
    pub(crate) last_error: Option<LastError>,
    /// Why it is not let in, while it is not: one of the two is to be updated.
    pub(crate) turned_away: Option<String>,
    /// When it said the facts.
    #[serde(skip)]
    heard_ms: i64,
    /// Whether it has not repeated them since, to this hub.
    #[serde(skip)]
    pub(crate) is_old: bool,
}

impl Known {
    /// Whether the model that it asks first is left alone.
    pub(crate) fn is_failing(&self) -> bool {
        let usual = self.facts.models.first();
        usual.is_some_and(|usual| self.facts.resting.contains(usual))
    }
}

/// What is known of all of them.
#[derive(Default)]
pub(crate) struct Facts(Mutex<HashMap<AgentKey, Known>>);

impl Facts {
    fn all(&self) -> MutexGuard<'_, HashMap<AgentKey, Known>> {
        // Whole values only are put behind this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of all of them, as they are now. Nobody says of an old one that its models are left
    /// alone.
    pub(crate) fn known(&self, now_ms: i64) -> HashMap<AgentKey, Known> {
        let mut all = self.all().clone();
        for known in all.values_mut() {
            known.is_old = now_ms.saturating_sub(known.heard_ms) > OLD_MS;
            if known.is_old {
                known.facts.resting.clear();
            }
        }
        all
    }

    /// Another hub has let these agents in.
    pub(crate) fn let_in<'a>(&self, agents: impl Iterator<Item = &'a AgentKey>) {
        let mut all = self.all();
        for agent in agents {
            if let Some(known) = all.get_mut(agent) {
                known.turned_away = None;
            }
        }
    }

    /// Whether some agent would know which model is meant; a full name always is one.
    pub(crate) fn knows_model(&self, name: &str) -> bool {
        let full = name.contains('/') && !name.contains(char::is_whitespace);
        let all = self.all();
        full || all
            .values()
            .any(|known| known.facts.pool.iter().any(|one| one == name))
    }

    /// What an agent said when it connected, and whether it was turned away.
    pub(crate) fn introduced(&self, agent: AgentKey, version: String, turned: Option<String>) {
        let mut all = self.all();
        let known = all.entry(agent).or_default();
        // What it says later about its build says more than the number of its release.
        if !known.facts.version.starts_with(&version) {
            known.facts.version = version;
        }
        known.turned_away = turned;
    }

    /// Remembers a line of an agent's log if something went wrong there; true when it did.
    pub(crate) fn note_line(&self, agent: AgentKey, line: &LogLine) -> bool {
        if line.level != LogLevel::Error {
            return false;
        }
        let error = line.fields.get("error").and_then(Value::as_str);
        let text = match error {
            Some(error) => format!("{}: {error}", line.message),
            None => line.message.clone(),
        };
        self.all().entry(agent).or_default().last_error = Some(LastError {
            at_ms: line.at_ms,
            text: visible_line(&text).chars().take(WORDS).collect(),
        });
        true
    }
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/agent/v1/facts", post(note))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

async fn note(Caller { app, agent, .. }: Caller, Json(facts): Json<AgentFacts>) -> Answer {
    let short = |text: &String| visible_line(text).chars().take(WORDS).collect::<String>();
    let facts = AgentFacts {
        version: short(&facts.version),
        host: short(&facts.host),
        models: facts.models.iter().take(MODELS).map(short).collect(),
        resting: facts.resting.iter().take(MODELS).map(short).collect(),
        pool: facts.pool.iter().take(MODELS).map(short).collect(),
        outlook: facts.outlook,
    };
    let news = {
        let mut all = app.presence.facts.all();
        let known = all.entry(agent.key).or_default();
        known.heard_ms = app.store.now_ms();
        std::mem::replace(&mut known.facts, facts.clone()) != facts
    };
    if news {
        // Nobody listening is fine: notices are only wake-ups.
        let _ = app.notices.send(Arc::new(Notice::Presence));
    }
    done()
}
