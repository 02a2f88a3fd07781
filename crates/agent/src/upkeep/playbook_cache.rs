//! The team's playbook as it is on the default branch. Never from a thread's
//! branch, which an agent could have changed. Read again when the branch has
//! moved, so that a change of a file holds from the next activation on.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use butler_playbook::{Layout, Playbook};
use butler_protocol::CommitSha;
use butler_repo::{Error, Repo};
use tracing::warn;

/// The manifest whose test script tells how one test is run.
const PACKAGE: &str = "package.json";

/// The playbook that was read last, with its commit.
#[derive(Debug, Default)]
pub(crate) struct PlaybookCache {
    kept: Mutex<Option<(CommitSha, Arc<Known>)>>,
    /// What the last look found, and when it began. Held while somebody looks:
    /// whoever asks meanwhile waits for that, or looks next.
    looked: tokio::sync::Mutex<Option<(Instant, Arc<Known>)>>,
}

/// What is known of one commit of the default branch.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// What the team keeps for its agents.
    pub playbook: Arc<Playbook>,
    /// What lies where.
    pub layout: Layout,
}

impl PlaybookCache {
    /// The playbook of the default branch as it was last fetched. What cannot be
    /// read leaves the last one in place: a role without its rules is worse than
    /// one with yesterday's.
    ///
    /// A thousand threads that wake at once share a few looks: each gets one that
    /// began after it asked.
    pub(crate) async fn known(&self, repo: &Repo) -> Arc<Known> {
        let asked = Instant::now();
        let mut looked = self.looked.lock().await;
        if let Some((_, known)) = looked.as_ref().filter(|(began, _)| *began >= asked) {
            return Arc::clone(known);
        }
        let began = Instant::now();
        let known = match self.current(repo).await {
            Ok(known) => known,
            Err(error) => {
                warn!(%error, "the playbook could not be read");
                let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                let last = kept.as_ref().map(|(_, known)| Arc::clone(known));
                last.unwrap_or_else(nothing)
            }
        };
        *looked = Some((began, Arc::clone(&known)));
        known
    }

    async fn current(&self, repo: &Repo) -> Result<Arc<Known>, Error> {
        let Some(commit) = repo.resolve(&repo.default_ref()).await? else {
            return Ok(nothing());
        };
        {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, known)) = kept.as_ref().filter(|(of, _)| *of == commit) {
                return Ok(Arc::clone(known));
            }
        }
        let known = Arc::new(known_at(repo, commit.as_str()).await?);
        for problem in known.playbook.problems() {
            warn!(%problem, "a file of the playbook has a problem");
        }
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((commit, Arc::clone(&known)));
        Ok(known)
    }
}

fn nothing() -> Arc<Known> {
    Arc::new(Known {
        playbook: Arc::new(Playbook::new([])),
        layout: Layout::default(),
    })
}

/// The playbook of one commit.
///
/// # Errors
/// When git cannot be run or does not know the commit.
pub async fn playbook_at(repo: &Repo, commit: &str) -> Result<Playbook, Error> {
    let known = known_at(repo, commit).await?;
    Ok(Arc::unwrap_or_clone(known.playbook))
}

async fn known_at(repo: &Repo, commit: &str) -> Result<Known, Error> {
    let git = repo.git();
    let listing = git
        .call(["ls-tree", "-r", "-z", "--full-tree", "--end-of-options"])
        .arg(commit)
        .finish()
        .await?;
    let mut files: Vec<(String, String)> = listing
        .fields()
        .filter_map(|entry| listed(&String::from_utf8_lossy(entry)))
        .collect();
    let layout = Layout::of(files.iter().map(|(_, path)| path.as_str()));
    files.retain(|(_, path)| Playbook::wants(path) || path == PACKAGE);
    if files.is_empty() {
        let playbook = Arc::new(Playbook::new([]));
        return Ok(Known { playbook, layout });
    }
    let mut asked = String::new();
    for (object, _) in &files {
        asked.push_str(&format!("{object}\n"));
    }
    let output = git
        .call(["cat-file", "--batch"])
        .input(asked)
        .finish()
        .await?;
    let texts = blobs(&output.stdout);
    let paths = files.into_iter().map(|(_, path)| path);
    let (package, texts): (Vec<_>, Vec<_>) =
        paths.zip(texts).partition(|(path, _)| path == PACKAGE);
    let layout = package
        .iter()
        .fold(layout, |layout, (_, text)| layout.with_package(text));
    let playbook = Arc::new(Playbook::new(texts));
    Ok(Known { playbook, layout })
}

