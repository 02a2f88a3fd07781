//! Which files a command sees, as a list of steps for the helper. The new root
//! starts empty, so a place that no step names does not exist inside.
//!
//! Three things are easy to get wrong here, and an attacker tries them first:
//! a protected file that does not exist yet (its first missing component is
//! covered), a protected file whose *folder* is renamed away (every folder on the
//! way becomes a mount point, which cannot be renamed), and links (paths below a
//! writable place are walked without following any).

pub(crate) mod base_root;
pub(crate) mod looks;
pub(crate) mod placeholder;
pub(crate) mod plan;
pub(crate) mod real;
pub(crate) mod system;
pub(crate) mod toolchain;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    Profile, SandboxError,
    spec::{Landlock, Os},
    view::{
        looks::{Kind, Looks},
        real::Reals,
    },
};

/// One step in building the new root. Paths are the same inside and outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// A symbolic link of the host, made again.
    Link { at: Os, to: Os },
    /// The host's file or folder, with everything mounted below it.
    Show { path: Os, write: bool },
    /// An empty folder (which may hold the way to `below`) or an unreadable file
    /// in the place of what is there.
    Cover {
        path: Os,
        folder: bool,
        below: Option<Os>,
    },
    /// Another file of the host in the place of what is there, read-only.
    Instead { at: Os, from: Os },
}

/// The steps for one command, and by what they were planned.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub steps: Vec<Step>,
    /// Where a placeholder must stand while the command runs.
    pub missing: Vec<PathBuf>,
    pub looks: Looks,
}

impl Step {
    /// Where it happens.
    pub(crate) fn place(&self) -> &Path {
        match self {
            Step::Link { at, .. } | Step::Instead { at, .. } => at.path(),
            Step::Show { path, .. } | Step::Cover { path, .. } => path.path(),
        }
    }
}

/// What happens at one path; the later variant wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Link(PathBuf),
    Write,
    Read,
    Cover { folder: bool },
    Instead(PathBuf),
}

/// Works out the view of `profile` on top of what every command sees.
pub(crate) fn plan(base: &[Step], profile: &Profile) -> Result<View, SandboxError> {
    let mut draft = Draft::new(profile)?;
    draft.take_base(base);
    let protected = sorted(&profile.protected);
    for path in &protected {
        draft.protect(path)?;
    }
    let mut hidden = std::mem::take(&mut draft.wanted_hidden);
    hidden.sort_by_key(|path| path.components().count());
    for path in hidden {
        draft.hide(path)?;
    }
    for (at, from) in &profile.instead {
        draft.replace(at, from);
    }
    Ok(draft.finish())
}

fn sorted(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = paths.to_vec();
    paths.sort_by_key(|path| path.components().count());
    paths
}

struct Draft {
    root: PathBuf,
    /// The root as the caller wrote it; protected paths are written below it.
    given_root: PathBuf,
    /// Writable places: the root and the caches.
    areas: Vec<PathBuf>,
    /// Hidden places outside of the root; nothing but the root shows below them.
    hidden: Vec<PathBuf>,
    /// All that is to be hidden.
    wanted_hidden: Vec<PathBuf>,
    reals: Reals,
    looks: Looks,
    fates: BTreeMap<PathBuf, Fate>,
    missing: Vec<PathBuf>,
}

impl Draft {
    fn new(profile: &Profile) -> Result<Self, SandboxError> {
        let mut looks = Looks::default();
        let root = usable("worktree", &profile.root, &mut looks)?;
        let mut draft = Self {
            hidden: Vec::new(),
            wanted_hidden: Vec::new(),
            reals: Reals::default(),
            looks,
            areas: vec![root.clone()],
            fates: BTreeMap::from([(root.clone(), Fate::Write)]),
            missing: Vec::new(),
            given_root: lexical(&profile.root),
            root,
        };
        for path in &profile.hidden {
            let path = draft.real(path);
            if !path.starts_with(&draft.root) {
                draft.hidden.push(path.clone());
            }
            draft.wanted_hidden.push(path);
        }
        for path in &profile.writable {
            fs::create_dir_all(path).map_err(|source| unusable("writable path", path, source))?;
            let path = usable("writable path", path, &mut draft.looks)?;
            if !draft.is_hidden(&path) {
                draft.fates.insert(path.clone(), Fate::Write);
                draft.areas.push(path);
            }
        }
        Ok(draft)
    }

