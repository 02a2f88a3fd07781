//! Where git runs. Whatever may look at files of a working tree, or at a repository
//! nested in it, runs in the sandbox: a command of an agent may have put anything
//! there, and git is easily talked into starting programs. Inside there is no
//! network, no home and no credential, and nothing of the clone can be written but
//! the git state of this one worktree; objects go into a folder of their own and
//! are taken over by `objects` afterwards.
//!
//! Outside runs what is in [`OUTSIDE`], without any working tree.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use butler_sandbox::{Command, Ended as End, Exit, Limits, Profile, Sandbox, Stdin, Strength};
use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};
use tokio_util::sync::CancellationToken;

use super::{
    clean_config::clean_config_of,
    local_config::Places,
    objects,
    process::{Ended, OUTPUT_LIMIT},
};
use crate::{Error, Result, worktree::delete};

/// A command that reads no working tree, and what it must say for that.
struct Outside {
    command: &'static str,
    must_say: &'static [&'static str],
}

/// What runs outside. All of it has the git folder as its place (or, to find a remote,
/// the clone's top as its folder) and no working tree, so that no attribute, filter, hook, monitor or nested repository is
/// looked at; config that names programs is taken away as everywhere.
const OUTSIDE: &[Outside] = &[
    // To the remote and back, with the person's credentials: objects and refs.
    plain("fetch"),
    plain("push"),
    plain("ls-remote"),
    // Config files, as text.
    plain("config"),
    plain("remote"),
    plain("check-ref-format"),
    // Refs, and the commits that they name.
    plain("for-each-ref"),
    plain("update-ref"),
    plain("symbolic-ref"),
    plain("rev-parse"),
    plain("rev-list"),
    plain("merge-base"),
    // Objects as they are stored; their content is looked at by nobody.
    plain("cat-file"),
    plain("ls-tree"),
    plain("mktree"),
    plain("mktag"),
    plain("commit-tree"),
    // Is told the bytes of files, and looks at none.
    plain("fast-import"),
    Outside {
        command: "hash-object",
        must_say: &["--stdin", "--no-filters"],
    },
    // Makes a new repository that has no files.
    Outside {
        command: "init",
        must_say: &["--bare", "--template="],
    },
    // Makes an empty folder and the file in it that leads to the git state.
    Outside {
        command: "worktree",
        must_say: &["add", "--no-checkout"],
    },
];

/// What leaves even the git state of the worktree as it is.
const READS: &[&str] = &[
    "status",
    "diff",
    "diff-tree",
    "ls-files",
    "log",
    "show",
    "cherry",
    "merge-tree",
];

const fn plain(command: &'static str) -> Outside {
    Outside {
        command,
        must_say: &[],
    }
}

/// Whether a command may run outside.
pub(super) fn is_outside(args: &[OsString]) -> bool {
    let says = |word: &&str| args.iter().any(|arg| arg == word);
    OUTSIDE.iter().any(|outside| {
        args.first().is_some_and(|first| first == outside.command)
            && outside.must_say.iter().all(says)
    })
}

/// Whether a command goes to the remote.
pub(super) fn is_remote(args: &[OsString]) -> bool {
    let remote = ["fetch", "push", "ls-remote"];
    args.first()
        .is_some_and(|first| remote.iter().any(|one| first == one))
}

static HELPER: OnceLock<PathBuf> = OnceLock::new();
static SANDBOX: OnceLock<Option<Sandbox>> = OnceLock::new();

/// Says which executable confines git: as for [`Sandbox::new`]. For the whole process,
/// and the first one counts.
pub fn confine_with(helper: PathBuf) {
    let _ = HELPER.set(helper);
}

/// The sandbox, looked for at the first need. Nothing where the kernel offers none.
pub(super) fn sandbox() -> Option<&'static Sandbox> {
    let found = SANDBOX.get_or_init(|| {
        let sandbox = HELPER.get().cloned().map(Sandbox::new);
        let reason = match sandbox {
            Some(Ok(sandbox)) => match sandbox.strength() {
                Strength::None { reason } => reason,
                _ => return Some(sandbox),
            },
            Some(Err(error)) => error.to_string(),
            None => "nobody said how".to_owned(),
        };
        tracing::warn!(
            reason,
            "git on working trees runs without a sandbox; nested repositories are not looked at"
        );
        None
    });
    found.as_ref()
}

