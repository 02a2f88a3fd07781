//! The caller's side: probe once, then start, watch and end helpers.

use std::{
    collections::BTreeMap,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    Command, Exit, HOME, Limits, Network, Profile, SandboxError, SelfTest, Stdin, TMP,
    process::{
        run,
        spawn::{self, Input, Prepared, Traces},
    },
    seal::Seals,
    self_test,
    spec::{Cell, Os, Report, Spec, VERSION},
    view::{
        self, Step, View, base_root,
        placeholder::Placeholder,
        plan::{Plan, Plans},
        system,
    },
};

/// How strong a sandbox this kernel gives us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strength {
    /// Namespaces, seccomp and (where offered) Landlock.
    Namespaces,
    /// Landlock and seccomp. No sockets at all. Inside the worktree nothing can be
    /// hidden, and a change of a protected place is noticed afterwards
    /// ([`SandboxError::Tampered`]) instead of prevented. Names and sizes of files
    /// and command lines of processes of the host can be seen.
    LandlockOnly {
        /// Why there are no namespaces.
        reason: String,
    },
    /// Nothing: commands are refused, unless a person said about the very command
    /// that it may run without ([`Sandbox::run_unconfined`]).
    None {
        /// What was tried and how it failed.
        reason: String,
    },
}

impl Strength {
    /// Whether the sandbox is whole: only then a command needs no approval.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        *self == Self::Namespaces
    }
}

/// Runs commands confined. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    helper: PathBuf,
    strength: Strength,
    base: Arc<[Step]>,
    plans: Plans,
    /// Placeholders that stay from one command to the next.
    placeholders: Option<Arc<Mutex<Vec<Placeholder>>>>,
}

impl Sandbox {
    /// Finds out what the kernel offers by building a sandbox once. `helper` is
    /// re-executed as `<helper> __sandbox`: the codebutler binary, which calls
    /// [`crate::helper_main`] then. Blocks for some milliseconds.
    pub fn new(helper: PathBuf) -> Result<Self, SandboxError> {
        Self::probed(helper, false)
    }

    /// The same for a process that will run commands soon: the helper that was
    /// started to find out is kept for the first one.
    pub fn new_in_use(helper: PathBuf) -> Result<Self, SandboxError> {
        Self::probed(helper, true)
    }

    fn probed(helper: PathBuf, keep: bool) -> Result<Self, SandboxError> {
        let mut sandbox = Self {
            helper,
            strength: Strength::Namespaces,
            base: system::base().into(),
            plans: Plans::default(),
            placeholders: None,
        };
        if let Err(reason) = sandbox.probe(keep)? {
            sandbox = sandbox.without_namespaces(&reason)?;
        }
        Ok(sandbox)
    }

    /// The same sandbox with the weaker confinement, for kernels that only some of a
    /// fleet's machines have, and for trying them.
    pub fn without_namespaces(mut self, reason: &str) -> Result<Self, SandboxError> {
        self.strength = Strength::LandlockOnly {
            reason: reason.to_owned(),
        };
        self.plans = Plans::default();
        if let Err(landlock) = self.probe(false)? {
            let reason = format!("no namespaces ({reason}), no Landlock ({landlock})");
            self.strength = Strength::None { reason };
        }
        Ok(self)
    }

    /// No confinement at all, as on a kernel that has none.
    #[must_use]
    pub fn without_sandbox(mut self, reason: &str) -> Self {
        self.strength = Strength::None {
            reason: reason.to_owned(),
        };
        self
    }

    /// What stands in the place of a protected path that does not exist stays
    /// from one command to the next, until the last clone of this sandbox is gone.
    /// Cheaper than making and removing it every time; for a process whose folder
    /// nobody sets up meanwhile.
    #[must_use]
    pub fn leaving_placeholders(mut self) -> Self {
        self.placeholders = Some(Arc::default());
        self
    }

    /// How strong the sandbox is, with reasons.
    #[must_use]
    pub fn strength(&self) -> Strength {
        self.strength.clone()
    }

