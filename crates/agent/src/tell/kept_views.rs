//! Two views of a role's log as files beside it, for people and scripts: every call to
//! a model (`usage/`), and every choice with its reason (`decisions/`). They are
//! written as the log grows; what a crash left out is put right at the next start.
//! Nothing in here reads them.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use butler_journal::{ThreadDir, write_whole};
use butler_protocol::{Entry, Record};
use butler_turn::{Chosen, ThreadFold};
use serde::Serialize;
use serde_json::{Value, json};
use tracing::warn;

/// The files of one log.
pub(crate) struct KeptViews {
    decisions: PathBuf,
    usage: PathBuf,
    /// So many choices are in the file.
    kept: usize,
}

impl KeptViews {
    /// Those beside the log at this path, which says all this by now.
    pub(crate) fn open(folder: &ThreadDir, path: &Path, log: &[Entry]) -> Self {
        let views = Self {
            decisions: folder.decisions(path),
            usage: folder.usage(path),
            kept: 0,
        };
        let fold = ThreadFold::of(log);
        let chosen = fold.chosen.all();
        put_right(&views.decisions, &lines(chosen));
        put_right(&views.usage, &lines(log.iter().filter_map(call)));
        Self {
            kept: chosen.len(),
            ..views
        }
    }

    /// Adds what was written to the log; `chosen` is all that was chosen so far.
    pub(crate) fn add(&mut self, new: &[Entry], chosen: &[Chosen]) {
        let fresh = chosen.get(self.kept..).unwrap_or_default();
        self.kept = chosen.len();
        append(&self.decisions, &lines(fresh));
        append(&self.usage, &lines(new.iter().filter_map(call)));
    }
}

/// One call to a model.
fn call(entry: &Entry) -> Option<Value> {
    let Record::Settled {
        reserve,
        cost,
        usage,
        model,
    } = &entry.record
    else {
        return None;
    };
    Some(
        json!({"at_ms": entry.at_ms, "call": reserve, "model": model,
        "input": usage.input, "cached_input": usage.cached_input,
        "cache_write": usage.cache_write, "output": usage.output,
        "reasoning": usage.reasoning, "cost_usd": cost.dollars()}),
    )
}

fn lines<T: Serialize>(all: impl IntoIterator<Item = T>) -> String {
    let lines = all.into_iter();
    let lines = lines.filter_map(|one| serde_json::to_string(&one).ok());
    lines.map(|line| format!("{line}\n")).collect()
}

fn put_right(path: &Path, text: &str) {
    let there = fs::read_to_string(path).unwrap_or_default();
    if there != text
        && let Err(error) = write_whole(path, text.as_bytes())
    {
        warn!(%error, path = %path.display(), "a view of the log is not as it should be");
    }
}

/// A disk that says no is told to the operator: the log itself has it.
fn append(path: &Path, text: &str) {
    if text.is_empty() {
        return;
    }
    let append = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(text.as_bytes())
    };
    if let Err(error) = append() {
        warn!(%error, path = %path.display(), "a view of the log was not written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64, record: &Value) -> Entry {
        let line = json!({"seq": seq, "epoch": 1, "at_ms": seq, "record": record});
        serde_json::from_value(line).unwrap()
    }

    /// However far a process came: after the next start both files say what the log
    /// says, each line once.
    #[test]
    fn the_files_say_what_the_log_says_also_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let dir = ThreadDir::new(folder.path(), &"C1/1700000000.000100".parse().unwrap());
        let path = dir.conversation(butler_protocol::Role::Coder);
        let usage = json!({"input": 10, "cached_input": 4, "cache_write": 0, "output": 2,
            "reasoning": 0});
        let log: Vec<Entry> = (0..6)
            .map(|n| match n % 2 {
                0 => json!({"t": "model", "model": format!("m{n}"), "reason": "so"}),
                _ => json!({"t": "settled", "reserve": format!("r{n}"), "cost": 20_000_000, "usage": usage, "model": "m"}),
            })
            .zip(1..)
            .map(|(record, seq)| entry(seq, &record))
            .collect();
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        for crash in 0..=log.len() {
            let _ = fs::remove_dir_all(dir.root());
            let mut views = KeptViews::open(&dir, &path, &log[..crash / 2]);
            for at in crash / 2..crash {
                let fold = ThreadFold::of(&log[..=at]);
                views.add(&log[at..=at], fold.chosen.all());
            }
            if crash > 0 {
                // Half a line is what a crash leaves.
                append(&dir.usage(&path), "{\"at_ms\"");
            }
            KeptViews::open(&dir, &path, &log);
            let (decisions, usage) = (read(&dir.decisions(&path)), read(&dir.usage(&path)));
            let models: Vec<Chosen> = decisions
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            let models: Vec<&str> = models.iter().map(|one| one.choice.as_str()).collect();
            assert_eq!(models, ["m0", "m2", "m4"], "{crash}");
            let calls: Vec<Value> = usage
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            let ids: Vec<&str> = calls
                .iter()
                .map(|one| one["call"].as_str().unwrap())
                .collect();
            assert_eq!(ids, ["r1", "r3", "r5"], "{crash}");
            assert_eq!(calls[0]["cached_input"], 4);
            assert_eq!(calls[0]["cost_usd"], 0.02);
        }
    }
}
