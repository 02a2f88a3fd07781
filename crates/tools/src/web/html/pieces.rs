//! A page cut into text and tags, as the standard says, in one pass.
//!
//! Attributes are read the way browsers read them, so no quote hides the end of a
//! tag, and only those that Markdown has a use for are kept, each once. What is
//! written from these pieces therefore has few attributes in every tag, whatever
//! the page had.

use butler_protocol::among;

/// Attributes that the converter reads.
const KEPT: [&str; 6] = ["href", "src", "alt", "title", "class", "start"];

/// Elements whose content is text up to their end, whatever it looks like.
const RAW: &str = "script style iframe noembed noframes textarea title xmp plaintext";

/// A part of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'h> {
    /// Words, with their entities as they were.
    Text(&'h str),
    /// `<name …>` or `</name>`.
    Tag(Tag<'h>),
}

/// One tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'h> {
    /// In lower case.
    pub(super) name: String,
    /// Whether it ends an element.
    pub(super) closes: bool,
    /// Whether it says that its element is empty.
    pub(super) closes_itself: bool,
    /// Those that are kept, in their order, with their values as they were.
    pub(super) attributes: Vec<(&'static str, &'h str)>,
}

/// The pieces of a page in order. Comments and declarations are left out.
pub(super) fn pieces(html: &str) -> Pieces<'_> {
    Pieces {
        rest: html,
        raw: None,
    }
}

/// See [`pieces`].
pub(super) struct Pieces<'h> {
    rest: &'h str,
    /// The element whose content is only text, while it is open.
    raw: Option<String>,
}

impl<'h> Iterator for Pieces<'h> {
    type Item = Piece<'h>;

    fn next(&mut self) -> Option<Piece<'h>> {
        if let Some(name) = self.raw.take() {
            let end = end_of_raw(self.rest, &name);
            if end > 0 {
                return Some(Piece::Text(self.take(end)));
            }
        }
        while !self.rest.is_empty() {
            let text = self.text_ahead();
            if text > 0 {
                return Some(Piece::Text(self.take(text)));
            }
            if let Some(tag) = self.markup() {
                if !tag.closes && among(RAW, &tag.name) {
                    self.raw = Some(tag.name.clone());
                }
                return Some(Piece::Tag(tag));
            }
        }
        None
    }
}

impl<'h> Pieces<'h> {
    fn take(&mut self, length: usize) -> &'h str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// How much text comes before the next `<` that begins markup.
    fn text_ahead(&self) -> usize {
        let begins = |at: &usize| {
            let next = self.rest.as_bytes().get(at + 1);
            next.is_some_and(|next| next.is_ascii_alphabetic() || b"/!?".contains(next))
        };
        let mut signs = self.rest.match_indices('<').map(|(at, _)| at);
        signs.find(begins).unwrap_or(self.rest.len())
    }

    /// The markup at the front: a tag, or nothing for what is not shown.
    fn markup(&mut self) -> Option<Tag<'h>> {
        let closes = self.rest.starts_with("</");
        let inside = &self.rest[if closes { 2 } else { 1 }..];
        if let Some(comment) = inside.strip_prefix("!--").filter(|_| !closes) {
            let length = end_of_comment(comment);
            self.take(4 + length);
            return None;
        }
        if !inside.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let end = inside.find('>').map_or(inside.len(), |end| end + 1);
            self.take(self.rest.len() - inside.len() + end);
            return None;
        }
        let length = inside
            .find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>')
            .unwrap_or(inside.len());
        let name = inside[..length].to_ascii_lowercase();
        let mut reader = Attributes {
            rest: &inside[length..],
            kept: Vec::new(),
            slash: false,
        };
        let whole = reader.read();
        let Attributes {
            rest, kept, slash, ..
        } = reader;
        self.rest = rest;
        // A tag that the page ends in is none.
        whole.then_some(Tag {
            name,
            closes,
            closes_itself: slash,
            attributes: kept,
        })
    }
}

/// What stands between a tag's name and its end.
struct Attributes<'h> {
    rest: &'h str,
    kept: Vec<(&'static str, &'h str)>,
    /// Whether the last thing before the end was a slash.
    slash: bool,
}

impl<'h> Attributes<'h> {
    /// Reads up to and with the `>`; whether there was one.
    fn read(&mut self) -> bool {
        loop {
            let blank = |c: char| c.is_ascii_whitespace() || c == '/';
            let trimmed = self.rest.trim_start_matches(blank);
            let gap = &self.rest[..self.rest.len() - trimmed.len()];
            self.slash = gap.ends_with('/');
            self.rest = trimmed;
            if self.rest.is_empty() {
                return false;
            }
            if let Some(rest) = self.rest.strip_prefix('>') {
                self.rest = rest;
                return true;
            }
            let name = self.name();
            let value = self.value();
            let kept = KEPT.iter().find(|kept| name.eq_ignore_ascii_case(kept));
            if let Some(kept) = kept.filter(|kept| !self.kept.iter().any(|(one, _)| one == *kept)) {
                self.kept.push((kept, value));
            }
        }
    }

