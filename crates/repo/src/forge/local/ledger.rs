//! Things kept on the remote itself: a JSON file in a commit under a ref with a
//! number. Each change is a further commit, pushed only over the one it was made
//! from, so two writers cannot overwrite each other and the whole story can be
//! read back with `git log`.

use butler_protocol::{CommitSha, Role, fault};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{ATTEMPTS, LocalForge};
use crate::{
    Error, Repo, Result,
    commits::tree,
    refs::push::{Pushed, RefChange, jitter},
};

/// The newest shape that this build reads; a later one would lose what is new in it.
const VERSION: u64 = 1;

/// What can be kept.
pub(crate) trait Entry: Clone + PartialEq + Serialize + DeserializeOwned {
    /// The refs are below this.
    const REFS: &'static str;
    /// The file in the commit.
    const FILE: &'static str;
    /// What people call it.
    const NOUN: &'static str;

    /// Its number, which is its ref's too.
    fn number(&self) -> u64;

    /// There is none of this number.
    fn missing(number: u64) -> Error;

    /// What is fetched along with them.
    fn more_refs(_repo: &Repo) -> Vec<String> {
        Vec::new()
    }

    /// The same with what is not kept in it, as last fetched.
    async fn live(self, _repo: &Repo) -> Result<Self> {
        Ok(self)
    }
}

/// The file.
#[derive(Serialize)]
struct Stored<'a, E> {
    /// The shape of this file, for later builds.
    version: u64,
    #[serde(flatten)]
    entry: &'a E,
}

/// A kept thing and the commit that holds it.
#[derive(Debug, Clone)]
pub(crate) struct Kept<E> {
    pub entry: E,
    pub at: CommitSha,
}

/// The ref of the thing with this number.
pub(crate) fn ref_of<E: Entry>(number: u64) -> String {
    format!("{}/{number}", E::REFS)
}

/// The number of the next one.
pub(crate) fn next<E: Entry>(all: &[Kept<E>]) -> u64 {
    all.last().map_or(1, |kept| kept.entry.number() + 1)
}

impl LocalForge {
    async fn refresh<E: Entry>(&self) -> Result<()> {
        let mut specs = vec![format!("+{0}/*:{0}/*", E::REFS)];
        specs.extend(E::more_refs(&self.repo));
        self.repo.fetch_refs(&specs, &self.cancel).await
    }

    /// Every thing that is there, by number. One that cannot be read is skipped
    /// with a word in the log: it must not take the others down.
    pub(crate) async fn all<E: Entry>(&self) -> Result<Vec<Kept<E>>> {
        self.refresh::<E>().await?;
        let below = [format!("{}/", E::REFS)];
        let refs = self.repo.git().refs(&below, &self.cancel).await?;
        let mut kept: Vec<Kept<E>> = Vec::new();
        for (at, name) in refs {
            match self.read::<E>(at.as_str()).await {
                Ok(entry) if ref_of::<E>(entry.number()) == name => kept.push(Kept { entry, at }),
                Ok(_) => {
                    tracing::warn!(name, "a {} under another one's number is ignored", E::NOUN);
                }
                Err(error @ Error::Unreadable { .. }) => {
                    tracing::warn!(name, %error, "a {} cannot be read", E::NOUN);
                }
                Err(error) => return Err(error),
            }
        }
        kept.sort_by_key(|kept| kept.entry.number());
        Ok(kept)
    }

    /// One thing as it is now.
    pub(crate) async fn one<E: Entry>(&self, number: u64) -> Result<Kept<E>> {
        self.refresh::<E>().await?;
        let at = self.repo.resolve(&ref_of::<E>(number)).await?;
        let at = at.ok_or_else(|| E::missing(number))?;
        let entry: E = self.read(at.as_str()).await?;
        let entry = entry.live(&self.repo).await?;
        Ok(Kept { entry, at })
    }

    async fn read<E: Entry>(&self, commit: &str) -> Result<E> {
        let blob = self
            .repo
            .git()
            .call(["cat-file", "blob", &format!("{commit}:{}", E::FILE)])
            .accept(&[0, 128])
            .run(&self.cancel)
            .await?;
        let kept: Value = serde_json::from_slice(&blob.stdout).map_err(|_| blob.unreadable())?;
        if kept["version"].as_u64() > Some(VERSION) {
            return Err(Error::Unreadable {
                command: E::FILE.to_owned(),
                answer: "it was written by a newer codebutler; use the newer one".to_owned(),
            });
        }
        serde_json::from_value(kept).map_err(|_| blob.unreadable())
    }

    /// Writes a new state as a commit on top of the old one; no ref moves.
    pub(crate) async fn write<E: Entry>(
        &self,
        entry: &E,
        before: Option<&CommitSha>,
        what: &str,
    ) -> Result<CommitSha> {
        let git = self.repo.git();
        let (number, version) = (entry.number(), VERSION);
        let json = serde_json::to_vec_pretty(&Stored { version, entry });
        let json = json.map_err(|error| Error::Unreadable {
            command: ref_of::<E>(number),
            answer: error.to_string(),
        })?;
        let tree = tree::of_one_file(git, E::FILE, json, &self.cancel).await?;
        let parents: Vec<&str> = before.into_iter().map(CommitSha::as_str).collect();
        let message = format!("{} #{number}: {what}\n", E::NOUN);
        git.commit(&tree, &parents, &message, Role::Lead, &self.cancel)
            .await
    }

    /// Writes a new state and moves the ref, provided that it still stands at `before`. No,
    /// after a pause, means that somebody else was faster.
    pub(crate) async fn put<E: Entry>(
        &self,
        entry: &E,
        before: Option<&CommitSha>,
        what: &str,
        attempt: u32,
    ) -> Result<bool> {
        let after = self.write(entry, before, what).await?;
        fault("forge.before-swap");
        let (name, lease) = (
            ref_of::<E>(entry.number()),
            before.map_or("", CommitSha::as_str),
        );
        let change = RefChange::new(&name, after.as_str(), Some(lease));
        let pushed = self.repo.push_refs(&[change], &self.cancel).await?;
        fault("forge.after-swap");
        if pushed == Pushed::Behind {
            jitter(attempt, &self.cancel).await?;
        }
        Ok(pushed == Pushed::Done)
    }

    /// Changes a thing: read, change, swap; again if somebody else was faster.
    /// No change, no commit.
    pub(crate) async fn change<E: Entry>(
        &self,
        number: u64,
        what: &str,
        change: impl Fn(&mut E) -> Result<()>,
    ) -> Result<E> {
        for attempt in 0..ATTEMPTS {
            let kept = self.one::<E>(number).await?;
            let mut after = kept.entry.clone();
            change(&mut after)?;
            if after == kept.entry || self.put(&after, Some(&kept.at), what, attempt).await? {
                return Ok(after);
            }
        }
        Err(Error::outpaced(&ref_of::<E>(number), ATTEMPTS))
    }
}
