//! Colours and weight of our own words.
//!
//! A painted text carries marks instead of escapes: characters that Unicode has
//! set aside for use inside one program. Only [`shown`], on the way to the
//! terminal, turns them into escapes, and writes out every escape that came with
//! somebody else's text.

use std::fmt::{self, Display};

use butler_protocol::visible;

/// Ends whatever was begun.
const END: char = '\u{fdd0}';

/// Each mark with the escape it stands for.
const STYLES: [(char, &str); 7] = [
    (END, "\u{1b}[0m"),
    ('\u{fdd1}', "\u{1b}[1m"),
    ('\u{fdd2}', "\u{1b}[2m"),
    ('\u{fdd3}', "\u{1b}[31m"),
    ('\u{fdd4}', "\u{1b}[32m"),
    ('\u{fdd5}', "\u{1b}[33m"),
    ('\u{fdd6}', "\u{1b}[36m"),
];

/// A text in a style.
pub(crate) struct Painted<T> {
    mark: char,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Write::write_char(f, self.mark)?;
        self.text.fmt(f)?;
        fmt::Write::write_char(f, END)
    }
}

/// The styles that we use.
pub(crate) trait Paint: Display + Sized {
    fn bold(&self) -> Painted<&Self> {
        painted(self, 1)
    }
    fn dimmed(&self) -> Painted<&Self> {
        painted(self, 2)
    }
    fn red(&self) -> Painted<&Self> {
        painted(self, 3)
    }
    fn green(&self) -> Painted<&Self> {
        painted(self, 4)
    }
    fn yellow(&self) -> Painted<&Self> {
        painted(self, 5)
    }
    fn cyan(&self) -> Painted<&Self> {
        painted(self, 6)
    }
}

const fn painted<T>(text: T, style: usize) -> Painted<T> {
    let mark = STYLES[style].0;
    Painted { mark, text }
}

impl<T: Display> Paint for T {}

/// What is written to a terminal: our styles, and nothing else that steers it.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut painted = false;
    for part in text.split_inclusive(is_mark) {
        let mut chars = part.chars();
        let mark = chars.next_back().filter(|c| is_mark(*c));
        let plain = if mark.is_some() { chars.as_str() } else { part };
        out.push_str(&visible(plain));
        if let Some(escape) = mark.and_then(escape) {
            painted = mark != Some(END);
            out.push_str(escape);
        }
    }
    if painted {
        // Text of others that brought such a mark colours no more than its own lines.
        out.push_str(STYLES[0].1);
    }
    out
}

/// The same without any style.
#[cfg(test)]
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !is_mark(*c)).collect()
}

fn is_mark(c: char) -> bool {
    escape(c).is_some()
}

fn escape(mark: char) -> Option<&'static str> {
    let found = STYLES.iter().find(|(own, _)| *own == mark);
    found.map(|(_, escape)| *escape)
}

#[cfg(test)]
mod tests {
    use crate::ui::paint::*;

    #[test]
    fn our_styles_become_escapes_and_those_of_others_are_written_out() {
        let line = format!(
            "{} {}",
            "error:".red().bold(),
            "no\u{1b}[31m such\u{1b}]0;x\u{7}"
        );
        assert_eq!(
            shown(&line),
            "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m\u{1b}[0m no\\u{1b}[31m such\\u{1b}]0;x\\u{7}"
        );
        assert_eq!(plain(&format!("{:4}|", "ok".green())), "ok  |");
    }

    #[test]
    fn a_mark_from_outside_ends_with_its_text() {
        assert_eq!(shown("a\u{fdd3}b"), "a\u{1b}[31mb\u{1b}[0m");
        assert_eq!(shown("\u{fdd9}"), "\\u{fdd9}");
    }
}
