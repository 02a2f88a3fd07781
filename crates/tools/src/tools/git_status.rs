//! GitStatus: the branch and what is not committed.

use butler_policy::Permit;
use butler_protocol::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Told, git};
use crate::{Tool, ToolContext, content::clip};

const MOST: usize = 300;

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
struct Input {}

/// The tool.
pub struct GitStatus;

const DESCRIPTION: &str = "
Shows the current branch, its last commit, and the files that are changed, new or deleted but not
committed. Use it to see what you have touched before you hand over. For the changes themselves
use GitDiff, for earlier commits GitLog. Returns the branch, then one line per file with git's two
letters (?? is new).
Example: {}";

impl Tool for GitStatus {
    crate::tools::introduce!("GitStatus", Read, Pure);
}

impl GitStatus {
    async fn work(&self, _permit: &Permit, _input: Input, context: &ToolContext) -> Told {
        Ok(ToolOutcome::ok(status(context).await?))
    }
}

async fn status(context: &ToolContext) -> butler_repo::Result<String> {
    let git = git::git(context);
    let last = git
        .call(["log", "-1", "--format=%h %s", "--no-show-signature"])
        .accept(&[0, 128])
        .run(context.cancel())
        .await?;
    let status = git
        .call(["status", "--porcelain=v1", "-z", "--branch", "--no-renames"])
        .args(["--untracked-files=all", "--ignore-submodules=dirty"])
        .run(context.cancel())
        .await?;
    let mut fields = status.fields().map(String::from_utf8_lossy);
    let branch = fields.next().unwrap_or_default();
    let branch = branch.trim_start_matches("## ").to_owned();
    let files: Vec<String> = fields
        .map(|field| clip::line(&field).into_owned())
        .collect();
    let state = match files.len() {
        0 => "nothing to commit".to_owned(),
        count => format!("{count} files changed"),
    };
    let last = if last.code == 0 {
        last.text()
    } else {
        "none".to_owned()
    };
    let mut text = format!("{state}, on {branch}\nlast commit: {}\n", clip::line(&last));
    for file in files.iter().take(MOST) {
        text.push_str(file);
        text.push('\n');
    }
    if files.len() > MOST {
        text.push_str(&format!("[{} more]", files.len() - MOST));
    }
    Ok(text)
}
