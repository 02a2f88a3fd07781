//! Where the parts of a Markdown file are, in bytes of the file itself. Every
//! edit in this crate is a splice at such a place, so that what a person wrote
//! around it stays as it is, to the byte.
//!
//! A heading inside a code fence is no heading; a fence that is never closed
//! reaches to the end of the file, as Markdown says.

use std::ops::Range;

/// One line of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub number: usize,
    pub start: usize,
    /// Its text with its line end.
    pub raw: &'a str,
    /// Whether it belongs to a code fence, the fence's own lines included.
    pub fenced: bool,
}

impl<'a> Line<'a> {
    /// Its text without the line end and without blanks around it.
    pub(crate) fn text(&self) -> &'a str {
        self.raw.trim()
    }

    /// Where the next line starts.
    pub(crate) fn end(&self) -> usize {
        self.start + self.raw.len()
    }

    /// Level and title, when it is a heading.
    pub(crate) fn heading(&self) -> Option<(usize, &'a str)> {
        if self.fenced {
            return None;
        }
        let level = self.raw.bytes().take_while(|byte| *byte == b'#').count();
        let rest = &self.raw[level..];
        let separated = rest.trim().is_empty() || rest.starts_with([' ', '\t']);
        ((1..=6).contains(&level) && separated).then(|| (level, rest.trim()))
    }
}

/// The lines of a text.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut open: Option<(char, usize)> = None;
    for (index, raw) in text.split_inclusive('\n').enumerate() {
        let mark = fence(raw);
        let fenced = open.is_some() || mark.is_some();
        open = match (open, mark) {
            (None, Some((mark, length, _))) => Some((mark, length)),
            (Some((mark, length)), Some((same, longer, true)))
                if mark == same && longer >= length =>
            {
                None
            }
            (still, _) => still,
        };
        lines.push(Line {
            number: index + 1,
            start,
            raw,
            fenced,
        });
        start += raw.len();
    }
    lines
}

/// The mark of a fence, its length, and whether nothing follows it.
fn fence(raw: &str) -> Option<(char, usize, bool)> {
    let text = raw.trim_start_matches(' ');
    if raw.len() - text.len() > 3 {
        return None;
    }
    let mark = text
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let length = text.chars().take_while(|other| *other == mark).count();
    let rest = &text[length..];
    // "```a``` b" is code inside a line, not a fence.
    let inline = mark == '`' && rest.contains('`');
    (length >= 3 && !inline).then(|| (mark, length, rest.trim().is_empty()))
}

/// A heading and what is under it, up to the next heading of its own or a
/// higher level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section<'a> {
    pub level: usize,
    pub title: &'a str,
    /// The line of the heading.
    pub line: usize,
    /// Heading and body.
    pub range: Range<usize>,
    /// Only what is under the heading.
    pub body: Range<usize>,
}

/// All sections, in the order of their headings; an inner one lies within the
/// range of its outer one.
pub(crate) fn sections(text: &str) -> Vec<Section<'_>> {
    let headings: Vec<_> = lines(text)
        .into_iter()
        .filter_map(|line| line.heading().map(|(level, title)| (line, level, title)))
        .collect();
    let mut found = Vec::with_capacity(headings.len());
    for (index, (line, level, title)) in headings.iter().enumerate() {
        let end = headings[index + 1..]
            .iter()
            .find(|(_, other, _)| other <= level)
            .map_or(text.len(), |(next, _, _)| next.start);
        found.push(Section {
            level: *level,
            title,
            line: line.number,
            range: line.start..end,
            body: line.end()..end,
        });
    }
    found
}

/// The first section with this level and title, in any case.
pub(crate) fn section<'a>(text: &'a str, level: usize, title: &str) -> Option<Section<'a>> {
    sections(text)
        .into_iter()
        .find(|section| section.level == level && section.title.eq_ignore_ascii_case(title))
}

/// The line end that a file uses.
pub(crate) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The text with a range of it replaced.
pub(crate) fn splice(text: &str, range: Range<usize>, with: &str) -> String {
    let mut out = String::with_capacity(text.len() + with.len());
    out.push_str(&text[..range.start]);
    out.push_str(with);
    out.push_str(&text[range.end..]);
    out
}

/// Where in a range the last line with something on it ends.
pub(crate) fn content_end(text: &str, range: &Range<usize>) -> usize {
    let kept = text[range.clone()].trim_end().len();
    let at = range.start + kept;
    match text[at..range.end].find('\n') {
        Some(newline) if kept > 0 => at + newline + 1,
        _ if kept == 0 => range.start,
        _ => range.end,
    }
}

/// The text with a block put at `at`, which is the start of a line or the end
/// of the text, with one empty line on both sides. The block ends without one.
pub(crate) fn insert_block(text: &str, at: usize, block: &str) -> String {
    let end = line_end(text);
    let (before, after) = text.split_at(at);
    let mut put = String::new();
    if !before.is_empty() {
        if !before.ends_with('\n') {
            put.push_str(end);
        }
        let blank = before.ends_with("\n\n") || before.ends_with("\n\r\n");
        if !blank {
            put.push_str(end);
        }
    }
    put.push_str(&block.replace('\n', end));
    put.push_str(end);
    if !after.is_empty() && !after.starts_with(['\n', '\r']) {
        put.push_str(end);
    }
    splice(text, at..at, &put)
}

/// A text on one line, its blanks evened out.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_nest_and_fences_hide_headings() {
        let text = "# A\nx\n## B\n```md\n## no\n```\n### C\ny\n## D\n";
        let found: Vec<_> = sections(text)
            .into_iter()
            .map(|section| (section.level, section.title, section.line))
            .collect();
        assert_eq!(found, [(1, "A", 1), (2, "B", 3), (3, "C", 7), (2, "D", 9)]);
        let b = section(text, 2, "b").unwrap();
        assert_eq!(&text[b.body], "```md\n## no\n```\n### C\ny\n");
    }

    #[test]
    fn a_longer_fence_is_closed_by_its_own_length_only() {
        let text = "````\n```\n# no\n```\n````\n# yes\n";
        assert_eq!(sections(text).len(), 1);
        assert_eq!(sections("``` a``` b\n# yes\n").len(), 1);
        assert_eq!(sections("#hashtag\n#\n").len(), 1);
    }

    #[test]
    fn a_block_stands_between_empty_lines_in_the_files_own_line_ends() {
        assert_eq!(insert_block("a\n## B\n", 2, "x"), "a\n\nx\n\n## B\n");
        assert_eq!(insert_block("a", 1, "x\ny"), "a\n\nx\ny\n");
        assert_eq!(insert_block("a\r\n", 3, "x\ny"), "a\r\n\r\nx\r\ny\r\n");
        assert_eq!(insert_block("", 0, "x"), "x\n");
    }
}
