//! Trials: a learning is left out of half of the next threads, so that what differs is
//! its own doing. The sides are drawn in pairs, one with it and one without, so that
//! few threads are enough; who has drawn keeps its side.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::Path,
};

use butler_journal::write_whole;
use butler_protocol::{Sha256Hex, ThreadId};
use serde::{Deserialize, Serialize};

use crate::OrWarn;

/// The learnings of this machine's repository that are tried, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trials(BTreeMap<String, Trial>);

/// One learning on trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Trial {
    /// Threads that began earlier, in milliseconds since 1970, stay as they are.
    since_ms: i64,
    /// By thread that would have been given it: whether it does without.
    without: BTreeMap<String, bool>,
}

const FILE: &str = "trials.json";
const LOCK: &str = "trials.lock";

impl Trials {
    /// Those of this repository; `threads` is where its threads are kept.
    #[must_use]
    pub fn read(threads: &Path) -> Self {
        let text = fs::read_to_string(threads.join(FILE)).unwrap_or_default();
        Self(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Begins the trial of a learning with the threads from here on; one that is on
    /// goes on.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(threads: &Path, id: &str, since_ms: i64) -> io::Result<()> {
        let new = Trial {
            since_ms,
            ..Trial::default()
        };
        let begin = |trials: &mut Self| {
            trials.0.entry(id.to_owned()).or_insert(new);
        };
        change(threads, begin).map(drop)
    }

    /// Ends it; what was drawn is forgotten.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn end(threads: &Path, id: &str) -> io::Result<()> {
        change(threads, |trials| drop(trials.0.remove(id))).map(drop)
    }

    /// Whether a learning is on trial.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Their ids.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Whether a thread tells something about a learning: every one, unless it is on
    /// trial and the thread has not drawn a side.
    #[must_use]
    pub fn counts(&self, id: &str, thread: &ThreadId) -> bool {
        let trial = self.0.get(id);
        trial.is_none_or(|trial| trial.without.contains_key(&thread.to_string()))
    }

    /// What a thread does without.
    #[must_use]
    pub fn left_out(&self, thread: &ThreadId) -> Vec<String> {
        let thread = thread.to_string();
        let out = self.0.iter();
        let out = out.filter(|(_, trial)| trial.without.get(&thread) == Some(&true));
        out.map(|(id, _)| id.clone()).collect()
    }

    /// What a thread does without, of the learnings that it would be given. Who has no
    /// side yet draws one; a disk that says no leaves nothing out.
    pub(crate) fn draw(threads: &Path, thread: &ThreadId, given: &[String]) -> Vec<String> {
        let trials = Self::read(threads);
        let undrawn = |id: &String| {
            let trial = trials.0.get(id).filter(|trial| trial.takes(thread));
            trial.is_some() && !trials.counts(id, thread)
        };
        if !given.iter().any(undrawn) {
            return trials.left_out(thread);
        }
        let drawn = change(threads, |trials| {
            for id in given {
                let trial = trials.0.get_mut(id);
                if let Some(trial) = trial.filter(|trial| trial.takes(thread)) {
                    trial.draw(id, thread);
                }
            }
        });
        let drawn = drawn.or_warn("a trial could not be written down; nothing is left out");
        drawn.map_or_else(Vec::new, |trials| trials.left_out(thread))
    }
}

impl Trial {
    /// Whether a thread began after it.
    fn takes(&self, thread: &ThreadId) -> bool {
        let seconds = thread.root.as_str().split('.').next();
        let began = seconds.and_then(|seconds| seconds.parse::<i64>().ok());
        began.is_some_and(|began| began * 1000 + 999 >= self.since_ms)
    }

    /// The first of a pair by the learning's name, the second the other way round.
    fn draw(&mut self, id: &str, thread: &ThreadId) {
        let drawn = self.without.len();
        let hash = Sha256Hex::of(format!("{id} {}", drawn / 2));
        let first = hash.as_str().bytes().last().is_some_and(|b| b % 2 == 0);
        let side = first == drawn.is_multiple_of(2);
        self.without.entry(thread.to_string()).or_insert(side);
    }
}

/// Changes the file; every role's process and the command line do, one at a time.
fn change(threads: &Path, edit: impl FnOnce(&mut Trials)) -> io::Result<Trials> {
    fs::create_dir_all(threads)?;
    let lock = File::create(threads.join(LOCK))?;
    lock.lock()?;
    let mut trials = match fs::read(threads.join(FILE)) {
        // What cannot be read may be a newer build's, and is not written over.
        Ok(bytes) => Trials(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Trials::default(),
        Err(error) => return Err(error),
    };
    edit(&mut trials);
    let text = serde_json::to_string_pretty(&trials.0)?;
    write_whole(&threads.join(FILE), text.as_bytes()).map_err(io::Error::other)?;
    Ok(trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(n: usize) -> ThreadId {
        format!("C1/1700000{n:03}.000100").parse().unwrap()
    }

    /// Six processes ask for each thread; after any even number of threads both sides
    /// are as many.
    #[test]
    fn sides_are_drawn_once_for_a_thread_and_as_many_of_each() {
        let folder = tempfile::tempdir().unwrap();
        let ids = ["k3m9qa".to_owned(), "brave2".to_owned()];
        Trials::begin(folder.path(), &ids[0], 1_700_000_000_000).unwrap();
        let early: ThreadId = "C1/1600000000.000100".parse().unwrap();
        assert!(Trials::draw(folder.path(), &early, &ids).is_empty());
        assert!(!Trials::read(folder.path()).counts(&ids[0], &early));
        for n in 0..40 {
            let asked = || Trials::draw(folder.path(), &thread(n), &ids);
            let sides: Vec<_> = std::thread::scope(|scope| {
                let all: Vec<_> = (0..6).map(|_| scope.spawn(asked)).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            assert!(sides.iter().all(|side| *side == sides[0]), "{sides:?}");
            let trials = Trials::read(folder.path());
            let out = (0..=n).filter(|n| !trials.left_out(&thread(*n)).is_empty());
            let (out, all) = (out.count(), n + 1);
            assert!(out.abs_diff(all - out) <= all % 2, "{out} of {all}");
        }
        let trials = Trials::read(folder.path());
        let first = (0..40).step_by(2);
        let first = first.filter(|n| !trials.left_out(&thread(*n)).is_empty());
        assert!((1..20).contains(&first.count()), "not always the same side");
        assert!(trials.counts("k3m9qa", &thread(0)) && !trials.counts("k3m9qa", &thread(99)));
        assert!(trials.counts("brave2", &thread(99)), "it is on no trial");
        Trials::end(folder.path(), "k3m9qa").unwrap();
        let later = r#"{"version": 2, "trials": []}"#;
        fs::write(folder.path().join(FILE), later).unwrap();
        Trials::begin(folder.path(), "k3m9qa", 1).unwrap_err();
        assert_eq!(fs::read_to_string(folder.path().join(FILE)).unwrap(), later);
        fs::remove_file(folder.path().join(FILE)).unwrap();
        assert_eq!(Trials::read(folder.path()), Trials::default());
    }
}
