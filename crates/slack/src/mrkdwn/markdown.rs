//! Markdown, which models write, into mrkdwn, which Slack reads. Everything that
//! is not formatting is escaped: no model text can ping a channel.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use std::ops::Range;

use super::{LONG_CODE, escape, table::Table};

/// Converts Markdown. Headings become bold lines, links `<url|label>`, tables aligned
/// code or lists, raw HTML plain text. Code that is long enough to become a file keeps
/// the name of its language, which the file is called by.
pub fn from_markdown(text: &str) -> String {
    let mut writer = Writer {
        addresses: addresses(text),
        ..Writer::default()
    };
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        writer.read(event, text, &range);
    }
    let trimmed = writer.out.trim_matches('\n').len();
    let start = writer.out.len() - writer.out.trim_start_matches('\n').len();
    writer.out[start..start + trimmed].to_owned()
}

/// Where addresses stand that nobody marked as links: a star in them is no emphasis.
fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for scheme in ["http://", "https://"] {
        for (start, _) in text.match_indices(scheme) {
            let rest = &text[start..];
            let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '`' | '"');
            let length = rest.find(ends).unwrap_or(rest.len());
            found.push(start..start + length);
        }
    }
    found
}

#[derive(Default)]
struct Writer {
    out: String,
    addresses: Vec<Range<usize>>,
    /// The table that is open.
    table: Option<Table>,
    /// What each line begins with: quote marks and list indents.
    prefix: Vec<String>,
    /// The next number of each open list; none for bullets.
    lists: Vec<Option<u64>>,
    /// Link targets, and where their label begins.
    links: Vec<(String, usize)>,
    in_code: bool,
    /// Where the open block of code begins, and its language.
    code: Option<(usize, String)>,
    in_heading: bool,
}

impl Writer {
    /// A mark that begins inside an address belongs to it and is written as it stands;
    /// inside a table only the words count.
    fn read(&mut self, event: Event<'_>, source: &str, range: &Range<usize>) {
        let length = match &event {
            Event::Start(Tag::Emphasis) | Event::End(TagEnd::Emphasis) => 1,
            Event::Start(Tag::Strong) | Event::End(TagEnd::Strong) => 2,
            Event::Start(Tag::Strikethrough) | Event::End(TagEnd::Strikethrough) => {
                let two = source[range.clone()].starts_with("~~");
                if two { 2 } else { 1 }
            }
            _ => 0,
        };
        let inside = |one: &Range<usize>| one.start < range.start && range.start < one.end;
        if length > 0 && self.addresses.iter().any(inside) {
            let mark = match event {
                Event::Start(_) => &source[range.start..range.start + length],
                _ => &source[range.end - length..range.end],
            };
            return self.text(mark);
        }
        if self.table.is_some() {
            return self.in_table(event);
        }
        self.event(event);
    }

    fn in_table(&mut self, event: Event<'_>) {
        let Some(table) = &mut self.table else {
            return;
        };
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => table.row(),
            Event::Start(Tag::TableCell) => table.cell(),
            Event::Start(Tag::Link { dest_url, .. }) => {
                self.links.push((dest_url.into_string(), 0));
            }
            Event::End(TagEnd::Link) => {
                if let Some((target, _)) = self.links.pop() {
                    table.text(&format!(" ({target})"));
                }
            }
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => table.text(&text),
            Event::SoftBreak | Event::HardBreak => table.text(" "),
            Event::End(TagEnd::Table) => {
                let shown = table.shown();
                self.table = None;
                let joint = format!("\n{}", self.prefix.concat());
                self.push(&shown.replace('\n', &joint));
            }
            _ => {}
        }
    }

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
                let at = self.out.len();
                self.push("```\n");
                let language = match kind {
                    CodeBlockKind::Fenced(name) => name.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((at, language));
                self.in_code = true;
            }
            Tag::Table(_) => {
                self.block();
                self.table = Some(Table::default());
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
                // Slack shows no language and would show its name; a file has one.
                if let Some((at, language)) = self.code.take()
                    && self.out[at..].lines().count() >= LONG_CODE + 2
                    && !language.is_empty()
                    && language.bytes().all(|byte| byte.is_ascii_alphanumeric())
                {
                    self.out.insert_str(at + "```".len(), &language);
                }
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
        if let Some(table) = &mut self.table {
            return table.text(text);
        }
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
