//! What is known about the processes of a repo, from four sources: their own
//! notes, the service manager, the hub, and their logs.

use std::{collections::HashMap, path::Path, time::Duration};

use butler_config::{JoinedHub, Settings};
use butler_protocol::{LogLine, Refusal, Role, Usd};
use serde::Serialize;
use serde_json::Value;

use crate::{
    CliError,
    commands::{
        inspect::logs,
        services::manager::{Manager, ServiceState},
        setup::slack::troubles,
        talk::message::short,
    },
    hub_access::{self, joining},
    person::Person,
    process::running::{self, HUB, Note},
    wiring,
};

/// A hub that does not answer is told as one that does not.
const PATIENCE: Duration = Duration::from_secs(5);

/// Everything about one repo.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepoStatus {
    pub repo: String,
    pub root: String,
    /// Why nothing is known about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Where the hub listens, while one runs.
    pub hub: Option<String>,
    /// Whether it is one that this machine has joined.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// Whether the hub answers.
    pub hub_answers: bool,
    pub processes: Vec<ProcessStatus>,
    /// Roles that the hub hears from other machines.
    pub elsewhere: Vec<&'static str>,
    /// Threads that are not closed.
    pub open_threads: Option<usize>,
    /// Threads that somebody works on right now.
    pub threads_at_work: Option<usize>,
    pub spent_today: Option<Usd>,
    pub day_cap: Option<Usd>,
    /// How it stands between Slack and the hub, where Slack is behind it.
    pub slack: Option<Value>,
}

/// How a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Running,
    /// On its way up or down.
    Changing,
    /// It ended by itself and is tried again.
    Retrying,
    /// Installed, and nobody wants it to run now.
    Stopped,
    /// It ended by itself again and again and was given up.
    Failed,
    /// It is not installed here, and nobody started it.
    Absent,
}

/// Everything about one process.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessStatus {
    pub name: &'static str,
    pub state: State,
    /// Whether it is installed as a service.
    pub installed: bool,
    #[serde(flatten)]
    pub note: Option<Note>,
    /// How often the service started it again by itself, and how it ended last.
    pub restarts: u32,
    pub ended_with: Option<String>,
    /// Whether the hub hears it; of the hub, whether it answers.
    pub connected: Option<bool>,
    /// Why the hub does not let it in: one of the two is to be updated.
    pub turned_away: Option<String>,
    /// Threads that it works on right now.
    pub threads: Vec<String>,
    pub last_error: Option<LastError>,
    /// Whether it should run: it is installed, or belongs to a team of `up`.
    pub expected: bool,
}

/// What went wrong last.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastError {
    pub at_ms: i64,
    pub what: String,
}

impl ProcessStatus {
    /// Whether it is as it should be.
    pub(crate) fn is_fine(&self) -> bool {
        if self.turned_away.is_some() {
            return false;
        }
        match self.state {
            State::Running => self.connected != Some(false),
            State::Absent => !self.expected,
            _ => false,
        }
    }
}

