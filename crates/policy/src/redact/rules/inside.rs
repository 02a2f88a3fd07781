//! Keys whose vendor's mark stands inside or at the end: only what is around the
//! mark says where they begin.

use std::ops::RangeInclusive;

use super::super::spans::Spans;

/// A mark and what stands before and behind it.
struct Rule {
    mark: &'static str,
    before: RangeInclusive<usize>,
    behind: RangeInclusive<usize>,
    /// What these keys hold besides letters and digits.
    signs: &'static [u8],
}

/// New Relic, a client secret of Azure, Azure DevOps, Firebase messages, Salesforce.
const RULES: [Rule; 5] = [
    Rule {
        mark: "NRAL",
        before: 36..=36,
        behind: 0..=0,
        signs: b"",
    },
    Rule {
        mark: "8Q~",
        before: 3..=3,
        behind: 31..=34,
        signs: b"_.~-",
    },
    Rule {
        mark: "AZDO",
        before: 76..=76,
        behind: 4..=4,
        signs: b"",
    },
    Rule {
        mark: ":APA91b",
        before: 7..=32,
        behind: 100..=200,
        signs: b"_-",
    },
    Rule {
        mark: "!AQ",
        before: 15..=15,
        behind: 60..=150,
        signs: b"._",
    },
];

/// The marks, in the order of the rules.
pub(in super::super) fn marks() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.mark)
}

pub(in super::super) fn look(rule: usize, text: &str, start: usize, spans: &mut Spans) {
    let rule = &RULES[rule];
    let end = start + rule.mark.len();
    if !text[start..].starts_with(rule.mark) {
        return;
    }
    let bytes = text.as_bytes();
    let is_part = |b: &&u8| b.is_ascii_alphanumeric() || rule.signs.contains(b);
    // One more than there may be: a longer run is something else.
    let before = bytes[..start].iter().rev().take(rule.before.end() + 1);
    let before = before.take_while(is_part).count();
    let behind = bytes[end..].iter().take(rule.behind.end() + 1);
    let behind = behind.take_while(is_part).count();
    let digit = bytes[start - before..end + behind]
        .iter()
        .any(u8::is_ascii_digit);
    // The full stop of the sentence is none of its signs.
    let stop = usize::from(bytes[end..end + behind].ends_with(b"."));
    if digit && rule.before.contains(&before) && rule.behind.contains(&(behind - stop)) {
        spans.add(start - before, end + behind - stop, "api_key".into());
    }
}
