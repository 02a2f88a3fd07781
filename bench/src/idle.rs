//! What a team that waits holds: `codebutler up` with hub and six agents on a
//! fresh repository, proportional set size of each process; and a hub alone, which
//! shares the program with nobody.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::table::Report;

/// After the team is up, allocators and runtimes settle.
const SETTLE: Duration = Duration::from_secs(3);

/// A command that serves; ended, with all that it started, when dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    /// As in `127.0.0.1:7878`.
    pub(crate) address: String,
}

impl Serving {
    /// Starts it, and waits until it has said its address and come to rest.
    pub(crate) fn start(binary: &Path, command: &str, root: &Path, home: &Path) -> Result<Self> {
        let mut child = Command::new(binary)
            .args([command, "--listen", "127.0.0.1:0"])
            .current_dir(root)
            .env("CODEBUTLER_HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().context("no output")?;
        let mut serving = Self {
            child,
            address: String::new(),
        };
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let (_, address) = line
            .split_once("http://")
            .with_context(|| format!("`{command}` did not come up: {line}"))?;
        let address = address.split('/').next().unwrap_or_default();
        serving.address = address.trim().to_owned();
        std::thread::sleep(SETTLE);
        Ok(serving)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").arg(pid).status();
        let _ = self.child.wait();
    }
}

pub(crate) fn measure(binary: &Path) -> Result<Report> {
    let scratch = tempfile::Builder::new()
        .prefix("codebutler-bench-")
        .tempdir()?;
    let (root, home) = (scratch.path().join("app"), scratch.path().join("home"));
    set_up(&root, &home)?;
    let hub = Serving::start(binary, "hub", &root, &home)?;
    let alone = memory(&hub.child.id().to_string())?;
    drop(hub);
    let up = Serving::start(binary, "up", &root, &home)?;
    let mut report = Report::new(
        "What an idle team holds",
        &["process", "PSS", "of it own", "threads"],
    );
    let mut all = 0;
    let mut largest = 0;
    for (name, pid) in processes(&home, up.child.id())? {
        let (pss, own) = memory(&pid).with_context(|| format!("memory of {name}"))?;
        all += pss;
        if name != "hub" && name != "up" {
            largest = largest.max(pss);
        }
        let threads = fs::read_dir(format!("/proc/{pid}/task"))?.count();
        report.row(vec![name, mib(pss), mib(own), threads.to_string()]);
    }
    report.row(vec![
        "together".to_owned(),
        mib(all),
        String::new(),
        String::new(),
    ]);
    let (pss, own) = alone;
    report.row(vec![
        "a hub alone".to_owned(),
        mib(pss),
        mib(own),
        String::new(),
    ]);
    report.bar("an idle hub, alone", pss as f64 / 1024.0, 20.0, " MiB");
    report.bar(
        "an idle agent, the largest",
        largest as f64 / 1024.0,
        12.0,
        " MiB",
    );
    report.bar(
        "hub, six agents and supervisor",
        all as f64 / 1024.0,
        80.0,
        " MiB",
    );
    Ok(report)
}

/// A repository with a remote, and a model that nobody asks.
pub(crate) fn set_up(root: &Path, home: &Path) -> Result<()> {
    fs::create_dir_all(root.join(".codebutler"))?;
    fs::create_dir_all(home)?;
    fs::set_permissions(home, fs::Permissions::from_mode(0o700))?;
    let machine = json!({"models": {"endpoints": {"none": {"baseUrl": "http://127.0.0.1:9/v1"}}}});
    let file = home.join("config.json");
    fs::write(&file, machine.to_string())?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    fs::write(root.join(".codebutler/config.json"), "{}")?;
    let remote = root.with_extension("git").display().to_string();
    let steps: [&[&str]; 6] = [
        &[
            "init",
            "--quiet",
            "--bare",
            "--initial-branch=main",
            &remote,
        ],
        &["init", "--quiet", "--initial-branch=main", "."],
        &["add", "--all"],
        &[
            "-c",
            "user.name=you",
            "-c",
            "user.email=you@example.org",
            "commit",
            "--quiet",
            "-m",
            "first",
        ],
        &["remote", "add", "origin", &remote],
        &["push", "--quiet", "origin", "HEAD:main"],
    ];
    for step in steps {
        let status = Command::new("git").args(step).current_dir(root).status()?;
        ensure!(status.success(), "git {step:?} failed");
    }
    Ok(())
}

/// The supervisor and whatever it wrote down.
fn processes(home: &Path, up: u32) -> Result<Vec<(String, String)>> {
    let mut found = vec![("up".to_owned(), up.to_string())];
    for file in fs::read_dir(home.join("run/app"))? {
        let file = file?.path();
        let note: serde_json::Value = serde_json::from_slice(&fs::read(&file)?)?;
        let name = file.file_stem().unwrap_or_default();
        found.push((name.to_string_lossy().into_owned(), note["pid"].to_string()));
    }
    found[1..].sort();
    ensure!(found.len() == 8, "hub and six agents should run: {found:?}");
    Ok(found)
}

/// Proportional and private memory, in KiB.
pub(crate) fn memory(pid: &str) -> Result<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let sum = |keys: &[&str]| -> u64 {
        let lines = text
            .lines()
            .filter(|line| keys.iter().any(|key| line.starts_with(key)));
        lines
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
            .sum()
    };
    Ok((sum(&["Pss:"]), sum(&["Private_Clean:", "Private_Dirty:"])))
}

pub(crate) fn mib(kib: u64) -> String {
    format!("{:.1} MiB", kib as f64 / 1024.0)
}
