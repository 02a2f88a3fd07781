//! What agents say to the hub where Slack has no words: `/agent/v1/…`. Every
//! call is idempotent by the id in it, so all of them are repeated blindly.

use std::time::Duration;

use butler_protocol::{
    Activity, AgentFacts, BodyRef, ChannelId, DecisionView, Entry, LearningFigures, LiveWork,
    LogBatch, LogEnd, PlanSummary, PullNews, RecordBatch, RequestId, Reservation, ReserveAnswer,
    ReserveId, RoleEntry, RunChange, RunDecide, RunReport, RunView, Secret, ServerStatus,
    Settlement, Sha256Hex, ThreadId, ThreadSummary, Watched,
};
use reqwest::Response;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{SharedEpoch, SlackError, Workspace, http::Caller};

/// The hub's control calls for one role and repo. Each fails with the hub's refusal, or
/// when nobody answers.
#[derive(Debug, Clone)]
pub struct Control {
    caller: Caller,
}

/// How far the hub has followed a role's log of a thread.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Held {
    /// It has every line up to this one.
    pub upto: u64,
    /// Money that it holds set aside.
    pub unsettled: Vec<ReserveId>,
    /// With which epoch the log is written from here on, where that of the connection
    /// is not enough.
    #[serde(default)]
    pub epoch: u64,
    /// Its last line of this log.
    pub last: Option<LogEnd>,
    /// Up to this line both have the same, and `entries` follow there. Nothing when the
    /// hub cannot tell, or has other lines.
    pub keep: Option<u64>,
    /// What the hub has beyond that.
    #[serde(default)]
    pub entries: Vec<Entry>,
}

impl Control {
    /// Speaks to the hub at `base` with an agent's bot token.
    /// Fails when `base` has no host.
    pub fn new(
        base: impl Into<Workspace>,
        token: Secret,
        epoch: SharedEpoch,
    ) -> Result<Self, SlackError> {
        Ok(Self {
            caller: Caller::new(&base.into(), token, epoch)?,
        })
    }

