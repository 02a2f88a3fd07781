//! The prompt for a small window: the parts of the same files that matter most,
//! whole as long as they fit, and a line that names what was left out. However
//! long a team's files grow, the result stays below its limit.

use crate::{markdown::outline::sections, tokens};

/// A small prompt has fewer tokens than this.
pub const SMALL_TOKENS: usize = 1_400;

/// Room for the line that names what was left out.
const RESERVE: usize = 80;

struct Piece<'a> {
    title: &'a str,
    text: &'a str,
    /// Lower goes in first.
    rank: usize,
}

/// Role sections by rank; what is not named here comes after all of them.
const ROLE: [&str; 6] = ["", "First step", "Rules", "Output", "When to ask", "Tools"];

pub(crate) fn assemble(role: &str, global: &str, workflows: &str, rules: &str) -> String {
    let mut pieces = Vec::new();
    for (title, text) in parts(role) {
        let known = ROLE.iter().position(|other| *other == title);
        pieces.push(Piece {
            title,
            text,
            rank: known.map_or(20, |rank| rank * 2),
        });
    }
    for (title, text) in parts(global) {
        // Between what the role does and what it may look up.
        let rank = match title {
            "Rules for everybody" => 7,
            _ => 21,
        };
        pieces.push(Piece { title, text, rank });
    }
    let rest = [
        ("Workflows", workflows, 9),
        ("the repository's rules", rules, 22),
    ];
    pieces.extend(rest.map(|(title, text, rank)| Piece { title, text, rank }));
    pieces.retain(|piece| !piece.text.trim().is_empty());
    fit(&pieces)
}

fn fit(pieces: &[Piece<'_>]) -> String {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|index| pieces[*index].rank);
    let mut left = SMALL_TOKENS - RESERVE;
    let mut taken: Vec<Option<&str>> = vec![None; pieces.len()];
    for index in order {
        let text = pieces[index].text.trim();
        // The empty line between two parts, rounded up.
        let cost = tokens(text) + 1;
        if cost <= left {
            left -= cost;
            taken[index] = Some(text);
        } else if pieces[index].rank < 8 {
            let cut = whole_lines(text, left.saturating_sub(1));
            left -= tokens(cut).min(left);
            taken[index] = Some(cut).filter(|cut| !cut.is_empty());
        }
    }
    let shortened = |(piece, taken): &(&Piece<'_>, &Option<&str>)| {
        taken.is_none_or(|taken| taken.len() < piece.text.trim().len())
    };
    let missing = pieces.iter().zip(&taken).filter(shortened);
    let missing: Vec<&str> = missing.map(|(piece, _)| piece.title).collect();
    let mut parts: Vec<&str> = taken.into_iter().flatten().collect();
    let note = note(&missing);
    parts.extend(Some(note.as_str()).filter(|note| !note.is_empty()));
    parts.join("\n\n")
}

fn note(missing: &[&str]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let mut names = missing.join(", ");
    let most = (RESERVE - 20) * 3;
    if names.len() > most {
        names = format!("{} parts", missing.len());
    }
    format!("(Left out or cut for lack of space: {names}.)")
}

/// As many whole lines as fit.
fn whole_lines(text: &str, room: usize) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if tokens(&text[..end + line.len()]) > room {
            break;
        }
        end += line.len();
    }
    text[..end].trim_end()
}

/// What is before the first level-two heading, under no title, and its sections.
fn parts(text: &str) -> Vec<(&str, &str)> {
    let sections = sections(text);
    let second = || sections.iter().filter(|section| section.level == 2);
    let intro = second()
        .next()
        .map_or(text.len(), |section| section.range.start);
    let parts = second().map(|section| (section.title, &text[section.range.clone()]));
    std::iter::once(("", &text[..intro])).chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_important_parts_come_first_and_the_rest_is_named() {
        let role = format!(
            "# Coder\n\nBuild.\n\n## Rules\n\n- one\n\n## Learnings\n\n{}\n",
            "x ".repeat(9000)
        );
        let text = assemble(
            &role,
            "# The team\n\nx\n\n## Rules for everybody\n\n- two\n",
            "",
            "",
        );
        assert_eq!(
            text,
            "# Coder\n\nBuild.\n\n## Rules\n\n- one\n\n# The team\n\nx\n\n## Rules for everybody\n\n- two\n\n(Left out or cut for lack of space: Learnings.)"
        );
    }

    #[test]
    fn no_file_is_too_long_for_it() {
        for long in ["- a rule of some length\n".repeat(4000), "é".repeat(90_000)] {
            let file = format!("# A\n\n{long}\n\n## Rules\n\n{long}\n\n## {long}\n");
            for text in [
                assemble(&file, &file, &long, &long),
                assemble("", &file, "", ""),
            ] {
                assert!(tokens(&text) < SMALL_TOKENS, "{}", tokens(&text));
            }
        }
    }
}
