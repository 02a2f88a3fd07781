//! CSV as a table: fields in quotes may hold separators and line ends, rows may be of
//! different length, and nothing is guessed beyond which separator it is.

use maud::{Markup, html};

/// More is for other programs.
const ROWS: usize = 500;
const COLUMNS: usize = 50;

/// A table of a text whose name says that it is one.
pub(crate) fn of(text: &str, name: &str) -> Option<Markup> {
    let ending = name.rsplit_once('.').map(|(_, end)| end)?;
    let separator = match ending.to_ascii_lowercase().as_str() {
        "tsv" => '\t',
        "csv" => separator(text),
        _ => return None,
    };
    let (rows, whole) = rows(text, separator);
    let (head, body) = rows.split_first()?;
    Some(html! {
        div.csv tabindex="0" role="region" aria-label={ "Table " (name) } {
            table {
                thead { tr { @for cell in head { th scope="col" { (cell) } } } }
                tbody { @for row in body { tr { @for cell in row { td { (cell) } } } } }
            }
        }
        @if !whole { p.soft { "The first " (rows.len()) " rows." } }
    })
}

/// Whatever stands in the first line more often: programs of many countries write `;`.
fn separator(text: &str) -> char {
    let first = text.lines().next().unwrap_or_default();
    let count = |c: char| first.matches(c).count();
    let most = [',', ';', '\t'].into_iter().rev().max_by_key(|c| count(*c));
    most.unwrap_or(',')
}

/// The rows, and whether they are all.
fn rows(text: &str, separator: char) -> (Vec<Vec<String>>, bool) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if quoted || cell.is_empty() => quoted = !quoted,
            '\r' if !quoted && letters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(cut(std::mem::take(&mut row)));
                if rows.len() == ROWS {
                    return (rows, letters.peek().is_none());
                }
            }
            c if c == separator && !quoted => row.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(cut(row));
    }
    (rows, true)
}

fn cut(mut row: Vec<String>) -> Vec<String> {
    row.truncate(COLUMNS);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_programs_write_them() {
        for (text, expected) in [
            ("a,b\n1,2\n", "a|b/1|2"),
            ("a;b\r\n1,5;2\r\n", "a|b/1,5|2"),
            ("a\tb\n1\t2", "a|b/1|2"),
            (
                "n,t\n1,\"two, \"\"2\"\"\nlines\"\n",
                "n|t/1|two, \"2\"\nlines",
            ),
            ("a,b\n1\n,\n", "a|b/1/|"),
            ("\u{feff}a,b\n", "a|b"),
            ("5\" pipe,x\n", "5\" pipe|x"),
            ("a,\"open\n1,2\n", "a|open\n1,2\n"),
        ] {
            let (rows, whole) = rows(text, separator(text));
            let rows: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
            assert_eq!((rows.join("/").as_str(), whole), (expected, true), "{text}");
        }
    }

    #[test]
    fn a_table_is_escaped_and_has_an_end() {
        let long = "a,<script>alert(1)</script>\n".repeat(ROWS + 1);
        let shown = of(&long, "prices.CSV").unwrap().into_string();
        assert!(shown.contains("&lt;script&gt;") && !shown.contains("<script>"));
        assert!(shown.contains("The first 500 rows."));
        assert!(of("a,b\n", "notes.txt").is_none() && of("", "empty.csv").is_none());
    }
}