/// A folder for one call: what git says on standard error, and new objects.
pub(super) struct CallFolder {
    common: PathBuf,
    parent: String,
    name: String,
    pub path: PathBuf,
}

/// Below the folder that all worktrees share.
const WAY: [&str; 2] = ["codebutler", "tmp"];

impl CallFolder {
    pub(super) fn new(places: &Places, dir: &Path) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let parent = scratch_name(dir);
        let name = COUNT.fetch_add(1, Ordering::Relaxed).to_string();
        let path = scratch(places, dir)?.join(&name);
        private_folder(&path.join("objects"))?;
        Ok(Self {
            common: places.common.clone(),
            parent,
            name,
            path,
        })
    }

    /// Takes over the objects if they are to be kept, and deletes the rest.
    pub(super) async fn close(&self, keep: bool) -> Result<()> {
        let (from, to) = (self.path.join("objects"), self.common.join("objects"));
        if keep {
            let taken = tokio::task::spawn_blocking(move || objects::take_over(&from, &to)).await;
            taken.unwrap_or_else(|lost| Err(Error::file(&self.path)(io::Error::other(lost))))?;
        }
        let way = [WAY[0], WAY[1], &self.parent];
        delete::folder(&self.common, &way, &self.name, |_| true).await
    }
}

/// The folder of one process for one working tree: scratch files of its calls.
pub(crate) fn scratch(places: &Places, dir: &Path) -> Result<PathBuf> {
    let path = places.common.join(WAY.join("/")).join(scratch_name(dir));
    private_folder(&path)?;
    Ok(path)
}

fn scratch_name(dir: &Path) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    dir.hash(&mut hasher);
    format!("{}-{:016x}", std::process::id(), hasher.finish())
}

fn private_folder(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.map_err(Error::file(path))
}

/// Deletes what processes left that are gone, after taking over objects of theirs:
/// a rebase that they were in the middle of needs them.
pub(crate) async fn clear_scratch(common: &Path) -> Result<()> {
    let listed = fs::read_dir(common.join(WAY.join("/")));
    for entry in listed.into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name
            .split('-')
            .next()
            .and_then(|number| number.parse().ok());
        let process = process.and_then(Pid::from_raw);
        if process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH)) {
            continue;
        }
        for call in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
            let from = call.path().join("objects");
            if from.is_dir() {
                objects::take_over(&from, &common.join("objects"))?;
            }
        }
        delete::folder(common, &WAY, &name, |_| true).await?;
    }
    Ok(())
}

/// A call in the sandbox.
pub(super) struct Inside<'a> {
    pub sandbox: &'a Sandbox,
    pub places: &'a Places,
    /// The working tree, if the call is about one.
    pub tree: Option<&'a Path>,
    pub folder: &'a CallFolder,
    pub args: &'a [OsString],
    pub variables: Vec<(OsString, OsString)>,
    pub input: Option<Vec<u8>>,
    pub deadline: Duration,
    pub shown: String,
}

