//! What stands between a name and its value: `=`, `:`, `is`, or nothing where
//! a command or a file format needs none.

use super::{
    super::{
        lists::{SETTING, TOLD},
        spans::run,
    },
    calls, pairs,
};

/// So many blanks may line up the signs of a block.
pub(super) const BLANKS: usize = 64;

/// The sign between name and value.
pub(super) struct Sign {
    pub(super) end: usize,
    /// `NAME=value`, without a blank.
    pub(super) tight: bool,
    /// `:`, as in YAML, JSON and prose.
    pub(super) colon: bool,
    pub(super) link: Link,
}

/// How surely the sign says that a value follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Assigned,
    /// `is`, or nothing: only a value that no person would write counts, unless
    /// it stands in quotes.
    Told,
    /// An argument, a default, `was set to`: letters and digits, in quotes or not.
    Passed,
    /// The only argument of a function with that name: as `Passed`, if the name
    /// says that it takes a secret.
    Called,
}

impl Sign {
    /// A sign of `:`'s sort.
    pub(super) fn loose(end: usize, link: Link) -> Self {
        Self {
            end,
            tight: false,
            colon: true,
            link,
        }
    }
}

pub(super) fn sign(text: &str, first: usize, last: usize) -> Option<Sign> {
    let bytes = text.as_bytes();
    direct(bytes, first, last)
        .or_else(|| calls::sign(text, first, last))
        .or_else(|| pairs::sign(bytes, first, last))
}

fn direct(bytes: &[u8], first: usize, last: usize) -> Option<Sign> {
    let mut at = last;
    let peek = |at: usize| bytes.get(at).copied().unwrap_or(0);
    while at - last < 5 && matches!(peek(at), b'"' | b'\'' | b'`' | b'\\' | b']' | b'*') {
        at += 1;
    }
    let before = at;
    at = behind_blanks(bytes, at);
    let spaced = at > before;
    let sign = |end: usize, colon: bool| {
        Some(Sign {
            end,
            tight: !spaced && !matches!(peek(end), b' ' | b'\t'),
            colon,
            link: Link::Assigned,
        })
    };
    match (peek(at), peek(at + 1)) {
        (b'=', b'>') | (b':', b'=') => sign(at + 2, false),
        (b'=', b'=' | b'~') | (b':', b':' | b'/') => None,
        (b'=', _) => sign(at + 1, false),
        (b':', _) if is_arn(bytes, first) => None,
        (b':', _) => sign(at + 1, true),
        (b'>', b'@') if bytes[..first].ends_with(b":<") => None,
        (b'>', _) if first > 0 && bytes[first - 1] == b'<' => sign(at + 1, false),
        _ if spaced && needs_none(bytes, first, last, at - before) => Some(Sign {
            end: at,
            tight: true,
            colon: false,
            link: Link::Assigned,
        }),
        (0xef | 0xe2, _) => wide(bytes, at),
        (b'|', b'|') | (b'?', b'?') | (b'o', b'r') if spaced => default(bytes, at + 2),
        (b'i', b's') if spaced && peek(at + 2) == b' ' => {
            Some(told(bytes, at).unwrap_or(Sign::loose(at + 3, Link::Told)))
        }
        (b'h' | b's' | b't' | b'w', _) if spaced => told(bytes, at),
        // `CREATE USER app PASSWORD '…'`.
        (b'\'', _) if spaced && bytes[first..last].eq_ignore_ascii_case(b"password") => {
            Some(Sign::loose(at, Link::Told))
        }
        // `proxy_set_header Authorization "…"`.
        (b'\'' | b'"', _) if spaced && ends_with(&bytes[first..last], b"authorization") => {
            Some(Sign::loose(at, Link::Told))
        }
        _ => None,
    }
}

/// Behind the blanks at a place.
pub(super) fn behind_blanks(bytes: &[u8], at: usize) -> usize {
    at + run(bytes, at, BLANKS, |b| matches!(b, b' ' | b'\t'))
}

fn ends_with(name: &[u8], end: &[u8]) -> bool {
    name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// The colon of Chinese and Japanese text, and an arrow.
fn wide(bytes: &[u8], at: usize) -> Option<Sign> {
    let rest = &bytes[at..];
    if rest.starts_with("：".as_bytes()) {
        return Some(Sign::loose(at + "：".len(), Link::Assigned));
    }
    let arrow = "→".as_bytes();
    let told = || Sign::loose(at + arrow.len(), Link::Told);
    rest.starts_with(arrow).then(told)
}

/// `process.env.NAME || '…'`: what is used when the name holds nothing.
fn default(bytes: &[u8], at: usize) -> Option<Sign> {
    let value = behind_blanks(bytes, at);
    let quoted = matches!(bytes.get(value), Some(b'"' | b'\'' | b'`'));
    (quoted && value > at).then(|| Sign::loose(value, Link::Passed))
}

fn told(bytes: &[u8], at: usize) -> Option<Sign> {
    let begins = |phrase: &&str| bytes[at..].starts_with(phrase.as_bytes());
    let phrase = TOLD.iter().find(begins)?;
    let end = at + phrase.len();
    let quoted = matches!(bytes.get(end), Some(b'"' | b'\'' | b'`'));
    let link = if quoted { Link::Passed } else { Link::Told };
    Some(Sign::loose(end, link))
}

/// `arn:aws:secretsmanager:eu-west-1:123456789012:secret:name`.
fn is_arn(bytes: &[u8], first: usize) -> bool {
    let Some(account) = bytes[..first].strip_suffix(b":") else {
        return false;
    };
    let digits = account.iter().rev().take(13);
    digits.take_while(|b| b.is_ascii_digit()).count() == 12
}

/// Whether the value follows its name without a sign.
fn needs_none(bytes: &[u8], first: usize, last: usize, blanks: usize) -> bool {
    let flag =
        first >= 2 && bytes[first - 2..first] == *b"--" || first < last && bytes[first] == b'-';
    let one = flag || takes_no_sign(&bytes[first..last]) || is_netrc(bytes, first);
    one && blanks == 1 || is_set(bytes, first)
}

/// `requirepass …` of Redis, `npm config set …:_authToken …`, `Bearer …`.
fn takes_no_sign(name: &[u8]) -> bool {
    let mut known = [&b"requirepass"[..], b"_authToken", b"bearer"].into_iter();
    known.any(|known| name.eq_ignore_ascii_case(known))
}

/// `machine example.com login you password …`.
fn is_netrc(bytes: &[u8], first: usize) -> bool {
    let before = &bytes[first.saturating_sub(160)..first];
    let has = |word: &[u8]| before.windows(word.len()).any(|found| found == word);
    has(b"login ") && (has(b"machine ") || has(b"default "))
}

/// What sets a name to the word behind it: fish, a Dockerfile, Windows, the
/// preprocessor of C, `aws configure`.
fn is_set(bytes: &[u8], first: usize) -> bool {
    let mut all = SETTING.iter();
    all.any(|set| bytes[..first].ends_with(set.as_bytes()))
}
