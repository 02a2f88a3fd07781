//! Notices afterwards what the weaker confinement could not prevent: a protected place
//! below the worktree that a command changed. And puts it back: git would run what
//! was planted in its config or hooks, outside of every wall.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use crate::view::Step;

/// Places with more entries are compared by their first so many.
const MOST: usize = 50_000;

/// Larger files are no settings. Objects are named by their content: git notices.
const FILE_BYTES: u64 = 256 << 10;
/// What is kept of all files together.
const ALL_BYTES: u64 = 32 << 20;

/// Protected places as they were before a command.
#[derive(Debug, Default)]
pub(crate) struct Seals(Vec<Seal>);

#[derive(Debug)]
struct Seal {
    /// The writable place that it lies in.
    area: PathBuf,
    place: PathBuf,
    before: Entries,
}

/// What was there, by path: a folder comes before what it holds.
type Entries = BTreeMap<PathBuf, (Mark, Kept)>;

/// What changes when a file does; nobody but the kernel sets the last two.
type Mark = (u64, u64, i64, i64);

/// What it takes to put something back.
#[derive(Debug)]
enum Kept {
    Folder,
    File(Vec<u8>, u32),
    Link(PathBuf),
    /// Too large, or of a kind that nobody plants.
    Nothing,
}

impl Seals {
    /// Looks at what `steps` protect below a writable place.
    pub(crate) fn of(steps: &[Step]) -> Self {
        let areas = || {
            steps.iter().filter_map(|step| match step {
                Step::Show { path, write: true } => Some(path.path()),
                _ => None,
            })
        };
        let protected = steps.iter().filter_map(|step| match step {
            Step::Show { path, write: false } | Step::Cover { path, .. } => Some(path.path()),
            _ => None,
        });
        let guarded = protected.filter_map(|place| {
            let area = areas().find(|area| place.starts_with(area))?;
            Some((area, place))
        });
        let mut cell = ALL_BYTES;
        let mut look = |path: &Path| {
            let mut entries = Entries::new();
            walk(path, &mut |path, mark| {
                let kept = keep(path, &mut cell).unwrap_or(Kept::Nothing);
                entries.insert(path.to_owned(), (mark, kept));
            });
            entries
        };
        let seals = guarded.map(|(area, place)| Seal {
            area: area.to_owned(),
            place: place.to_owned(),
            before: look(place),
        });
        Self(seals.collect())
    }

    /// The first place that is not what it was.
    pub(crate) fn broken(&self) -> Option<&Path> {
        let changed = self.0.iter().find(|Seal { place, before, .. }| {
            let mut now = BTreeMap::new();
            walk(place, &mut |path, mark| {
                now.insert(path.to_owned(), mark);
            });
            !before
                .iter()
                .map(|(path, (mark, _))| (path, mark))
                .eq(now.iter())
        });
        changed.map(|seal| seal.place.as_path())
    }

    /// Puts everything back as it was, as far as it was kept: what is new goes, what
    /// changed gets its content. Nothing of the command lives by now.
    pub(crate) fn restore(&self) {
        for Seal {
            area,
            place,
            before,
        } in &self.0
        {
            if before.is_empty() {
                let _ = remove(place);
                continue;
            }
            let _ = lead_to(area, place);
            let mut new = Vec::new();
            walk(place, &mut |path, _| {
                if !before.contains_key(path) {
                    new.push(path.to_owned());
                }
            });
            for path in new {
                let _ = remove(&path);
            }
            for (path, (mark, kept)) in before {
                if self::mark(path).ok() != Some(*mark)
                    && let Err(error) = put_back(path, kept)
                {
                    tracing::error!(path = %path.display(), %error, "a protected place could not be put back");
                }
            }
        }
    }
}

/// Makes the folders on the way to a place real ones again: what is written there
/// must not land where a link leads.
fn lead_to(area: &Path, place: &Path) -> io::Result<()> {
    let way: Vec<&Path> = place.ancestors().skip(1).collect();
    let below = |folder: &&&Path| folder.starts_with(area) && **folder != area;
    for folder in way.iter().rev().filter(below) {
        put_back(folder, &Kept::Folder)?;
    }
    Ok(())
}

fn put_back(path: &Path, kept: &Kept) -> io::Result<()> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    match kept {
        Kept::Nothing => Ok(()),
        Kept::Folder if is_folder => Ok(()),
        Kept::Folder => {
            remove(path)?;
            fs::create_dir(path)
        }
        Kept::Link(to) => {
            remove(path)?;
            symlink(to, path)
        }
        Kept::File(content, mode) => {
            remove(path)?;
            fs::write(path, content)?;
            fs::set_permissions(path, fs::Permissions::from_mode(*mode))
        }
    }
}

/// Removes whatever is there, if anything is.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn keep(path: &Path, cell: &mut u64) -> io::Result<Kept> {
    let found = fs::symlink_metadata(path)?;
    let is_object = path.iter().any(|part| part == "objects");
    Ok(if found.is_dir() {
        Kept::Folder
    } else if found.is_symlink() {
        Kept::Link(fs::read_link(path)?)
    } else if !found.is_file() || is_object || found.len() > FILE_BYTES.min(*cell) {
        Kept::Nothing
    } else {
        *cell -= found.len();
        Kept::File(fs::read(path)?, found.mode())
    })
}

fn walk(path: &Path, seen: &mut dyn FnMut(&Path, Mark)) {
    let mut open = vec![path.to_owned()];
    let mut count = 0;
    while let Some(path) = open.pop() {
        let Ok(mark) = mark(&path) else { continue };
        seen(&path, mark);
        count += 1;
        if count == MOST {
            return;
        }
        if path.is_dir() && !path.is_symlink() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            let mut below: Vec<_> = entries.map(|entry| entry.path()).collect();
            below.sort();
            open.extend(below);
        }
    }
}

fn mark(path: &Path) -> io::Result<Mark> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.ino(), found.size(), found.ctime(), found.ctime_nsec()))
}