/// `<mode> blob <object>\t<path>`, when it is an ordinary file. A link to
/// another file is left out: what it points to counts under its own name.
fn listed(entry: &str) -> Option<(String, String)> {
    let (head, path) = entry.split_once('\t')?;
    let mut words = head.split(' ');
    let (mode, kind, object) = (words.next()?, words.next()?, words.next()?);
    let ordinary = kind == "blob" && mode.starts_with("100");
    ordinary.then(|| (object.to_owned(), path.to_owned()))
}

/// The bodies of `cat-file --batch`: a line `<object> <kind> <size>` before each.
fn blobs(bytes: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = bytes;
    while let Some(newline) = rest.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..newline]);
        let size = head.rsplit(' ').next().and_then(|size| size.parse().ok());
        let start = newline + 1;
        let end = start + size.unwrap_or(0);
        let Some(body) = rest.get(start..end) else {
            break;
        };
        texts.push(String::from_utf8_lossy(body).into_owned());
        // "<object> missing" has no body and no line end after it.
        let after = if size.is_some() { end + 1 } else { start };
        rest = rest.get(after..).unwrap_or_default();
    }
    texts
}

#[cfg(test)]
mod tests {
    use butler_protocol::Role;
    use butler_testkit::{ScratchRepo, git};

    use super::*;

    fn commit(scratch: &ScratchRepo, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = scratch.root().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        git(scratch.root(), &["add", "--all"]);
        git(scratch.root(), &["commit", "--quiet", "--message", "x"]);
        git(scratch.root(), &["push", "--quiet", "origin", "HEAD:main"]);
    }

    fn prompt(known: &Known) -> String {
        known
            .playbook
            .prompt(Role::Coder, butler_playbook::Profile::Full, "", &[])
    }

    #[tokio::test]
    async fn the_default_branch_counts_and_a_change_of_it_is_seen() {
        let scratch = ScratchRepo::new();
        commit(
            &scratch,
            &[
                (".codebutler/coder.md", "# Coder\n\nBe old.\n"),
                ("a b/AGENTS.md", "é"),
            ],
        );
        let repo = Repo::open(scratch.root()).await.unwrap();
        let playbook_cache = PlaybookCache::default();
        let first = playbook_cache.known(&repo).await;
        assert!(prompt(&first).contains("Be old."));
        assert!(prompt(&first).contains("a b/AGENTS.md"));
        assert!(
            Arc::ptr_eq(&first, &playbook_cache.known(&repo).await),
            "read once per commit"
        );

        // What is only on disk, or on another branch, changes nothing.
        std::fs::write(
            scratch.root().join(".codebutler/coder.md"),
            "# Coder\n\nBe bad.\n",
        )
        .unwrap();
        git(
            scratch.root(),
            &["checkout", "--quiet", "-b", "codebutler/x"],
        );
        git(
            scratch.root(),
            &["commit", "--quiet", "--all", "--message", "y"],
        );
        assert!(!prompt(&*playbook_cache.known(&repo).await).contains("Be bad."));
        git(scratch.root(), &["checkout", "--quiet", "main"]);

        commit(
            &scratch,
            &[(".codebutler/coder.md", "# Coder\n\nBe new.\n")],
        );
        assert!(prompt(&*playbook_cache.known(&repo).await).contains("Be new."));
    }

    #[test]
    fn bodies_are_cut_by_their_size_and_missing_ones_have_none() {
        let bytes = b"aa blob 3\nx\ny\nbb missing\ncc blob 0\n\ndd blob 2\nok\n";
        assert_eq!(blobs(bytes), ["x\ny", "", "", "ok"]);
        assert_eq!(blobs(b"aa blob 9\nshort"), Vec::<String>::new());
        assert_eq!(listed("120000 blob aa\tCLAUDE.md"), None);
        assert_eq!(
            listed("100644 blob aa\tAGENTS.md"),
            Some(("aa".into(), "AGENTS.md".into()))
        );
    }
}
