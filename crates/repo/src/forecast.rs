//! Conflicts before they happen: which files the open branches touch, and which
//! pairs of them would not merge, by the real merge, computed without touching
//! any worktree, index or ref. One git process answers all pairs.
//!
//! Textual conflicts only. Two branches that merge cleanly can still disagree;
//! that is what checks on the merged tree are for.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use butler_protocol::{BranchName, CommitSha};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Error, Repo, Result, git::path_of};

/// What the open branches would do to each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forecast {
    pub branches: Vec<Footprint>,
    pub clashes: Vec<Clash>,
    /// Branches that no longer merge into the default branch.
    pub stale: Vec<Stale>,
}

/// What one branch touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    pub branch: BranchName,
    pub head: CommitSha,
    /// The files it changed since it left the default branch.
    pub files: Vec<PathBuf>,
}

/// Two branches that do not merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clash {
    pub one: BranchName,
    /// The other; after the first in the order of names.
    pub other: BranchName,
    pub files: Vec<PathBuf>,
}

/// A branch that does not merge into the default branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stale {
    pub branch: BranchName,
    pub files: Vec<PathBuf>,
}

impl Forecast {
    /// An order to merge in: fewest conflicts first, then smallest, counted
    /// again after each merge.
    pub fn order(&self) -> Vec<BranchName> {
        let mut left: Vec<&Footprint> = self.branches.iter().collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let clashes = |branch: &BranchName| {
                let open = |b: &BranchName| left.iter().any(|f| f.branch == *b);
                let mine = |c: &&Clash| c.one == *branch || c.other == *branch;
                let live = |c: &&Clash| open(&c.one) && open(&c.other);
                self.clashes.iter().filter(mine).filter(live).count()
            };
            let stale = |branch: &BranchName| self.stale.iter().any(|s| s.branch == *branch);
            let best = (0..left.len()).min_by_key(|i| {
                let f = left[*i];
                (
                    stale(&f.branch),
                    clashes(&f.branch),
                    f.files.len(),
                    &f.branch,
                )
            });
            order.extend(best.map(|i| left.remove(i).branch.clone()));
        }
        order
    }

    /// The branches that touch one of these files: a plan's first look.
    pub fn touching(&self, files: &[PathBuf]) -> Vec<&BranchName> {
        let wanted: BTreeSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        self.branches
            .iter()
            .filter(|f| f.files.iter().any(|file| wanted.contains(file.as_path())))
            .map(|f| &f.branch)
            .collect()
    }
}

impl Repo {
    /// Forecasts the conflicts between branches of the remote as last fetched.
    /// A branch that is not there any more is left out.
    pub async fn forecast(
        &self,
        branches: &[BranchName],
        cancel: &CancellationToken,
    ) -> Result<Forecast> {
        let names: BTreeSet<&BranchName> = branches.iter().collect();
        let tips = self.tips(&names, cancel).await?;
        let found: Vec<Footprint> = stream::iter(tips)
            .map(|(branch, head)| self.footprint(branch, head, cancel))
            .buffered(4)
            .try_collect()
            .await?;
        let default = self.resolve(&self.default_ref()).await?;
        let default = default.ok_or_else(|| Error::Empty {
            branch: self.default_branch().clone(),
        })?;
        let mut asked = String::new();
        for (index, one) in found.iter().enumerate() {
            asked.push_str(&format!("{default} {}\n", one.head));
            for other in &found[index + 1..] {
                asked.push_str(&format!("{} {}\n", one.head, other.head));
            }
        }
        let mut answers = self.merges(asked, cancel).await?.into_iter();
        let mut forecast = Forecast::default();
        for (index, one) in found.iter().enumerate() {
            if let Some(files) = answers.next().flatten() {
                forecast.stale.push(Stale {
                    branch: one.branch.clone(),
                    files,
                });
            }
            for other in &found[index + 1..] {
                if let Some(files) = answers.next().flatten() {
                    forecast.clashes.push(Clash {
                        one: one.branch.clone(),
                        other: other.branch.clone(),
                        files,
                    });
                }
            }
        }
        forecast.branches = found;
        Ok(forecast)
    }