impl Inside<'_> {
    pub(super) async fn run(self, cancel: Option<&CancellationToken>) -> Result<Ended> {
        let errors = self.folder.path.join("errors");
        let never = CancellationToken::new();
        let command = self.command(&errors);
        let profile = self.profile(&command.env);
        let ran = self
            .sandbox
            .run(&command, &profile, cancel.unwrap_or(&never), None)
            .await;
        let exit = ran.map_err(|source| Error::Start {
            command: self.shown.clone(),
            source: io::Error::other(source),
        })?;
        let mut stderr = fs::read(errors).unwrap_or_default();
        stderr.truncate(OUTPUT_LIMIT);
        self.ended(exit, &stderr)
    }

    /// The shell only parts the two outputs, and then is git.
    fn command(&self, errors: &Path) -> Command {
        let mut argv: Vec<OsString> = ["/bin/sh", "-c", "exec git \"$@\" 2>\"$0\""]
            .map(Into::into)
            .into();
        argv.push(errors.into());
        argv.extend(self.args.iter().cloned());
        let home = std::env::home_dir().unwrap_or_default();
        let mut env = butler_sandbox::scrubbed_env(&home, []);
        env.extend(self.variables.iter().cloned());
        Command {
            argv,
            env,
            cwd: self.tree.unwrap_or(&self.folder.path).to_owned(),
            stdin: match &self.input {
                Some(bytes) => Stdin::Bytes(bytes.clone()),
                None => Stdin::Null,
            },
        }
    }

    fn profile(&self, env: &BTreeMap<OsString, OsString>) -> Profile {
        let Places { own, common } = self.places;
        let scratch = self.folder.path.parent().unwrap_or(&self.folder.path);
        let own_index = env
            .get(OsStr::new("GIT_INDEX_FILE"))
            .is_some_and(|index| Path::new(index).starts_with(scratch));
        let first = self.args.first().and_then(|arg| arg.to_str());
        let reads = own_index || first.is_some_and(|first| READS.contains(&first));
        let mut profile = match self.tree {
            Some(tree) if !reads => {
                let mut profile = Profile::new(tree);
                profile.writable = vec![own.clone(), scratch.to_owned()];
                let fixed = ["gitdir", "commondir", "config.worktree", "codebutler"];
                let fixed = fixed.iter().map(|name| own.join(name));
                profile.protected = fixed.filter(|path| path.exists()).collect();
                profile.protected.push(tree.join(".git"));
                profile
            }
            _ => {
                let mut profile = Profile::new(scratch);
                profile.protected.extend(self.tree.map(Path::to_owned));
                profile.protected.push(own.clone());
                profile
            }
        };
        profile.protected.push(common.clone());
        profile
            .protected
            .extend(objects::alternates(&common.join("objects")));
        match clean_config_of(common) {
            Some(clean) => profile.instead.push((clean.at, clean.from)),
            None => profile.hidden.push(common.join("config")),
        }
        profile.limits = Limits {
            wall: self.deadline,
            output_bytes: OUTPUT_LIMIT,
            ..Limits::default()
        };
        profile
    }

    fn ended(self, exit: Exit, stderr: &[u8]) -> Result<Ended> {
        let command = self.shown;
        let stderr = String::from_utf8_lossy(stderr).trim().to_owned();
        let stopped = |why: &str| Error::Failed {
            command: command.clone(),
            code: -9,
            stderr: format!("{why} {stderr}").trim().to_owned(),
        };
        match exit.ended {
            End::Itself => {}
            End::TimedOut => {
                let seconds = self.deadline.as_secs();
                return Err(Error::Deadline { command, seconds });
            }
            End::Cancelled => return Err(Error::Cancelled { what: command }),
            End::OutputFlood => {
                let limit = OUTPUT_LIMIT;
                return Err(Error::TooMuch { command, limit });
            }
            End::OutOfMemory => return Err(stopped("it used too much memory.")),
            End::TooManyProcesses => return Err(stopped("it started too many processes.")),
            End::DiskFull => return Err(stopped("it wrote too much to the disk.")),
        }
        if exit.cut > 0 {
            let limit = OUTPUT_LIMIT;
            return Err(Error::TooMuch { command, limit });
        }
        let code = exit.code.or(exit.signal.map(|signal| -signal));
        Ok(Ended {
            command,
            code: code.unwrap_or(-1),
            stdout: exit.output,
            stderr,
        })
    }
}

/// The environment that makes git write new objects here and read all others there.
pub(super) fn object_places(folder: &CallFolder) -> [(OsString, OsString); 2] {
    let all = folder.common.join("objects");
    // Quoted, because a colon would part two folders.
    let text = all.to_string_lossy();
    let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    [
        (
            "GIT_OBJECT_DIRECTORY".into(),
            folder.path.join("objects").into(),
        ),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), quoted.into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_no_working_tree_runs_outside() {
        let outside = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(Into::into).collect();
            is_outside(&args)
        };
        for line in [
            "fetch origin",
            "push origin a:b",
            "worktree add --no-checkout x",
            "hash-object -w --stdin --no-filters",
        ] {
            assert!(outside(line), "{line}");
        }
        for line in [
            "status",
            "diff HEAD",
            "add .",
            "worktree add x",
            "worktree remove --no-checkout x",
            "hash-object -w file",
            "merge-tree a b",
            "rebase main",
            "-c x=y status",
            "stash",
        ] {
            assert!(!outside(line), "{line}");
        }
    }
}
