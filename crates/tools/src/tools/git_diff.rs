//! GitDiff: what this branch changed, or what one commit did.

use butler_policy::Permit;
use butler_protocol::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    NotDone, Told,
    git::{self, Section},
};
use crate::{Inside, Tool, ToolContext, content::clip};

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Only this file or folder.
    path: Option<String>,
    /// What this one commit changed, instead.
    commit: Option<String>,
    /// Compare with this branch, tag or commit instead; HEAD shows what is uncommitted.
    base: Option<String>,
    /// Only the list of files.
    summary: Option<bool>,
}

/// The tool.
pub struct GitDiff;

const DESCRIPTION: &str = "
Shows what this branch changed since it left the default branch, uncommitted and new files
included. Large diffs list all files and are cut: then name a path. Returns the files with +added
-removed, then the hunks.
Example: {\"path\": \"src/parser.rs\"}";

impl Tool for GitDiff {
    crate::tools::introduce!("GitDiff", Read, Pure);
}

impl GitDiff {
    async fn work(&self, _permit: &Permit, input: Input, context: &ToolContext) -> Told {
        let path = match &input.path {
            Some(path) => Some(context.workplace().locate(path)?).filter(|path| !path.is_root()),
            None => None,
        };
        let diff = diff(context, &input, path.as_ref()).await?;
        let summary = input.summary.unwrap_or(false);
        Ok(shown(&diff, path.as_ref(), summary, context.room()))
    }
}

async fn diff(
    context: &ToolContext,
    input: &Input,
    path: Option<&Inside>,
) -> Result<String, NotDone> {
    let checked = |name: &Option<String>| {
        let name = name.as_deref().map(git::check_ref).transpose();
        name.map(|name| name.map(str::to_owned))
    };
    let (commit, base) = (checked(&input.commit)?, checked(&input.base)?);
    if commit.is_none()
        && base.is_none()
        && let Some(maker) = &context.diff
    {
        let made = maker(context.cancel().clone()).await;
        return made.map_err(|why| format!("failed: {why}").into());
    }
    let git = git::git(context);
    let safe = [
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--submodule=short",
    ];
    let mut call = if let Some(commit) = &commit {
        git.call([
            "show",
            "--format=commit %h by %an, %ad%n%n%B",
            "--date=short",
        ])
        .args(["--no-show-signature"])
        .args(safe)
        .args(["--end-of-options", commit, "--"])
    } else {
        let base = match base {
            Some(base) => base,
            None => git::fork_point(&git, context.cancel())
                .await
                .unwrap_or_else(|| "HEAD".to_owned()),
        };
        git.call(["diff", "--find-renames"])
            .args(safe)
            .args(["--end-of-options", &base, "--"])
    };
    if let Some(path) = path {
        call = call.arg(format!(":(literal){}", path.as_str()));
    }
    let output = call.run(context.cancel()).await?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if commit.is_none() {
        text.push_str(&untracked(context, path).await?);
    }
    Ok(text)
}

/// New files as a diff; git leaves them out.
async fn untracked(context: &ToolContext, path: Option<&Inside>) -> Result<String, NotDone> {
    let listed = git::git(context)
        .call(["ls-files", "--others", "--exclude-standard", "-z"])
        .run(context.cancel())
        .await?;
    let place = context.workplace();
    let mut text = String::new();
    for name in listed.fields().map(String::from_utf8_lossy) {
        let wanted = path.is_none_or(|path| git::lies_in(&name, path.as_str()));
        if !wanted || text.len() > 4 * clip::RESULT_BYTES {
            continue;
        }
        text.push_str(&format!(
            "diff --git a/{name} b/{name}\nnew file\n--- /dev/null\n+++ b/{name}\n"
        ));
        let content = place
            .locate(&name)
            .and_then(|path| place.open_file(&path))
            .and_then(|opened| opened.read(1 << 20, ""));
        match content.map(String::from_utf8) {
            Ok(Ok(content)) => {
                text.push_str(&format!("@@ -0,0 +1,{} @@\n", content.lines().count()));
                for line in content.lines() {
                    text.push_str(&format!("+{line}\n"));
                }
            }
            _ => text.push_str("(not shown: binary, large or special)\n"),
        }
    }
    Ok(text)
}

fn shown(diff: &str, path: Option<&Inside>, summary: bool, room: usize) -> ToolOutcome {
    let head = diff.find("diff --git ").unwrap_or(diff.len());
    let sections: Vec<Section<'_>> = git::sections(diff)
        .into_iter()
        .filter(|section| path.is_none_or(|path| git::lies_in(&section.path, path.as_str())))
        .collect();
    if sections.is_empty() {
        return ToolOutcome::ok(format!("no differences\n{}", &diff[..head]));
    }
    let (mut added, mut removed) = (0, 0);
    let mut list = String::new();
    let mut hunks = String::new();
    for section in &sections {
        let (plus, minus) = counts(section.text);
        added += plus;
        removed += minus;
        list.push_str(&format!("{} +{plus} -{minus}\n", clip::line(&section.path)));
        hunks.push_str(section.text);
    }
    let files = sections.len();
    let list = clip::head_and_tail(&list, room / 4, "name a `path`");
    let mut text = format!(
        "{files} files, +{added} -{removed}\n{}{list}",
        &diff[..head]
    );
    if !summary {
        let room = room.saturating_sub(text.len());
        let lines: String = hunks
            .lines()
            .map(|line| format!("{}\n", clip::line(line)))
            .collect();
        text.push('\n');
        text.push_str(&clip::head_and_tail(
            &lines,
            room,
            "name a `path` to see one file",
        ));
    }
    ToolOutcome::ok(text)
}

fn counts(section: &str) -> (usize, usize) {
    let lines = || section.lines().skip_while(|line| !line.starts_with("@@"));
    (
        lines().filter(|line| line.starts_with('+')).count(),
        lines().filter(|line| line.starts_with('-')).count(),
    )
}
