//! What Write and Edit share: the new bytes of one file are computed first,
//! then put in place whole. The hashes before and after are the trace by which
//! an interrupted call is finished.

use butler_policy::Permit;
use butler_protocol::{Sha256Hex, ToolOutcome};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{NotDone, Told, blocking, in_scope, told};
use crate::{
    Inside, PlaceError, Tool, ToolContext, Workplace,
    content::{diff, text},
};

/// A tool that changes one file: its change is planned as a whole, by the module's own
/// `plan`, before anything is written, and that is what it leaves for a recovery.
macro_rules! of_one_file {
    ($tool:ident, $name:literal) => {
        impl crate::Tool for $tool {
            crate::tools::introduce!($name, WriteLocal, Convergent);

            fn trace(
                &self,
                input: &serde_json::Value,
                context: &crate::ToolContext,
            ) -> Option<serde_json::Value> {
                let planned = plan(context.workplace(), &super::parse(input).ok()?).ok()?;
                Some(super::change::trace(&planned))
            }

            fn recover<'a>(
                &'a self,
                permit: &'a butler_policy::Permit,
                input: &'a serde_json::Value,
                trace: Option<&'a serde_json::Value>,
                context: &'a crate::ToolContext,
            ) -> futures_util::future::BoxFuture<'a, butler_protocol::ToolOutcome> {
                super::change::recover(self, permit, input, trace, context)
            }
        }

        impl $tool {
            async fn work(
                &self,
                permit: &butler_policy::Permit,
                input: Input,
                context: &crate::ToolContext,
            ) -> super::Told {
                super::locate(permit, context.workplace(), &input.path)?;
                super::change::run(permit, context, move |place| plan(place, &input)).await
            }
        }
    };
}
pub(super) use of_one_file;

/// The largest file that Write and Edit handle.
pub(super) const FILE_BYTES: u64 = 8 * 1024 * 1024;

/// One file, before and after.
#[derive(Debug)]
pub(super) struct Planned {
    pub path: Inside,
    /// Nothing when there is no file yet.
    pub before: Option<Vec<u8>>,
    pub after: Vec<u8>,
    /// What was done, for the first line of the result.
    pub what: String,
}

/// The present bytes of a file that is to be changed; nothing when there is none.
pub(super) fn present(place: &Workplace, path: &Inside) -> Result<Option<Vec<u8>>, PlaceError> {
    place.check_target(path)?;
    match place.open_file(path) {
        Ok(opened) => opened
            .read(FILE_BYTES, "change it with a program in Bash")
            .map(Some),
        Err(PlaceError::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Plans and applies a change on a thread for blocking work.
pub(super) async fn run(
    permit: &Permit,
    context: &ToolContext,
    plan: impl FnOnce(&Workplace) -> Result<Planned, NotDone> + Send + 'static,
) -> Told {
    let (place, scope) = (context.workplace().clone(), permit.scope());
    blocking(move || {
        let planned = plan(&place)?;
        in_scope(scope, &planned.path)?;
        apply(&place, &planned)
    })
    .await
}

/// Finishes an interrupted change, or says why not.
pub(super) fn recover<'a>(
    tool: &'a dyn Tool,
    permit: &'a Permit,
    input: &'a Value,
    trace: Option<&'a Value>,
    context: &'a ToolContext,
) -> BoxFuture<'a, ToolOutcome> {
    Box::pin(async move {
        let path = input["path"].as_str().unwrap_or_default();
        match look(context, path, trace) {
            Ok(Left::NotBegun) => tool.run(permit, input, context).await,
            Ok(Left::Done(path)) => ToolOutcome::ok(format!(
                "`{}` was changed as asked before CodeButler was restarted",
                path.shown()
            )),
            Ok(Left::Conflict(path)) => ToolOutcome::error(format!(
                "interrupted: CodeButler was restarted during this call, and `{}` is neither as it was nor as it should be; it was left alone. Read it before you try again.",
                path.shown()
            )),
            Err(error) => told(Err(error.into())),
        }
    })
}

/// Puts the new bytes in place and shows the difference.
fn apply(place: &Workplace, planned: &Planned) -> Told {
    let path = planned.path.shown();
    if planned.before.as_ref() == Some(&planned.after) {
        let text = format!("`{path}` is unchanged: it had this content already");
        return Ok(ToolOutcome::ok(text));
    }
    place.replace(&planned.path, &planned.after)?;
    let after = text::decode(&planned.after);
    let Some(before) = &planned.before else {
        let lines = after.lines().count();
        return Ok(ToolOutcome::ok(format!("created `{path}`, {lines} lines")));
    };
    let change = diff::change(&text::decode(before), &after);
    Ok(ToolOutcome::ok(format!(
        "{} `{path}`: +{} -{} lines\n{}",
        planned.what, change.added, change.removed, change.hunks
    )))
}

/// What a recovery needs.
pub(super) fn trace(planned: &Planned) -> Value {
    json!({
        "path": planned.path.as_str(),
        "before": planned.before.as_ref().map(Sha256Hex::of),
        "after": Sha256Hex::of(&planned.after),
    })
}

/// What the file says about an interrupted call.
enum Left {
    Done(Inside),
    /// It was not begun: run it.
    NotBegun,
    /// The file is neither the old nor the new one.
    Conflict(Inside),
}

/// Compares the file with the trace.
fn look(context: &ToolContext, path: &str, trace: Option<&Value>) -> Result<Left, PlaceError> {
    let place = context.workplace();
    let path = place.locate(path)?;
    place.clean_after_crash(&path);
    let Some(trace) = trace else {
        return Ok(Left::Conflict(path));
    };
    let now = present(place, &path)?.map(|bytes| Sha256Hex::of(&bytes));
    let now = json!(now);
    Ok(if now == trace["after"] {
        Left::Done(path)
    } else if now == trace["before"] {
        Left::NotBegun
    } else {
        Left::Conflict(path)
    })
}
