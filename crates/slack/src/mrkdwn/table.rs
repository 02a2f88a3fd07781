//! A table for Slack, which knows none in text: aligned columns as code where they fit
//! on a screen, else a list with the headings named.

use super::escape;

/// What fits side by side without being wrapped.
const WIDEST: usize = 78;

/// A table while it is read: the heading is its first row.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Text of the cell that is open.
    pub(super) fn text(&mut self, text: &str) {
        let cell = self.rows.last_mut().and_then(|row| row.last_mut());
        if let Some(cell) = cell {
            cell.push_str(&text.replace('\n', " "));
        }
    }

    /// The table in mrkdwn.
    pub(super) fn shown(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let total: usize = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
        if total <= WIDEST {
            self.aligned(&widths)
        } else {
            self.listed()
        }
    }

    fn aligned(&self, widths: &[usize]) -> String {
        let line = |row: &Vec<String>| {
            let cells = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:<width$}", width = *width));
            cells
                .collect::<Vec<_>>()
                .join("  ")
                .trim_end()
                .replace("```", "'''")
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        lines.insert(1.min(lines.len()), rule.join("  "));
        format!("```\n{}\n```", escape(&lines.join("\n")))
    }

    fn listed(&self) -> String {
        let Some((heads, rows)) = self.rows.split_first() else {
            return String::new();
        };
        let item = |row: &Vec<String>| {
            let cells = row.iter().zip(heads).filter(|(cell, _)| !cell.is_empty());
            let named = cells.map(|(cell, head)| match head.is_empty() {
                true => escape(cell),
                false => format!("*{}:* {}", escape(head), escape(cell)),
            });
            format!("• {}", named.collect::<Vec<_>>().join("; "))
        };
        rows.iter().map(item).collect::<Vec<_>>().join("\n")
    }
}
