//! Edit: exact replacements in one file, all of them or none.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    NotDone,
    change::{self, Planned},
    mismatch::{self, Missed},
};
use crate::{
    Workplace,
    content::text::{self, LineEnds},
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The file, from the root.
    path: String,
    /// The exact text, with its indentation.
    old: Option<String>,
    /// What to put there; empty deletes.
    new: Option<String>,
    /// Every occurrence instead of exactly one.
    all: Option<bool>,
    /// Several replacements instead of `old` and `new`, in order; none is made when one fails.
    edits: Option<Vec<Replacement>>,
}

/// One replacement.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Replacement {
    old: String,
    new: String,
    all: Option<bool>,
}

/// The tool.
pub struct Edit;

const DESCRIPTION: &str = "
Replaces exact text in an existing file; for new files use Write. `old` must occur exactly once (or
set `all`): copy it from Read without the line numbers, with a line around it when it is not unique.
Several changes of one file go into `edits`. Returns the diff, or the nearest lines when `old` is not
found.
Example: {\"path\": \"src/lib.rs\", \"old\": \"let limit = 10;\", \"new\": \"let limit = 20;\"}";

super::change::of_one_file!(Edit, "Edit");

fn plan(place: &Workplace, input: &Input) -> Result<Planned, NotDone> {
    let replacements = replacements(input).map_err(|why| format!("failed: {why}"))?;
    let path = place.locate(&input.path)?;
    let Some(before) = change::present(place, &path)? else {
        // Names what looks alike.
        place.open_file(&path)?;
        return Err("failed: the file appeared just now; try again".into());
    };
    let Ok(mut content) = String::from_utf8(before.clone()) else {
        let path = path.shown();
        return Err(format!(
            "failed: `{path}` is not UTF-8 text: change it with a program in Bash"
        )
        .into());
    };
    let mut count = 0;
    for (index, replacement) in replacements.iter().enumerate() {
        let (next, times) = replace(&content, replacement).map_err(|missed| {
            let which = match replacements.len() {
                1 => "`old`".to_owned(),
                _ => format!("`edits[{index}].old`"),
            };
            let path = path.shown();
            let why = mismatch::explain(&which, path, &content, &replacement.old, missed);
            format!("failed: {why}")
        })?;
        content = next;
        count += times;
    }
    let s = if count == 1 { "" } else { "s" };
    Ok(Planned {
        path,
        before: Some(before),
        after: content.into_bytes(),
        what: format!("made {count} replacement{s} in"),
    })
}

/// The list of replacements, however it was given.
fn replacements(input: &Input) -> Result<Vec<Replacement>, String> {
    let several = input.edits.clone().unwrap_or_default();
    let list = match (&input.old, &input.new) {
        (None, None) if several.is_empty() => {
            return Err("`old` is missing: give `old` and `new`, or `edits`".to_owned());
        }
        (None, None) => several,
        (Some(_), Some(_)) if !several.is_empty() => {
            return Err("give either `old` and `new`, or `edits`, not both".to_owned());
        }
        (Some(old), Some(new)) => vec![Replacement {
            old: old.clone(),
            new: new.clone(),
            all: input.all,
        }],
        (Some(_), None) => return Err("`new` is missing; an empty `new` deletes".to_owned()),
        (None, Some(_)) => return Err("`old` is missing".to_owned()),
    };
    for (index, item) in list.iter().enumerate() {
        let label = if list.len() == 1 {
            "`old`".to_owned()
        } else {
            format!("`edits[{index}].old`")
        };
        if item.old.is_empty() {
            return Err(format!("{label} is empty: use Write to create a file"));
        }
        if item.old == item.new {
            return Err(format!("{label} and its replacement are the same"));
        }
    }
    Ok(list)
}

/// The content with one replacement made, and how often.
fn replace(content: &str, replacement: &Replacement) -> Result<(String, usize), Missed> {
    let all = replacement.all.unwrap_or(false);
    let mut tried = Missed::NotFound;
    for (old, new) in spellings(content, replacement) {
        match content.matches(old.as_str()).count() {
            0 => {}
            1 => return Ok((content.replacen(old.as_str(), &new, 1), 1)),
            count if all => return Ok((content.replace(old.as_str(), &new), count)),
            count => {
                tried = Missed::Several { count, text: old };
                break;
            }
        }
    }
    Err(tried)
}

/// The replacement with the file's line ends, most likely first.
fn spellings(content: &str, replacement: &Replacement) -> Vec<(String, String)> {
    let Replacement { old, new, .. } = replacement;
    let crlf = || {
        (
            text::with_crlf(old).into_owned(),
            text::with_crlf(new).into_owned(),
        )
    };
    let plain = || (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    match LineEnds::of(content) {
        LineEnds::Lf => vec![(old.clone(), new.clone()), plain()],
        LineEnds::CrLf => vec![crlf()],
        LineEnds::Mixed => vec![(old.clone(), new.clone()), crlf(), plain()],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(old: &str, new: &str, all: bool) -> Replacement {
        Replacement {
            old: old.into(),
            new: new.into(),
            all: Some(all),
        }
    }

    #[test]
    fn line_ends_of_the_file_win() {
        for (content, old, new, expected) in [
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
            ("a\r\nb\r\n", "b", "c\nd", "a\r\nc\r\nd\r\n"),
            ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
            ("a\r\nb\nc\n", "a\nb", "x\ny", "x\r\ny\nc\n"),
            ("a\r\nb\nc\n", "b\nc", "y\nz", "a\r\ny\nz\n"),
        ] {
            let (after, times) = replace(content, &item(old, new, false)).unwrap();
            assert_eq!((after.as_str(), times), (expected, 1), "{content:?}");
        }
    }

    #[test]
    fn one_means_one_unless_all_is_set() {
        assert_eq!(
            replace("a b a", &item("a", "c", false)),
            Err(Missed::Several {
                count: 2,
                text: "a".into()
            })
        );
        assert_eq!(
            replace("a b a", &item("a", "c", true)),
            Ok(("c b c".into(), 2))
        );
        assert_eq!(replace("a", &item("z", "c", true)), Err(Missed::NotFound));
    }

    proptest! {
        #[test]
        fn replacing_back_gives_the_old_text(head in "[a-m\n]{0,20}", tail in "[a-m\n]{0,20}") {
            let content = format!("{head}XYZ{tail}");
            let (there, _) = replace(&content, &item("XYZ", "Q", false)).unwrap();
            let (back, _) = replace(&there, &item("Q", "XYZ", false)).unwrap();
            prop_assert_eq!(back, content);
        }
    }
}
