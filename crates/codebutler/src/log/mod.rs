//! The log of a process: to the error stream for people (or as JSON, when
//! asked), to a rotated file for `codebutler logs`, and to the hub for the page.
//!
//! `CODEBUTLER_LOG` chooses how much, `--log-format` or `CODEBUTLER_LOG_FORMAT`
//! in which form. Secrets are taken out by the known values of this machine and
//! by the usual patterns before a line is written anywhere.

pub(crate) mod file;
mod forward;
mod human;
mod layer;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use butler_policy::Redactor;
use butler_protocol::{LogLine, visible_json};
use serde_json::Value;
use tokio::sync::mpsc;
use tracing_subscriber::{EnvFilter, layer::SubscriberExt};

pub(crate) use forward::forward;
pub(crate) use human::render;

use self::{file::Rotated, layer::Scribe};
use crate::ui;

/// Says it to child processes.
pub(crate) const FORMAT_VARIABLE: &str = "CODEBUTLER_LOG_FORMAT";

/// In which form lines go to the error stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A line that people read
    #[default]
    Human,
    /// One JSON object per line
    Json,
}

impl Format {
    /// The word on the command line.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Format::Human => "human",
            Format::Json => "json",
        }
    }
}

/// What the command line said.
static FORMAT: OnceLock<Format> = OnceLock::new();
/// What is known about secrets so far.
static REDACTOR: OnceLock<Redactor> = OnceLock::new();

/// Lines that wait for the hub; more than that and the newest are dropped, for
/// the file has them.
const WAITING: usize = 512;

/// Remembers the form; the first word counts.
pub(crate) fn choose(format: Format) {
    let _ = FORMAT.set(format);
}

/// The form in which this process writes.
pub(crate) fn format() -> Format {
    FORMAT.get().copied().unwrap_or_default()
}

/// From here on these secrets are taken out literally too.
pub(crate) fn know(redactor: Redactor) {
    let _ = REDACTOR.set(redactor);
}

/// Where lines go.
#[derive(Default)]
pub(crate) struct Sinks {
    format: Format,
    file: Option<Mutex<Rotated>>,
    hub: Option<mpsc::Sender<LogLine>>,
}

/// Lines on their way to the hub.
pub(crate) type Lines = mpsc::Receiver<LogLine>;

/// Starts the log of a command: the error stream alone.
pub(crate) fn start(process: &str) {
    let sinks = Sinks {
        format: format(),
        ..Sinks::default()
    };
    install(process, "warn", sinks);
}

/// Starts the log of a long-running process: also to its file below `home`, and
/// to whoever takes the lines to the hub.
pub(crate) fn start_process(process: &str, home: &Path, repo: &str) -> Lines {
    let (sender, lines) = mpsc::channel(WAITING);
    let path = path(home, repo, process);
    let file = Rotated::open(&path, file::FULL);
    let failed = file.as_ref().err().map(ToString::to_string);
    let sinks = Sinks {
        format: format(),
        file: file.ok().map(Mutex::new),
        hub: Some(sender),
    };
    install(process, "warn,butler_agent=info,butler_hub=info", sinks);
    if let Some(error) = failed {
        tracing::warn!(file = %path.display(), error, "there is no log file");
    }
    lines
}

/// The log file of a process.
pub(crate) fn path(home: &Path, repo: &str, process: &str) -> PathBuf {
    home.join("logs")
        .join(repo)
        .join(format!("{process}.jsonl"))
}

/// The log files of the hubs of this machine: one hub serves all repositories, and any of
/// them, or none, may have started it.
pub(crate) fn of_hubs(home: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(home.join("logs")).into_iter().flatten();
    let files = folders
        .flatten()
        .map(|folder| folder.path().join("hub.jsonl"));
    files.filter(|file| file.exists()).collect()
}

fn install(process: &str, usual: &str, sinks: Sinks) {
    let filter =
        EnvFilter::try_from_env("CODEBUTLER_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
    let scribe = Scribe {
        process: process.to_owned(),
        sinks,
    };
    let subscriber = tracing_subscriber::registry().with(filter).with(scribe);
    // A second start in one process keeps the first.
    let _ = tracing::subscriber::set_global_default(Arc::new(subscriber));
}

impl Sinks {
    /// To every place there is. Nothing here may fail the work.
    pub(crate) fn write(&self, line: &LogLine) {
        let json = serde_json::to_string(line).unwrap_or_default();
        let shown = match self.format {
            Format::Human => render(line),
            Format::Json => visible_json(&json).into_owned(),
        };
        let _ = ui::note(&shown);
        if let Some(file) = &self.file {
            file.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .write(&json);
        }
        if let Some(hub) = &self.hub {
            let _ = hub.try_send(line.clone());
        }
    }

    /// Takes secrets out of everything that came from outside.
    pub(crate) fn redact(&self, line: &mut LogLine) {
        static PATTERNS: OnceLock<Option<Redactor>> = OnceLock::new();
        let usual = || {
            PATTERNS
                .get_or_init(|| Redactor::new(&[], &[]).ok())
                .as_ref()
        };
        let Some(redactor) = REDACTOR.get().or_else(usual) else {
            return;
        };
        line.message = redactor.redact(&line.message).text;
        for value in line.fields.values_mut() {
            if let Value::String(text) = value {
                *text = redactor.redact(text).text;
            }
        }
    }
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
