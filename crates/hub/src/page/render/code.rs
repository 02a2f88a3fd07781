//! Colours for code, made here so that the page loads no library. One lexer
//! serves all languages; what differs between them is a row of a table. It
//! never guesses meaning: strings, comments, numbers, words and calls.

use std::{fmt::Write as _, sync::LazyLock};

use maud::{Escaper, Markup, PreEscaped};

/// Longer code is shown without colours: nobody reads it here.
const LIMIT: usize = 200_000;

/// What the lexer has to know about a language.
#[derive(Default)]
struct Tongue {
    names: Vec<&'static str>,
    line_comments: Vec<&'static str>,
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static str,
    /// Quotes whose strings may run over several lines.
    long_quotes: &'static str,
    words: &'static str,
}

static TONGUES: LazyLock<Vec<Tongue>> = LazyLock::new(|| {
    let lines = include_str!("tongues.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.filter_map(Tongue::read).collect()
});

/// Without a name: only what nearly every language agrees on.
static UNKNOWN: LazyLock<Tongue> = LazyLock::new(|| Tongue {
    quotes: "\"",
    ..Tongue::default()
});

impl Tongue {
    fn read(line: &'static str) -> Option<Self> {
        let mut fields = line.split('|').map(str::trim);
        let mut list = || fields.next().map(|field| field.split(' '));
        Some(Self {
            names: list()?.collect(),
            line_comments: list()?.filter(|mark| !mark.is_empty()).collect(),
            block_comment: list().and_then(|mut ends| Some((ends.next()?, ends.next()?))),
            quotes: fields.next()?,
            long_quotes: fields.next()?,
            words: fields.next()?,
        })
    }
}

fn tongue(name: &str) -> Option<&'static Tongue> {
    let name = name.to_ascii_lowercase();
    TONGUES
        .iter()
        .find(|tongue| tongue.names.contains(&name.as_str()))
}

/// The language that the ending of a file's name stands for.
pub(crate) fn language_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(_, ending)| ending)
}

/// Whether a word after the opening fence names a language, so that it is not
/// taken for the first line of the code.
pub(crate) fn is_language(word: &str) -> bool {
    tongue(word).is_some() || matches!(word, "diff" | "patch" | "text" | "txt" | "markdown" | "md")
}

/// A block of code: scrolls by itself and can be reached by keyboard.
pub(crate) fn block(code: &str, language: &str) -> Markup {
    let inner = if looks_like_diff(code, language) {
        crate::page::render::diff::lines(code)
    } else {
        highlight(code, language)
    };
    maud::html! { pre tabindex="0" { code { (inner) } } }
}

fn looks_like_diff(code: &str, language: &str) -> bool {
    matches!(language, "diff" | "patch") || code.starts_with("diff --git ")
}

/// Code with its parts in `<span>`s; every character is escaped.
pub(crate) fn highlight(code: &str, language: &str) -> Markup {
    let mut out = String::with_capacity(code.len() * 2);
    if code.len() > LIMIT {
        plain(&mut out, code);
        return PreEscaped(out);
    }
    let tongue = tongue(language).unwrap_or(&UNKNOWN);
    let mut rest = code;
    let mut at_word = false;
    while let Some(first) = rest.chars().next() {
        let (class, length) = next_piece(tongue, rest, first, at_word);
        let (piece, after) = rest.split_at(length);
        match class {
            Some(class) => {
                let _ = write!(out, "<span class=\"{class}\">");
                plain(&mut out, piece);
                out.push_str("</span>");
            }
            None => plain(&mut out, piece),
        }
        at_word = piece.chars().next_back().is_some_and(is_word);
        rest = after;
    }
    PreEscaped(out)
}

fn plain(out: &mut String, text: &str) {
    let _ = Escaper::new(out).write_str(text);
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The class of what comes next and how many bytes it takes.
fn next_piece(
    tongue: &Tongue,
    rest: &str,
    first: char,
    at_word: bool,
) -> (Option<&'static str>, usize) {
    if let Some((open, close)) = tongue.block_comment
        && let Some(body) = rest.strip_prefix(open)
    {
        let end = body
            .find(close)
            .map_or(rest.len(), |at| open.len() + at + close.len());
        return (Some("c"), end);
    }
    if !at_word
        && tongue
            .line_comments
            .iter()
            .any(|mark| rest.starts_with(mark))
    {
        return (Some("c"), rest.find('\n').unwrap_or(rest.len()));
    }
    if tongue.quotes.contains(first) {
        return (
            Some("s"),
            string_end(rest, first, tongue.long_quotes.contains(first)),
        );
    }
    if !is_word(first) {
        return (None, first.len_utf8());
    }
    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let word = &rest[..end];
    let class = if at_word {
        None
    } else if first.is_ascii_digit() {
        Some("n")
    } else if tongue.words.split(' ').any(|known| known == word) {
        Some("k")
    } else if rest[end..].starts_with('(') {
        Some("f")
    } else {
        None
    };
    (class, end)
}

/// Where a string ends: at its quote, or at the line's end when it may not run on.
fn string_end(rest: &str, quote: char, long: bool) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if !long => return at,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::page::render::code::*;

    fn check(code: &str, language: &str, expected: &str) {
        assert_eq!(highlight(code, language).into_string(), expected, "{code}");
    }

    #[test]
    fn parts_of_code_are_coloured() {
        check(
            "let x = f(1); // no",
            "rust",
            "<span class=\"k\">let</span> x = <span class=\"f\">f</span>(<span class=\"n\">1</span>); <span class=\"c\">// no</span>",
        );
        check(
            "echo \"$a\" # x",
            "sh",
            "<span class=\"k\">echo</span> <span class=\"s\">&quot;$a&quot;</span> <span class=\"c\"># x</span>",
        );
        check("a#b", "sh", "a#b");
        check("'a", "rust", "'a");
        check("/* a\nb */c", "c", "<span class=\"c\">/* a\nb */</span>c");
        check("let <b>", "klingon", "let &lt;b&gt;");
    }

    #[test]
    fn the_ending_of_a_name_says_the_language() {
        assert_eq!(language_of("src/a/main.rs"), "rs");
        assert_eq!(language_of("deploy/Makefile"), "Makefile");
        assert!(is_language("Makefile") && is_language("diff") && !is_language("hello"));
    }

    fn text_of(html: &str) -> String {
        let mut text = String::new();
        let mut inside = false;
        for c in html.chars() {
            match c {
                '<' => inside = true,
                '>' if inside => inside = false,
                c if !inside => text.push(c),
                _ => {}
            }
        }
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&amp;", "&")
    }

    proptest! {
        /// Nothing is lost, nothing becomes markup, whatever comes in.
        #[test]
        fn every_character_comes_out_once(
            code in "[a-z0-9 <>&\"'`/*#\\\\\nü(-]{0,80}",
            language in prop::sample::select(vec!["rust", "js", "sh", "sql", "html", "py", "json", ""]),
        ) {
            prop_assert_eq!(text_of(&highlight(&code, language).into_string()), code);
        }
    }
}
