//! Files of the team's memory, changed on the default branch in a commit of their
//! own. No worktree is needed, so nothing else that a thread has under way comes
//! along, and nobody's checkout is touched.

use butler_protocol::{CommitSha, Role, fault};
use tokio_util::sync::CancellationToken;

use super::push::{Pushed, RefChange, jitter};
use crate::{Error, KEY_TRAILER, Repo, Result, commits::tree};

const ATTEMPTS: u32 = 5;
const FOLDER: &str = ".codebutler";

/// What is written, and under which name it is recognised again.
#[derive(Debug, Clone, Copy)]
pub struct OneFile<'a> {
    /// Its name below `.codebutler/`.
    pub name: &'a str,
    /// The message of the commit, one line.
    pub message: &'a str,
    /// A commit with this key is not made a second time.
    pub key: &'a str,
    /// Who commits.
    pub role: Role,
}

/// A commit of the team's memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryCommit<'a> {
    /// Its message, one line.
    pub message: &'a str,
    /// A commit with this key is not made a second time.
    pub key: &'a str,
    pub role: Role,
}

impl Repo {
    /// A file of the team's memory as the default branch of the remote has it now.
    pub async fn memory_file(
        &self,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<String>> {
        self.fetch(cancel).await?;
        self.file_at(&self.default_ref(), name, cancel).await
    }

    /// The same at a commit.
    pub async fn memory_file_at(
        &self,
        commit: &CommitSha,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<String>> {
        self.file_at(commit.as_str(), name, cancel).await
    }

    /// Files of the team's memory as the default branch of the remote has them now, and
    /// its commit.
    pub async fn memory_files(
        &self,
        names: &[&str],
        cancel: &CancellationToken,
    ) -> Result<(CommitSha, Vec<Option<String>>)> {
        self.fetch(cancel).await?;
        let base = self.newest().await?;
        let texts = self.files_at(&base, names, cancel).await?;
        Ok((base, texts))
    }

    /// Changes one file: `change` makes its new text from the present one, again when
    /// somebody was faster. Gives the commit on the default branch; nothing when
    /// `change` refuses.
    /// Fails with [`Error::Outpaced`] when others kept being faster, [`Error::Refused`] when the
    /// remote does not take it.
    pub async fn change_memory_file(
        &self,
        file: OneFile<'_>,
        change: impl Fn(Option<&str>) -> Option<String>,
        cancel: &CancellationToken,
    ) -> Result<Option<CommitSha>> {
        let one = |before: &[Option<String>]| {
            let before = before.first().and_then(Option::as_deref);
            change(before).map(|text| vec![text])
        };
        let commit = MemoryCommit {
            message: file.message,
            key: file.key,
            role: file.role,
        };
        self.change_memory_files(commit, &[file.name], one, cancel)
            .await
    }

    /// The same for several files in one commit.
    pub async fn change_memory_files(
        &self,
        new: MemoryCommit<'_>,
        names: &[&str],
        change: impl Fn(&[Option<String>]) -> Option<Vec<String>>,
        cancel: &CancellationToken,
    ) -> Result<Option<CommitSha>> {
        let target = format!("refs/heads/{}", self.default_branch());
        for attempt in 0..ATTEMPTS {
            self.fetch(cancel).await?;
            // One commit throughout: others of this machine fetch meanwhile.
            let base = self.newest().await?;
            if let Some(made) = self.made_before(&base, new.key, cancel).await? {
                return Ok(Some(made));
            }
            let before = self.files_at(&base, names, cancel).await?;
            let Some(texts) = change(&before) else {
                return Ok(None);
            };
            let files: Vec<(&str, String)> = names.iter().copied().zip(texts).collect();
            let commit = self.commit_files(&base, new, &files, cancel).await?;
            fault("repo.before-memory");
            let push = RefChange::new(&target, commit.as_str(), None);
            let pushed = self.push_refs(&[push], cancel).await?;
            fault("repo.after-memory");
            match pushed {
                Pushed::Done => return Ok(Some(commit)),
                Pushed::Behind => jitter(attempt, cancel).await?,
            }
        }
        Err(Error::outpaced(&target, ATTEMPTS))
    }

    /// The newest commit of the default branch that was fetched.
    async fn newest(&self) -> Result<CommitSha> {
        let default = self.default_ref();
        let newest = self.resolve(&default).await?;
        newest.ok_or_else(|| Error::refused(default, "the default branch has no commit yet"))
    }

    async fn files_at(
        &self,
        base: &CommitSha,
        names: &[&str],
        cancel: &CancellationToken,
    ) -> Result<Vec<Option<String>>> {
        let mut texts = Vec::new();
        for name in names {
            texts.push(self.file_at(base.as_str(), name, cancel).await?);
        }
        Ok(texts)
    }

    async fn made_before(
        &self,
        from: &CommitSha,
        key: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<CommitSha>> {
        let found = self
            .git()
            .call(["rev-list", "--max-count=1", "--fixed-strings"])
            .arg(format!("--grep={KEY_TRAILER}: {key}"))
            .args(["--end-of-options", from.as_str()])
            .run(cancel)
            .await?;
        let found = found.text();
        Ok((!found.is_empty()).then(|| CommitSha::new(found)))
    }

    async fn file_at(
        &self,
        commit: &str,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<String>> {
        let entry = self
            .entries_of(&format!("{commit}:{FOLDER}"), cancel)
            .await?;
        let own = entry.iter().find(|entry| entry.name == name.as_bytes());
        let Some(own) = own else {
            return Ok(None);
        };
        if !own.is_file() {
            let why = "it is no file there, but a link or a folder";
            return Err(Error::refused(format!("{FOLDER}/{name}"), why));
        }
        let text = self
            .git()
            .call(["cat-file", "blob", &own.id])
            .run(cancel)
            .await?;
        Ok(Some(String::from_utf8_lossy(&text.stdout).into_owned()))
    }

    /// A commit on top of the default branch that differs in these files only.
    async fn commit_files(
        &self,
        parent: &CommitSha,
        new: MemoryCommit<'_>,
        files: &[(&str, String)],
        cancel: &CancellationToken,
    ) -> Result<CommitSha> {
        let git = self.git();
        let mut folder = self
            .entries_of(&format!("{parent}:{FOLDER}"), cancel)
            .await?;
        for (name, text) in files {
            let blob = tree::blob(git, text.as_str(), cancel).await?;
            TreeEntry::put(&mut folder, "100644 blob", blob, name);
        }
        let folder = self.tree_with(&folder, cancel).await?;
        let mut root = self
            .entries_of(&format!("{parent}^{{tree}}"), cancel)
            .await?;
        TreeEntry::put(&mut root, "040000 tree", folder, FOLDER);
        let root = self.tree_with(&root, cancel).await?;
        let message = format!("{}\n\n{KEY_TRAILER}: {}\n", new.message, new.key);
        let parents = [parent.as_str()];
        git.commit(&root, &parents, &message, new.role, cancel)
            .await
    }

    /// The entries of a tree; none where there is no such folder.
    async fn entries_of(&self, tree: &str, cancel: &CancellationToken) -> Result<Vec<TreeEntry>> {
        let git = self.git();
        let known = git
            .call(["rev-parse", "--quiet", "--verify", "--end-of-options", tree])
            .run(cancel)
            .await;
        let Ok(known) = known else {
            return Ok(Vec::new());
        };
        let listing = git
            .call(["ls-tree", "-z", &known.text()])
            .run(cancel)
            .await?;
        let entries = listing.fields().filter_map(TreeEntry::read);
        Ok(entries.collect())
    }

    async fn tree_with(&self, entries: &[TreeEntry], cancel: &CancellationToken) -> Result<String> {
        let mut listing = Vec::new();
        for TreeEntry { kind, id, name } in entries {
            listing.extend(format!("{kind} {id}\t").into_bytes());
            listing.extend(name);
            listing.push(0);
        }
        let tree = self
            .git()
            .call(["mktree", "-z"])
            .input(listing)
            .run(cancel)
            .await?;
        Ok(tree.text())
    }
}

/// A line of `ls-tree`.
#[derive(Debug)]
struct TreeEntry {
    /// Mode and type.
    kind: String,
    id: String,
    /// Whatever bytes a repository has for it.
    name: Vec<u8>,
}

impl TreeEntry {
    fn read(field: &[u8]) -> Option<Self> {
        let tab = field.iter().position(|byte| *byte == b'\t')?;
        let (kind, id) = std::str::from_utf8(&field[..tab]).ok()?.rsplit_once(' ')?;
        Some(Self {
            kind: kind.to_owned(),
            id: id.to_owned(),
            name: field[tab + 1..].to_vec(),
        })
    }

    /// Puts an entry in the place of the one with its name.
    fn put(entries: &mut Vec<Self>, kind: &str, id: String, name: &str) {
        entries.retain(|entry| entry.name != name.as_bytes());
        entries.push(Self {
            kind: kind.to_owned(),
            id,
            name: name.as_bytes().to_vec(),
        });
    }

    /// Whether it is a file: the team's memory is not read through a link.
    fn is_file(&self) -> bool {
        self.kind.starts_with("100")
    }
}
