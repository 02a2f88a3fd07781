//! Prometheus' text form, version 0.0.4: a head per metric, then its series. Values of
//! labels are escaped, so that no name of a repo or model can end a line.

use std::fmt::Write as _;

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

/// What is answered to a scrape.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    /// Begins a metric; its samples come right behind.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One series.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (number, (label, value)) in labels.iter().enumerate() {
            let before = if number == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(value));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// A metric of one series without labels.
    pub(super) fn single(&mut self, name: &str, kind: Kind, help: &str, value: f64) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    pub(super) fn text(self) -> String {
        self.0
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_line() {
        let mut page = Page::default();
        page.family("a", Kind::Gauge, "what it is");
        page.sample("a", &[("repo", "x\"} 1\nb{\\")], 2.5);
        assert_eq!(
            page.text(),
            "# HELP a what it is\n# TYPE a gauge\na{repo=\"x\\\"} 1\\nb{\\\\\"} 2.5\n"
        );
    }
}
