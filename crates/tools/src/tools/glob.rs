//! Glob: the files whose path matches a pattern.

use butler_policy::{Permit, Scope};
use butler_protocol::ToolOutcome;
use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{Told, blocking, folder, not_there, reading_place};
use crate::{
    Inside, PlaceError, Tool, ToolContext, Workplace,
    content::clip,
    walk::{self, Team},
};

const DEFAULT_LIMIT: u32 = 200;

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// `*` stays within a folder, `**` crosses folders, `{a,b}` is either; without a slash it
    /// matches names at any depth.
    pattern: String,
    /// The folder (default: the root).
    path: Option<String>,
    /// How many to show (default 200).
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// The tool.
pub struct Glob;

const DESCRIPTION: &str = "
Lists files by name, sorted by path. To search inside files use Grep. What git ignores and the
team's `.codebutler/` are left out unless you name their folder as path. Returns the count, then one
path per line.
Example: {\"pattern\": \"**/*_test.go\", \"path\": \"internal\"}";

impl Tool for Glob {
    crate::tools::introduce!("Glob", Read, Pure);
}

impl Glob {
    async fn work(&self, permit: &Permit, input: Input, context: &ToolContext) -> Told {
        let (context, scope) = (context.clone(), permit.scope());
        blocking(move || {
            let path = input.path.as_deref();
            let place = &reading_place(&context, scope, path)?;
            let found = folder(place, path).and_then(|folder| {
                // Found paths count from where a link leads.
                let (_, folder) = place.open_folder(&folder)?;
                let filter = Filter::new(place, &folder, &input.pattern)?;
                Ok((folder, filter))
            });
            let (folder, filter) = match found {
                Ok(found) => found,
                Err(error) => return not_there(error, scope),
            };
            let paths = list(place, &folder, &filter, scope, &input, context.cancel())?;
            Ok(shown(paths, &input, context.room()))
        })
        .await
    }
}

/// Matches paths from the root against a pattern that counts from a folder.
pub(super) struct Filter {
    matcher: GlobMatcher,
    /// Length of the folder's prefix, with its slash.
    skip: usize,
    names_only: bool,
}

impl Filter {
    pub(super) fn new(
        place: &Workplace,
        folder: &Inside,
        pattern: &str,
    ) -> Result<Self, PlaceError> {
        let odd = |why| PlaceError::Odd {
            path: clip::line(pattern).into_owned(),
            why,
        };
        // Absolute patterns beneath the root are what some models write.
        let relative = match pattern.strip_prefix(&format!("{}/", place.root().display())) {
            Some(relative) => relative,
            None => pattern.strip_prefix("./").unwrap_or(pattern),
        };
        if relative.starts_with('/') || relative.split('/').any(|part| part == "..") {
            return Err(PlaceError::Outside {
                path: clip::line(pattern).into_owned(),
            });
        }
        if relative.is_empty() || relative.len() > 1000 || relative.contains('\0') {
            return Err(odd("is not a usable pattern"));
        }
        let glob = GlobBuilder::new(relative)
            .literal_separator(true)
            .build()
            .map_err(|_| odd("is not a valid pattern: check its brackets and braces"))?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            skip: if folder.is_root() {
                0
            } else {
                folder.as_str().len() + 1
            },
            names_only: !relative.contains('/'),
        })
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let path = path.get(self.skip..).unwrap_or(path);
        if self.names_only {
            let name = path.rsplit('/').next().unwrap_or(path);
            return self.matcher.is_match(name);
        }
        self.matcher.is_match(path)
    }
}

fn list(
    place: &Workplace,
    folder: &Inside,
    filter: &Filter,
    scope: Option<Scope>,
    input: &Input,
    cancel: &CancellationToken,
) -> Result<Vec<String>, PlaceError> {
    let parts = walk::walk(
        place,
        folder,
        Team::asked_for(Some(&input.pattern), scope),
        cancel,
        Vec::new,
        |paths: &mut Vec<String>, found| {
            if filter.matches(found.path) && scope.is_none_or(|scope| scope.allows(found.path)) {
                paths.push(found.path.to_owned());
            }
        },
    )?;
    let mut paths = parts.concat();
    paths.sort_unstable();
    Ok(paths)
}

fn shown(paths: Vec<String>, input: &Input, room: usize) -> ToolOutcome {
    if paths.is_empty() {
        return ToolOutcome::ok(format!(
            "no file matches `{}`. Try `**/` in front of it, or a wider pattern.",
            input.pattern
        ));
    }
    let total = paths.len();
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT) as usize;
    let mut text = format!("{total} files\n");
    let mut left = total;
    for path in paths.into_iter().take(limit) {
        if text.len() + path.len() > room {
            break;
        }
        text.push_str(&path);
        text.push('\n');
        left -= 1;
    }
    if left > 0 {
        text.push_str(&format!(
            "[{left} more: narrow `pattern` or `path`, or raise `limit`]"
        ));
    }
    ToolOutcome::ok(text)
}
