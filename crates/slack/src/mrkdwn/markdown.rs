//! Markdown, which models write, into mrkdwn, which Slack reads. Everything that
//! is not formatting is escaped: no model text can ping a channel.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::escape;

/// Converts Markdown. Headings become bold lines, links `<url|label>`, tables
/// and raw HTML plain text.
#[must_use]
pub fn from_markdown(text: &str) -> String {
    let mut writer = Writer::default();
    for event in Parser::new_ext(
        text,
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    ) {
        writer.event(event);
    }
    let trimmed = writer.out.trim_matches('\n').len();
    let start = writer.out.len() - writer.out.trim_start_matches('\n').len();
    writer.out[start..start + trimmed].to_owned()
}

#[derive(Default)]
struct Writer {
    out: String,
    /// What each line begins with: quote marks and list indents.
    prefix: Vec<String>,
    /// The next number of each open list; none for bullets.
    lists: Vec<Option<u64>>,
    /// Link targets, and where their label begins.
    links: Vec<(String, usize)>,
    in_code: bool,
    in_heading: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => {
                // A tick inside inline code cannot be written in mrkdwn.
                let code = escape(&code.replace('`', "'"));
                self.push(&format!("`{code}`"));
            }
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak | Event::HardBreak => self.new_line(),
            Event::Rule => {
                self.block();
                self.push("———");
            }
            Event::TaskListMarker(done) => self.push(if done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.block(),
            Tag::Heading { .. } => {
                self.block();
                self.push("*");
                self.in_heading = true;
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.prefix.push("> ".to_owned());
                self.push("> ");
            }
            Tag::CodeBlock(kind) => {
                self.block();
                self.push("```\n");
                // Slack has no highlighting by name; the name would be shown.
                let _ = matches!(kind, CodeBlockKind::Fenced(_));
                self.in_code = true;
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Emphasis => self.push("_"),
            Tag::Strong if self.in_heading => {}
            Tag::Strong => self.push("*"),
            Tag::Strikethrough => self.push("~"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.out.len()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.in_heading = false;
                self.push("*");
            }
            TagEnd::BlockQuote(_) => {
                self.prefix.pop();
            }
            TagEnd::CodeBlock => {
                if !self.out.ends_with('\n') {
                    self.push("\n");
                }
                self.push("```");
                self.in_code = false;
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                self.prefix.pop();
            }
            TagEnd::Emphasis => self.push("_"),
            TagEnd::Strong if self.in_heading => {}
            TagEnd::Strong => self.push("*"),
            TagEnd::Strikethrough => self.push("~"),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let escaped = if self.in_code {
            // A fence inside code would end the block.
            escape(&text.replace("```", "'''"))
        } else {
            escape(text)
        };
        if self.prefix.is_empty() {
            self.out.push_str(&escaped);
            return;
        }
        let joint = format!("\n{}", self.prefix.concat());
        self.out.push_str(&escaped.replace('\n', &joint));
    }

    fn item(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.new_line();
        }
        let depth = self.lists.len();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            _ => "• ".to_owned(),
        };
        let indent = if depth > 1 { "    " } else { "" };
        self.push(&format!("{indent}{mark}"));
        self.prefix.push(indent.to_owned());
    }

    /// A link whose target Slack cannot hold is written out.
    fn end_link(&mut self) {
        let Some((target, start)) = self.links.pop() else {
            return;
        };
        let label = self.out.split_off(start.min(self.out.len()));
        let web = ["http://", "https://", "mailto:"]
            .iter()
            .any(|scheme| target.starts_with(scheme));
        if !web || target.contains(['<', '>', '|', ' ', '\n']) {
            self.out.push_str(&label);
            if !target.is_empty() && !label.contains(&escape(&target)) {
                self.out.push_str(&format!(" ({})", escape(&target)));
            }
            return;
        }
        let target = escape(&target);
        let label = label.replace(['|', '\n'], " ");
        if label.is_empty() || label == target {
            self.out.push_str(&format!("<{target}>"));
        } else {
            self.out.push_str(&format!("<{target}|{label}>"));
        }
    }

    /// Leaves an empty line before the next block, or none inside a list item.
    fn block(&mut self) {
        if self.out.is_empty() || self.out.ends_with("• ") || self.out.ends_with(". ") {
            return;
        }
        if self.out.ends_with("> ") || self.out.ends_with("☐ ") || self.out.ends_with("☑ ") {
            return;
        }
        self.new_line();
        if self.lists.is_empty() {
            self.new_line();
        }
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        let prefix = self.prefix.concat();
        self.out.push_str(&prefix);
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
