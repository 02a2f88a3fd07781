//! Old saves go: a thread that works for weeks saves hundreds of times, and one that
//! ended needs none of them. Kept are the newest of each name, as long as their folder
//! is there, and everything of the last two weeks. What git still reaches from a newer
//! save stays in its store; the rest goes with git's own housekeeping.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

use super::{SavedFiles, list};
use crate::{Repo, Result, refs::save};

/// How many of one name stay, however old.
const KEPT: usize = 20;
/// How long all of them stay, in seconds.
const YOUNG: i64 = 14 * 24 * 60 * 60;

impl Repo {
    /// Deletes the names of saved files that nobody will ask for; how many.
    pub async fn prune_saved(&self, now: i64, cancel: &CancellationToken) -> Result<usize> {
        let saved = list(self.git(), cancel).await?;
        // Only as it was looked at: a name can be taken again.
        let delete = |one: &SavedFiles| {
            let SavedFiles { name, commit, .. } = one;
            format!("delete {}/{name} {commit}\n", save::SAVED)
        };
        let told: Vec<String> = outlived(&saved, now).map(delete).collect();
        if !told.is_empty() {
            let delete = self.git().call(["update-ref", "--stdin"]);
            let delete = delete.input(told.concat().into_bytes());
            delete.run(cancel).await?;
        }
        Ok(told.len())
    }
}

/// What need not be kept, of a list with the newest first.
fn outlived(saved: &[SavedFiles], now: i64) -> impl Iterator<Item = &SavedFiles> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    saved.iter().filter(move |one| {
        let name = one.name.rsplit_once('/').map_or("", |(name, _)| name);
        let place = seen.entry(name).or_default();
        *place += 1;
        let old = now.saturating_sub(one.at) > YOUNG;
        old && (*place > KEPT || !one.folder.is_dir())
    })
}

#[cfg(test)]
mod tests {
    use butler_protocol::CommitSha;

    use super::*;

    fn saved(name: &str, number: usize, at: i64, folder: &str) -> SavedFiles {
        SavedFiles {
            name: format!("{name}/{number}"),
            commit: CommitSha::new("0".repeat(40)),
            why: String::new(),
            at,
            folder: folder.into(),
        }
    }

    #[test]
    fn the_newest_stay_and_so_does_what_is_young() {
        let now = 100 * YOUNG;
        let old = now - YOUNG - 1;
        let mut all: Vec<_> = (0..30).rev().map(|n| saved("busy", n, old, "/")).collect();
        all.extend((0..30).rev().map(|n| saved("young", n, now - YOUNG, "/")));
        all.extend(
            (0..3)
                .rev()
                .map(|n| saved("ended", n, old, "/no/such/folder")),
        );
        all.push(saved("resting", 7, now - 1, "/no/such/folder"));
        let gone: Vec<_> = outlived(&all, now).map(|one| one.name.as_str()).collect();
        let oldest = (0..10).rev().map(|n| format!("busy/{n}"));
        let expected: Vec<_> = oldest
            .chain((0..3).rev().map(|n| format!("ended/{n}")))
            .collect();
        assert_eq!(gone, expected);
        // A clock that was set back makes nothing old.
        assert_eq!(outlived(&all, 0).count(), 0);
    }
}
