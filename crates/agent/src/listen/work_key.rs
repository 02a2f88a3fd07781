//! What one worker is about: a thread, or one research request in it. Several
//! requests are answered at once, so each has a log and numbers of its own.

use std::{fs, path::Path};

use butler_journal::{ThreadDir, read};
use butler_protocol::{Entry, Record, RequestId, Role, Sha256Hex, ThreadId};

use crate::AgentError;

/// The key of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WorkKey {
    /// The thread.
    pub(crate) thread: ThreadId,
    /// The request, in the Researcher's process only.
    pub(crate) research: Option<RequestId>,
}

impl WorkKey {
    /// The thread itself.
    pub(crate) fn thread(thread: ThreadId) -> Self {
        Self {
            thread,
            research: None,
        }
    }

    /// Every work key of a role that has a log.
    pub(crate) fn known(threads: &Path, role: Role) -> Result<Vec<Self>, AgentError> {
        let known = ThreadDir::list(threads)?;
        let known = known.iter();
        Ok(known.flat_map(|one| Self::of(threads, one, role)).collect())
    }

    /// Those of one thread.
    pub(crate) fn of(threads: &Path, thread: &ThreadId, role: Role) -> Vec<Self> {
        let folder = ThreadDir::new(threads, thread).root().join("conversations");
        let items = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = items.filter_map(|item| item.file_name().into_string().ok());
        let matters = names.filter_map(|name| {
            let name = name.strip_suffix(".jsonl")?.strip_prefix(role.as_str())?;
            let research = match name {
                "" => None,
                rest => Some(RequestId::new(rest.strip_prefix('-')?)),
            };
            Some(Self {
                thread: thread.clone(),
                research,
            })
        });
        matters.collect()
    }

    /// Whose card this is: of one of the requests, else of the thread itself.
    pub(crate) fn that_asked(
        threads: &Path,
        thread: &ThreadId,
        role: Role,
        card: &RequestId,
    ) -> Self {
        let asked = |work_key: &Self| {
            let log = read(&work_key.log(threads, role));
            let entries = log.map(|log| log.entries).unwrap_or_default();
            entries.iter().any(|entry| {
                matches!(&entry.record, Record::DecisionAsked { request, .. } if request == card)
            })
        };
        let requests = Self::of(threads, thread, role).into_iter();
        let mut requests = requests.filter(|work_key| work_key.research.is_some());
        let found = requests.find(asked);
        found.unwrap_or_else(|| Self::thread(thread.clone()))
    }

    /// Where its log is.
    pub(crate) fn log(&self, threads: &Path, role: Role) -> std::path::PathBuf {
        let dir = ThreadDir::new(threads, &self.thread);
        match &self.research {
            Some(request) => dir.research(request),
            None => dir.conversation(role),
        }
    }

    /// The number of its first activation. Every id is made from it, so two
    /// requests of one thread must not begin alike.
    pub(crate) fn first_activation(&self) -> u32 {
        let Some(request) = &self.research else {
            return 1;
        };
        let hash = Sha256Hex::of(request.as_str());
        let number = u32::from_str_radix(&hash.as_str()[..5], 16).unwrap_or(0);
        // Room for 255 activations each, far from those of the thread itself.
        (number + 1) << 8
    }

    /// Which log of a role a line is of, by its number at the hub.
    pub(crate) fn log_at_the_hub(seq: u64) -> u64 {
        seq >> 32
    }

    /// What the numbers of its lines begin above at the hub, which knows one sequence
    /// per role and thread.
    pub(crate) fn base_at_the_hub(&self) -> u64 {
        match &self.research {
            Some(_) => u64::from(self.first_activation()) << 32,
            None => 0,
        }
    }

    /// Lines as the hub keeps them.
    pub(crate) fn for_the_hub(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        for entry in &mut entries {
            entry.seq += self.base_at_the_hub();
        }
        entries
    }

    /// Lines as they stand in the log.
    pub(crate) fn as_in_the_log(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        for entry in &mut entries {
            entry.seq -= self.base_at_the_hub();
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn research(request: &str) -> WorkKey {
        WorkKey {
            thread: "C1/1700000000.000100".parse().unwrap(),
            research: Some(RequestId::new(request)),
        }
    }

    #[test]
    fn requests_of_one_thread_have_logs_and_numbers_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (research("abcdef"), research("abcdeg"));
        let whole = WorkKey::thread(one.thread.clone());
        let logs = [&one, &other, &whole].map(|m| m.log(folder.path(), Role::Researcher));
        assert_ne!(logs[0], logs[1]);
        for log in &logs {
            fs::create_dir_all(log.parent().unwrap()).unwrap();
            fs::write(log, "").unwrap();
        }
        let mut known = WorkKey::known(folder.path(), Role::Researcher).unwrap();
        known.sort_by_key(|work_key| work_key.research.clone());
        assert_eq!(known, [whole.clone(), one.clone(), other.clone()]);
        assert_eq!(WorkKey::known(folder.path(), Role::Pm).unwrap(), []);
        let numbers = [&one, &other, &whole].map(WorkKey::first_activation);
        assert!(numbers[0].abs_diff(numbers[1]) >= 256, "{numbers:?}");
        assert_eq!(numbers[2], 1);
    }
}
