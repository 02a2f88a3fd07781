//! Runs one step after the other, goes on after a failure, and sums up at the
//! end: one run tells everything that is wrong.

use std::{path::Path, process::Command, time::Instant};

use anyhow::Result;

use crate::say;

/// A finished step.
struct Done {
    name: String,
    seconds: f64,
    ok: bool,
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Steps(Vec<Done>);

impl Steps {
    /// Runs a step; an error is said and counts as a failure.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<bool>) {
        say::heading(name);
        let begin = Instant::now();
        let ok = step().unwrap_or_else(|error| {
            say::line(&format!("error: {error:#}"));
            false
        });
        self.0.push(Done {
            name: name.to_owned(),
            seconds: begin.elapsed().as_secs_f64(),
            ok,
        });
    }

    /// Runs a program in the workspace's root.
    pub(crate) fn command(
        &mut self,
        name: &str,
        root: &Path,
        words: &[&str],
        vars: &[(&str, &str)],
    ) {
        self.run(name, || succeeds(root, words, vars));
    }

    /// Sums up; whether all went well.
    pub(crate) fn finish(self) -> bool {
        say::heading("summary");
        for Done { name, seconds, ok } in &self.0 {
            let word = if *ok { "ok    " } else { "FAILED" };
            say::line(&format!("{word} {seconds:7.1} s  {name}"));
        }
        self.0.iter().all(|step| step.ok)
    }
}

/// Whether a program ends well; it shares our terminal.
pub(crate) fn succeeds(root: &Path, words: &[&str], vars: &[(&str, &str)]) -> Result<bool> {
    say::line(&format!("$ {}", words.join(" ")));
    let status = command(root, words, vars)?.status();
    let status = status.map_err(|error| anyhow::anyhow!("cannot run {}: {error}", words[0]))?;
    Ok(status.success())
}

/// A program with its arguments, not yet running.
pub(crate) fn command(root: &Path, words: &[&str], vars: &[(&str, &str)]) -> Result<Command> {
    let (program, args) = words
        .split_first()
        .ok_or_else(|| anyhow::anyhow!("an empty command"))?;
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(root)
        .envs(vars.iter().copied());
    Ok(command)
}

/// Whether a program is there and answers without complaint.
pub(crate) fn answers(root: &Path, words: &[&str]) -> bool {
    let output = command(root, words, &[]).and_then(|mut command| Ok(command.output()?));
    output.is_ok_and(|output| output.status.success())
}
