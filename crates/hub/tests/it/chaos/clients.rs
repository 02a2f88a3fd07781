//! Those who post, talk, decide and spend, and write down what came of it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use butler_hub::RepoTokens;
use butler_protocol::{
    DecisionKind, Reservation, ReserveAnswer, ReserveId, Role, Secret, ThreadId, Usd,
};
use butler_slack::{Control, SharedEpoch, Web};
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    history::{Deed, Operation, Outcome},
    kills::post,
    pair::now,
    world::{subject, try_card},
};

/// What clients write down.
#[derive(Clone, Default)]
pub(super) struct Notes(pub Arc<Mutex<Vec<Operation>>>);

impl Notes {
    pub(super) fn all(&self) -> Vec<Operation> {
        self.0.lock().unwrap().clone()
    }

    async fn of(&self, deed: Deed, doing: impl Future<Output = Outcome>) -> Outcome {
        let begun = now();
        let outcome = doing.await;
        let operation = Operation {
            begun,
            ended: now(),
            deed,
            outcome,
        };
        self.0.lock().unwrap().push(operation);
        outcome
    }
}

/// What every client needs.
#[derive(Clone)]
pub(super) struct Clients {
    pub base: Url,
    pub repo: Arc<RepoTokens>,
    pub people: Vec<Secret>,
    pub http: reqwest::Client,
    pub notes: Notes,
    pub over: CancellationToken,
}

impl Clients {
    pub(super) fn web(&self, role: Role) -> Web {
        let token = self.repo.agents[&role].bot.clone();
        Web::new(&self.base, token, SharedEpoch::default()).unwrap()
    }

    fn control(&self, role: Role) -> Control {
        let token = self.repo.agents[&role].bot.clone();
        Control::new(&self.base, token, SharedEpoch::default()).unwrap()
    }

    pub(super) fn said(thread: &ThreadId, text: &str) -> Deed {
        Deed::Said {
            thread: thread.to_string(),
            text: text.to_owned(),
        }
    }

    /// A role talks in a thread until it is over, and repeats what has no outcome.
    pub(super) async fn talk(self, role: Role, thread: ThreadId, number: usize) {
        let web = self.web(role);
        for turn in 0.. {
            if self.over.is_cancelled() {
                return;
            }
            let text = format!("{role} {number}.{turn}");
            let post = post(&thread.channel, Some(&thread.root), &text);
            let saying = async {
                for _ in 0..20 {
                    if web.post(&post).await.is_ok() {
                        return Outcome::Done;
                    }
                    sleep(Duration::from_millis(200)).await;
                }
                Outcome::Unknown
            };
            self.notes.of(Self::said(&thread, &text), saying).await;
            sleep(Duration::from_millis(60)).await;
        }
    }

    /// A person's call: once, whatever comes of it.
    pub(super) async fn person(&self, who: usize, path: &str, body: &Value) -> (Outcome, Value) {
        let request = self
            .http
            .post(self.base.join(path).unwrap())
            .timeout(Duration::from_secs(20))
            .bearer_auth(self.people[who].expose())
            .json(body);
        let Ok(answer) = request.send().await else {
            return (Outcome::Unknown, Value::Null);
        };
        let outcome = match answer.status().as_u16() {
            200 => Outcome::Done,
            400..500 => Outcome::Refused,
            _ => Outcome::Unknown,
        };
        (outcome, answer.json().await.unwrap_or_default())
    }

    /// A person talks, and does not repeat anything.
    pub(super) async fn chat(self, who: usize, thread: ThreadId) {
        for turn in 0.. {
            if self.over.is_cancelled() {
                return;
            }
            let text = format!("person {who} {turn} in {}", thread.root);
            let body = json!({"channel": thread.channel, "thread_ts": thread.root,
                "text": text});
            let saying = async { self.person(who, "v1/messages", &body).await.0 };
            self.notes.of(Self::said(&thread, &text), saying).await;
            sleep(Duration::from_millis(150)).await;
        }
    }

    /// Cards, about each of which two people decide at the same time.
    pub(super) async fn decide(self, thread: ThreadId) {
        let (web, control) = (self.web(Role::Pm), self.control(Role::Pm));
        for number in 0.. {
            if self.over.is_cancelled() {
                return;
            }
            let id = format!("plan{number:02}");
            let mut asking = post(&thread.channel, Some(&thread.root), &id);
            let plan = subject(DecisionKind::Plan, &id);
            if try_card(&control, &mut asking, &id, &plan).await.is_err() {
                continue;
            }
            let Ok(asked) = web.post(&asking).await else {
                continue;
            };
            let press = |who: usize, choice: &'static str| {
                let body = json!({"channel": thread.channel, "ts": asked.ts,
                    "action_id": format!("cb:{id}:{choice}")});
                let deed = Deed::Decided {
                    request: id.clone(),
                    choice: choice.to_owned(),
                };
                let this = self.clone();
                async move {
                    let pressing = async { this.person(who, "v1/actions", &body).await.0 };
                    this.notes.of(deed, pressing).await
                }
            };
            tokio::join!(press(0, "approve"), press(1, "reject"));
            sleep(Duration::from_millis(300)).await;
        }
    }

    /// Money, more of it than there is, asked for again until there is an answer.
    pub(super) async fn spend(self, role: Role, thread: ThreadId) {
        let control = self.control(role);
        for number in 0..8 {
            let id = format!("{role}-{number}");
            let reservation = Reservation {
                id: ReserveId::new(&id),
                thread: thread.clone(),
                person: None,
                amount: Usd::from_cents(15),
                heard: None,
            };
            let deed = Deed::Reserved {
                budget: "thread".to_owned(),
                id,
                cents: 15,
            };
            let reserving = async {
                for _ in 0..20 {
                    match control.reserve(&reservation).await {
                        Ok(ReserveAnswer::Granted { .. }) => return Outcome::Done,
                        Ok(_) => return Outcome::Refused,
                        Err(_) => sleep(Duration::from_millis(200)).await,
                    }
                }
                Outcome::Unknown
            };
            self.notes.of(deed, reserving).await;
            sleep(Duration::from_millis(500)).await;
        }
    }
}
