//! One learning, as the files keep it:
//!
//! ```text
//! ### Title
//! - **When:** …
//! - **Rule:** …
//! - **Example:** …
//! - **Confidence:** high | medium | low
//! - **Source:** thread-<ts>, <date>
//! ```

use butler_protocol::Confidence;

use crate::{Problem, markdown::outline::lines, one_line};

/// Something the team learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learning {
    /// What names it; one per file.
    pub title: String,
    /// The situation it is for.
    pub when: String,
    pub rule: String,
    /// The case it was learned from.
    pub example: String,
    pub confidence: Confidence,
    /// Thread and date.
    pub source: String,
}

const FIELDS: [&str; 5] = ["When", "Rule", "Example", "Confidence", "Source"];

impl Learning {
    /// The block as it stands in a file, without a line end after it. Every
    /// value is put on one line, so that none can open a section of its own.
    pub fn render(&self) -> String {
        let values = [
            one_line(&self.when),
            one_line(&self.rule),
            one_line(&self.example),
            word(self.confidence).to_owned(),
            one_line(&self.source),
        ];
        let mut text = format!("### {}", clean_title(&self.title));
        for (field, value) in FIELDS.iter().zip(values) {
            text.push_str(&format!("\n- **{field}:** {value}"));
        }
        text
    }

    /// Reads a block that begins with its heading; `line` is the heading's. What
    /// is missing is empty, and reported.
    pub(crate) fn parse(file: &str, line: usize, block: &str) -> (Self, Vec<Problem>) {
        let mut values: [Option<String>; 5] = [const { None }; 5];
        let mut last: Option<usize> = None;
        let mut rows = lines(block).into_iter();
        let heading = rows.next().and_then(|line| line.heading());
        let title = heading.map_or("", |(_, title)| title);
        for row in rows {
            if row.text().starts_with(super::ID) {
                last = None;
            } else if let Some((index, value)) = field(row.text()) {
                values[index].get_or_insert_default().push_str(value);
                last = Some(index);
            } else if let (Some(index), false) = (last, row.text().is_empty()) {
                // A value that a person wrapped onto a second line.
                let value = values[index].get_or_insert_default();
                value.push(' ');
                value.push_str(row.text());
            } else {
                last = None;
            }
        }
        let mut problems = Vec::new();
        let mut report = |what: String| problems.push(Problem::new(file, line, what));
        for (name, value) in FIELDS.iter().zip(&values) {
            if value.as_deref().is_none_or(str::is_empty) {
                report(format!("learning \"{title}\" has no **{name}:**"));
            }
        }
        let [when, rule, example, confidence, source] = values.map(Option::unwrap_or_default);
        let known = confidence_of(&confidence);
        if known.is_none() && !confidence.is_empty() {
            let wrong = format!("confidence \"{confidence}\" is not high, medium or low");
            report(format!("learning \"{title}\": {wrong}"));
        }
        let learning = Self {
            title: title.to_owned(),
            when,
            rule,
            example,
            confidence: known.unwrap_or(Confidence::Low),
            source,
        };
        (learning, problems)
    }
}

/// A line `- **When:** …`, also without stars or list mark.
fn field(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start_matches(['-', '*', ' ']);
    let (name, value) = line.split_once(':')?;
    let index = FIELDS
        .iter()
        .position(|field| field.eq_ignore_ascii_case(name.trim_matches(['*', ' '])))?;
    Some((index, value.strip_prefix("**").unwrap_or(value).trim()))
}

/// A title as it stands behind `### `.
pub(crate) fn clean_title(title: &str) -> String {
    one_line(title).trim_matches(['#', ' ']).to_owned()
}

pub(crate) const fn word(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    }
}

fn confidence_of(text: &str) -> Option<Confidence> {
    [Confidence::High, Confidence::Medium, Confidence::Low]
        .into_iter()
        .find(|known| text.trim().eq_ignore_ascii_case(word(*known)))
}
