//! How a long text is cut into posts: text at line and fence boundaries, long
//! code as files, which people can open, search and save.

use butler_slack::mrkdwn::{self, LONG_CODE};

/// Languages as models name them, and how their files end. What is not here is text.
const LANGUAGES: &str = "\
    bash.sh c.c cpp.cpp csharp.cs css.css diff.diff go.go html.html java.java javascript.js \
    js.js json.json jsx.jsx kotlin.kt markdown.md md.md patch.diff php.php py.py python.py \
    rb.rb rs.rs ruby.rb rust.rs sh.sh shell.sh sql.sql swift.swift toml.toml ts.ts tsx.tsx \
    typescript.ts xml.xml yaml.yaml yml.yaml";

/// More messages than this are a file.
const MOST_PARTS: usize = 6;
/// What is shown of a file's text, in bytes.
const BEGINNING: usize = 1_000;

/// One message of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text, short enough for one message.
    Text(String),
    /// Code, as it was before escaping.
    Snippet { name: String, code: String },
}

/// Cuts a text in mrkdwn; never empty unless the text is. What would fill the
/// thread is a file, with its beginning above it.
pub(crate) fn of(text: &str) -> Vec<Part> {
    let parts = cut(text);
    if parts.len() <= MOST_PARTS {
        return parts;
    }
    let beginning = mrkdwn::split(text, BEGINNING).swap_remove(0);
    let beginning = beginning.trim_end();
    vec![
        Part::Text(format!("{beginning}\n\n_The whole of it is in the file._")),
        Part::Snippet {
            name: "message.md".to_owned(),
            code: mrkdwn::unescape(text),
        },
    ]
}

fn cut(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut pending = String::new();
    let mut snippets = 0;
    for (index, piece) in text.split("```").enumerate() {
        let is_code = index % 2 == 1;
        if is_code && piece.trim_matches('\n').lines().count() >= LONG_CODE {
            flush(&mut parts, &mut pending);
            snippets += 1;
            let (ending, code) = language(piece);
            parts.push(Part::Snippet {
                name: format!("snippet-{snippets}.{ending}"),
                code: mrkdwn::unescape(code),
            });
        } else if is_code {
            pending.push_str("```");
            pending.push_str(piece);
            pending.push_str("```");
        } else {
            pending.push_str(piece);
        }
    }
    flush(&mut parts, &mut pending);
    parts
}

/// How a file with this code ends, and the code without the name of its language.
fn language(piece: &str) -> (&'static str, &str) {
    let (first, rest) = piece.split_once('\n').unwrap_or(("", piece));
    let mut known = LANGUAGES.split(' ').filter_map(|one| one.split_once('.'));
    let named = known.find(|(name, _)| first.eq_ignore_ascii_case(name));
    match named {
        Some((_, ending)) => (ending, rest),
        None if first.is_empty() => (guess(rest), rest),
        None => (guess(piece), piece),
    }
}

/// What can be told from the code itself.
fn guess(code: &str) -> &'static str {
    let begins = |start: &str| code.starts_with(start);
    if begins("diff --git ") || begins("--- ") || begins("@@ ") {
        "diff"
    } else if begins("#!/bin/") || begins("#!/usr/bin/env ba") {
        "sh"
    } else if begins("{\n") || begins("[\n") {
        "json"
    } else {
        "txt"
    }
}

fn flush(parts: &mut Vec<Part>, pending: &mut String) {
    let text = std::mem::take(pending);
    if !text.trim().is_empty() {
        let texts = mrkdwn::split(&text, mrkdwn::LIMIT);
        parts.extend(texts.into_iter().map(Part::Text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_code_becomes_a_file_and_short_code_stays() {
        let long = "let x = a &lt; b;\n".repeat(25);
        let text = format!("before\n```\n{long}```\nbetween ```short``` end\n```\n{long}```");
        let parts = of(&text);
        assert_eq!(parts.len(), 4, "{parts:?}");
        assert_eq!(parts[0], Part::Text("before\n".into()));
        let Part::Snippet { name, code } = &parts[1] else {
            panic!("a snippet");
        };
        assert_eq!(name, "snippet-1.txt");
        assert_eq!(code, &"let x = a < b;\n".repeat(25));
        assert_eq!(parts[2], Part::Text("\nbetween ```short``` end\n".into()));
        assert!(matches!(&parts[3], Part::Snippet { name, .. } if name == "snippet-2.txt"));
    }

    #[test]
    fn a_file_is_called_by_its_language() {
        let body = "a line\n".repeat(25);
        for (fence, name, first) in [
            ("rust\n", "snippet-1.rs", "a line"),
            ("Python\n", "snippet-1.py", "a line"),
            ("\n", "snippet-1.txt", "a line"),
            ("a word that is code\n", "snippet-1.txt", "a word"),
            ("\n@@ -1 +1 @@\n", "snippet-1.diff", "@@"),
            ("\n{\n", "snippet-1.json", "{"),
        ] {
            let parts = of(&format!("```{fence}{body}```"));
            let [Part::Snippet { name: got, code }] = parts.as_slice() else {
                panic!("{parts:?}");
            };
            assert_eq!(got, name);
            assert!(code.starts_with(first), "{code}");
        }
    }

    #[test]
    fn a_very_long_answer_is_one_file_with_its_beginning() {
        let text = "a line &amp; more\n".repeat(4_000);
        let parts = of(&text);
        let [Part::Text(beginning), Part::Snippet { name, code }] = parts.as_slice() else {
            panic!("{} parts", parts.len());
        };
        assert!(beginning.starts_with("a line") && beginning.len() < 1_200);
        assert_eq!(name, "message.md");
        assert_eq!(*code, "a line & more\n".repeat(4_000), "nothing is lost");
    }

    #[test]
    fn plain_text_is_one_part_and_nothing_is_none() {
        assert_eq!(of("hi"), [Part::Text("hi".into())]);
        assert_eq!(of(" "), []);
        let open = format!("```\n{}", "code\n".repeat(30));
        assert!(matches!(of(&open)[..], [Part::Snippet { .. }]));
    }
}
