//! ripgrep's engine over our own walk: one searcher and one buffer per thread,
//! files read whole by descriptor.

use std::{
    fs::File,
    io::Read,
    sync::atomic::{AtomicUsize, Ordering},
};

use butler_policy::Scope;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use regex_syntax::hir::{Hir, HirKind};
use rustix::fs::{FileType, Mode, OFlags};

use super::Show;
use crate::{
    Inside,
    content::clip,
    place::{holds_secrets, is_dependency},
    tools::glob::Filter,
    walk::Found,
};

/// Larger files are skipped and counted.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What all threads together keep of matching lines.
const KEPT_BYTES: usize = 32 * 1024 * 1024;

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub path: String,
    pub matches: usize,
    /// Number, whether it matches, text.
    pub lines: Vec<(u64, bool, String)>,
}

/// What one thread, or all of them, found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub files: Vec<Hits>,
    pub skipped: usize,
}

/// So many characters a pattern may stand for when its repetitions are written
/// out: `(a{1,500}){1,500}` is a quarter of a million, and each byte of a file may
/// have to be compared with them all.
const PATTERN_LENGTH: u64 = 10_000;

/// What a compiled pattern may hold.
const PATTERN_BYTES: usize = 10 << 20;

/// What each thread may keep of what it learned about a pattern while it searched.
const CACHE_BYTES: usize = 16 << 20;

/// The pattern, compiled.
pub(super) fn matcher(pattern: &str) -> Result<RegexMatcher, String> {
    let too_long = regex_syntax::parse(pattern).is_ok_and(|hir| written_out(&hir) > PATTERN_LENGTH);
    if too_long {
        return Err(format!(
            "refused: `{pattern}` repeats too much to be searched for; write it with fewer or smaller counts"
        ));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(CACHE_BYTES);
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

/// How long a pattern is without counts. What has no upper bound counts by its lower.
fn written_out(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min).max(1);
            written_out(&repetition.sub).saturating_mul(most.into())
        }
        HirKind::Capture(capture) => written_out(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let lengths = parts.iter().map(written_out);
            lengths.fold(0, u64::saturating_add)
        }
    }
}

fn crosses_lines(pattern: &str) -> bool {
    pattern.contains("\\n") || pattern.contains('\n') || pattern.contains("(?s")
}

/// What all threads of a search share.
pub(super) struct Engine {
    pub matcher: RegexMatcher,
    pub filter: Option<Filter>,
    pub scope: Option<Scope>,
    pub mode: Show,
    pub context: usize,
    pub per_file: usize,
    pub kept: AtomicUsize,
}

/// What one thread has.
pub(super) struct Worker {
    searcher: Searcher,
    buffer: Vec<u8>,
    pub findings: Findings,
}

impl Engine {
    pub(super) fn worker(&self) -> Worker {
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

    pub(super) fn visit(&self, worker: &mut Worker, found: &Found<'_>) {
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

    pub(super) fn one_file(&self, opened: crate::Opened) -> Findings {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_would_take_minutes_is_refused() {
        for pattern in [
            "(a{1,500}){1,500}b",
            "((a{20}){20}){30}",
            r"(\w{1,200}\s){100}",
            "(?:x{1,1000}|y{1,1000}){10}",
        ] {
            let refused = matcher(pattern).unwrap_err();
            assert!(refused.contains("repeats too much"), "{refused}");
        }
        for pattern in [
            r"\w{8,64}",
            r"[0-9a-f]{40}",
            r"fn\s+\w+\(.*\)\s*->",
            r"(\d{1,3}\.){3}\d{1,3}",
            "a{1,",
            "(((",
        ] {
            matcher(pattern).unwrap();
        }
    }
}
