//! What configured MCP servers cost before anybody uses them: the same short run of
//! `codebutler exec` with five large servers and without, in turns.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};

use crate::{
    cpu::{self, Used},
    table::Report,
    turns::{Model, Place},
};

const SERVERS: [&str; 5] = ["one", "two", "three", "four", "five"];
const ROUNDS: usize = 30;
const SCRIPT: &str = include_str!("server.py");

/// A repository that is set up, with these servers accepted.
struct Repo<'a> {
    place: &'a Place,
    root: PathBuf,
}

impl<'a> Repo<'a> {
    fn new(place: &'a Place, name: &str, servers: &[&str]) -> Result<Self> {
        let root = place.scratch.path().join(name);
        fs::create_dir_all(root.join(".codebutler"))?;
        fs::create_dir(root.join("marks"))?;
        fs::write(root.join(".codebutler/config.json"), "{}")?;
        fs::write(root.join("server.py"), SCRIPT)?;
        let entry = |name: &&str| {
            let args =
                "\"command\": \"python3\", \"args\": [\"server.py\"], \"writable\": [\"marks\"]";
            format!("\"{name}\": {{{args}}}")
        };
        let entries: Vec<String> = servers.iter().map(entry).collect();
        let file = format!("{{\"servers\": {{{}}}}}", entries.join(", "));
        fs::write(root.join(".codebutler/mcp.json"), file)?;
        let git = Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(&root)
            .status()?;
        ensure!(git.success(), "git init failed");
        let repo = Self { place, root };
        for server in servers {
            repo.accept(server)?;
        }
        Ok(repo)
    }

    fn accept(&self, server: &str) -> Result<()> {
        let shown = self.run(&["mcp", "accept", server])?;
        let shown = String::from_utf8_lossy(&shown.stderr).into_owned();
        let hash = shown
            .split("--hash ")
            .nth(1)
            .and_then(|rest| rest.get(..64));
        let hash = hash.with_context(|| format!("no hash was shown: {shown}"))?;
        let accepted = self.run(&["mcp", "accept", server, "--hash", hash])?;
        let errors = String::from_utf8_lossy(&accepted.stderr).into_owned();
        ensure!(
            accepted.status.success(),
            "{server} was not accepted: {errors}"
        );
        Ok(())
    }

    fn run(&self, args: &[&str]) -> Result<Output> {
        let mut command = Command::new(&self.place.binary);
        command.args(args).current_dir(&self.root);
        Ok(command.env("CODEBUTLER_HOME", self.place.home()).output()?)
    }

    /// How often a server was started so far.
    fn starts(&self) -> Result<usize> {
        Ok(fs::read_dir(self.root.join("marks"))?.count())
    }

    fn exec(&self) -> Result<Used> {
        let model = Model::start(self.place, 2)?;
        let binary = self.place.binary.display().to_string();
        let argv = [
            binary.as_str(),
            "exec",
            "--json",
            "--model-url",
            &model.url,
            "--model",
            "rehearsal/coder",
            "count",
        ];
        cpu::run(
            &argv,
            &self.root,
            &[("CODEBUTLER_HOME", &self.place.home())],
        )
    }
}

pub(crate) fn measure(binary: &Path) -> Result<Report> {
    let place = Place::new(binary)?;
    let bare = Repo::new(&place, "bare", &[])?;
    let five = Repo::new(&place, "five", &SERVERS)?;
    let before = five.starts()?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(bare.exec()?);
        with.push(five.exec()?);
    }
    let least = |runs: &[Used]| {
        runs.iter()
            .map(|run| run.cpu)
            .min()
            .context("nothing was run")
    };
    let peak = |runs: &[Used]| runs.iter().map(|run| run.peak_kib).min().unwrap_or(0);
    let (alone, ours) = (least(&without)?, least(&with)?);
    let head = ["", "CPU of a run", "peak memory"];
    let mut report = Report::new("Five MCP servers that nobody uses", &head);
    for (name, cpu, runs) in [("without", alone, &without), ("with five", ours, &with)] {
        let cpu = format!("{:.1} ms", cpu.as_secs_f64() * 1e3);
        report.row(vec![
            name.to_owned(),
            cpu,
            format!("{} MiB", peak(runs) >> 10),
        ]);
    }
    let started = five.starts()? - before;
    report.bar("servers that were started", started as f64, 0.0, "");
    let ratio = ours.as_secs_f64() / alone.as_secs_f64();
    report.bar("CPU against a run without", ratio, 1.25, " times");
    Ok(report)
}
