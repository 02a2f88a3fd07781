//! Where git runs. Whatever may look at files of a working tree, or at a repository
//! nested in it, runs in the sandbox: a command of an agent may have put anything
//! there, and git is easily talked into starting programs. Inside there is no
//! network, no home and no credential, and nothing of the clone can be written but
//! the git state of this one worktree; objects go into a folder of their own and
//! are taken over by `objects` afterwards. What runs outside is in `outside`.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use butler_protocol::among;
use butler_sandbox::{Command, Ended as End, Exit, Limits, Profile, Sandbox, Stdin, Strength};
use tokio_util::sync::CancellationToken;

use super::{
    call_folder::CallFolder, clean_config::clean_config_of, local_config::Places, objects,
    process::OUTPUT_LIMIT,
};
use crate::{Error, Output, Result};

/// What leaves even the git state of the worktree as it is.
const READS: &str = "status diff diff-tree ls-files log show cherry merge-tree";

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
    pub(super) async fn run(self, cancel: Option<&CancellationToken>) -> Result<Output> {
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
            direct: Vec::new(),
            env,
            cwd: self.tree.unwrap_or(&self.folder.path).to_owned(),
            stdin: match &self.input {
                Some(bytes) => Stdin::Bytes(bytes.clone()),
                None => Stdin::Null,
            },
            // What speaks with others runs elsewhere.
            sockets: false,
        }
    }

    fn profile(&self, env: &BTreeMap<OsString, OsString>) -> Profile {
        let Places { own, common } = self.places;
        let scratch = self.folder.path.parent().unwrap_or(&self.folder.path);
        let own_index = env
            .get(OsStr::new("GIT_INDEX_FILE"))
            .is_some_and(|index| Path::new(index).starts_with(scratch));
        let first = self.args.first().and_then(|arg| arg.to_str());
        let reads = own_index || first.is_some_and(|first| among(READS, first));
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

    fn ended(self, exit: Exit, stderr: &[u8]) -> Result<Output> {
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
        Ok(Output {
            command,
            code: code.unwrap_or(-1),
            stdout: exit.output,
            stderr,
        })
    }
}
