//! Which thread is meant. Every command that takes a thread asks here, so that what
//! one of them prints every other understands: its id (as in `5dy2wy`), its number in
//! `codebutler threads`, `last`, a link to it, or the longer names that files and
//! the API have.

use std::{collections::BTreeSet, path::Path};

use butler_journal::ThreadDir;
use butler_protocol::{ChannelId, MessageTs, ThreadId};
use url::Url;

use crate::CliError;

/// The threads that somebody can mean, oldest first.
pub(crate) struct Threads {
    /// Those that are in this clone, packed ones too: their place is their number.
    own: Vec<ThreadId>,
    /// Those that only the hub knows so far.
    heard_of: Vec<ThreadId>,
    packed: BTreeSet<ThreadId>,
}

impl Threads {
    /// The threads of this clone.
    pub(crate) fn in_folder(threads: &Path) -> Result<Self, CliError> {
        let packed: BTreeSet<_> = ThreadDir::packed(threads).into_iter().collect();
        let listed = ThreadDir::list(threads).map_err(CliError::internal)?;
        let mut own: Vec<_> = listed.into_iter().chain(packed.clone()).collect();
        own.sort_by(|one, other| one.root.cmp(&other.root));
        own.dedup();
        Ok(Self {
            own,
            heard_of: Vec::new(),
            packed,
        })
    }

    /// The same with what the hub has heard of.
    pub(crate) fn and(mut self, more: impl IntoIterator<Item = ThreadId>) -> Self {
        self.heard_of.extend(more);
        self.heard_of
            .sort_by(|one, other| one.root.cmp(&other.root));
        self
    }

    /// The number under which `codebutler threads` lists it.
    pub(crate) fn number(&self, thread: &ThreadId) -> Option<usize> {
        let at = self.own.iter().position(|one| one == thread)?;
        Some(at + 1)
    }

    /// Whether it was closed long ago and is one file now.
    pub(crate) fn is_packed(&self, thread: &ThreadId) -> bool {
        self.packed.contains(thread)
    }

    /// The one that was named.
    pub(crate) fn find(&self, name: &str) -> Result<&ThreadId, CliError> {
        let name = name.trim();
        let found = self.named(name).or_else(|| self.numbered(name));
        found.ok_or_else(|| {
            CliError::user(format!("there is no thread `{name}` in this repo")).hint(
                "`codebutler threads` lists them; `last`, a number, an id or a link names one",
            )
        })
    }

    fn named(&self, name: &str) -> Option<&ThreadId> {
        let mut all: Vec<&ThreadId> = self.own.iter().chain(&self.heard_of).collect();
        all.sort_by(|one, other| one.root.cmp(&other.root));
        if name.eq_ignore_ascii_case("last") {
            return all.last().copied();
        }
        let linked = linked(name);
        let root = name.parse::<MessageTs>().ok();
        let short = name.to_ascii_lowercase();
        all.into_iter().find(|one| match (&linked, &root) {
            (Some(thread), _) => one == &thread,
            (None, Some(root)) => one.root == *root,
            _ => one.short() == short || one.dir_name() == name || one.to_string() == name,
        })
    }

    fn numbered(&self, name: &str) -> Option<&ThreadId> {
        let number: usize = name.parse().ok()?;
        self.own.get(number.checked_sub(1)?)
    }
}

/// A thread of this clone whose files can be read.
pub(crate) fn readable(threads: &Path, name: &str) -> Result<ThreadId, CliError> {
    let all = Threads::in_folder(threads)?;
    let thread = all.find(name)?;
    if all.is_packed(thread) {
        let archive = ThreadDir::archive(threads, thread);
        let said = format!(
            "`{name}` was closed long ago and is packed in {}",
            archive.display()
        );
        return Err(
            CliError::user(said).hint("write in the thread and it is back, or unpack the file")
        );
    }
    Ok(thread.clone())
}

/// The thread behind an address of the page (`…/c/<channel>/<ts>`) or of Slack
/// (`…/archives/<channel>/p<digits>`).
fn linked(address: &str) -> Option<ThreadId> {
    let url = Url::parse(address).ok()?;
    let parts: Vec<&str> = url
        .path_segments()?
        .filter(|part| !part.is_empty())
        .collect();
    let (channel, place) = match parts.as_slice() {
        ["c" | "archives", channel, place, ..] => (*channel, *place),
        _ => return None,
    };
    // A link to an answer names its thread beside itself.
    let beside = url.query_pairs().find(|(key, _)| key == "thread_ts");
    let root = match (&beside, place.strip_prefix('p')) {
        (Some((_, root)), _) => root.to_string(),
        (None, Some(digits)) if digits.len() > 6 => {
            let (seconds, rest) = digits.split_at_checked(digits.len() - 6)?;
            format!("{seconds}.{rest}")
        }
        _ => place.to_owned(),
    };
    Some(ThreadId::new(ChannelId::new(channel), root.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_way_to_name_a_thread_finds_the_same_one() {
        let folder = tempfile::tempdir().unwrap();
        let roots = [
            "1700000000.000100",
            "1700000001.000200",
            "1700000002.000300",
        ];
        let threads = roots.map(|root| ThreadId::new(ChannelId::new("C1"), root.parse().unwrap()));
        for thread in &threads[..2] {
            fs::create_dir(folder.path().join(thread.dir_name())).unwrap();
        }
        let all = Threads::in_folder(folder.path()).unwrap();
        let second = &threads[1];
        for name in [
            "last",
            "LAST",
            "2",
            &second.short(),
            &second.short().to_uppercase(),
            &second.dir_name(),
            &second.to_string(),
            "1700000001.000200",
            "http://u.localhost:7878/c/C1/1700000001.000200",
            "http://127.0.0.1:7878/c/C1/1700000001.000200/timeline",
            "https://x.slack.com/archives/C1/p1700000001000200",
            "https://x.slack.com/archives/C1/p1700000009000900?thread_ts=1700000001.000200&cid=C1",
        ] {
            assert_eq!(all.find(name).unwrap(), second, "{name}");
        }
        for wrong in [
            "0",
            "3",
            "nosuch",
            "1700000002.000300",
            "https://example.org/",
            "",
        ] {
            all.find(wrong).unwrap_err();
        }
        // What the hub has just heard of is the last, and has no number yet.
        let all = all.and([threads[2].clone()]);
        assert_eq!(all.find("last").unwrap(), &threads[2]);
        assert_eq!(all.find(&threads[2].short()).unwrap(), &threads[2]);
        assert_eq!(all.number(&threads[2]), None);
        all.find("3").unwrap_err();
    }
}
