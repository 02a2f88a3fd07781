//! A file's change as a table, in one column or in two, with the comments on its
//! lines below them. Every character of the diff is escaped.

use maud::{Markup, html};

use crate::{
    page::render::{
        code,
        comment::{self, Talk},
        diff::{FileChange, Row},
    },
    views::{Comment, Side},
};

/// The most lines that are drawn at once.
pub(crate) const WINDOW: usize = 3_000;

/// How one file is drawn.
pub(crate) struct Drawing<'a> {
    /// The file's number on the page.
    pub(crate) index: usize,
    pub(crate) split: bool,
    /// The first line that is drawn.
    pub(crate) from: usize,
    /// Lines that the last round did not have; empty when nobody asks.
    pub(crate) fresh: &'a [bool],
    /// The address that a line's number or the next lines are asked for with.
    pub(crate) base: &'a str,
    /// Where somebody is about to comment: side, first and last line.
    pub(crate) at: Option<(Side, u32, u32)>,
    pub(crate) comments: &'a [&'a Comment],
    pub(crate) talk: &'a Talk<'a>,
}

/// The table of a file, or of as much of it as is drawn at once.
pub(crate) fn table(file: &FileChange<'_>, drawing: &Drawing<'_>) -> Markup {
    let all = file.rows();
    let from = drawing.from.min(all.len());
    let rows = &all[from..all.len().min(from + WINDOW)];
    let fresh = drawing.fresh.get(from..).unwrap_or_default();
    let language = code::language_of(file.path);
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Changes in " (file.path) } {
            table.diff.split-view[drawing.split] {
                @if drawing.split { colgroup { col.no; col; col.no; col; } }
                tbody {
                    @if drawing.split {
                        @for pair in pairs(rows) { (two_columns(file, drawing, rows, fresh, pair, language)) }
                    } @else {
                        @for (number, row) in rows.iter().enumerate() {
                            (one_column(drawing, row, is_fresh(fresh, number), language))
                            (below(file, drawing, row, 3))
                        }
                    }
                }
            }
        }
        @if from > 0 || all.len() > from + WINDOW {
            p.more {
                "Lines " (from + 1) " to " (from + rows.len()) " of " (all.len()) ". "
                @if from > 0 { (part(drawing, from.saturating_sub(WINDOW), "Earlier lines")) " " }
                @if all.len() > from + WINDOW { (part(drawing, from + WINDOW, "Next lines")) }
            }
        }
    }
}

fn part(drawing: &Drawing<'_>, from: usize, label: &str) -> Markup {
    let index = drawing.index;
    html! { a href={ (drawing.base) "&open=" (index) "&from=" (from) "#f" (index) } { (label) } }
}

fn is_fresh(fresh: &[bool], number: usize) -> bool {
    fresh.get(number).copied().unwrap_or(false)
}

fn one_column(drawing: &Drawing<'_>, row: &Row<'_>, fresh: bool, language: &str) -> Markup {
    html! {
        @if row.class == "hunk" {
            tr.hunk { td colspan="3" { (row.text) } }
        } @else {
            tr.(row.class).fresh[fresh] id=[anchor(drawing, row)] {
                @if row.new.is_some() {
                    td.no { @if let Some(old) = row.old { (old) } }
                    (number(drawing, row))
                } @else {
                    (number(drawing, row))
                    td.no {}
                }
                td { span.mark { (row.mark) } (code::highlight(row.text, language)) }
            }
        }
    }
}

/// The number of a line, which leads to the form for a comment on it.
fn number(drawing: &Drawing<'_>, row: &Row<'_>) -> Markup {
    let (Some((_, number)), Some(anchor)) = (row.place(), anchor(drawing, row)) else {
        return html! { td.no {} };
    };
    html! {
        td.no {
            @if drawing.talk.here {
                a href={ (drawing.base) "&at=" (anchor) "#" (anchor) } { (number) }
            } @else { (number) }
        }
    }
}

