//! Why an edit did not fit, with the lines of the file that come nearest.

use std::{collections::HashMap, fmt::Write as _};

use crate::content::clip;

/// Lines of a file that are compared.
const LINES: usize = 20_000;

/// Lines shown around the nearest place.
const AROUND: usize = 2;

/// Lines of `old` that are looked for.
const MOST: usize = 40;

/// How a text was not found exactly once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Missed {
    NotFound,
    /// More than once, in this spelling.
    Several {
        count: usize,
        text: String,
    },
}

/// What the model reads.
pub(super) fn explain(which: &str, path: &str, content: &str, old: &str, missed: Missed) -> String {
    match missed {
        Missed::Several { count, text } => format!(
            "{which} occurs {count} times in `{path}` (lines {}): add a line around it to make it unique, or set `all`. Nothing was changed.",
            places(content, &text)
        ),
        Missed::NotFound => not_found(which, path, content, old),
    }
}

fn not_found(which: &str, path: &str, content: &str, old: &str) -> String {
    let mut text = format!("{which} does not occur in `{path}`. Nothing was changed.");
    if looks_numbered(old) {
        text.push_str(" It seems to contain the line numbers of Read: leave them out.");
    } else if squeezed(content).contains(&squeezed(old)) {
        text.push_str(" Only white space differs: copy the indentation exactly.");
    }
    let lines: Vec<&str> = content.lines().take(LINES).collect();
    let wanted: Vec<&str> = old.lines().take(MOST).collect();
    let Some(start) = nearest_place(&lines, &wanted) else {
        text.push_str(" Nothing in the file looks like it: Read the file again.");
        return text;
    };
    text.push_str(" The nearest lines are:\n");
    let from = start.saturating_sub(AROUND);
    let to = (start + wanted.len() + AROUND).min(lines.len());
    for (index, line) in lines[from..to].iter().enumerate() {
        let _ = writeln!(text, "{:>6}\t{}", from + index + 1, clip::line(line));
    }
    text
}

/// The first line numbers at which a text begins.
fn places(content: &str, text: &str) -> String {
    let mut line = 1;
    let mut at = 0;
    let mut numbers = Vec::new();
    for (found, _) in content.match_indices(text) {
        line += content[at..found].matches('\n').count();
        at = found;
        numbers.push(line.to_string());
        if numbers.len() == 8 {
            numbers.push("…".to_owned());
            break;
        }
    }
    numbers.join(", ")
}

/// Where the wanted lines would begin: by lines that are equal up to their
/// indentation, else by the one line that looks most alike.
fn nearest_place(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut at: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        let line = line.trim();
        if line.len() > 1 {
            at.entry(line).or_default().push(index);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (index, line) in wanted.iter().enumerate() {
        // A line that is everywhere, as a closing brace is, tells nothing.
        let places = at.get(line.trim()).filter(|places| places.len() <= 50);
        for place in places.into_iter().flatten() {
            *votes.entry(place.saturating_sub(index)).or_default() += 1;
        }
    }
    let best = votes
        .into_iter()
        .max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    if let Some((start, _)) = best {
        return Some(start);
    }
    let (index, longest) = wanted
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.trim().len())?;
    let (place, score) = lines
        .iter()
        .enumerate()
        .map(|(place, line)| (place, alike(longest.trim(), line.trim())))
        .max_by_key(|(place, score)| (*score, std::cmp::Reverse(*place)))?;
    (score >= 500).then(|| place.saturating_sub(index))
}

/// How many neighbouring pairs of letters two lines share, in thousandths.
fn alike(a: &str, b: &str) -> u32 {
    let head = |text: &'_ str| text[..text.floor_char_boundary(256)].to_owned();
    (strsim::sorensen_dice(&head(a), &head(b)) * 1000.0) as u32
}

fn looks_numbered(old: &str) -> bool {
    !old.is_empty()
        && old.lines().all(|line| {
            line.trim_start()
                .split_once('\t')
                .is_some_and(|(number, _)| {
                    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
                })
        })
}

/// Without any white space.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn one() {\n    let a = 1;\n}\n\nfn two() {\n    let total = first + second;\n    total\n}\n";

    fn explained(old: &str) -> String {
        explain("`old`", "x.rs", FILE, old, Missed::NotFound)
    }

    #[test]
    fn the_nearest_lines_are_shown_with_their_numbers() {
        let text = explained("fn two() {\n    let sum = first + second;");
        assert!(text.contains("     5\tfn two() {"), "{text}");
        assert!(
            text.contains("     6\t    let total = first + second;"),
            "{text}"
        );
        let text = explained("let totals = first + secnd;");
        assert!(
            text.contains("     6\t    let total = first + second;"),
            "{text}"
        );
    }

    #[test]
    fn usual_mistakes_are_named() {
        assert!(explained("  let a = 1;").contains("Only white space differs"));
        assert!(explained("     2\t    let a = 1;").contains("line numbers of Read"));
        assert!(explained("zebra crossing").contains("Read the file again"));
    }

    #[test]
    fn several_places_are_listed() {
        let text = explain(
            "`old`",
            "x.rs",
            "a\nb\na\n",
            "a",
            Missed::Several {
                count: 2,
                text: "a".into(),
            },
        );
        assert!(
            text.contains("2 times") && text.contains("lines 1, 3"),
            "{text}"
        );
    }
}
