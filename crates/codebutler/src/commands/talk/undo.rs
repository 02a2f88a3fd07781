//! `codebutler undo`: the files as they were before the team changed them. They are
//! saved in this clone before every command and tool that may delete or overwrite.

use std::env;

use butler_repo::{SavedFiles, Undo};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{CliError, Exit, Ui, commands::talk::pr, process};

/// Bring files back as they were before the team changed them
///
/// Lists what was saved, newest first; with a name from the list, brings those files
/// back byte for byte. What is there now is saved first, so an undo can be undone.
/// Ignored files are neither saved nor touched.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which one, as in exec/3
    name: Option<String>,
    /// The newest one
    #[arg(long, conflicts_with = "name")]
    last: bool,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let here = env::current_dir()?;
    let undo = Undo::of(&here, "undo").ok_or_else(|| {
        CliError::user(format!("git keeps no history of {}", here.display()))
            .hint("files are saved inside git repositories only")
    })?;
    process::run(async move |cancel| {
        let saved = undo.list(&cancel).await.map_err(pr::trouble)?;
        let wanted = match &args.name {
            Some(name) => Some(find(&saved, name)?),
            None if args.last => Some(saved.first().ok_or_else(nothing)?),
            None => None,
        };
        match wanted {
            Some(wanted) => bring_back(wanted, args, &cancel, ui).await,
            None => list(&saved, args, ui),
        }
    })
}

fn find<'a>(saved: &'a [SavedFiles], name: &str) -> Result<&'a SavedFiles, CliError> {
    saved.iter().find(|one| one.name == name).ok_or_else(|| {
        CliError::user(format!("nothing was saved as `{name}`"))
            .hint("`codebutler undo` lists what was saved")
    })
}

fn nothing() -> CliError {
    CliError::user("nothing was saved yet")
}

fn list(saved: &[SavedFiles], args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    if args.json {
        return ui.done(Value::Array(saved.iter().map(as_json).collect()));
    }
    for one in saved {
        let at = jiff::Timestamp::from_second(one.at).map(|at| at.to_string());
        let at = at.unwrap_or_default();
        ui.line(format_args!(
            "{}  {at}  {}  ({})",
            one.name,
            one.why,
            one.folder.display()
        ))?;
    }
    if saved.is_empty() {
        ui.note("nothing was saved yet");
    }
    Ok(Exit::Done)
}

fn as_json(one: &SavedFiles) -> Value {
    json!({
        "name": one.name,
        "commit": one.commit,
        "why": one.why,
        "at": one.at,
        "folder": one.folder,
    })
}

async fn bring_back(
    wanted: &SavedFiles,
    args: &Args,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let name = wanted
        .name
        .rsplit_once('/')
        .map_or("undo", |(name, _)| name);
    let undo = Undo::of(&wanted.folder, name)
        .ok_or_else(|| {
            CliError::user(format!("{} is gone", wanted.folder.display())).hint(
                "files go back to where they were saved; a thread that was merged or closed has no worktree any more",
            )
        })?;
    let restored = undo.restore(wanted, cancel).await.map_err(pr::trouble)?;
    if args.json {
        let done = json!({"written": restored.written, "removed": restored.removed});
        return ui.done(done);
    }
    ui.line(format_args!(
        "the files in {} are as they were {}: {} written, {} removed",
        wanted.folder.display(),
        wanted.why,
        restored.written,
        restored.removed
    ))?;
    ui.note("what was there is saved too; `codebutler undo` lists it");
    Ok(Exit::Done)
}
