//! Passwords on command lines: `curl -u you:…`, `mysql -p…`, `docker login -p …`.

use super::super::{
    assignment::value,
    lists::{BEHIND_A, BEHIND_P, BEHIND_W, JOINED},
    spans::{Spans, touches_marker},
};

/// So much of a line is read, and so many words of it: a hostile one is all
/// programs.
const LINE: usize = 4096;
const WORDS: usize = 200;

/// How the programs begin, the flag that their password follows, and whether it may
/// stand apart from it; to `mysql -p name` that is the database.
pub(in super::super) fn programs() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    let joined = JOINED.iter().map(|begins| (begins, "-p", false));
    let p = BEHIND_P.iter().map(|begins| (begins, "-p", true));
    let a = BEHIND_A.iter().map(|begins| (begins, "-a", true));
    let w = BEHIND_W.iter().map(|begins| (begins, "-w", true));
    joined.chain(p).chain(a).chain(w)
}

/// The words from a place to the end of the command, each with its place.
fn words(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let end = text.floor_char_boundary(from + LINE);
    let line = text[from..end].split('\n').next().unwrap_or_default();
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut at = from;
    line.split(' ')
        .map(move |word| {
            let place = at;
            at += word.len() + 1;
            (place, word)
        })
        .take_while(|(_, word)| !matches!(*word, "&&" | "||" | "|" | ";"))
        .take(WORDS)
}

/// Behind `curl `: the password in `-u user:password`.
pub(in super::super) fn curl(text: &str, from: usize, spans: &mut Spans) {
    let mut words = words(text, from);
    while let Some((at, word)) = words.next() {
        let pair = match word {
            "-u" | "--user" | "-U" | "--proxy-user" => words.next(),
            _ => {
                let mut flags = ["-u", "--user=", "--proxy-user="].iter();
                let pair = flags.find_map(|flag| word.strip_prefix(flag));
                pair.map(|pair| (at + word.len() - pair.len(), pair))
            }
        };
        let Some((at, pair)) = pair else { continue };
        let bare = pair.trim_matches(['"', '\'', '`']);
        let Some((_, password)) = bare.split_once(':') else {
            continue;
        };
        let end = at + pair.find(bare).unwrap_or(0) + bare.len();
        let start = end - password.len();
        if !value::is_template(password) && !touches_marker(text, start, end) {
            spans.add(start, end, "secret".into());
        }
    }
}

/// Behind a program: the password in `-pPASSWORD`, and where it may stand apart
/// in `-p PASSWORD`.
pub(in super::super) fn look(
    (flag, apart): (&str, bool),
    text: &str,
    from: usize,
    spans: &mut Spans,
) {
    let mut next = false;
    for (at, word) in words(text, from) {
        let found = match next {
            true => Some(word),
            false => word.strip_prefix(flag),
        };
        next = apart && word == flag;
        let Some(found) = found.filter(|found| !found.is_empty()) else {
            continue;
        };
        let bare = found.trim_matches(['"', '\'', '`']);
        let shape = value::shape(bare);
        let made = shape.length >= 6 && (shape.mixed() || shape.signs > 0 && shape.digits > 0);
        if made && !value::is_placeholder(bare) {
            let end = at + word.len() - found.len() + found.find(bare).unwrap_or(0) + bare.len();
            spans.add(end - bare.len(), end, "secret".into());
        }
    }
}

/// Behind `identified by`: the password in quotes.
pub(in super::super) fn identified(text: &str, from: usize, spans: &mut Spans) {
    let rest = &text[from..];
    let open = rest.find(['\'', '"']);
    let Some(open) = open.filter(|open| rest[..*open].trim().is_empty()) else {
        return;
    };
    let quote = &rest[open..=open];
    let Some(length) = rest[open + 1..].find(quote).filter(|length| *length < 256) else {
        return;
    };
    let found = &rest[open + 1..open + 1 + length];
    if found.len() >= 4 && !value::is_placeholder(found) && !found.starts_with(':') {
        spans.add(from + open + 1, from + open + 1 + length, "secret".into());
    }
}