fn anchor(drawing: &Drawing<'_>, row: &Row<'_>) -> Option<String> {
    let (side, number) = row.place()?;
    Some(format!("f{}{}{number}", drawing.index, side.letter()))
}

/// Comments on a line, and the form for another one.
fn below(file: &FileChange<'_>, drawing: &Drawing<'_>, row: &Row<'_>, columns: u8) -> Markup {
    let Some((side, number)) = row.place() else {
        return html! {};
    };
    let here = |one: &&&Comment| one.lines.side == side && one.lines.last == number;
    let said: Vec<_> = drawing.comments.iter().filter(here).collect();
    let asked = drawing
        .at
        .filter(|(at, _, last)| (*at, *last) == (side, number));
    html! {
        @if !said.is_empty() || asked.is_some() {
            tr.said {
                td colspan=(columns) {
                    @for one in said { (comment::shown(one, drawing.talk)) }
                    @if let Some((side, first, last)) = asked {
                        (comment::form(file, (side, first, last), drawing.talk))
                    }
                }
            }
        }
    }
}

/// Two lines side by side, by their numbers among the rows.
type Pair = (Option<usize>, Option<usize>);

/// Lines that went stand beside those that came for them.
fn pairs(rows: &[Row<'_>]) -> Vec<Pair> {
    let mut out: Vec<Pair> = Vec::new();
    // The first pair that still has room on its right.
    let mut free = 0;
    for (number, row) in rows.iter().enumerate() {
        match row.class {
            "del" => out.push((Some(number), None)),
            "add" => match out.get_mut(free..).and_then(|rest| rest.first_mut()) {
                Some(pair) => {
                    pair.1 = Some(number);
                    free += 1;
                }
                None => {
                    out.push((None, Some(number)));
                    free = out.len();
                }
            },
            _ => {
                out.push((Some(number), Some(number)));
                free = out.len();
            }
        }
    }
    out
}

fn two_columns(
    file: &FileChange<'_>,
    drawing: &Drawing<'_>,
    rows: &[Row<'_>],
    fresh: &[bool],
    (left, right): Pair,
    language: &str,
) -> Markup {
    let row = |at: Option<usize>| at.and_then(|at| Some((rows.get(at)?, is_fresh(fresh, at))));
    let (left, right) = (row(left), row(right));
    if let Some((row, _)) = left.filter(|(row, _)| row.class == "hunk") {
        return html! { tr.hunk { td colspan="4" { (row.text) } } };
    }
    let cell = |side: Option<(&Row<'_>, bool)>, is_left: bool| {
        html! {
            @match side {
                Some((row, fresh)) => {
                    // A line that stayed is commented on where it stands now.
                    @if is_left && row.class == "same" { td.no { @if let Some(old) = row.old { (old) } } }
                    @else { (number(drawing, row)) }
                    td.half.(row.class).fresh[fresh] id=[anchor(drawing, row).filter(|_| !is_left || row.class == "del")]
                        { span.mark { (row.mark) } (code::highlight(row.text, language)) }
                }
                None => { td.no {} td.half.none {} }
            }
        }
    };
    let same = left.is_some_and(|(row, _)| row.class == "same");
    html! {
        tr { (cell(left, true)) (cell(right, false)) }
        @if let Some((row, _)) = left.filter(|_| !same) { (below(file, drawing, row, 4)) }
        @if let Some((row, _)) = right { (below(file, drawing, row, 4)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::render::diff::files;

    #[test]
    fn what_went_stands_beside_what_came() {
        let diff = "diff --git a/a b/a\n@@ -1,4 +1,4 @@\n one\n-two\n-three\n+2\n+3\n+4\n five\n";
        let files = files(diff);
        let rows = files[0].rows();
        assert_eq!(
            pairs(&rows),
            [
                (Some(0), Some(0)),
                (Some(1), Some(1)),
                (Some(2), Some(4)),
                (Some(3), Some(5)),
                (None, Some(6)),
                (Some(7), Some(7)),
            ]
        );
    }
}
