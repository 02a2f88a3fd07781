//! Walks a folder on several threads, by descriptor.
//!
//! Each folder is opened below the descriptor of its parent and never through
//! a link, so that a folder that is swapped for a link while we walk leads
//! nowhere. `.gitignore` and `.ignore` files are honoured, git's own data and
//! the runtime's folders are left out, hidden files are not, and the team's own
//! folder at the top only for whoever asks for it.
//!
//! The work is a stack of folders under one lock: threads take from its top, so
//! the walk goes deep first and few folders are open at a time.

mod rules;

use std::{
    ffi::{CStr, CString},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Condvar, Mutex, PoisonError},
};

use butler_policy::Scope;
use rules::Rules;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use tokio_util::sync::CancellationToken;

use crate::{Inside, PlaceError, Workplace};

/// More threads than this only wait for each other.
const MOST_THREADS: usize = 12;

/// Files of one folder that are handed to another thread together.
const CHUNK: usize = 512;

/// Whether the team's own `.codebutler/` at the top is walked. What is named
/// outright as the start always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Team {
    /// Like any folder.
    Shown,
    /// Left out: it would fill every search for code.
    Hidden,
}

impl Team {
    /// Shown to whoever names it in a pattern, and to a role whose limits are in it.
    pub(crate) fn asked_for(pattern: Option<&str>, scope: Option<Scope>) -> Self {
        let named = pattern.is_some_and(|pattern| pattern.contains(TEAM));
        if named || scope.is_some() {
            Self::Shown
        } else {
            Self::Hidden
        }
    }
}

const TEAM: &str = ".codebutler";

/// A regular file that a walk came across.
pub(crate) struct Found<'a> {
    pub folder: BorrowedFd<'a>,
    pub name: &'a CStr,
    /// Its path from the root, bytes that are not UTF-8 replaced.
    pub path: &'a str,
}

/// Calls `visit` for every regular file below `start`. Each thread has its own
/// `T`, made by `make`; all of them are returned.
pub(crate) fn walk<T: Send>(
    place: &Workplace,
    start: &Inside,
    team: Team,
    cancel: &CancellationToken,
    make: impl Fn() -> T + Sync,
    visit: impl Fn(&mut T, &Found<'_>) + Sync,
) -> Result<Vec<T>, PlaceError> {
    let (fd, real) = place.open_folder(start)?;
    let rules = Rules::above(place, &real);
    let pool = Pool::new(Job::Folder {
        parent: Arc::new(fd),
        name: c".".to_owned(),
        path: real.as_str().to_owned(),
        rules,
    });
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let threads = threads.clamp(1, MOST_THREADS);
    let work = || {
        let mut own = make();
        let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
        while let Some(job) = pool.take() {
            if !cancel.is_cancelled() {
                let more = job.run(team, &mut buffer, &mut |found| visit(&mut own, found));
                pool.add(more);
            }
            pool.done();
        }
        own
    };
    Ok(std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![work()];
        for other in others {
            match other.join() {
                Ok(own) => all.push(own),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    }))
}

/// What one thread does at a time.
enum Job {
    Folder {
        parent: Arc<OwnedFd>,
        name: CString,
        path: String,
        rules: Option<Arc<Rules>>,
    },
    Files {
        folder: Arc<OwnedFd>,
        files: Vec<(CString, String)>,
    },
}

impl Job {
    /// Visits the files, returns what is left to do.
    fn run(
        self,
        team: Team,
        buffer: &mut [MaybeUninit<u8>],
        visit: &mut dyn FnMut(&Found<'_>),
    ) -> Vec<Job> {
        match self {
            Job::Files { folder, files } => {
                for (name, path) in &files {
                    visit(&Found {
                        folder: folder.as_fd(),
                        name,
                        path,
                    });
                }
                Vec::new()
            }
            Job::Folder {
                parent,
                name,
                path,
                rules,
            } => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                // What vanished or became a link meanwhile is not there for us.
                match rustix::fs::openat(&parent, &name, flags, Mode::empty()) {
                    Ok(fd) => list((&Arc::new(fd), &path), rules, team, buffer, visit),
                    Err(_) => Vec::new(),
                }
            }
        }
    }
}

fn list(
    (folder, path): (&Arc<OwnedFd>, &str),
    rules: Option<Arc<Rules>>,
    team: Team,
    buffer: &mut [MaybeUninit<u8>],
    visit: &mut dyn FnMut(&Found<'_>),
) -> Vec<Job> {
    let entries = entries(folder.as_fd(), buffer);
    let rules = if entries.iter().any(|(name, _)| rules::is_rule_file(name)) {
        Rules::with_folder(rules, folder.as_fd(), path)
    } else {
        rules
    };
    let here = Inside::from_walk(path);
    let mut jobs = Vec::new();
    let mut files = Vec::new();
    for (name, kind) in entries {
        let shown = name.to_string_lossy();
        let teams_own = team == Team::Hidden && path.is_empty() && shown == TEAM;
        if teams_own || here.hides_from_walks(&shown) {
            continue;
        }
        let child = if path.is_empty() {
            shown.into_owned()
        } else {
            format!("{path}/{shown}")
        };
        let is_folder = kind == FileType::Directory;
        if rules
            .as_ref()
            .is_some_and(|rules| rules.ignores(&child, is_folder))
        {
            continue;
        }
        match kind {
            FileType::Directory => jobs.push(Job::Folder {
                parent: folder.clone(),
                name,
                path: child,
                rules: rules.clone(),
            }),
            FileType::RegularFile => files.push((name, child)),
            _ => {}
        }
    }
    // A folder of very many files is shared; the first part stays here.
    while files.len() > CHUNK {
        let files = files.split_off(files.len() - CHUNK);
        jobs.push(Job::Files {
            folder: folder.clone(),
            files,
        });
    }
    for (name, path) in &files {
        visit(&Found {
            folder: folder.as_fd(),
            name,
            path,
        });
    }
    jobs
}

/// Names and kinds; a folder that cannot be read is empty.
fn entries(folder: BorrowedFd<'_>, buffer: &mut [MaybeUninit<u8>]) -> Vec<(CString, FileType)> {
    let mut entries = Vec::new();
    let mut raw = RawDir::new(folder, buffer);
    while let Some(Ok(entry)) = raw.next() {
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say it here.
            FileType::Unknown => {
                match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                }
            }
            kind => kind,
        };
        entries.push((name.to_owned(), kind));
    }
    entries
}

/// The jobs that wait, and how many threads are busy.
struct Pool {
    state: Mutex<(Vec<Job>, usize)>,
    changed: Condvar,
}

impl Pool {
    fn new(first: Job) -> Self {
        Self {
            state: Mutex::new((vec![first], 0)),
            changed: Condvar::new(),
        }
    }

    /// The next job; nothing when no thread can bring another one.
    fn take(&self) -> Option<Job> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = state.0.pop() {
                state.1 += 1;
                return Some(job);
            }
            if state.1 == 0 {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn add(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.extend(jobs);
        self.changed.notify_all();
    }

    fn done(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 -= 1;
        if state.1 == 0 && state.0.is_empty() {
            self.changed.notify_all();
        }
    }
}