/// Asks everybody.
pub(crate) async fn gather(
    settings: &Settings,
    manager: Option<&Manager>,
) -> Result<RepoStatus, CliError> {
    let repo = wiring::repo_name(&settings.home, &settings.root)?;
    let hub = match hub_access::hub_runs(settings)? {
        true => wiring::hub(settings).ok().map(|hub| hub.base),
        false => None,
    };
    let joined = settings.joined();
    let told = match &hub {
        Some(_) if joined.is_some() => ask_joined(settings).await,
        Some(url) => ask_hub(settings, url.as_str(), &repo).await,
        None => None,
    };
    let given = |name: &str| {
        let is = |joined: &JoinedHub| joined.roles().iter().any(|role| role.as_str() == name);
        joined.is_none_or(is)
    };
    let services = service_states(manager, &repo);
    let by_up = running::team(&settings.home, &repo).is_some();
    let one = |name: &'static str| {
        let service = services.get(name);
        let note = running::look(&settings.home, &repo, name);
        let (state, restarts, ended_with) = state(note.is_some(), service);
        let since = note.as_ref().map_or(0, |note| note.started_ms);
        let last = logs::last_error(&settings.home, &repo, name);
        ProcessStatus {
            name,
            state,
            installed: service.is_some(),
            restarts,
            ended_with,
            connected: note.as_ref().map(|_| match (name, &told) {
                (HUB, told) => told.is_some(),
                (_, Some(told)) => told.is_online(name),
                (_, None) => false,
            }),
            turned_away: told.as_ref().and_then(|told| told.turned_away(name)),
            threads: told
                .as_ref()
                .map(|told| told.threads(name))
                .unwrap_or_default(),
            // What a process met that runs no more has been answered by this one.
            last_error: last
                .filter(|line| line.at_ms >= since)
                .map(|line| LastError {
                    at_ms: line.at_ms,
                    what: with_cause(line),
                }),
            expected: service.is_some() || by_up && given(name),
            note,
        }
    };
    let processes: Vec<ProcessStatus> = running::names().map(one).collect();
    let is_heard = |name: &str| told.as_ref().is_some_and(|told| told.is_online(name));
    let absent = processes.iter().filter(|one| one.note.is_none());
    let elsewhere = absent.map(|one| one.name).filter(|name| is_heard(name));
    Ok(RepoStatus {
        problem: None,
        elsewhere: elsewhere.collect(),
        root: settings.root.display().to_string(),
        hub: hub.map(String::from),
        joined: joined.is_some(),
        hub_answers: told.is_some(),
        open_threads: told.as_ref().and_then(|told| told.open),
        threads_at_work: told.as_ref().and_then(|told| told.at_work),
        spent_today: told.as_ref().and_then(|told| told.spent_today),
        day_cap: told.as_ref().and_then(|told| told.day_cap),
        slack: told.and_then(|told| told.slack),
        processes,
        repo,
    })
}

/// What a line of the log says, with why.
fn with_cause(line: LogLine) -> String {
    match line.fields.get("error").and_then(Value::as_str) {
        Some(why) => format!("{}: {}", line.message, why.replace('\n', " ")),
        None => line.message,
    }
}

/// The services that are installed; where nobody can be asked they count as stopped.
fn service_states(manager: Option<&Manager>, repo: &str) -> HashMap<&'static str, ServiceState> {
    let Some(manager) = manager else {
        return HashMap::new();
    };
    let installed = manager.installed(repo);
    let unknown = || {
        let stopped = |name: &&'static str| (*name, ServiceState::Stopped);
        installed.iter().map(stopped).collect()
    };
    let asked = manager.states(repo, &installed);
    asked.unwrap_or_else(unknown).into_iter().collect()
}

fn state(runs: bool, service: Option<&ServiceState>) -> (State, u32, Option<String>) {
    match service {
        _ if runs => (State::Running, 0, None),
        // Its note comes in a moment, or is gone already.
        Some(ServiceState::Active | ServiceState::Changing) => (State::Changing, 0, None),
        Some(ServiceState::Retrying { restarts }) => (State::Retrying, *restarts, None),
        Some(ServiceState::Failed { restarts, how }) => {
            (State::Failed, *restarts, Some(how.clone()))
        }
        Some(ServiceState::Stopped) => (State::Stopped, 0, None),
        None => (State::Absent, 0, None),
    }
}

/// What the hub says about a repo.
#[derive(Default)]
struct Told {
    /// Roles that are connected, with the threads they work on.
    online: HashMap<Role, Vec<String>>,
    /// Roles that the hub does not let in, and why.
    turned_away: HashMap<Role, String>,
    open: Option<usize>,
    at_work: Option<usize>,
    spent_today: Option<Usd>,
    day_cap: Option<Usd>,
    slack: Option<Value>,
}

impl Told {
    fn is_online(&self, name: &str) -> bool {
        name.parse()
            .is_ok_and(|role| self.online.contains_key(&role))
    }

    fn turned_away(&self, name: &str) -> Option<String> {
        self.turned_away.get(&name.parse::<Role>().ok()?).cloned()
    }