    /// A name may begin with `=`, and holds quotes like letters.
    fn name(&mut self) -> &'h str {
        let first = self.rest.chars().next().map_or(0, char::len_utf8);
        let length = self.rest[first..]
            .find(|c: char| c.is_ascii_whitespace() || "/>=".contains(c))
            .map_or(self.rest.len(), |end| first + end);
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        name
    }

    fn value(&mut self) -> &'h str {
        let blank = |c: char| c.is_ascii_whitespace();
        let Some(after) = self.rest.trim_start_matches(blank).strip_prefix('=') else {
            return "";
        };
        let after = after.trim_start_matches(blank);
        let (value, rest) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inside = &after[1..];
                inside.split_once(quote).unwrap_or((inside, ""))
            }
            _ => {
                let length = after
                    .find(|c: char| c.is_ascii_whitespace() || c == '>')
                    .unwrap_or(after.len());
                after.split_at(length)
            }
        };
        self.rest = rest;
        value
    }
}

/// Where a comment ends, counted from behind its `<!--`.
fn end_of_comment(comment: &str) -> usize {
    for short in [">", "->"] {
        if comment.starts_with(short) {
            return short.len();
        }
    }
    // Sign by sign: to look for each ending in the whole page takes its square.
    let mut signs = comment.match_indices('>').map(|(at, _)| at);
    let ends = |at: &usize| comment[..*at].ends_with("--") || comment[..*at].ends_with("--!");
    signs.find(ends).map_or(comment.len(), |at| at + 1)
}

/// Where the tag begins that ends an element of raw text.
fn end_of_raw(text: &str, name: &str) -> usize {
    let is_end = |at: &usize| {
        let after = text.as_bytes().get(at + 2..).unwrap_or_default();
        let (start, rest) = after.split_at(name.len().min(after.len()));
        start.eq_ignore_ascii_case(name.as_bytes())
            && rest
                .first()
                .is_none_or(|next| b" \t\n\r\x0c/>".contains(next))
    };
    let mut ends = text.match_indices("</").map(|(at, _)| at);
    ends.find(is_end).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(name: &str, attributes: &[(&'static str, &'static str)]) -> Piece<'static> {
        Piece::Tag(Tag {
            name: name.trim_start_matches('/').to_owned(),
            closes: name.starts_with('/'),
            closes_itself: false,
            attributes: attributes.to_vec(),
        })
    }

    #[test]
    fn a_tag_ends_where_a_browser_ends_it() {
        for (html, attributes, after) in [
            (r#"<a href="a>b">x"#, vec![("href", "a>b")], "x"),
            (r#"<a href='a"b'>x"#, vec![("href", "a\"b")], "x"),
            (r#"<a href=a"b>x"#, vec![("href", "a\"b")], "x"),
            (r#"<a x'=" href="b>x"#, vec![], "x"),
            (r#"<a '">x"#, vec![], "x"),
            (r#"<a x="'" y='"' HREF = b>x"#, vec![("href", "b")], "x"),
            (r#"<a href=b href=c>x"#, vec![("href", "b")], "x"),
            (r#"<a =href=b>x"#, vec![], "x"),
            (
                r#"<a/href/title=t>x"#,
                vec![("href", ""), ("title", "t")],
                "x",
            ),
        ] {
            let found: Vec<_> = pieces(html).collect();
            assert_eq!(found, [tag("a", &attributes), Piece::Text(after)], "{html}");
        }
        assert_eq!(pieces(r#"<a href="x>y"#).count(), 0, "it never ends");
    }

    #[test]
    fn what_is_not_shown_is_not_there() {
        let shown = |html| -> Vec<Piece<'_>> { pieces(html).collect() };
        for html in [
            "<!-- <b> -->x",
            "<!-->x",
            "<!--->x",
            "<!-- a --!>x",
            "<!doctype html>x",
            "<?php ?>x",
            "</>x",
            "</ b>x",
        ] {
            assert_eq!(shown(html), [Piece::Text("x")], "{html}");
        }
        assert_eq!(shown("1 < 2 <3"), [Piece::Text("1 < 2 <3")]);
        let script = shown("<script>a<b>'</scripts>\"</SCRIPT >x");
        assert_eq!(script[1], Piece::Text("a<b>'</scripts>\""));
        assert_eq!(script[2..], [tag("/script", &[]), Piece::Text("x")]);
    }
}
