//! Keys that vendors mark with a prefix of their own: a literal beginning and what
//! must follow it, as `secrets/vendors.txt` has them.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use super::super::{
    assignment::value,
    lists::VENDORS,
    spans::{Spans, run},
    view::ends_colour,
};

struct Rule {
    /// The beginning, in small letters.
    prefix: String,
    source: String,
    /// Compiled where the beginning is first met.
    pattern: OnceLock<Option<Regex>>,
}

impl Rule {
    /// `BEGINNING·WHAT FOLLOWS`; nothing for a comment.
    fn read(line: &str) -> Option<Self> {
        let (begin, rest) = line.split_once('·').filter(|_| !line.starts_with('#'))?;
        let (case, begin) = match begin.strip_prefix('~') {
            Some(begin) => ("(?i)", begin),
            None => ("", begin),
        };
        Some(Self {
            prefix: begin.to_ascii_lowercase(),
            source: format!(r"\A(?:{case}{})(?:{rest})", regex::escape(begin)),
            pattern: OnceLock::new(),
        })
    }

    fn pattern(&self) -> Option<&Regex> {
        let compile = || Regex::new(&self.source).ok();
        self.pattern.get_or_init(compile).as_ref()
    }
}

static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| VENDORS.lines().filter_map(Rule::read).collect());

/// The beginnings, in the order of the rules.
pub(in super::super) fn prefixes() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.prefix.as_str())
}

/// A key is shorter than this.
const LONGEST: usize = 16 * 1024;

pub(in super::super) fn look(rule: usize, text: &str, start: usize, spans: &mut Spans) {
    let rule = &RULES[rule];
    let prefix = rule.prefix.as_str();
    let bytes = text.as_bytes();
    // Cheap first: something must follow, and a key does not begin in a word.
    let after = start + prefix.len();
    let next = bytes.get(after);
    let follows = next.is_some_and(|b| b.is_ascii_graphic() || *b == b' ');
    if !follows || !begins(bytes, start, prefix) && !is_unmistakable(bytes, start, prefix) {
        return;
    }
    let Some(pattern) = rule.pattern() else {
        return;
    };
    let limit = text.floor_char_boundary(start + LONGEST);
    let Some(hit) = pattern.find(&text[start..limit]) else {
        return torn(pattern, text, start, after, spans);
    };
    let end = start + hit.end();
    match prefix {
        "eyj" => spans.add(start, trimmed(bytes, start, end), "jwt".into()),
        "bearer " | "basic " => header(text, start, end, spans),
        ":aa" => telegram(bytes, start, end, spans),
        prefix if prefix.starts_with("-us") => mailchimp(bytes, start, end, spans),
        ".atlasv1." => {
            let from = run_before(bytes, start, 20);
            if start - from >= 10 {
                spans.add(from, end, "api_key".into());
            }
        }
        _ if is_dull(&text[start..end], prefix.len()) => {}
        _ => {
            spans.add(start, trimmed(bytes, start, end), "api_key".into());
            if matches!(prefix, "akia" | "asia") {
                partner(text, end, spans);
            }
        }
    }
}

/// Whether a key may begin here: not inside a word, unless the letter before
/// belongs to an escape such as `\n` or ends a colour.
fn begins(bytes: &[u8], start: usize, prefix: &str) -> bool {
    if prefix.starts_with([':', '-', '.']) || prefix.contains('/') {
        return true;
    }
    match start.checked_sub(1).map(|at| bytes[at]) {
        None => true,
        Some(b) if b.is_ascii_alphanumeric() => {
            start >= 2 && bytes[start - 2] == b'\\' && matches!(b, b'n' | b't' | b'r')
                || ends_colour(bytes, start - 1)
        }
        Some(b'_') => !prefix.starts_with(|c: char| c.is_ascii_alphabetic()) || prefix.len() > 3,
        Some(b'-') => prefix.len() > 3,
        Some(_) => true,
    }
}

/// A token of GitHub that was glued to a word, as in `mytokenghp_…`: as long as
/// they are and of all sorts of characters, it can be nothing else.
fn is_unmistakable(bytes: &[u8], start: usize, prefix: &str) -> bool {
    const LENGTH: usize = 36;
    if !matches!(prefix, "ghp_" | "gho_" | "ghu_" | "ghs_" | "ghr_") {
        return false;
    }
    let rest = &bytes[start + prefix.len()..];
    let run = &rest[..run(rest, 0, LENGTH, |b| b.is_ascii_alphanumeric())];
    let has = |sort: fn(&u8) -> bool| run.iter().any(sort);
    run.len() == LENGTH
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
}

