//! Grep: lines that match a regular expression, with ripgrep's own engine.

mod engine;
mod shown;

use std::sync::atomic::AtomicUsize;

use butler_policy::{Permit, Scope};
use engine::{Engine, Findings};
use grep_regex::RegexMatcher;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Told, blocking, folder, glob::Filter, in_scope, not_there, reading_place};
use crate::{
    PlaceError, Tool, ToolContext,
    walk::{self, Team},
};

const DEFAULT_LIMIT: u32 = 100;
const MOST_CONTEXT: u32 = 20;

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Rust syntax; (?i) ignores case, \n matches across lines.
    pattern: String,
    /// File or folder (default: the root).
    path: Option<String>,
    /// Only such files, as in `*.rs` or `src/**/*.ts`.
    glob: Option<String>,
    /// Lines (default), only paths, or the count per file.
    #[serde(default)]
    mode: Show,
    /// Lines around each match (at most 20).
    #[schemars(range(min = 0))]
    context: Option<u32>,
    /// How many to show (default 100).
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// What a search shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Mode")]
enum Show {
    /// Matching lines with their numbers.
    #[default]
    Lines,
    /// Only the paths of files that match.
    Files,
    /// The number of matching lines per file.
    Count,
}

/// The tool.
pub struct Grep;

const DESCRIPTION: &str = "
Searches the contents of files with a regular expression. For files by name use Glob. What git
ignores and the team's `.codebutler/` are left out unless you name their folder as path. Returns
the count, then for each file its path and `number:line` (context as `number-line`).
Example: {\"pattern\": \"fn parse_\\\\w+\", \"glob\": \"*.rs\", \"context\": 2}";

impl Tool for Grep {
    crate::tools::introduce!("Grep", Read, Pure);
}

impl Grep {
    async fn work(&self, permit: &Permit, input: Input, context: &ToolContext) -> Told {
        let (context, scope) = (context.clone(), permit.scope());
        blocking(move || {
            let matcher = engine::matcher(&input.pattern)?;
            match search(&context, scope, &input, matcher) {
                Ok(found) => Ok(shown::shown(&found, &input, context.room())),
                Err(error) => not_there(error, scope),
            }
        })
        .await
    }
}

fn search(
    context: &ToolContext,
    scope: Option<Scope>,
    input: &Input,
    matcher: RegexMatcher,
) -> Result<Findings, PlaceError> {
    let place = &reading_place(context, scope, input.path.as_deref())?;
    let asked = folder(place, input.path.as_deref())?;
    let file = place.open_file(&asked);
    // Found paths count from where a link leads.
    let start = match &file {
        Ok(opened) => opened.real.clone(),
        Err(_) => place.open_folder(&asked)?.1,
    };
    let engine = Engine {
        matcher,
        filter: match &input.glob {
            Some(glob) => Some(Filter::new(place, &start, glob)?),
            None => None,
        },
        scope,
        mode: input.mode,
        context: input.context.unwrap_or(0).min(MOST_CONTEXT) as usize,
        per_file: input.limit.unwrap_or(DEFAULT_LIMIT) as usize,
        kept: AtomicUsize::new(0),
    };
    if let Ok(opened) = file {
        in_scope(scope, &opened.real)?;
        return Ok(engine.one_file(opened));
    }
    let parts = walk::walk(
        place,
        &start,
        Team::asked_for(input.glob.as_deref(), scope),
        context.cancel(),
        || engine.worker(),
        |worker, found| engine.visit(worker, found),
    )?;
    let mut findings = Findings::default();
    for part in parts {
        findings.files.extend(part.findings.files);
        findings.skipped += part.findings.skipped;
    }
    findings.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(findings)
}
