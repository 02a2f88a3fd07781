//! One finding of the Researcher, as its file keeps it:
//!
//! ```text
//! # Stripe webhooks: retries
//!
//! - **Question:** How long does Stripe retry a webhook?
//! - **Date:** 2026-02-20
//! - **Source:** https://… (documentation, 2026-01)
//!
//! ## Findings
//!
//! …
//! ```
//!
//! The file is read on demand and counts as text from outside; only its title
//! enters prompts, so the title is kept short and plain.

use jiff::civil::Date;

use crate::{Problem, outline::lines};

/// A longer title is a summary, and would be read by every role all day.
const TITLE_CHARS: usize = 80;

/// What was found out about one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResearchNote {
    /// What the index shows.
    pub title: String,
    /// What was asked.
    pub question: String,
    /// When it was looked up; without one it counts as too old.
    pub date: Option<Date>,
    /// Where it was found: addresses, each with its own date or version.
    pub sources: Vec<String>,
    /// What was found, in Markdown.
    pub text: String,
}

impl ResearchNote {
    /// The file as it is written.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = format!(
            "# {}\n\n- **Question:** {}\n",
            self.plain_title(),
            one_line(&self.question)
        );
        if let Some(date) = self.date {
            out.push_str(&format!("- **Date:** {date}\n"));
        }
        for source in &self.sources {
            out.push_str(&format!("- **Source:** {}\n", one_line(source)));
        }
        out.push_str(&format!("\n## Findings\n\n{}\n", self.text.trim()));
        out
    }

    /// Reads a file. What is missing is empty, and reported.
    #[must_use]
    pub fn parse(file: &str, text: &str) -> (Self, Vec<Problem>) {
        let mut note = Self {
            title: String::new(),
            question: String::new(),
            date: None,
            sources: Vec::new(),
            text: String::new(),
        };
        let mut problems = Vec::new();
        let mut report = |line: usize, what: String| problems.push(Problem::new(file, line, what));
        let mut body = 0;
        for line in lines(text) {
            if let Some((level, title)) = line.heading() {
                if level == 1 && note.title.is_empty() {
                    note.title = title.to_owned();
                    body = line.end();
                    continue;
                }
                body = if title == "Findings" {
                    line.end()
                } else {
                    line.start
                };
                break;
            }
            let Some((name, value)) = field(line.text()) else {
                continue;
            };
            match name.to_lowercase().as_str() {
                "question" => note.question = value.to_owned(),
                "source" | "sources" if !value.is_empty() => note.sources.push(value.to_owned()),
                "date" => match value.parse() {
                    Ok(date) => note.date = Some(date),
                    Err(_) => report(
                        line.number,
                        format!("date \"{value}\" is not like 2026-02-20"),
                    ),
                },
                _ => continue,
            }
            body = line.end();
        }
        note.text = text[body..].trim().to_owned();
        if note.title.is_empty() {
            report(1, "missing # title".to_owned());
        }
        if note.date.is_none() && problems.is_empty() {
            problems.push(Problem::new(file, 1, "missing - **Date:** of the research"));
        }
        if note.sources.is_empty() {
            problems.push(Problem::new(
                file,
                1,
                "missing - **Source:** of the research",
            ));
        }
        problems.sort();
        (note, problems)
    }

    /// Days since it was looked up; `None` when nobody wrote down when.
    #[must_use]
    pub fn age_days(&self, today: Date) -> Option<u32> {
        let span = today.since(self.date?).ok()?;
        Some(u32::try_from(span.get_days()).unwrap_or(0))
    }

    /// The title as it may enter a prompt: one line, short, no markup.
    #[must_use]
    pub fn plain_title(&self) -> String {
        let kept = |c: char| !c.is_control() && !"`*_[]<>#@|".contains(c);
        let words: String = self
            .title
            .chars()
            .map(|c| if c.is_whitespace() { ' ' } else { c })
            .filter(|c| kept(*c))
            .collect();
        let words = one_line(&words);
        words
            .chars()
            .take(TITLE_CHARS)
            .collect::<String>()
            .trim()
            .to_owned()
    }

    /// The name of its file, made from the title.
    #[must_use]
    pub fn slug(&self) -> String {
        let mut slug = String::new();
        for c in self.title.to_lowercase().chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() >= 60 {
                break;
            }
        }
        let slug = slug.trim_end_matches('-');
        if slug.is_empty() {
            "note".to_owned()
        } else {
            slug.to_owned()
        }
    }
}

/// A line `- **Date:** …`, also without stars or list mark.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim_start_matches(['-', '*', ' ']).split_once(':')?;
    let name = name.trim_matches(['*', ' ']);
    Some((name, value.strip_prefix("**").unwrap_or(value).trim()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