    fn take_base(&mut self, base: &[Step]) {
        for step in base {
            let (path, fate) = match step {
                Step::Link { at, to } => (at, Fate::Link(to.path().to_owned())),
                Step::Show { path, .. } => (path, Fate::Read),
                Step::Cover { .. } | Step::Instead { .. } => continue,
            };
            // A toolchain below the worktree is the worktree's.
            let path = path.path();
            if !self.is_hidden(path) && self.area_of(path).is_none() {
                self.fates.entry(path.to_owned()).or_insert(fate);
            }
        }
    }

    fn protect(&mut self, path: &Path) -> Result<(), SandboxError> {
        let path = self.real(path);
        if self.is_hidden(&path) {
            return Ok(());
        }
        match self.area_of(&path) {
            Some(area) => self.guard(&area, &path, &Fate::Read),
            None => {
                if self.there(&path).is_some() {
                    self.set(path, Fate::Read);
                }
                Ok(())
            }
        }
    }

    fn hide(&mut self, path: PathBuf) -> Result<(), SandboxError> {
        if let Some(area) = self.area_of(&path).filter(|area| *area != path) {
            // Whether a folder or a file is covered is seen on the way.
            return self.guard(&area, &path, &Fate::Cover { folder: true });
        }
        // Nothing shows where nothing was put; only what lies below a shown
        // place needs a cover.
        if self.is_shown(&path)
            && let Some(kind) = self.there(&path)
        {
            let folder = kind == Kind::Folder;
            self.set(path, Fate::Cover { folder });
        }
        Ok(())
    }

    /// Shows `from` at `at`, if a file is seen there.
    fn replace(&mut self, at: &Path, from: &Path) {
        let (at, from) = (self.real(at), self.reals.of(from, &mut self.looks));
        let both = [&at, &from].map(|path| self.there(path));
        if self.is_shown(&at) && !self.is_hidden(&at) && both == [Some(Kind::Other); 2] {
            self.set(at, Fate::Instead(from));
        }
    }

    /// What is at a path that has no links on the way; a link that leads nowhere
    /// is nothing.
    fn there(&mut self, path: &Path) -> Option<Kind> {
        let kind = self.looks.kind(path).ok()?;
        matches!(kind, Kind::Folder | Kind::Other).then_some(kind)
    }

