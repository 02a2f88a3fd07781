//! A report: a table, and bars with what was measured against them.

/// What a bench found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    bars: Vec<Bar>,
}

#[derive(Debug)]
struct Bar {
    what: String,
    measured: f64,
    at_most: f64,
    unit: &'static str,
}

impl Report {
    pub(crate) fn new(title: &str, head: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            head: head.iter().map(ToString::to_string).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// A figure that must not be higher.
    pub(crate) fn bar(&mut self, what: &str, measured: f64, at_most: f64, unit: &'static str) {
        self.bars.push(Bar {
            what: what.to_owned(),
            measured,
            at_most,
            unit,
        });
    }

    /// Whether all bars are met.
    pub(crate) fn met(&self) -> bool {
        self.bars.iter().all(|bar| bar.measured <= bar.at_most)
    }

    pub(crate) fn render(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("## {}\n\n", self.title);
        text.push_str(&line(&self.head));
        text.push_str(&line(&vec!["---".to_owned(); self.head.len()]));
        for row in &self.rows {
            text.push_str(&line(row));
        }
        text.push('\n');
        for bar in &self.bars {
            let verdict = if bar.measured <= bar.at_most {
                "met"
            } else {
                "MISSED"
            };
            text.push_str(&format!(
                "- {verdict}: {} is {:.2}{unit}, the bar is {:.2}{unit}\n",
                bar.what,
                bar.measured,
                bar.at_most,
                unit = bar.unit
            ));
        }
        text
    }
}
