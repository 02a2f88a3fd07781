//! What a search found, as a model reads it.

use butler_protocol::ToolOutcome;

use super::{
    DEFAULT_LIMIT, Input, Show,
    engine::{Findings, Hits},
};
use crate::content::clip;

/// Verdict, then the findings, then how to see the rest.
pub(super) fn shown(found: &Findings, input: &Input, room: usize) -> ToolOutcome {
    let skipped = match found.skipped {
        0 => String::new(),
        n => format!(" ({n} files skipped: too large, secrets, or linked from elsewhere)"),
    };
    if found.files.is_empty() {
        return ToolOutcome::ok(format!(
            "no line matches `{}`{skipped}. Try a shorter pattern, (?i) to ignore case, or another `path` or `glob`.",
            clip::line(&input.pattern)
        ));
    }
    let matches: usize = found.files.iter().map(|hits| hits.matches).sum();
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT) as usize;
    let (mut text, left) = match input.mode {
        Show::Lines => lines(&found.files, limit, matches, room),
        Show::Files => names(&found.files, limit, room, |hits| hits.path.clone()),
        Show::Count => names(&found.files, limit, room, |hits| {
            format!("{}: {}", hits.path, hits.matches)
        }),
    };
    let what = if input.mode == Show::Lines {
        "matching lines"
    } else {
        "files"
    };
    if left > 0 {
        text.push_str(&format!(
            "[{left} more {what}: narrow `pattern`, `path` or `glob`, or raise `limit`]"
        ));
    }
    let files = found.files.len();
    let verdict = match input.mode {
        Show::Files => format!("{files} files match{skipped}"),
        _ => format!("{matches} matching lines in {files} files{skipped}"),
    };
    ToolOutcome::ok(format!("{verdict}\n{text}"))
}

/// Lines below the path of their file; how many matches are not shown.
fn lines(files: &[Hits], limit: usize, matches: usize, room: usize) -> (String, usize) {
    let mut text = String::new();
    let mut shown = 0;
    'files: for hits in files {
        let mut last = 0;
        let mut heading = Some(&hits.path);
        for (number, is_match, line) in &hits.lines {
            if shown == limit && *is_match || text.len() > room {
                break 'files;
            }
            if let Some(path) = heading.take() {
                text.push_str(&format!("{path}\n"));
            } else if last + 1 < *number && !is_match_only(hits) {
                text.push_str("--\n");
            }
            let mark = if *is_match { ':' } else { '-' };
            text.push_str(&format!("{number}{mark}{line}\n"));
            shown += usize::from(*is_match);
            last = *number;
        }
    }
    (text, matches.saturating_sub(shown))
}

fn is_match_only(hits: &Hits) -> bool {
    hits.lines.iter().all(|(_, is_match, _)| *is_match)
}

fn names(
    files: &[Hits],
    limit: usize,
    room: usize,
    line: impl Fn(&Hits) -> String,
) -> (String, usize) {
    let mut text = String::new();
    let mut shown = 0;
    for hits in files.iter().take(limit) {
        if text.len() > room {
            break;
        }
        text.push_str(&line(hits));
        text.push('\n');
        shown += 1;
    }
    (text, files.len() - shown)
}