    fn threads(&self, name: &str) -> Vec<String> {
        let role = name.parse::<Role>().ok();
        let threads = role.and_then(|role| self.online.get(&role));
        threads.cloned().unwrap_or_default()
    }
}

async fn ask_hub(settings: &Settings, url: &str, repo: &str) -> Option<Told> {
    let asking = async {
        let person = Person::join(settings, url).ok()?;
        let agents = person.agents().await.ok()?;
        let cost = person.cost_of(repo).await.ok()?;
        let board = person.board_of_channel().await.ok()?;
        let slack = person.slack().await.ok().filter(|slack| !slack.is_null());
        Some(Told {
            slack,
            ..told(repo, &agents, &cost["cost"], &board)
        })
    };
    tokio::time::timeout(PATIENCE, asking).await.ok().flatten()
}

/// What a hub on another machine says about the roles that it gave this one.
async fn ask_joined(settings: &Settings) -> Option<Told> {
    const AWAY: &str =
        "the hub sent this machine away; `codebutler hub invite` there invites it again";
    let asked = tokio::time::timeout(PATIENCE, joining::ask(settings))
        .await
        .ok()?;
    let mut told = Told::default();
    for (role, heard) in asked {
        match heard {
            Ok(true) => drop(told.online.insert(role, Vec::new())),
            Ok(false) => {}
            Err(error) if error.refusal().is_some_and(Refusal::is_final) => {
                told.turned_away.insert(role, AWAY.to_owned());
            }
            Err(_) => return None,
        }
    }
    Some(told)
}

fn told(repo: &str, agents: &Value, cost: &Value, board: &Value) -> Told {
    let members = agents["agents"].as_array().into_iter().flatten();
    let ours = members.filter(|one| one["repo"] == repo);
    let turned_away = ours.clone().filter_map(|one| {
        let role = one["role"].as_str()?.parse().ok()?;
        Some((role, one["turned_away"].as_str()?.to_owned()))
    });
    let online = ours.filter(|one| one["online"] == true);
    let online = online.filter_map(|one| {
        let role = one["role"].as_str()?.parse().ok()?;
        let jobs = one["working"].as_array().into_iter().flatten();
        let threads = jobs.filter_map(|job| short(&job["thread"])).collect();
        Some((role, threads))
    });
    let cards: Vec<&Value> = board["threads"].as_array().into_iter().flatten().collect();
    let is_at_work = |card: &&&Value| {
        let working = card["working"].as_array();
        working.is_some_and(|working| !working.is_empty())
    };
    let money = |key: &str| serde_json::from_value(cost[key].clone()).ok();
    Told {
        turned_away: turned_away.collect(),
        online: online.collect(),
        open: Some(
            cards
                .iter()
                .filter(|card| card["phase"] != "closed")
                .count(),
        ),
        at_work: Some(cards.iter().filter(is_at_work).count()),
        spent_today: money("today"),
        day_cap: money("day_cap"),
        slack: None,
    }
}

impl RepoStatus {
    /// One whose settings cannot be used.
    pub(crate) fn unknown(root: &Path, problem: &CliError) -> Self {
        let name = root.file_name().unwrap_or_default();
        Self {
            repo: name.to_string_lossy().into_owned(),
            root: root.display().to_string(),
            problem: Some(problem.plain()),
            ..Self::default()
        }
    }

    /// Whether everything runs that should, and hears.
    pub(crate) fn is_fine(&self) -> bool {
        self.problem.is_none()
            && self.processes.iter().all(ProcessStatus::is_fine)
            && self.deaf().is_empty()
    }

    /// Why what people say in Slack does not arrive.
    pub(crate) fn deaf(&self) -> Vec<String> {
        self.slack.as_ref().map(troubles).unwrap_or_default()
    }

    /// Whether something will not come by itself.
    pub(crate) fn has_failed(&self) -> bool {
        let failed = |one: &ProcessStatus| one.state == State::Failed;
        self.processes.iter().any(failed)
    }
}
