//! Many scripted threads in a row, from request to merge: what the late ones cost against the
//! early ones, in the same run. A thread must cost the same however many came before it.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::{
    company::{http, tokens, used},
    idle::{Serving, set_up},
    table::Report,
};

const THREADS: usize = 120;
/// The first ones find cold caches.
const WARM: usize = 10;
/// How many are compared at either end.
const SOME: usize = 20;
/// How long one thread may take.
const PATIENCE: Duration = Duration::from_secs(120);
const SCENARIO: &str = include_str!("threads.yaml");

/// A scripted model; ended when dropped.
struct Model {
    child: Child,
    url: String,
}

impl Model {
    fn start(binary: &Path, file: &Path) -> Result<Self> {
        let mut child = Command::new(binary)
            .args(["rehearsal", "serve"])
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http"));
        let url = url.context("the model did not come up")?.to_owned();
        Ok(Self { child, url })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the team has used so far.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    pm: f64,
    agents: f64,
    hub: f64,
}

/// Whose part of it.
type Share = fn(&Spent) -> f64;

struct Team<'a> {
    hub: &'a str,
    known: &'a Value,
    root: &'a Path,
    /// Names of processes, with their ids.
    pids: Vec<(String, String)>,
}

impl Team<'_> {
    fn spent(&self) -> Result<Spent> {
        let mut spent = Spent::default();
        for (name, pid) in &self.pids {
            let seconds = used(pid)?;
            match name.as_str() {
                "hub" => spent.hub += seconds,
                "pm" => {
                    spent.pm += seconds;
                    spent.agents += seconds;
                }
                _ => spent.agents += seconds,
            }
        }
        Ok(spent)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = http(self.hub, method, path, self.known, &body)?;
        Ok(serde_json::from_str(&answer)?)
    }

    /// One thread, from the request to the report about it.
    fn work(&self, number: usize) -> Result<()> {
        let channel = &self.known["channel"];
        let text = format!("please write down number {number}");
        let said = self.call(
            "POST",
            "/v1/messages",
            &json!({"channel": channel, "text": text}),
        )?;
        let root = said["ts"].as_str().context("no ts")?.to_owned();
        let place = channel.as_str().context("no channel")?;
        let path = format!("/v1/threads/{place}/{root}");
        let mut pressed = Vec::new();
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let view = self.call("GET", &path, &Value::Null)?.to_string();
            if view.contains("What it took") {
                return Ok(());
            }
            for choice in ["approve", "merge"] {
                let Some((ts, action)) = card(&view, choice) else {
                    continue;
                };
                if pressed.contains(&action) {
                    continue;
                }
                let press = json!({"channel": channel, "ts": ts, "action_id": action});
                // Somebody may have drawn it anew meanwhile.
                if self.call("POST", "/v1/actions", &press).is_ok() {
                    pressed.push(action);
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("thread {number} took longer than {PATIENCE:?}")
    }

    fn loose(&self) -> usize {
        let objects = self.root.join(".git/objects");
        let folders = listed(&objects).into_iter();
        let single = folders.filter(|path| path.file_name().is_some_and(|name| name.len() == 2));
        single.map(|folder| listed(&folder).len()).sum()
    }

    fn store(&self, home: &Path) -> u64 {
        let files = listed(&home.join("hub")).into_iter();
        let sizes = files.filter_map(|file| Some(fs::metadata(file).ok()?.len()));
        sizes.sum()
    }
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    items.map(|item| item.path()).collect()
}

fn files_below(folder: &Path) -> usize {
    let count = |path: PathBuf| match path.is_dir() {
        true => files_below(&path),
        false => 1,
    };
    listed(folder).into_iter().map(count).sum()
}

/// The message and the button of an open card with this choice.
fn card(view: &str, choice: &str) -> Option<(String, String)> {
    let view: Value = serde_json::from_str(view).ok()?;
    let messages = view["messages"].as_array()?;
    messages.iter().find_map(|message| {
        let text = message["blocks"].to_string();
        let end = text.find(&format!(":{choice}\""))? + choice.len() + 1;
        let start = text[..end].rfind("\"cb:")? + 1;
        let ts = message["ts"].as_str()?.to_owned();
        Some((ts, text[start..end].to_owned()))
    })
}

/// Every role asks the scripted model, and the PM tidies up every half minute.
fn configure(root: &Path) -> Result<()> {
    let config = json!({
        "models": {
            "pm": {"default": "rehearsal/pm"}, "coder": {"default": "rehearsal/coder"},
            "reviewer": {"model": "rehearsal/reviewer"}, "researcher": {"model": "rehearsal/researcher"},
            "artist": {"uxModel": "rehearsal/artist"}, "lead": {"model": "rehearsal/lead"},
        },
        "limits": {"quietHours": 0.06},
    });
    fs::write(root.join(".codebutler/config.json"), config.to_string())?;
    let who = ["-c", "user.name=you", "-c", "user.email=you@example.org"];
    let commit = ["commit", "--quiet", "--all", "-m", "configured"];
    let push = ["push", "--quiet", "origin", "HEAD:main"];
    for step in [[&who[..], &commit].concat(), push.to_vec()] {
        let status = Command::new("git").args(&step).current_dir(root).status()?;
        ensure!(status.success(), "git {step:?} failed");
    }
    Ok(())
}

pub(crate) fn measure(binary: &Path) -> Result<Report> {
    let scratch = tempfile::Builder::new()
        .prefix("codebutler-bench-")
        .tempdir()?;
    let (root, home) = (scratch.path().join("app"), scratch.path().join("home"));
    set_up(&root, &home)?;
    configure(&root)?;
    let file = scratch.path().join("threads.yaml");
    fs::write(&file, SCENARIO)?;
    let model = Model::start(binary, &file)?;
    let endpoint = json!({"models": {"endpoints": {"script": {"baseUrl": model.url}}}});
    fs::write(home.join("config.json"), endpoint.to_string())?;
    let up = Serving::start(binary, "up", &root, &home)?;
    let known = tokens(binary, &root, &home)?;
    let mut pids = Vec::new();
    for note in listed(&home.join("run/app")) {
        let name = note
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let note: Value = serde_json::from_slice(&fs::read(&note)?)?;
        pids.push((name, note["pid"].to_string()));
    }
    let team = Team {
        hub: &up.address,
        known: &known,
        root: &root,
        pids,
    };
    let mut seen = vec![team.spent()?];
    let mut stores = vec![team.store(&home)];
    for number in 1..=THREADS {
        team.work(number)?;
        seen.push(team.spent()?);
        stores.push(team.store(&home));
    }
    let per = |from: usize, of: Share| (of(&seen[from + SOME]) - of(&seen[from])) / SOME as f64;
    let mut report = Report::new(
        "120 scripted threads in a row",
        &[
            "CPU of one thread",
            "threads 11 to 30",
            "threads 101 to 120",
            "late / early",
        ],
    );
    let kinds: [(&str, Share); 3] = [
        ("PM", |spent| spent.pm),
        ("six agents", |spent| spent.agents),
        ("hub", |spent| spent.hub),
    ];
    for (name, of) in kinds {
        let (early, late) = (per(WARM, of), per(THREADS - SOME, of));
        report.row(vec![
            name.to_owned(),
            format!("{early:.3} s"),
            format!("{late:.3} s"),
            format!("{:.2}", late / early),
        ]);
        report.bar(
            &format!("{name}, late against early"),
            late / early,
            1.25,
            "",
        );
    }
    let growth = stores[THREADS].saturating_sub(stores[THREADS - SOME]) as f64 / SOME as f64;
    let rows = [
        ("store, per thread", format!("{:.0} kB", growth / 1000.0)),
        (
            "files below .codebutler",
            files_below(&root.join(".codebutler")).to_string(),
        ),
        ("single objects of git", team.loose().to_string()),
        (
            "locks",
            listed(&root.join(".git/codebutler/locks"))
                .len()
                .to_string(),
        ),
    ];
    for (what, figure) in rows {
        report.row(vec![what.to_owned(), String::new(), figure, String::new()]);
    }
    Ok(report)
}
