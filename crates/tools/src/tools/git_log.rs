//! GitLog: commits, newest first.

use butler_policy::Permit;
use butler_protocol::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Told, git};
use crate::{Tool, ToolContext, content::clip};

const DEFAULT_LIMIT: u32 = 20;
const MOST: u32 = 200;

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Only commits that touch this file or folder.
    path: Option<String>,
    /// Branch, tag or commit to start from (default: the current one).
    from: Option<String>,
    /// Only messages with this text, in any case.
    pattern: Option<String>,
    /// How many (default 20, at most 200).
    #[schemars(range(min = 1))]
    limit: Option<u32>,
    /// How many of the newest to leave out.
    #[schemars(range(min = 0))]
    offset: Option<u32>,
}

/// The tool.
pub struct GitLog;

const DESCRIPTION: &str = "
Lists commits, newest first: hash, date, author, subject. Use it to learn when and why something
changed.
Example: {\"path\": \"src/parser.rs\", \"pattern\": \"unicode\", \"limit\": 10}";

impl Tool for GitLog {
    crate::tools::introduce!("GitLog", Read, Pure);
}

impl GitLog {
    async fn work(&self, _permit: &Permit, input: Input, context: &ToolContext) -> Told {
        log(context, &input).await
    }
}

async fn log(context: &ToolContext, input: &Input) -> Told {
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT).min(MOST);
    let from = git::check_ref(input.from.as_deref().unwrap_or("HEAD"))?;
    let git = git::git(context);
    let mut call = git
        .call(["log", "--no-show-signature", "--no-color", "--date=short"])
        .args([
            "--format=%h %ad %an: %s",
            "--regexp-ignore-case",
            "--fixed-strings",
        ])
        .arg(format!("--max-count={}", limit + 1))
        .arg(format!("--skip={}", input.offset.unwrap_or(0)));
    if let Some(pattern) = &input.pattern {
        call = call.arg(format!("--grep={}", pattern.replace('\n', " ")));
    }
    call = call.args(["--end-of-options", from, "--"]);
    if let Some(path) = &input.path {
        let path = context.workplace().locate(path)?;
        call = call.arg(format!(":(literal){}", path.shown()));
    }
    let output = call.run(context.cancel()).await?;
    Ok(shown(&output.lines().collect::<Vec<_>>(), limit, input))
}

fn shown(lines: &[String], limit: u32, input: &Input) -> ToolOutcome {
    if lines.is_empty() {
        return ToolOutcome::ok("no commit matches. Try without `path` or `pattern`.");
    }
    let limit = limit as usize;
    let mut text = format!("{} commits\n", lines.len().min(limit));
    for line in lines.iter().take(limit) {
        text.push_str(&clip::line(line));
        text.push('\n');
    }
    if lines.len() > limit {
        let next = input.offset.unwrap_or(0) as usize + limit;
        text.push_str(&format!("[there are more: offset={next}]"));
    }
    ToolOutcome::ok(text)
}
