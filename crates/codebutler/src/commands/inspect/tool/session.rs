//! Where calls by hand are judged and run. The way is that of an activation:
//! the executor judges, the permit runs. What differs is who asks: a person, so
//! that the plan counts as approved, and nobody is there to click on a card.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use butler_config::machine_folder;
use butler_policy::{Circumstances, Judgement, Overrides, Question, default_tools};
use butler_protocol::{CallId, ChannelId, MessageTs, Role, ThreadId, ToolCall, ToolOutcome};
use butler_sandbox::Sandbox;
use butler_tools::{Executor, Registry, Surroundings, ToolContext, Workplace};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    CliError,
    commands::{environment, settings_around},
    log, process, wiring,
};

/// Folders kept open at once; each holds a descriptor.
const PLACES: usize = 64;

/// A call as it was typed.
pub(crate) struct HandCall {
    pub role: Role,
    pub tool: String,
    pub input: Value,
}

/// One sandbox, and the folders in which tools were called.
pub(crate) struct ToolSession {
    executor: Executor,
    sandbox: Arc<Sandbox>,
    thread: ThreadId,
    cancel: CancellationToken,
    calls: u64,
    /// The one used last stands last.
    places: Vec<Place>,
}

struct Place {
    folder: Folder,
    context: ToolContext,
    overrides: Overrides,
}

/// A folder, and which one: another may have taken its name since.
#[derive(PartialEq, Eq)]
struct Folder {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl ToolSession {
    pub(crate) async fn open(cancel: CancellationToken) -> Result<Self, CliError> {
        let helper = env::current_exe()?;
        let sandbox = tokio::task::spawn_blocking(move || Sandbox::new(helper)).await;
        let sandbox = sandbox
            .map_err(CliError::internal)?
            .map_err(CliError::internal)?;
        Ok(Self {
            executor: Executor::new(Registry::native()),
            sandbox: Arc::new(sandbox),
            thread: ThreadId::new(ChannelId::new("hand"), MessageTs::from_parts(0, 0)),
            cancel,
            calls: 0,
            places: Vec::new(),
        })
    }

    /// Judges and runs one call in `root`.
    pub(crate) async fn call(
        &mut self,
        root: &Path,
        call: HandCall,
    ) -> Result<ToolOutcome, CliError> {
        if self.is_elsewhere(&call.tool) {
            return Ok(ToolOutcome::error(format!(
                "refused: {} needs a thread of the team and cannot be tried by hand",
                call.tool
            )));
        }
        self.calls += 1;
        let role = call.role;
        let call = ToolCall {
            id: CallId::new(format!("hand{:05}", self.calls)),
            name: call.tool,
            arguments: call.input,
            problem: None,
        };
        let at = self.place(root).await?;
        let place = &self.places[at];
        let root = place.context.workplace().root().display().to_string();
        let circumstances = Circumstances {
            role,
            thread: &self.thread,
            plan_approved: true,
            now_ms: log::now_ms(),
            approvals: &[],
            overrides: &place.overrides,
            root: &root,
            home: butler_sandbox::HOME,
            tainted: false,
            known_hosts: &[],
            outside_tools: &[],
            sandboxed: self.sandbox.strength().is_whole(),
        };
        Ok(match self.executor.judge(&call, &circumstances) {
            Judgement::Run(permit) => self.executor.run(&call, permit, &place.context).await,
            Judgement::Ask(question) => ToolOutcome::error(refused(&question)),
            Judgement::Refuse(refusal) => ToolOutcome::error(refusal.to_string()),
        })
    }

    /// Ends what still runs in the background.
    pub(crate) async fn close(self) {
        for place in &self.places {
            place.context.jobs().stop_all().await;
        }
    }

    /// Whether agents have this tool and a terminal does not.
    fn is_elsewhere(&self, tool: &str) -> bool {
        let known = |role: Role| default_tools(role).contains(&tool);
        self.executor.registry().get(tool).is_none() && Role::ALL.into_iter().any(known)
    }

    /// The index of the place for `root`, opened unless it is.
    async fn place(&mut self, root: &Path) -> Result<usize, CliError> {
        let folder = Folder::at(root)?;
        let place = match self.places.iter().position(|place| place.folder == folder) {
            Some(at) => self.places.remove(at),
            None => self.open_place(folder)?,
        };
        if self.places.len() >= PLACES {
            self.places.remove(0).context.jobs().stop_all().await;
        }
        self.places.push(place);
        Ok(self.places.len() - 1)
    }

    fn open_place(&self, folder: Folder) -> Result<Place, CliError> {
        let settings = settings_around(&folder.path)?;
        let mut hidden: Vec<PathBuf> = machine_folder(&environment).into_iter().collect();
        let (mut checks, mut overrides) = (Vec::new(), Overrides::default());
        if let Some(settings) = &settings {
            hidden.push(settings.root.join(butler_config::FOLDER).join("threads"));
            checks = wiring::checks(settings);
            overrides = wiring::overrides(settings);
        }
        let surroundings = Surroundings {
            home: process::person_home(),
            hidden,
            ca_file: settings
                .as_ref()
                .and_then(|settings| settings.machine.network.ca_file.clone())
                .map(PathBuf::from),
            ..Surroundings::default()
        };
        let workplace =
            Workplace::open(&folder.path, checks, surroundings).map_err(CliError::user)?;
        let context = ToolContext::new(Arc::new(workplace), self.cancel.child_token());
        Ok(Place {
            folder,
            context: context.with_sandbox(Arc::clone(&self.sandbox)),
            overrides,
        })
    }
}

impl Folder {
    fn at(root: &Path) -> Result<Self, CliError> {
        let about = |error| CliError::user(format!("folder {}: {error}", root.display()));
        let path = fs::canonicalize(root).map_err(about)?;
        let what = fs::metadata(&path).map_err(about)?;
        Ok(Self {
            path,
            device: what.dev(),
            inode: what.ino(),
        })
    }
}

/// What would be on the card, as a refusal.
fn refused(question: &Question) -> String {
    let tier = question.tier.as_str();
    let part = match &question.part {
        Some(part) => format!(" (`{part}`)"),
        None => String::new(),
    };
    format!(
        "refused: {tier}: {}{part}; in a thread a person would be asked, here nobody is",
        question.reason
    )
}
