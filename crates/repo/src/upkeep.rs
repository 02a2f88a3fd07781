//! What many threads leave beside the branches: lock files, single objects and single refs.
//! Nothing is taken from anybody: an object that was packed is still there, whether or not
//! something leads to it, and what git itself forgets in time is its own business.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use tokio_util::sync::CancellationToken;

use crate::{Error, Repo, Result, lock::FileLock};

/// So many single objects are packed.
const LOOSE: usize = 500;
/// A lock that was made lately is about to be used.
const YOUNG: Duration = Duration::from_secs(60 * 60);
/// Locks of single worktrees; the others are few.
const OF_WORKTREES: [&str; 2] = [".activation", ".writer"];

impl Repo {
    /// Packs single objects and refs, when there are many. Whether there were.
    pub async fn pack_loose(&self, cancel: &CancellationToken) -> Result<bool> {
        // In a partial clone what is missing would have to be told from what is lost.
        if self.is_partial() || loose(&self.common().join("objects")) < LOOSE {
            return Ok(false);
        }
        // Nobody adds or removes a worktree meanwhile; objects may come at any time.
        let _alone = self.alone(cancel).await?;
        let pack = ["repack", "-d", "-l", "-q", "--geometric=2"];
        self.git().call(pack).run(cancel).await?;
        let refs = self.git().call(["pack-refs", "--all"]);
        refs.run(cancel).await?;
        Ok(true)
    }

    /// Removes the files of locks that nobody holds; how many. Whoever takes one looks
    /// whether it is still the one that was opened.
    /// Fails when the folder cannot be read.
    pub fn clear_locks(&self, now: SystemTime) -> Result<usize> {
        let folder = self.lock_file("");
        let items = match fs::read_dir(&folder) {
            Ok(items) => items,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(Error::file(&folder)(error)),
        };
        let mut gone = 0;
        for item in items.flatten() {
            let (path, name) = (item.path(), item.file_name());
            let name = name.to_string_lossy();
            let of_worktree = OF_WORKTREES.iter().any(|end| name.ends_with(end));
            if of_worktree && is_old(&path, now) && FileLock::remove(&path)? {
                gone += 1;
            }
        }
        Ok(gone)
    }
}

fn is_old(path: &Path, now: SystemTime) -> bool {
    let made = fs::metadata(path).and_then(|file| file.modified());
    made.is_ok_and(|made| now.duration_since(made).is_ok_and(|age| age >= YOUNG))
}

/// How many objects have a file of their own.
fn loose(objects: &Path) -> usize {
    let folders = fs::read_dir(objects).into_iter().flatten().flatten();
    let single = folders.filter(|folder| folder.file_name().len() == 2);
    let count = |folder: fs::DirEntry| fs::read_dir(folder.path()).into_iter().flatten().count();
    single.map(count).sum()
}

#[cfg(test)]
mod tests {
    use butler_testkit::{ScratchRepo, git};

    use super::*;

    #[tokio::test]
    async fn many_objects_become_a_pack_and_none_is_lost() {
        let scratch = ScratchRepo::new();
        let root = scratch.root();
        let repo = Repo::open(root).await.unwrap();
        let cancel = CancellationToken::new();
        assert!(!repo.pack_loose(&cancel).await.unwrap(), "there are few");
        // Nothing leads to these, as to what a person dropped a moment ago.
        let dropped: Vec<String> = (0..LOOSE)
            .map(|number| {
                let file = root.join("one");
                fs::write(&file, format!("{number}\n")).unwrap();
                git(root, &["hash-object", "-w", "one"])
            })
            .collect();
        git(root, &["update-ref", "refs/codebutler/saved/x/1", "HEAD"]);
        let objects = root.join(".git/objects");
        assert!(loose(&objects) >= LOOSE);
        assert!(repo.pack_loose(&cancel).await.unwrap());
        assert_eq!(loose(&objects), 0);
        for (number, id) in dropped.iter().enumerate() {
            let kept = git(root, &["cat-file", "-p", id]);
            assert_eq!(kept, number.to_string());
        }
        let saved = git(root, &["rev-parse", "refs/codebutler/saved/x/1"]);
        assert_eq!(saved, git(root, &["rev-parse", "HEAD"]));
        git(root, &["fsck", "--strict"]);
        assert!(!repo.pack_loose(&cancel).await.unwrap(), "once");
    }

    #[tokio::test]
    async fn a_lock_that_nobody_holds_goes_and_one_that_is_held_stays() {
        let scratch = ScratchRepo::new();
        let repo = Repo::open(scratch.root()).await.unwrap();
        let file = |name: &str| repo.lock_file(name);
        for name in ["one.activation", "one.writer", "worktrees", "review.turn"] {
            drop(FileLock::try_take(&file(name)).unwrap());
        }
        let held = repo.try_lock_short("two").unwrap().unwrap();
        assert_eq!(repo.clear_locks(SystemTime::now()).unwrap(), 0, "young");
        let later = SystemTime::now() + 2 * YOUNG;
        assert_eq!(repo.clear_locks(later).unwrap(), 2);
        assert!(held.path().exists() && file("worktrees").exists());
        assert!(file("review.turn").exists());
        assert!(repo.try_lock_short("two").unwrap().is_none(), "still held");
        drop(held);
        assert_eq!(repo.clear_locks(later).unwrap(), 1);
    }

    /// Two who take one lock while a third clears it away, again and again: never both.
    #[tokio::test(flavor = "multi_thread", worker_threads = 3)]
    async fn a_lock_that_is_cleared_away_while_it_is_taken_is_still_one_lock() {
        use std::sync::{
            Arc,
            atomic::{AtomicBool, AtomicU32, Ordering},
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.writer");
        let (inside, over) = (
            Arc::new(AtomicU32::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let takers = (0..2).map(|_| {
            let (path, inside) = (path.clone(), Arc::clone(&inside));
            tokio::task::spawn_blocking(move || {
                let mut taken = 0;
                while taken < 300 {
                    let Some(held) = FileLock::try_take(&path).unwrap() else {
                        continue;
                    };
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(held);
                    taken += 1;
                }
            })
        });
        let takers: Vec<_> = takers.collect();
        let (gone, end) = (path.clone(), Arc::clone(&over));
        let clearing = tokio::task::spawn_blocking(move || {
            while !end.load(Ordering::SeqCst) {
                FileLock::remove(&gone).unwrap();
            }
        });
        for taker in takers {
            taker.await.unwrap();
        }
        over.store(true, Ordering::SeqCst);
        clearing.await.unwrap();
    }
}