    /// The same client with another limit on how long a call is repeated while
    /// the hub does not answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.caller.patience = patience;
        self
    }

    /// The same client for one thread: the hub refuses what it says once another process
    /// of the role has the thread.
    pub fn in_thread(&self, thread: &ThreadId) -> Self {
        let mut control = self.clone();
        control.caller.thread = Some(thread.clone());
        control
    }

    /// Says what this role does in a thread; repeated as a heartbeat while working.
    pub async fn activity(&self, activity: &Activity) -> Result<(), SlackError> {
        self.post::<Value>("activity", activity).await.map(drop)
    }

    /// How the role's MCP servers stand, for the page.
    pub async fn servers(&self, servers: &[ServerStatus]) -> Result<(), SlackError> {
        self.post::<Value>("servers", &servers).await.map(drop)
    }

    /// What this process says about itself, for the page.
    pub async fn facts(&self, facts: &AgentFacts) -> Result<(), SlackError> {
        self.post::<Value>("facts", facts).await.map(drop)
    }

    /// Waits a while for somebody to look at the work in a thread.
    pub async fn watched(&self, thread: &ThreadId) -> Result<Watched, SlackError> {
        let path = format!("agent/v1/live/{}/{}", thread.channel, thread.root);
        self.get(&path).await
    }

    /// Shows what this role does in a thread this very moment.
    pub async fn live(&self, work: &LiveWork) -> Result<Watched, SlackError> {
        self.post("live", work).await
    }

    /// Brings log lines for the page. They are lost when the hub is away.
    pub async fn log(&self, batch: &LogBatch) -> Result<(), SlackError> {
        self.post::<Value>("log", batch).await.map(drop)
    }

    /// Sets money aside for a model call.
    /// Errors: a refusal of the call itself or no answer; an empty budget is an answer.
    pub async fn reserve(&self, reservation: &Reservation) -> Result<ReserveAnswer, SlackError> {
        self.post("reserve", reservation).await
    }

    /// Says what a model call cost.
    pub async fn settle(&self, settlement: &Settlement) -> Result<(), SlackError> {
        self.post::<Value>("settle", settlement).await.map(drop)
    }

    /// Hands journal lines to the page.
    pub async fn records(&self, batch: &RecordBatch) -> Result<(), SlackError> {
        self.post::<Value>("records", batch).await.map(drop)
    }

    /// What the hub knows of this role's log of a thread that ends here on our side. The
    /// thread is taken up by this: `thread_taken` while another process has it.
    pub async fn records_held(&self, thread: &ThreadId, end: LogEnd) -> Result<Held, SlackError> {
        let nothing = RecordBatch {
            thread: thread.clone(),
            entries: Vec::new(),
            end: Some(end),
        };
        self.post("records", &nothing).await
    }

    /// The lines of every role in a thread, of these kinds; of all when none is named.
    /// A line that a newer process invented is left out.
    pub async fn logs(
        &self,
        thread: &ThreadId,
        kinds: &[&str],
    ) -> Result<Vec<RoleEntry>, SlackError> {
        let path = format!("agent/v1/records/{}/{}", thread.channel, thread.root);
        let mut url = self.caller.url(&path)?;
        url.query_pairs_mut().append_pair("kinds", &kinds.join(","));
        let answer = self.caller.send(&path, |c| c.get(url.clone())).await?;
        let lines: Vec<Value> = json_of(&path, answer).await?;
        let known = lines
            .into_iter()
            .filter_map(|line| RoleEntry::deserialize(line).ok());
        Ok(known.collect())
    }

    /// The newest plans of the repo and those of its open pull requests, oldest first.
    pub async fn plans(&self) -> Result<Vec<PlanSummary>, SlackError> {
        self.get("agent/v1/plans").await
    }

    /// The plans of one thread, oldest first.
    /// Fails: a refusal or no answer.
    pub async fn plans_of(&self, thread: &ThreadId) -> Result<Vec<PlanSummary>, SlackError> {
        let path = "agent/v1/plans";
        let mut url = self.caller.url(path)?;
        url.query_pairs_mut()
            .append_pair("thread", &thread.to_string());
        let answer = self.caller.send(path, |c| c.get(url.clone())).await?;
        let mut plans: Vec<PlanSummary> = json_of(path, answer).await?;
        // A hub of an earlier release gives those of all.
        plans.retain(|one| one.thread == *thread);
        Ok(plans)
    }

    /// Says what the team's learnings are worth.
    pub async fn tell_memory(&self, figures: &[LearningFigures]) -> Result<(), SlackError> {
        self.post::<Value>("memory", &figures).await.map(drop)
    }

    /// The newest threads of the repo.
    pub async fn threads(&self) -> Result<Vec<ThreadSummary>, SlackError> {
        self.get("agent/v1/threads").await
    }

    /// The runs over the roadmap, newest first.
    pub async fn runs(&self) -> Result<Vec<RunView>, SlackError> {
        self.get("agent/v1/runs").await
    }

    /// Whether the hub hears a process of this role.
    /// Fails: a refusal, when it does not know the token any longer, or no answer.
    pub async fn is_heard(&self) -> Result<bool, SlackError> {
        let answer: Value = self.get("agent/v1/me").await?;
        Ok(answer["online"] == true)
    }

    /// The pull requests of this repo that others may still do something to.
    pub async fn pulls(&self) -> Result<Vec<PullNews>, SlackError> {
        self.get("agent/v1/pulls").await
    }

    /// Waits a while for a webhook of the forge that was not heard of yet; how many there
    /// were, which is `seen` when none came.
    pub async fn forge_moved(&self, channel: &ChannelId, seen: u64) -> Result<u64, SlackError> {
        let path = format!("agent/v1/forge/{channel}?seen={seen}");
        let answer: Value = self.get(&path).await?;
        Ok(answer["moved"].as_u64().unwrap_or(seen))
    }

    /// A run goes on, or does not.
    pub async fn run_state(&self, change: &RunChange) -> Result<(), SlackError> {
        self.post::<Value>("runs/state", change).await.map(drop)
    }

    /// What was allowed at the start of a run is decided for an item.
    pub async fn run_decide(&self, decide: &RunDecide) -> Result<(), SlackError> {
        self.post::<Value>("runs/decide", decide).await.map(drop)
    }

    /// How an item of a run stands, for people.
    pub async fn run_report(&self, report: &RunReport) -> Result<(), SlackError> {
        self.post::<Value>("runs/report", report).await.map(drop)
    }

    /// How a pull request stands, for the page; the newest word counts.
    pub async fn pull(&self, news: &PullNews) -> Result<(), SlackError> {
        self.post::<Value>("pulls", news).await.map(drop)
    }

    /// What was asked on a card, and what was decided. The hub's word is the
    /// only one that counts.
    /// Errors: `unknown_request`, or no answer.
    pub async fn decision(&self, request: &RequestId) -> Result<DecisionView, SlackError> {
        self.get(&format!("agent/v1/decisions/{request}")).await
    }

    /// Keeps a body at the hub under its own hash.
    pub async fn put_body(&self, bytes: &[u8]) -> Result<BodyRef, SlackError> {
        let body = BodyRef::of(&Sha256Hex::of(bytes));
        let path = format!("agent/v1/bodies/{}", body.as_str());
        let url = self.caller.url(&path)?;
        let answer = self
            .caller
            .send(&path, |c| c.put(url.clone()).body(bytes.to_vec()))
            .await?;
        json_of::<Value>(&path, answer).await?;
        Ok(body)
    }

    /// Fetches a body; what does not have the hash it is named by is refused.
    /// Errors: `unknown_body`, a body that does not match its name, or no answer.
    pub async fn get_body(&self, body: &BodyRef) -> Result<Vec<u8>, SlackError> {
        let path = format!("agent/v1/bodies/{}", body.as_str());
        let url = self.caller.url(&path)?;
        let answer = self.caller.send(&path, |c| c.get(url.clone())).await?;
        if !answer.status().is_success() {
            return json_of::<Value>(&path, answer).await.map(|_| Vec::new());
        }
        let bytes = answer.bytes().await;
        let bytes = bytes.map_err(|error| SlackError::answer(&path, &error.without_url()))?;
        if Sha256Hex::of(&bytes).as_str() != body.as_str() {
            let detail = "the body does not have the hash it is named by";
            return Err(SlackError::answer(&path, &detail));
        }
        Ok(bytes.to_vec())
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, SlackError> {
        let url = self.caller.url(path)?;
        let answer = self.caller.send(path, |c| c.get(url.clone())).await?;
        json_of(path, answer).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        what: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<T, SlackError> {
        let path = format!("agent/v1/{what}");
        let url = self.caller.url(&path)?;
        let answer = self
            .caller
            .send(&path, |c| c.post(url.clone()).json(body))
            .await?;
        json_of(&path, answer).await
    }
}

/// The answer's JSON, or the refusal it names (`{"error": "…"}`).
async fn json_of<T: DeserializeOwned>(method: &str, answer: Response) -> Result<T, SlackError> {
    let status = answer.status();
    let body = answer.json().await;
    let body: Value = body.map_err(|error| SlackError::answer(method, &error.without_url()))?;
    if !status.is_success() {
        let code = body["error"].as_str().unwrap_or("refused");
        return Err(SlackError::api(method, code));
    }
    T::deserialize(body).map_err(|error| SlackError::answer(method, &error))
}
