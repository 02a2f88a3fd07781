//! Grep: lines that match a regular expression, with ripgrep's own engine.

use std::{
    fs::File,
    io::Read,
    sync::atomic::{AtomicUsize, Ordering},
};

use butler_policy::{Permit, Scope};
use butler_vocab::{CrashClass, Tier, ToolOutcome, ToolSpec};
use futures_util::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use rustix::fs::{FileType, Mode, OFlags};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{blocking, failed, folder, glob::Filter, in_scope, parse, spec};
use crate::{
    Desk, Inside, PlaceError, Tool, clip,
    place::{holds_secrets, is_dependency},
    walk::{self, Found},
};

const DEFAULT_LIMIT: u32 = 100;
const MOST_CONTEXT: u32 = 20;

/// Larger files are skipped and counted.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What all threads together keep of matching lines.
const KEPT_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// A regular expression in Rust syntax; start with (?i) to ignore case,
    /// write \n to match across lines.
    pattern: String,
    /// The file or folder to search (default: the root).
    path: Option<String>,
    /// Only files whose path matches, as in `*.rs` or `src/**/*.ts`.
    glob: Option<String>,
    /// What to show (default lines).
    #[serde(default)]
    mode: Show,
    /// Lines to show around each match (default 0, at most 20).
    #[schemars(range(min = 0))]
    context: Option<u32>,
    /// How many matching lines or files to show (default 100).
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
Searches file contents with a regular expression. Use it to find definitions, uses and texts. To
find files by name, use Glob; to read around a match, use Read with the line number as offset.
Files that git ignores are left out unless you name their folder as path; binary files are
skipped. Returns how many lines matched, then for each file its path and `number:line` (context
lines as `number-line`).
Example: {\"pattern\": \"fn parse_\\\\w+\", \"glob\": \"*.rs\", \"context\": 2}";

impl Tool for Grep {
    fn name(&self) -> &'static str {
        "Grep"
    }

    fn spec(&self) -> ToolSpec {
        spec::<Input>(self.name(), DESCRIPTION)
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    fn crash(&self) -> CrashClass {
        CrashClass::Pure
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        desk: &'a Desk,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let input: Input = match parse(input) {
                Ok(input) => input,
                Err(outcome) => return outcome,
            };
            let (desk, scope) = (desk.clone(), permit.scope());
            blocking(move || match search(&desk, scope, &input) {
                Ok(found) => shown(&found, &input),
                Err(Failed::Place(error)) => failed(&error),
                Err(Failed::Pattern(text)) => ToolOutcome::error(text),
            })
            .await
        })
    }
}

enum Failed {
    Place(PlaceError),
    Pattern(String),
}

impl From<PlaceError> for Failed {
    fn from(error: PlaceError) -> Self {
        Failed::Place(error)
    }
}

/// What was found in one file.
#[derive(Debug, Default)]
struct Hits {
    path: String,
    matches: usize,
    /// Number, whether it matches, text.
    lines: Vec<(u64, bool, String)>,
}

#[derive(Debug, Default)]
struct Findings {
    files: Vec<Hits>,
    skipped: usize,
}

fn search(desk: &Desk, scope: Option<Scope>, input: &Input) -> Result<Findings, Failed> {
    let place = desk.workplace();
    let start = folder(place, input.path.as_deref())?;
    let engine = Engine {
        matcher: matcher(&input.pattern).map_err(Failed::Pattern)?,
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
    if let Ok(opened) = place.open_file(&start) {
        in_scope(scope, &opened.real)?;
        return Ok(engine.one_file(opened));
    }
    let parts = walk::walk(
        place,
        &start,
        desk.cancel(),
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

fn matcher(pattern: &str) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).size_limit(20 << 20);
    if !crosses_lines(pattern) {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).or_else(|error| {
        // Models often search for code as it stands: try it as plain text.
        let plain = RegexMatcherBuilder::new()
            .fixed_strings(true)
            .build(pattern);
        plain.map_err(|_| format!("failed: `{pattern}` is not a valid regular expression: {error}"))
    })
}

fn crosses_lines(pattern: &str) -> bool {
    pattern.contains("\\n") || pattern.contains('\n') || pattern.contains("(?s")
}

/// What all threads of a search share.
struct Engine {
    matcher: RegexMatcher,
    filter: Option<Filter>,
    scope: Option<Scope>,
    mode: Show,
    context: usize,
    per_file: usize,
    kept: AtomicUsize,
}

/// What one thread has.
struct Worker {
    searcher: Searcher,
    buffer: Vec<u8>,
    findings: Findings,
}

impl Engine {
    fn worker(&self) -> Worker {
        let searcher = SearcherBuilder::new()
            .line_number(self.mode == Show::Lines)
            .multi_line(!self.is_line_by_line())
            .before_context(self.context)
            .after_context(self.context)
            .binary_detection(BinaryDetection::quit(0))
            .max_matches((self.mode == Show::Files).then_some(1))
            .build();
        Worker {
            searcher,
            buffer: Vec::new(),
            findings: Findings::default(),
        }
    }

    fn is_line_by_line(&self) -> bool {
        use grep_matcher::Matcher;
        self.matcher.line_terminator().is_some()
    }

    fn visit(&self, worker: &mut Worker, found: &Found<'_>) {
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| !filter.matches(found.path))
            || self.scope.is_some_and(|scope| !scope.allows(found.path))
        {
            return;
        }
        match read(found, &mut worker.buffer) {
            Content::Whole => self.look(worker, found.path),
            Content::Skipped => worker.findings.skipped += 1,
            Content::Gone => {}
        }
    }

    fn one_file(&self, opened: crate::Opened) -> Findings {
        let mut worker = self.worker();
        let path = opened.real.shown().to_owned();
        let name = path.rsplit('/').next().unwrap_or(&path);
        match opened.read(FILE_BYTES, "") {
            Ok(bytes) if !holds_secrets(name) => {
                worker.buffer = bytes;
                self.look(&mut worker, &path);
            }
            _ => worker.findings.skipped += 1,
        }
        worker.findings
    }

    fn look(&self, worker: &mut Worker, path: &str) {
        let mut hits = Hits::default();
        let sink = Collect {
            hits: &mut hits,
            engine: self,
        };
        let searched = worker
            .searcher
            .search_slice(&self.matcher, &worker.buffer, sink);
        if searched.is_ok() && hits.matches > 0 {
            hits.path = path.to_owned();
            worker.findings.files.push(hits);
        }
    }
}

