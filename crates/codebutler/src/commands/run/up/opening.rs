//! What children say while they start is held back: six agents that cannot
//! start say the same thing six times, and again at each try. It is told once.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::supervise::LineSink;

/// Stands between the children and whoever reads their lines.
pub(crate) struct Opening {
    lines: LineSink,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// Whose start is over.
    over: BTreeSet<String>,
    lines: BTreeMap<String, Vec<String>>,
    /// What children that cannot start have said, without their names.
    told: HashSet<String>,
    /// Everything ends; nobody wants to read how.
    silent: bool,
}

impl Opening {
    /// Holds back everything until it is told otherwise.
    pub(crate) fn new(lines: LineSink) -> Arc<Self> {
        Arc::new(Self {
            lines,
            held: Mutex::default(),
        })
    }

    /// Where the children's lines go.
    pub(crate) fn sink(self: &Arc<Self>) -> LineSink {
        let opening = Arc::clone(self);
        Arc::new(move |name, line| opening.hear(name, line))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, name: &str, line: &str) {
        let mut held = self.held();
        if held.silent {
            return;
        }
        if !held.over.contains(name) {
            let lines = held.lines.entry(name.to_owned()).or_default();
            lines.push(line.to_owned());
        } else if !held.told.contains(&nameless(name, line)) {
            (self.lines)(name, line);
        }
    }

    /// These have started: their lines are passed on, now and later.
    pub(crate) fn started(&self, names: &[&str]) {
        let mut held = self.held();
        for name in names {
            held.over.insert((*name).to_owned());
            for line in held.lines.remove(*name).unwrap_or_default() {
                (self.lines)(name, &line);
            }
        }
    }

    /// Nothing is passed on any more.
    pub(crate) fn silence(&self) {
        self.held().silent = true;
    }

    /// These could not start: what they say about it is told once.
    pub(crate) fn failed(&self, names: &[&str]) {
        let mut held = self.held();
        for name in names {
            held.over.insert((*name).to_owned());
            let lines = held.lines.remove(*name).unwrap_or_default();
            for line in complaint(&lines) {
                if held.told.insert(nameless(name, line)) {
                    (self.lines)(name, line);
                }
            }
        }
    }
}

/// The error and what stands below it, of the first try; else everything.
fn complaint(lines: &[String]) -> &[String] {
    let begins = |line: &String| line.contains("error:");
    let Some(first) = lines.iter().position(begins) else {
        return lines;
    };
    let rest = &lines[first..];
    let ends = |line: &String| line.starts_with("ended (");
    let length = rest.iter().position(ends).unwrap_or(rest.len());
    &rest[..length]
}

/// The same for every role that has the same trouble.
fn nameless(name: &str, line: &str) -> String {
    line.replace(name, "…")
}

#[cfg(test)]
mod tests {
    use crate::commands::run::up::opening::*;

    fn opening() -> (Arc<Opening>, Arc<Mutex<Vec<String>>>) {
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        let lines: LineSink = Arc::new(move |name, line| {
            kept.lock().unwrap().push(format!("{name}: {line}"));
        });
        (Opening::new(lines), said)
    }

    #[test]
    fn what_all_complain_about_is_told_once_and_never_again() {
        let (opening, said) = opening();
        let hear = opening.sink();
        for _ in 0..2 {
            for role in ["pm", "coder"] {
                hear(role, "09:00 INFO  looking around");
                hear(role, &format!("error: no model for {role}"));
                hear(role, "hint: add one");
                hear(role, "ended (exit status: 4), starting again");
            }
        }
        assert!(said.lock().unwrap().is_empty());
        opening.failed(&["pm", "coder"]);
        hear("coder", "error: no model for coder");
        let expected = ["pm: error: no model for pm", "pm: hint: add one"];
        assert_eq!(*said.lock().unwrap(), expected);
        hear("coder", "error: something else");
        assert_eq!(said.lock().unwrap().len(), 3);
        opening.silence();
        hear("coder", "error: stopped");
        assert_eq!(said.lock().unwrap().len(), 3);
    }

    #[test]
    fn who_starts_is_heard_in_full_and_without_an_error_nothing_is_cut() {
        let (opening, said) = opening();
        let hear = opening.sink();
        hear("hub", "one");
        opening.started(&["hub"]);
        hear("hub", "two");
        hear("pm", "killed");
        opening.failed(&["pm"]);
        assert_eq!(
            *said.lock().unwrap(),
            ["hub: one", "hub: two", "pm: killed"]
        );
    }
}
