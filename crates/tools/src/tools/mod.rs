//! The native tools, one file each.

mod bash;
mod change;
mod checklist;
mod edit;
mod git;
mod git_diff;
mod git_log;
mod git_status;
mod glob;
mod grep;
mod mismatch;
mod read;
mod run_checks;
mod screenshot;
mod web_fetch;
mod web_search;
mod write;

pub use bash::Bash;
pub use checklist::{Checklist, Step, StepState};
pub use edit::Edit;
pub use git_diff::GitDiff;
pub use git_log::GitLog;
pub use git_status::GitStatus;
pub use glob::Glob;
pub use grep::Grep;
pub use read::Read;
pub use run_checks::RunChecks;
pub use screenshot::Screenshot;
pub use web_fetch::WebFetch;
pub(crate) use web_fetch::leaks;
pub(crate) use web_search::WebSearch;
pub use write::Write;

use std::{path::Path, sync::Arc};

use butler_policy::{Permit, Scope};
use butler_protocol::{ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Inside, PlaceError, Surroundings, Tool, ToolContext, Workplace, call::schema};

/// What every native tool says in the same way: its name, what the model is told (its
/// own `DESCRIPTION` and `Input`), how far it reaches, what a crash in the middle means;
/// and that its `work` gets the input as it was read.
macro_rules! introduce {
    ($name:expr, $tier:ident, $crash:ident) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn spec(&self) -> butler_protocol::ToolSpec {
            $crate::tools::spec::<Input>($name, DESCRIPTION)
        }

        fn tier(&self) -> butler_protocol::Tier {
            butler_protocol::Tier::$tier
        }

        fn crash(&self) -> butler_protocol::CrashClass {
            butler_protocol::CrashClass::$crash
        }

        fn run<'a>(
            &'a self,
            permit: &'a butler_policy::Permit,
            input: &'a serde_json::Value,
            context: &'a $crate::ToolContext,
        ) -> futures_util::future::BoxFuture<'a, butler_protocol::ToolOutcome> {
            Box::pin(async move {
                let work = async {
                    self.work(permit, $crate::tools::parse(input)?, context)
                        .await
                };
                $crate::tools::told(work.await)
            })
        }
    };
}
pub(crate) use introduce;

/// Why a call has no result: what the model is told instead, as a normal answer.
#[derive(Debug)]
pub(crate) struct NotDone(String);

/// What the work of a tool gives.
pub(crate) type Told = Result<ToolOutcome, NotDone>;

impl From<String> for NotDone {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for NotDone {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<PlaceError> for NotDone {
    fn from(error: PlaceError) -> Self {
        Self(format!("failed: {error}"))
    }
}

pub(crate) fn told(told: Told) -> ToolOutcome {
    told.unwrap_or_else(|NotDone(text)| ToolOutcome::error(text))
}

/// Every native tool, in a fixed order.
pub(crate) fn native() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(Read),
        Box::new(Grep),
        Box::new(Glob),
        Box::new(Write),
        Box::new(Edit),
        Box::new(Bash),
        Box::new(RunChecks),
        Box::new(Screenshot),
        Box::new(Checklist),
        Box::new(GitStatus),
        Box::new(GitLog),
        Box::new(GitDiff),
        Box::new(WebFetch::default()),
    ]
}

/// A spec whose schema comes from the input type.
pub(crate) fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        parameters: schema::flat::<T>(),
    }
}

/// The typed input. The executor has checked it; this fails only for a caller
/// that went around it.
pub(crate) fn parse<T: DeserializeOwned>(input: &Value) -> Result<T, NotDone> {
    T::deserialize(input).map_err(|error| format!("bad input: {error}").into())
}

/// Where a path that is only read lies: beneath the root, or among the files that people
/// attached. A role that may read a part of the root only is not given those.
fn reading_place(
    context: &ToolContext,
    scope: Option<Scope>,
    path: Option<&str>,
) -> Result<Arc<Workplace>, PlaceError> {
    let place = context.workplace();
    let attached = place.surroundings().attached.as_deref();
    let found = attached.filter(|folder| {
        let asked = path.map(str::trim).map(Path::new);
        scope.is_none() && asked.is_some_and(|asked| asked.starts_with(folder))
    });
    match found {
        None => Ok(Arc::clone(place)),
        Some(folder) => {
            let attached = Workplace::open(folder, Vec::new(), Surroundings::default())?;
            Ok(Arc::new(attached))
        }
    }
}

/// Opens a file that is only read, within the limits of a role.
pub(crate) fn reading(
    context: &ToolContext,
    scope: Option<Scope>,
    path: &str,
) -> Result<crate::Opened, PlaceError> {
    let place = reading_place(context, scope, Some(path))?;
    let inside = place.locate(path)?;
    in_scope(scope, &inside)?;
    let opened = place.open_file(&inside)?;
    in_scope(scope, &opened.real)?;
    Ok(opened)
}

/// Finds a path and checks it against the limits of the permit.
fn locate(permit: &Permit, place: &Workplace, path: &str) -> Result<Inside, PlaceError> {
    let inside = place.locate(path)?;
    in_scope(permit.scope(), &inside)?;
    Ok(inside)
}

/// Where a search starts; nothing, and what models write for nothing, is the root.
fn folder(place: &Workplace, path: Option<&str>) -> Result<Inside, PlaceError> {
    match path.map(str::trim) {
        None | Some("" | "/") => Ok(Inside::root()),
        Some(path) => place.locate(path),
    }
}

/// Whether the role's limits allow a path.
fn in_scope(scope: Option<Scope>, path: &Inside) -> Result<(), PlaceError> {
    match scope {
        Some(scope) if !scope.allows(path.as_str()) => Err(PlaceError::Scope {
            path: path.shown().to_owned(),
            allowed: allowed(scope).to_owned(),
        }),
        _ => Ok(()),
    }
}

fn allowed(scope: Scope) -> &'static str {
    match scope {
        Scope::Worktree => "the files of the worktree without `.git` and the team's memory",
        Scope::Research => "`.codebutler/research/`",
        Scope::Artist => "`.codebutler/artist/` and pictures",
        Scope::Memory => "`.codebutler/*.md`, skills and journals",
        Scope::PullRequestHead | Scope::WithoutTurns => "this thread's own",
    }
}

/// What a search in a folder says that is not there: to somebody whose whole world is
/// that folder it is no mistake, only empty.
fn not_there(error: PlaceError, scope: Option<Scope>) -> Told {
    match (&error, scope) {
        (PlaceError::Missing { path, .. }, Some(Scope::Research)) if is_research(path) => Ok(
            ToolOutcome::ok("nothing is kept yet: no question was researched in this repository"),
        ),
        _ => Err(error.into()),
    }
}

fn is_research(path: &str) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    path == ".codebutler/research" || path.starts_with(".codebutler/research/")
}

/// Runs blocking work on its own thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
