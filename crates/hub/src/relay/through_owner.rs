//! Slack has one pace for an app, and a post one place where it is under way. So only the
//! owner asks Slack; another hub of the same store leaves its agents' calls there for the
//! owner and waits for the answer. A call that nobody answers in time is one that the
//! agent repeats, with the key that it had.

use std::{collections::HashSet, sync::Arc, time::Duration};

use axum::http::{HeaderMap, HeaderValue, header::HOST};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tracing::{debug, warn};

use crate::{
    error::{Refusal, Result, Trouble},
    hub::App,
    identity::{self, Fence},
    log::{AgentKey, Notice},
    relay::{Relay, api, receive::interactions},
    store::shared,
    web_api::{Call, args::Args, response_url::Response},
    workspace::gate,
};

/// Below the patience of an agent's client for one answer.
const PATIENCE: Duration = Duration::from_secs(45);
/// A bell may be lost; nothing waits longer than this.
const LOOK: Duration = Duration::from_secs(1);

/// What is left to the owner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Asked {
    /// A method of the Web API.
    Call {
        method: String,
        agent: AgentKey,
        fence: Option<Fence>,
        host: String,
        args: Value,
    },
    /// An app's answer to a click.
    Respond { key: String, response: Response },
}

/// Answers a method that needs Slack, here or through the owner.
pub(crate) async fn call(relay: Arc<Relay>, method: &str, call: Call) -> Result<Value> {
    if call.app.ownership.is_owner() || !api::asks_slack(method) {
        return api::call(relay, method, call).await;
    }
    let asked = Asked::Call {
        method: method.to_owned(),
        agent: call.agent.key,
        fence: call.fence.clone(),
        host: call.host(),
        args: cleaned(&call),
    };
    ask(&call.app, &asked).await
}

/// The arguments as they may stand in the store.
fn cleaned(call: &Call) -> Value {
    let mut args = call.args.all();
    gate::clean_value(&call.app.redactor, &mut args);
    args
}

/// An app answers a click, here or through the owner.
pub(crate) async fn respond(
    app: &Arc<App>,
    relay: &Arc<Relay>,
    key: String,
    response: Response,
) -> Result<()> {
    if app.ownership.is_owner() {
        return interactions::respond(app, relay, key, response).await;
    }
    ask(app, &Asked::Respond { key, response }).await.map(drop)
}

async fn ask(app: &Arc<App>, asked: &Asked) -> Result<Value> {
    let mut news = app.notices.subscribe();
    let words = serde_json::to_string(asked)?;
    let id = app
        .write(move |tx| {
            tx.say(Notice::SlackCall);
            shared::ask_owner(tx.db(), &words)
        })
        .await?;
    let until = Instant::now() + PATIENCE;
    let mut answer = None;
    while answer.is_none() && Instant::now() < until {
        // Whatever comes is a reason to look, and so is silence.
        let _ = timeout(LOOK, async {
            while !matches!(news.recv().await.as_deref(), Ok(Notice::SlackCall) | Err(_)) {}
        })
        .await;
        answer = match app.read(move |db| shared::answer_of(db, id)).await {
            Ok(answer) => answer,
            Err(trouble) => {
                debug!(%trouble, "the owner's answer cannot be read yet");
                sleep(LOOK).await;
                None
            }
        };
    }
    let forgotten = app.write(move |tx| shared::forget_call(tx.db(), id));
    if let Err(trouble) = forgotten.await {
        debug!(%trouble, "an answered call is forgotten later");
    }
    match answer {
        Some(answer) => read(&answer),
        None => Err(Trouble::Away),
    }
}