enum Content {
    Whole,
    /// Too large, shared with places outside, or a place for secrets.
    Skipped,
    Gone,
}

/// Reads a file by the descriptor of its folder, following nothing.
fn read(found: &Found<'_>, buffer: &mut Vec<u8>) -> Content {
    let name = found.path.rsplit('/').next().unwrap_or(found.path);
    if holds_secrets(name) {
        return Content::Skipped;
    }
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(fd) = rustix::fs::openat(found.folder, found.name, flags, Mode::empty()) else {
        return Content::Gone;
    };
    let Ok(stat) = rustix::fs::fstat(&fd) else {
        return Content::Gone;
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Content::Gone;
    }
    let bytes = u64::try_from(stat.st_size).unwrap_or(0);
    let shared = stat.st_nlink > 1 && !is_dependency(&Inside::from_walk(found.path));
    if bytes > FILE_BYTES || shared {
        return Content::Skipped;
    }
    buffer.clear();
    buffer.reserve(usize::try_from(bytes).unwrap_or(0) + 1);
    match File::from(fd).take(FILE_BYTES).read_to_end(buffer) {
        Ok(_) => Content::Whole,
        Err(_) => Content::Gone,
    }
}

/// Takes the lines of one file.
struct Collect<'a> {
    hits: &'a mut Hits,
    engine: &'a Engine,
}

impl Collect<'_> {
    fn keep(&mut self, number: Option<u64>, matches: bool, bytes: &[u8]) {
        let most = self.engine.per_file * (1 + 2 * self.engine.context);
        if self.engine.mode != Show::Lines || self.hits.lines.len() >= most {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        for (at, line) in text.lines().enumerate() {
            let line = clip::line(line).into_owned();
            let kept = self.engine.kept.fetch_add(line.len(), Ordering::Relaxed);
            if kept > KEPT_BYTES {
                return;
            }
            let number = number.unwrap_or(0) + at as u64;
            self.hits.lines.push((number, matches, line));
        }
    }
}

impl Sink for Collect<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.hits.matches += 1;
        self.keep(found.line_number(), true, found.bytes());
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.keep(line.line_number(), false, line.bytes());
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.hits.matches = 0;
        self.hits.lines.clear();
        Ok(false)
    }
}

fn shown(found: &Findings, input: &Input) -> ToolOutcome {
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
        Show::Lines => lines(&found.files, limit, matches),
        Show::Files => names(&found.files, limit, |hits| hits.path.clone()),
        Show::Count => names(&found.files, limit, |hits| {
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
fn lines(files: &[Hits], limit: usize, matches: usize) -> (String, usize) {
    let mut text = String::new();
    let mut shown = 0;
    'files: for hits in files {
        let mut last = 0;
        let mut heading = Some(&hits.path);
        for (number, is_match, line) in &hits.lines {
            if shown == limit && *is_match || text.len() > clip::RESULT_BYTES {
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

fn names(files: &[Hits], limit: usize, line: impl Fn(&Hits) -> String) -> (String, usize) {
    let mut text = String::new();
    let mut shown = 0;
    for hits in files.iter().take(limit) {
        if text.len() > clip::RESULT_BYTES {
            break;
        }
        text.push_str(&line(hits));
        text.push('\n');
        shown += 1;
    }
    (text, files.len() - shown)
}
