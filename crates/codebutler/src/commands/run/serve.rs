//! `codebutler serve`: one hub for all repositories of this machine. Their teams sleep
//! until something waits for them, and end when they have had nothing to do for a while:
//! an idle company costs one hub.
//!
//! A repository whose team somebody else runs (`up`, services) is left to them.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use butler_config::{FOLDER, Settings, machine_folder, set_up_root};
use butler_protocol::Role;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    listen::Listen,
    up::{self, Agents, Place, Team},
};
use crate::{
    CliError, Exit, Ui,
    commands::environment,
    hub_access, names,
    person::Person,
    process,
    supervise::{LineSink, READY},
    wiring,
};

/// After a hub that did not answer.
const AGAIN: Duration = Duration::from_millis(500);
/// A repository that somebody else's team has is looked at again after this.
const TAKEN: Duration = Duration::from_secs(60);

/// Run one hub for every repository of this machine, and each team only when it has work
///
/// A message, a click or a hand-over starts the agents of its repository; they end when
/// nothing has been left to do for a while.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    listen: Listen,

    /// End a team that has had nothing to do for so many minutes
    #[arg(long, default_value_t = 15.0, value_name = "MINUTES")]
    quiet: f64,

    /// Show what hub and agents log; `codebutler logs -f` does so elsewhere
    #[arg(long)]
    logs: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let home = machine_folder(&environment).unwrap_or_default();
    let repos = repos(&home)?;
    let Some(first) = repos.values().next().cloned() else {
        let error = CliError::user("no repository of this machine is set up for CodeButler");
        return Err(error.hint("run `codebutler init` in a repository"));
    };
    let settings = Settings::load(&first, &environment)?;
    let listen = args.listen.address(&settings)?;
    let quiet = Duration::try_from_secs_f64(args.quiet * 60.0).map_err(CliError::user)?;
    for root in repos.values() {
        register(root, ui);
    }
    process::run(async move |cancel| {
        let place = Place {
            root: first,
            home: home.clone(),
            listen,
            exact: args.listen.is_exact(),
            reachable: args.listen.listen_anywhere,
        };
        let lines = up::lines(args.logs);
        let hub = Team::hub_alone(&place, Arc::clone(&lines), cancel.clone()).await?;
        ui.line(format_args!("{READY} {}", hub.url))?;
        let mut company = Company {
            settings: &settings,
            home,
            repos,
            lines,
            cancel: cancel.clone(),
            awake: BTreeMap::new(),
            left_alone: BTreeMap::new(),
            quiet,
        };
        company.serve(&hub.url, ui).await?;
        company.end().await;
        hub.ended().await;
        Ok(Exit::Done)
    })
}

/// The repositories of this machine by name; those that were moved away are left out.
fn repos(home: &Path) -> Result<BTreeMap<String, PathBuf>, CliError> {
    let mut roots = names::known(home)?;
    let here = set_up_root(&std::env::current_dir()?, Some(home));
    roots.extend(here.filter(|root| !roots.contains(root)));
    // One that joined a hub elsewhere is none of this one's.
    let (machine, _) = Settings::machine(&environment)?;
    let elsewhere = |root: &Path| {
        let root = root.to_str().unwrap_or_default();
        machine.joined.contains_key(root)
    };
    roots.retain(|root| root.join(FOLDER).is_dir() && !elsewhere(root));
    let named = |root: PathBuf| Ok((wiring::repo_name(home, &root)?, root));
    roots.into_iter().map(named).collect()
}

/// Makes a repository known to the hub before its team ever ran: people can write there.
fn register(root: &Path, ui: &Ui) {
    let registered = Settings::load(root, &environment)
        .map_err(CliError::from)
        .and_then(|settings| {
            hub_access::tell_caps(&settings)?;
            match hub_access::relays(&settings) {
                // Slack has to be asked for the channel: the hub does so when it runs.
                true => Ok(()),
                false => hub_access::repo_tokens(&settings).map(drop),
            }
        });
    if let Err(error) = registered {
        ui.note(format_args!("{}: {}", root.display(), error.plain()));
    }
}

/// A team that runs.
struct Awake {
    team: Agents,
    since: Instant,
}

struct Company<'a> {
    settings: &'a Settings,
    home: PathBuf,
    repos: BTreeMap<String, PathBuf>,
    lines: LineSink,
    cancel: CancellationToken,
    awake: BTreeMap<String, Awake>,
    /// Repositories with a team of somebody else's, until they are looked at again.
    left_alone: BTreeMap<String, Instant>,
    quiet: Duration,
}

impl Company<'_> {
    /// Starts and ends teams until cancelled.
    async fn serve(&mut self, url: &str, ui: &Ui) -> Result<(), CliError> {
        let mut person = Person::join(self.settings, url)?;
        while !self.cancel.is_cancelled() {
            let now = Instant::now();
            self.left_alone.retain(|_, until| *until > now);
            let asleep: HashSet<&String> = self
                .repos
                .keys()
                .filter(|repo| !self.awake.contains_key(*repo))
                .filter(|repo| !self.left_alone.contains_key(*repo))
                .collect();
            let awake: HashSet<&String> = self.awake.keys().collect();
            let asked = tokio::select! {
                () = self.cancel.cancelled() => return Ok(()),
                asked = person.waking(&asleep, &awake, self.quiet) => asked,
            };
            match asked {
                Ok(answer) => self.heed(&answer, ui).await,
                Err(_) => {
                    // It is started again, perhaps elsewhere.
                    person.move_to_hub_of(self.settings);
                    sleep(AGAIN).await;
                }
            }
        }
        Ok(())
    }

    async fn heed(&mut self, answer: &Value, ui: &Ui) {
        let wake = answer["wake"].as_array().into_iter().flatten();
        for repo in wake.filter_map(Value::as_str) {
            self.wake(repo, ui);
        }
        let now_ms = answer["now_ms"].as_i64().unwrap_or(0);
        for one in answer["quiet"].as_array().into_iter().flatten() {
            let repo = one["repo"].as_str().unwrap_or_default();
            let idle_ms = now_ms - one["since_ms"].as_i64().unwrap_or(now_ms);
            let idle = Duration::from_millis(u64::try_from(idle_ms).unwrap_or(0));
            let Some(awake) = self.awake.get(repo) else {
                continue;
            };
            if idle >= self.quiet
                && awake.since.elapsed() >= self.quiet
                && let Some(awake) = self.awake.remove(repo)
            {
                ui.note(format_args!("{repo} sleeps"));
                awake.team.end().await;
            }
        }
    }

    fn wake(&mut self, repo: &str, ui: &Ui) {
        let Some(root) = self.repos.get(repo) else {
            return;
        };
        let (all, name) = (Arc::clone(&self.lines), repo.to_owned());
        let lines: LineSink = Arc::new(move |role, line| all(&format!("{name} {role}"), line));
        match Agents::start(&self.home, root, &Role::ALL, lines, &self.cancel) {
            Ok(team) => {
                ui.note(format_args!("{repo} wakes"));
                let since = Instant::now();
                self.awake.insert(repo.to_owned(), Awake { team, since });
            }
            Err(error) => {
                ui.note(format_args!("{repo} is left alone: {}", error.plain()));
                let until = Instant::now() + TAKEN;
                self.left_alone.insert(repo.to_owned(), until);
            }
        }
    }

    async fn end(&mut self) {
        self.cancel.cancel();
        for (_, awake) in std::mem::take(&mut self.awake) {
            awake.team.end().await;
        }
    }
}