    /// Runs `command` confined by `profile`, to its end.
    ///
    /// Output goes to `output` while it comes, up to the output limit; a slow
    /// receiver slows the command down, a dropped one is ignored. On timeout,
    /// cancel, or when this future is dropped, every process of it is killed.
    pub fn run<'a>(
        &'a self,
        command: &'a Command,
        profile: &'a Profile,
        cancel: &'a CancellationToken,
        output: Option<mpsc::Sender<Vec<u8>>>,
    ) -> BoxFuture<'a, Result<Exit, SandboxError>> {
        Box::pin(async move {
            self.run_noticing(true, command, profile, cancel, output)
                .await
        })
    }

    /// Runs a program that is talked to while it runs: what is written to the other end
    /// of `socket` it reads, and what it writes to its standard output comes back
    /// there. Its standard error is the output of the [`Exit`]. It ends as a command
    /// does, with all its processes; also when this process is killed.
    pub fn serve<'a>(
        &'a self,
        command: &'a Command,
        profile: &'a Profile,
        cancel: &'a CancellationToken,
        socket: OwnedFd,
    ) -> BoxFuture<'a, Result<Exit, SandboxError>> {
        Box::pin(async move {
            self.refuse_unconfined()?;
            let mut prepared = self.prepare(command.clone(), profile, true)?;
            prepared.stdin = Some(Input::Talk(socket));
            prepared.spec.stdin = true;
            prepared.spec.answers = true;
            self.follow(prepared, command, profile, cancel, None).await
        })
    }

    /// Runs a command unconfined, where the kernel offers nothing and a person said that this
    /// very command may run all the same. Refused where it can be confined. Limits hold
    /// as far as they can be measured, and nothing of it outlives it.
    pub fn run_unconfined<'a>(
        &'a self,
        command: &'a Command,
        profile: &'a Profile,
        cancel: &'a CancellationToken,
        output: Option<mpsc::Sender<Vec<u8>>>,
    ) -> BoxFuture<'a, Result<Exit, SandboxError>> {
        Box::pin(async move {
            if !matches!(self.strength, Strength::None { .. }) {
                return self.run(command, profile, cancel, output).await;
            }
            let mut given = command.clone();
            let folder = scratch(&mut given, &mut Vec::new())?;
            let traces = Traces {
                scratch: Some(folder),
                ..Traces::default()
            };
            let mut prepared = prepared(given, profile.limits, traces);
            prepared.spec.unconfined = true;
            self.follow(prepared, command, profile, cancel, output)
                .await
        })
    }

    /// Attacks the sandbox from inside; see [`SelfTest::holds`].
    pub fn self_test<'a>(&'a self) -> BoxFuture<'a, SelfTest> {
        Box::pin(async move { self_test::run(self).await })
    }

    /// Runs a command; `changes` of protected places are an error, or allowed to
    /// the self-test, which reports them itself.
    pub(crate) async fn run_noticing(
        &self,
        changes: bool,
        command: &Command,
        profile: &Profile,
        cancel: &CancellationToken,
        output: Option<mpsc::Sender<Vec<u8>>>,
    ) -> Result<Exit, SandboxError> {
        self.refuse_unconfined()?;
        // Looking at names on the disk: less than another thread would cost.
        let prepared = self.prepare(command.clone(), profile, changes)?;
        self.follow(prepared, command, profile, cancel, output)
            .await
    }

    fn refuse_unconfined(&self) -> Result<(), SandboxError> {
        match &self.strength {
            Strength::None { reason } => Err(SandboxError::Unconfined {
                reason: reason.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Has a command started and follows it to its end.
    async fn follow(
        &self,
        prepared: Prepared,
        command: &Command,
        profile: &Profile,
        cancel: &CancellationToken,
        output: Option<mpsc::Sender<Vec<u8>>>,
    ) -> Result<Exit, SandboxError> {
        let since = Instant::now();
        let (sender, started) = oneshot::channel();
        spawn::start(self.helper.clone(), prepared, move |answer| {
            // A caller that is gone drops the helper, which ends it.
            let _ = sender.send(answer);
        });
        let started = started.await.map_err(|_| lost("starting it"))??;
        let program = command.argv.first().cloned().unwrap_or_default();
        run::to_the_end(started, &program, &profile.limits, cancel, output, since).await
    }

    /// The executable that is re-executed.
    pub(crate) fn helper(&self) -> &Path {
        &self.helper
    }

    fn prepare(
        &self,
        mut command: Command,
        profile: &Profile,
        changes: bool,
    ) -> Result<Prepared, SandboxError> {
        let plan = match self.plans.find(profile) {
            Some(plan) => plan,
            None => self.plan(profile)?,
        };
        let placeholders = plan.missing.iter().map(|path| self.stand_in(path));
        let placeholders = placeholders.collect::<Result<_, _>>()?;
        let (mut scratch, mut landlock, mut seals) = (None, None, Seals::default());
        if self.strength != Strength::Namespaces {
            let mut steps = plan.steps.clone();
            scratch = Some(self::scratch(&mut command, &mut steps)?);
            landlock = Some(view::for_landlock(&steps));
            if changes {
                seals = Seals::of(&steps);
            }
        }
        let traces = Traces {
            placeholders,
            scratch,
        };
        let mut prepared = prepared(command, profile.limits, traces);
        prepared.base_root.clone_from(&plan.base_root);
        prepared.again = plan.again;
        // A placeholder that goes with its command is another one next time.
        prepared.ahead = plan.missing.is_empty() || self.placeholders.is_some();
        prepared.cell.steps.clone_from(&plan.steps);
        prepared.spec.landlock = landlock;
        prepared.seals = seals;
        Ok(prepared)
    }

    fn stand_in(&self, path: &Path) -> Result<Placeholder, SandboxError> {
        let take = || {
            Placeholder::take(path).map_err(|source| view::unusable("protected path", path, source))
        };
        if let Some(placeholders) = &self.placeholders {
            let mut placeholders = placeholders.lock().unwrap_or_else(PoisonError::into_inner);
            if !placeholders.iter().any(|one| one.is_at(path)) {
                placeholders.push(take()?);
            }
        }
        take()
    }

    /// Works out what commands with the places of `profile` see.
    fn plan(&self, profile: &Profile) -> Result<Arc<Plan>, SandboxError> {
        let mut base = self.base.to_vec();
        if profile.network == Network::Host {
            base.extend(system::resolver());
        }
        let mut view = view::plan(&base, profile)?;
        let (base_root, again) = match self.strength {
            Strength::Namespaces => {
                let (base_root, again) = base_root::split(&mut view, &base, profile.network);
                (Some(Arc::new(base_root)), again)
            }
            _ => (None, false),
        };
        let plan = Arc::new(Plan {
            profile: profile.clone(),
            base_root,
            again,
            steps: view.steps,
            missing: view.missing,
            looks: view.looks,
        });
        // How names are looked up on the host's network is looked up each time.
        if profile.network == Network::Loopback {
            self.plans.keep(&plan);
        }
        Ok(plan)
    }

    /// Builds a sandbox around nothing. The inner error is the kernel's. The helper
    /// can be kept for a command.
    fn probe(&self, keep: bool) -> Result<Result<(), String>, SandboxError> {
        let limits = Limits::default();
        let mut view = View {
            steps: self.base.to_vec(),
            ..View::default()
        };
        let (mut base_root, mut landlock) = (None, None);
        if self.strength == Strength::Namespaces {
            let (split, _) = base_root::split(&mut view, &self.base, Network::Loopback);
            base_root = Some(Arc::new(split));
        } else {
            landlock = Some(view::for_landlock(&view.steps));
        }
        let (sender, started) = std::sync::mpsc::sync_channel(1);
        let mut prepared = prepared(nothing(), limits, Traces::default());
        prepared.base_root = base_root;
        // Not built ahead: the next command has a worktree, and sees more.
        prepared.again = keep;
        prepared.cell.steps = view.steps;
        prepared.spec.landlock = landlock;
        spawn::start(self.helper.clone(), prepared, move |answer| {
            let _ = sender.send(answer);
        });
        let started = started.recv().map_err(|_| lost("probing"))??;
        let text =
            std::io::read_to_string(started.report).map_err(|source| SandboxError::Lost {
                step: "probing",
                source,
            })?;
        let outcome = match run::first_report(&text) {
            Ok(Report::Exited(0)) => Ok(()),
            Ok(Report::SetUp { step, detail }) => Err(format!("{step}: {detail}")),
            Ok(other) => Err(format!("unexpected report {other:?}")),
            Err(text) => Err(text),
        };
        if keep && outcome.is_ok() {
            started.leash.let_go();
            return Ok(outcome);
        }
        started.leash.wait().map_err(|source| SandboxError::Lost {
            step: "probing",
            source,
        })?;
        Ok(outcome)
    }
}

/// Runs nothing.
fn nothing() -> Command {
    Command {
        argv: Vec::new(),
        direct: Vec::new(),
        env: BTreeMap::new(),
        cwd: "/".into(),
        stdin: Stdin::Null,
        sockets: true,
    }
}

/// A command, not confined yet.
fn prepared(command: Command, limits: Limits, traces: Traces) -> Prepared {
    let stdin = match command.stdin {
        Stdin::Null => None,
        Stdin::Bytes(bytes) => Some(Input::Bytes(bytes)),
    };
    let env = command.env.into_iter();
    Prepared {
        base_root: None,
        again: false,
        ahead: false,
        cell: Cell {
            steps: Vec::new(),
            limits,
            sockets: command.sockets,
        },
        spec: Spec {
            version: VERSION,
            caller: std::process::id().cast_signed(),
            argv: command.argv.into_iter().map(Os).collect(),
            direct: command.direct.into_iter().map(Os).collect(),
            env: env.map(|(name, value)| (Os(name), Os(value))).collect(),
            cwd: command.cwd.into(),
            stdin: stdin.is_some(),
            sockets: command.sockets,
            answers: false,
            landlock: None,
            unconfined: false,
            limits,
        },
        stdin,
        traces,
        seals: Seals::default(),
    }
}

/// Without namespaces home and temporary folder are real ones, so every value
/// that names those inside is changed to them.
fn scratch(command: &mut Command, steps: &mut Vec<Step>) -> Result<TempDir, SandboxError> {
    let folder = tempfile::Builder::new().prefix("codebutler-").tempdir();
    let folder = folder.map_err(|source| SandboxError::Path {
        what: "temporary folder",
        path: std::env::temp_dir(),
        source,
    })?;
    for value in command.env.values_mut() {
        if value == HOME || value == TMP {
            *value = folder.path().into();
        }
    }
    steps.push(Step::Show {
        path: folder.path().into(),
        write: true,
    });
    Ok(folder)
}

pub(crate) fn lost(step: &'static str) -> SandboxError {
    let source = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    SandboxError::Lost { step, source }
}
