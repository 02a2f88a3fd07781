//! Text of others as a person may see it on a terminal: nothing in it steers the
//! terminal, hides, or reorders what stands beside it.
//!
//! What cannot be seen is written as `\u{1b}`. Letters of every script, and the
//! joiners that emoji and some scripts need, stay as they are.

use std::{borrow::Cow, fmt::Write};

/// The text in lines. Line feeds (also with a carriage return before them) and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c, next| match c {
        '\n' | '\t' => true,
        '\r' => next == Some('\n'),
        c => !is_invisible(c),
    })
}

/// The text in one line: line feeds and tabs are written out too.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escaped(text, |c, _| !is_invisible(c))
}

/// JSON on a terminal: what cannot be seen becomes an escape of JSON's own, which
/// means the same to whoever parses it.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    if !json.contains(|c| is_invisible(c) && c != '\n') {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_invisible(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn escaped(text: &str, stays: impl Fn(char, Option<char>) -> bool) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if stays(c, rest.clone().next()) {
            shown.push(c);
        } else {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        }
    }
    Cow::Owned(shown)
}

/// Controls of both sets, marks of direction, and what has no width of its own.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_written_out() {
        for (text, shown) in [
            ("\u{1b}]52;c;cm0=\u{7}", r"\u{1b}]52;c;cm0=\u{7}"),
            ("\u{9b}2J\u{90}q\u{9c}", r"\u{9b}2J\u{90}q\u{9c}"),
            ("done\rfailed\u{8}\u{7f}", r"done\u{d}failed\u{8}\u{7f}"),
            (
                "a\u{202e}b\u{2066}c\u{200b}",
                r"a\u{202e}b\u{2066}c\u{200b}",
            ),
            ("two\r\nlines\tof\n text", "two\r\nlines\tof\n text"),
            (
                "héllo 你好 👩\u{200d}💻 \u{fdfa}",
                "héllo 你好 👩\u{200d}💻 \u{fdfa}",
            ),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible_line("a\n\tb"), r"a\u{a}\u{9}b");
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let value = serde_json::json!({"t": "\u{1b}[2J \u{9b}2J \u{202e} \u{e0041} é"});
        for json in [value.to_string(), format!("{value:#}")] {
            let shown = visible_json(&json).into_owned();
            assert!(
                !shown.contains(|c: char| c != '\n' && is_invisible(c)),
                "{shown}"
            );
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
                value
            );
        }
    }
}
