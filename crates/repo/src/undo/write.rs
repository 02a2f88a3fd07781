//! How a save is written: the first one by one git process that is told the bytes of all
//! files, later ones as a few objects of our own.

use butler_protocol::{CommitSha, fault};
use tokio_util::sync::CancellationToken;

use super::{
    FOLDER, Last, Undo,
    files::Change,
    store::{Store, hex},
    stream,
    trees::{About, Trees},
};
use crate::{Error, Result, Saved, refs::save, repo::resolve};

/// What a save is called and says.
struct Save {
    name: String,
    message: String,
    /// In seconds since 1970.
    at: i64,
    /// All files follow, not only those that changed.
    whole: bool,
}

impl Undo {
    pub(super) async fn write(
        &self,
        why: &str,
        last: Option<&mut Last>,
        changes: Vec<Change>,
        cancel: &CancellationToken,
    ) -> Result<(Saved, Option<Trees>)> {
        let name = self.next_name(last.as_deref(), cancel).await?;
        let whole = last.is_none();
        let (from, trees) = match last {
            Some(last) => (Some(last.saved.commit.clone()), last.trees.take()),
            None => (resolve(&self.git, "HEAD").await?, None),
        };
        let save = Save {
            name,
            message: format!("saved: {why}\n\n{FOLDER}{}\n", self.root.display()),
            at: jiff::Timestamp::now().as_second(),
            whole,
        };
        fault("repo.before-undo-save");
        let done = match (trees, from) {
            (Some(trees), Some(from)) => self.write_here(save, from, trees, changes).await,
            (_, from) => self.import(save, from, changes, cancel).await,
        };
        fault("repo.after-undo-save");
        done
    }

    /// Writes the few objects that differ from the last save.
    async fn write_here(
        &self,
        save: Save,
        from: CommitSha,
        mut trees: Trees,
        changes: Vec<Change>,
    ) -> Result<(Saved, Option<Trees>)> {
        let root = self.root.clone();
        let about = About {
            name: save.name,
            message: save.message,
            parent: from.to_string(),
            at: save.at,
        };
        let written = tokio::task::spawn_blocking(move || {
            let id = trees.save(&root, &changes, &about)?;
            let saved = Saved {
                name: about.name,
                commit: CommitSha::new(hex(&id)),
            };
            Ok((saved, Some(trees)))
        });
        written.await.map_err(|_| Error::Cancelled {
            what: "saving the files".to_owned(),
        })?
    }

    /// Has git write all that changed: the first time, and where the store is unusual.
    async fn import(
        &self,
        save: Save,
        from: Option<CommitSha>,
        changes: Vec<Change>,
        cancel: &CancellationToken,
    ) -> Result<(Saved, Option<Trees>)> {
        let head = stream::Head {
            name: &save.name,
            message: save.message,
            from: from.as_ref(),
            at: save.at,
            whole: save.whole,
        };
        let root = self.root.clone();
        let text = head.text();
        let store = Store::of(&self.git.common_dir()?);
        let tell = move || stream::tell(text, &root, &changes, store.as_ref());
        let told = tokio::task::spawn_blocking(tell);
        let told = told.await.map_err(|_| Error::Cancelled {
            what: "reading the files".to_owned(),
        })??;
        // Without force: a name that somebody took meanwhile is refused, not overwritten.
        let import = self.git.call(["fast-import", "--quiet", "--done"]);
        let imported = import.input(told).run(cancel).await?;
        let commit = imported.text();
        if commit.len() < 40 {
            return Err(imported.unreadable());
        }
        let trees = self.trees(&commit, cancel).await?;
        let saved = Saved {
            name: save.name,
            commit: CommitSha::new(commit),
        };
        Ok((saved, trees))
    }

    /// What a save holds, if the next one can be written here.
    async fn trees(&self, commit: &str, cancel: &CancellationToken) -> Result<Option<Trees>> {
        let Some(store) = Store::of(&self.git.common_dir()?) else {
            return Ok(None);
        };
        let listed = self.git.call(["ls-tree", "-r", "-z", commit]);
        let listed = listed.run(cancel).await?;
        Ok(Trees::read(store, &listed))
    }

    /// A name that is free. Others save under it too: an undo at the command line, and
    /// whatever moves the branch.
    async fn next_name(&self, last: Option<&Last>, cancel: &CancellationToken) -> Result<String> {
        let numbered = |number| format!("{}/{}/{number}", save::SAVED, self.name);
        if let Some(last) = last {
            let next = numbered(save::number(&last.saved.name) + 1);
            let store = self.git.common_dir().ok();
            let store = store.and_then(|common| Store::of(&common));
            if store.is_some_and(|store| store.is_free(&next)) {
                return Ok(next);
            }
        }
        let newest = save::newest(&self.git, &self.name, cancel).await?;
        Ok(numbered(newest + 1))
    }
}