    /// Makes `path`, below the writable `area`, hold against everything a
    /// command can do to the folders on the way.
    fn guard(&mut self, area: &Path, path: &Path, fate: &Fate) -> Result<(), SandboxError> {
        let Ok(way) = path.strip_prefix(area) else {
            return Ok(());
        };
        let mut here = area.to_owned();
        let mut parts = way.components().peekable();
        while let Some(part) = parts.next() {
            if self.is_sealed(area, &here) && *fate == Fate::Read {
                return Ok(());
            }
            here.push(part);
            let last = parts.peek().is_none();
            let kind = self.looks.kind(&here);
            match kind.map_err(|source| unusable("protected path", &here, source))? {
                Kind::Missing => {
                    self.cover_missing(area, here);
                    return Ok(());
                }
                Kind::Link => return self.guard_link(area, here, path, fate),
                kind if last => {
                    let fate = match fate {
                        Fate::Cover { .. } => Fate::Cover {
                            folder: kind == Kind::Folder,
                        },
                        other => other.clone(),
                    };
                    self.set(here.clone(), fate);
                }
                Kind::Folder => {
                    if !self.is_sealed(area, &here) {
                        self.set(here.clone(), Fate::Write);
                    }
                }
                Kind::Other => {
                    // A file where a folder should be: it must stay a file.
                    self.set(here, Fate::Read);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The first missing component cannot be created: something empty is there.
    fn cover_missing(&mut self, area: &Path, path: PathBuf) {
        if !self.is_sealed(area, &path) {
            self.missing.push(path.clone());
            self.set(path, Fate::Cover { folder: true });
        }
    }

    /// A link on the way stays what it is; what it leads to is guarded where it
    /// is writable.
    fn guard_link(
        &mut self,
        area: &Path,
        link: PathBuf,
        path: &Path,
        fate: &Fate,
    ) -> Result<(), SandboxError> {
        if !self.is_sealed(area, &link) {
            self.set(link, Fate::Read);
        }
        match self.looks.real(path) {
            Ok(target) if target != path => match self.area_of(&target) {
                Some(area) if area != target => self.guard(&area, &target, fate),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn set(&mut self, path: PathBuf, fate: Fate) {
        let entry = self.fates.entry(path).or_insert_with(|| fate.clone());
        if *entry < fate {
            *entry = fate;
        }
    }

    /// The writable place that `path` lies in: the deepest.
    fn area_of(&self, path: &Path) -> Option<PathBuf> {
        let inside = self.areas.iter().filter(|area| path.starts_with(area));
        inside.max_by_key(|area| area.as_os_str().len()).cloned()
    }

    /// Whether `path` is read-only or covered already, by itself or from above,
    /// within its writable area.
    fn is_sealed(&self, area: &Path, path: &Path) -> bool {
        path.ancestors()
            .take_while(|above| *above != area)
            .any(|above| matches!(self.fates.get(above), Some(Fate::Read | Fate::Cover { .. })))
    }

    fn is_shown(&self, path: &Path) -> bool {
        path.ancestors()
            .any(|above| matches!(self.fates.get(above), Some(Fate::Read | Fate::Write)))
    }

    /// Whether a hidden place holds `path`, unless the root lies in between.
    fn is_hidden(&self, path: &Path) -> bool {
        !path.starts_with(&self.root) && self.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    /// The path without links on the way, as far as it exists. Below the root
    /// links are left alone: whoever may write there could change them.
    fn real(&mut self, path: &Path) -> PathBuf {
        let path = lexical(path);
        for root in [&self.given_root, &self.root] {
            if let Ok(rest) = path.strip_prefix(root) {
                return join(&self.root, rest);
            }
        }
        self.reals.of(&path, &mut self.looks)
    }

    fn finish(self) -> View {
        let mut fates: Vec<_> = self.fates.into_iter().collect();
        fates.sort_by_key(|(path, _)| path.components().count());
        let root = self.root;
        let steps = fates
            .into_iter()
            .map(|(path, fate)| match fate {
                Fate::Link(to) => Step::Link {
                    at: path.into(),
                    to: to.into(),
                },
                Fate::Write => Step::Show {
                    path: path.into(),
                    write: true,
                },
                Fate::Read => Step::Show {
                    path: path.into(),
                    write: false,
                },
                Fate::Cover { folder } => Step::Cover {
                    folder,
                    below: root.strip_prefix(&path).ok().map(Os::from),
                    path: path.into(),
                },
                Fate::Instead(from) => Step::Instead {
                    at: path.into(),
                    from: from.into(),
                },
            })
            .collect();
        View {
            steps,
            missing: self.missing,
            looks: self.looks,
        }
    }
}

/// Joins without the trailing slash that joining nothing leaves.
fn join(base: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        base.to_owned()
    } else {
        base.join(rest)
    }
}

/// Takes `.` and `..` out by text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

fn usable(what: &'static str, path: &Path, looks: &mut Looks) -> Result<PathBuf, SandboxError> {
    let real = looks.real(path).and_then(|real| {
        let kind = looks.kind(&real)?;
        Ok((kind == Kind::Folder).then_some(real))
    });
    let real = real.map_err(|source| unusable(what, path, source))?;
    let Some(real) = real.filter(|real| real.parent().is_some()) else {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it must be a folder below /");
        return Err(unusable(what, path, source));
    };
    Ok(real)
}

pub(crate) fn unusable(what: &'static str, path: &Path, source: io::Error) -> SandboxError {
    SandboxError::Path {
        what,
        path: path.to_owned(),
        source,
    }
}

/// The same places for a kernel without namespaces. Landlock can only add
/// rights, so what is protected or hidden below the root stays as writable as
/// the root; `Strength` says so.
pub(crate) fn for_landlock(steps: &[Step]) -> Landlock {
    let (mut read, mut write) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Show { path, write: true } => write.push(path.clone()),
            Step::Show { path, write: false } => read.push(path.clone()),
            Step::Link { .. } | Step::Cover { .. } | Step::Instead { .. } => {}
        }
    }
    read.push(PathBuf::from("/proc").into());
    for device in ["null", "zero", "full", "random", "urandom"] {
        write.push(Path::new("/dev").join(device).into());
    }
    Landlock { read, write }
}