    /// The tips of those branches that are still there, by one git process.
    async fn tips(
        &self,
        names: &BTreeSet<&BranchName>,
        cancel: &CancellationToken,
    ) -> Result<Vec<(BranchName, CommitSha)>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: Vec<String> = names.iter().map(|name| self.tracking_ref(name)).collect();
        let root = self.tracking_ref(&BranchName::new(""));
        let refs = self.git().refs(&wanted, cancel).await?.into_iter();
        let tips = refs.filter_map(|(head, name)| {
            let branch = BranchName::new(name.strip_prefix(&root)?);
            names.contains(&branch).then_some((branch, head))
        });
        Ok(tips.collect())
    }

    async fn footprint(
        &self,
        branch: BranchName,
        head: CommitSha,
        cancel: &CancellationToken,
    ) -> Result<Footprint> {
        let range = format!("{}...{head}", self.default_ref());
        let listing = self
            .git()
            .call(["diff", "--name-only", "-z", "--no-renames"])
            .args(["--no-ext-diff", "--no-textconv", "--end-of-options"])
            .args([&range, "--"])
            .run(cancel)
            .await?;
        Ok(Footprint {
            branch,
            head,
            files: listing.fields().map(path_of).collect(),
        })
    }

    /// Merges each asked pair ("a b" per line) on paper: the files in conflict,
    /// or nothing when it merges.
    async fn merges(
        &self,
        asked: String,
        cancel: &CancellationToken,
    ) -> Result<Vec<Option<Vec<PathBuf>>>> {
        let wanted = asked.lines().count();
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let output = self
            .git()
            .call(["merge-tree", "--stdin", "-z", "--name-only"])
            .args(["--no-messages", "--allow-unrelated-histories"])
            .on_paper()
            .input(asked)
            .run(cancel)
            .await?;
        let answers = read_merges(&output.stdout);
        match answers {
            Some(answers) if answers.len() == wanted => Ok(answers),
            _ => Err(output.unreadable()),
        }
    }
}

/// Each answer: status (1 clean, 0 conflict), tree, files, an empty field.
fn read_merges(bytes: &[u8]) -> Option<Vec<Option<Vec<PathBuf>>>> {
    let mut fields = bytes.split(|b| *b == 0).peekable();
    let mut answers = Vec::new();
    while fields.peek().is_some_and(|field| !field.is_empty()) {
        let clean = match fields.next()? {
            b"1" => true,
            b"0" => false,
            _ => return None,
        };
        fields.next()?;
        let mut files = Vec::new();
        while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
            files.push(path_of(field));
        }
        answers.push((!clean).then_some(files));
    }
    Some(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprint(name: &str, files: usize) -> Footprint {
        Footprint {
            branch: BranchName::new(name),
            head: CommitSha::new("0"),
            files: (0..files).map(|n| PathBuf::from(n.to_string())).collect(),
        }
    }

    fn clash(one: &str, other: &str) -> Clash {
        Clash {
            one: BranchName::new(one),
            other: BranchName::new(other),
            files: vec!["f".into()],
        }
    }

    #[test]
    fn answers_are_read_whatever_the_names() {
        let text = b"0\0t1\0a b\0c\nd\0\x001\0t2\0\0";
        let read = read_merges(text).unwrap();
        assert_eq!(read, [Some(vec!["a b".into(), "c\nd".into()]), None]);
        assert_eq!(read_merges(b""), Some(vec![]));
        assert_eq!(read_merges(b"x\0t\0\0"), None);
    }

    #[test]
    fn the_order_is_fewest_clashes_then_smallest() {
        let forecast = Forecast {
            branches: vec![
                footprint("a", 1),
                footprint("b", 9),
                footprint("c", 2),
                footprint("d", 1),
            ],
            clashes: vec![clash("a", "b"), clash("a", "c")],
            stale: vec![Stale {
                branch: BranchName::new("d"),
                files: vec![],
            }],
        };
        let order: Vec<String> = forecast.order().iter().map(ToString::to_string).collect();
        assert_eq!(order, ["c", "a", "b", "d"]);
        assert_eq!(forecast.touching(&["5".into()]), [&BranchName::new("b")]);
    }
}