/// A key that a line break tears in two: both pieces go if they are one together.
fn torn(pattern: &Regex, text: &str, start: usize, after: usize, spans: &mut Spans) {
    const PIECE: usize = 80;
    let bytes = text.as_bytes();
    let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let piece = |from: usize| run(bytes, from, PIECE, part);
    // A short beginning without a digit is a word at the end of a line.
    let first = after + piece(after);
    let head = &bytes[after..first];
    if head.len() < 8 || !head.iter().any(u8::is_ascii_digit) {
        return;
    }
    let mut gaps = [&b"\n"[..], b"\r\n", b"\\\n"].into_iter();
    let gap = gaps.find(|gap| bytes[first..].starts_with(gap));
    let Some(gap) = gap else { return };
    let second = first + gap.len();
    let end = second + piece(second);
    let joined = [&text[start..first], &text[second..end]].concat();
    let whole = pattern.find(&joined).is_some_and(|hit| {
        let hit = &joined[..hit.end()];
        hit.len() > first - start && !is_dull(hit, after - start)
    });
    if whole {
        spans.add(start, first, "api_key".into());
        spans.add(second, end, "api_key".into());
    }
}

/// `ghp_xxxxxxxxxxxx`, `sk-your-key-goes-here`: nothing in it was made by a machine.
fn is_dull(found: &str, prefix: usize) -> bool {
    let rest = found.get(prefix..).unwrap_or_default();
    let mut seen = [false; 128];
    rest.bytes().for_each(|b| seen[usize::from(b & 127)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    let digits = rest.bytes().any(|b| b.is_ascii_digit());
    let cases = rest.bytes().any(|b| b.is_ascii_lowercase())
        && rest.bytes().any(|b| b.is_ascii_uppercase());
    distinct < 5 || !digits && !cases && rest.len() < 40
}

/// A full stop or dash at the end belongs to the sentence.
fn trimmed(bytes: &[u8], start: usize, mut end: usize) -> usize {
    while end > start && matches!(bytes[end - 1], b'.' | b'-') {
        end -= 1;
    }
    end
}

/// `Bearer …`: only the credential goes.
fn header(text: &str, start: usize, end: usize, spans: &mut Spans) {
    let found = &text[start..end];
    let blank = found.find(' ').unwrap_or(0);
    let credential = found[blank..].trim_start();
    let from = end - credential.len();
    let end = trimmed(text.as_bytes(), from, end);
    let dull = is_dull(&text[from..end], 0) || value::is_wordy(&text[from..end]);
    if !dull && !spans.covers(from, end) {
        spans.add(from, end, "api_key".into());
    }
}

/// `123456789:AA…`.
fn telegram(bytes: &[u8], start: usize, end: usize, spans: &mut Spans) {
    let mut from = start;
    while from > 0 && bytes[from - 1].is_ascii_digit() {
        from -= 1;
    }
    if (8..=11).contains(&(start - from)) {
        spans.add(from, end, "api_key".into());
    }
}

/// Thirty-two hex digits and a data centre.
fn mailchimp(bytes: &[u8], start: usize, end: usize, spans: &mut Spans) {
    let from = start.saturating_sub(32);
    let digit = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    let hex = bytes[from..start].iter().all(digit);
    let whole = from == 0 || !bytes[from - 1].is_ascii_alphanumeric();
    if start - from == 32 && hex && whole {
        spans.add(from, end, "api_key".into());
    }
}

fn run_before(bytes: &[u8], start: usize, most: usize) -> usize {
    let mut from = start;
    while from > 0 && start - from < most && bytes[from - 1].is_ascii_alphanumeric() {
        from -= 1;
    }
    from
}

/// The secret half that stands near an AWS key id: forty digits of base64.
fn partner(text: &str, from: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let limit = (from + 240).min(bytes.len());
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    let mut at = from;
    while at < limit {
        if !is_digit(bytes[at]) {
            at += 1;
            continue;
        }
        let run = run(bytes, at, 64, is_digit);
        let piece = &text[at..at + run];
        let hex = piece.bytes().all(|b| b.is_ascii_hexdigit());
        if run == 40 && !hex && !is_dull(piece, 0) {
            spans.add(at, at + run, "api_key".into());
            return;
        }
        at += run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles_and_none_is_there_twice() {
        let lines = VENDORS.lines();
        let said = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .count();
        assert!(RULES.len() == said && said > 150, "{said}");
        let mut prefixes: Vec<_> = prefixes().collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        assert_eq!(prefixes.len(), said);
        for rule in RULES.iter() {
            assert!(rule.pattern().is_some(), "{}: {}", rule.prefix, rule.source);
        }
    }
}