/// Answers what other hubs were asked, while this one is the owner.
pub(crate) async fn serve(app: Arc<App>, relay: Arc<Relay>) {
    let mut news = app.notices.subscribe();
    let (mut begun, mut under_way) = (HashSet::new(), JoinSet::new());
    while app.store.meets().is_some() {
        match app.read(|db| shared::unanswered(db, 0)).await {
            Ok(asked) => {
                let waiting: HashSet<i64> = asked.iter().map(|(id, _)| *id).collect();
                begun.retain(|id| waiting.contains(id));
                for (id, words) in asked {
                    if begun.insert(id) {
                        under_way.spawn(one(Arc::clone(&app), Arc::clone(&relay), id, words));
                    }
                }
            }
            Err(trouble) => warn!(%trouble, "the calls of other hubs cannot be read"),
        }
        tokio::select! {
            () = relay.cancel.cancelled() => return,
            Some(done) = under_way.join_next() => if let Ok(Some(again)) = done {
                begun.remove(&again);
            },
            _ = timeout(LOOK, async {
                while !matches!(news.recv().await.as_deref(), Ok(Notice::SlackCall) | Err(_)) {}
            }) => {}
        }
    }
}

/// Answers one call. Gives its number when it is to be begun again.
async fn one(app: Arc<App>, relay: Arc<Relay>, id: i64, words: String) -> Option<i64> {
    let answer = match carry_out(&app, relay, &words).await {
        // Whoever is the owner now answers it.
        Err(Trouble::NotOwner | Trouble::Closed) => return Some(id),
        outcome => written(outcome),
    };
    let kept = app.write_as_owner(move |tx| {
        tx.say(Notice::SlackCall);
        shared::answer_call(tx.db(), id, &answer)
    });
    kept.await.err().map(|trouble| {
        debug!(%trouble, "a call of another hub is answered again");
        id
    })
}

async fn carry_out(app: &Arc<App>, relay: Arc<Relay>, words: &str) -> Result<Value> {
    match serde_json::from_str(words)? {
        Asked::Respond { key, response } => {
            interactions::respond(app, &relay, key, response).await?;
            Ok(Value::Null)
        }
        Asked::Call {
            method,
            agent,
            fence,
            host,
            args,
        } => {
            let agent = app.read(move |db| identity::agent_by_key(db, agent));
            let host = HeaderValue::from_str(&host).ok().map(|host| (HOST, host));
            let args = Args::of(&args.to_string());
            let mut call = Call::of_hub(app, agent.await?, args);
            call.caller.fence = fence;
            call.headers = HeaderMap::from_iter(host);
            api::call(relay, &method, call).await
        }
    }
}

fn written(outcome: Result<Value>) -> String {
    let answer = match outcome {
        Ok(answer) => json!({"ok": answer}),
        Err(Trouble::Away) => json!({"away": true}),
        Err(Trouble::Explained(refusal, what)) => {
            json!({"refused": refusal.code(), "what": what})
        }
        Err(trouble) => json!({"refused": trouble.refusal().code()}),
    };
    answer.to_string()
}

fn read(answer: &str) -> Result<Value> {
    let mut answer: Value = serde_json::from_str(answer)?;
    let Some(code) = answer["refused"].as_str() else {
        return match answer.get_mut("ok") {
            Some(ok) => Ok(ok.take()),
            None => Err(Trouble::Away),
        };
    };
    let refusal = Refusal::named(code).unwrap_or(Refusal::InternalError);
    Err(match answer["what"].as_str() {
        Some(what) => Trouble::Explained(refusal, what.to_owned()),
        None => Trouble::Refused(refusal),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_same_on_the_other_side() {
        let same = |outcome| read(&written(outcome));
        assert_eq!(same(Ok(json!({"ts": "1"}))).unwrap(), json!({"ts": "1"}));
        let odd = Err(Trouble::Refused(Refusal::ChannelNotFound));
        assert_eq!(
            same(odd).unwrap_err().refused(),
            Some(Refusal::ChannelNotFound)
        );
        let told = same(Err(Trouble::Explained(Refusal::InvalidBlocks, "x".into())));
        assert!(
            matches!(told, Err(Trouble::Explained(Refusal::InvalidBlocks, what)) if what == "x")
        );
        assert!(matches!(same(Err(Trouble::Away)), Err(Trouble::Away)));
    }
}
