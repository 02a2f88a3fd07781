//! Places in a text, merged, replaced, and carried from one round to the next.

use std::borrow::Cow;

/// How every replacement begins.
pub(super) const MARKER: &str = "[REDACTED:";

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
    pub kind: Cow<'static, str>,
}

/// Places in one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Spans(Vec<Span>);

impl Spans {
    pub(super) fn add(&mut self, start: usize, end: usize, kind: Cow<'static, str>) {
        if start < end {
            self.0.push(Span { start, end, kind });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Span> {
        self.0.iter()
    }

    /// Whether a place is covered already.
    pub(super) fn covers(&self, start: usize, end: usize) -> bool {
        let mut last = self.0.iter().rev().take(8);
        last.any(|span| span.start <= start && end <= span.end)
    }

    /// In order, overlapping ones joined; the longest gives the kind, but a kind
    /// that says more than `secret` wins over it.
    pub(super) fn merged(mut self) -> Self {
        self.0
            .sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
        let mut merged: Vec<Span> = Vec::with_capacity(self.0.len());
        for span in self.0 {
            match merged.last_mut() {
                Some(last) if span.start < last.end => {
                    let longer = span.end - span.start > last.end - last.start;
                    if last.kind == "secret" || longer && span.kind != "secret" {
                        last.kind = span.kind;
                    }
                    last.end = last.end.max(span.end);
                }
                _ => merged.push(span),
            }
        }
        Self(merged)
    }

    /// The text with every place replaced.
    pub(super) fn replaced(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for span in &self.0 {
            out.push_str(&text[at..span.start]);
            out.push_str(MARKER);
            out.push_str(&span.kind);
            out.push(']');
            at = span.end;
        }
        out.push_str(&text[at..]);
        out
    }

    /// These places and further ones that were found in the replaced text.
    pub(super) fn with(self, found: &Spans) -> Self {
        let mut all = Spans::default();
        for span in &found.0 {
            let start = self.before(span.start, false);
            let end = self.before(span.end, true);
            all.add(start, end, span.kind.clone());
        }
        all.0.extend(self.0);
        all.merged()
    }

    /// The place in the original of a place in the replaced text. Inside a
    /// replacement it is the edge of what was replaced.
    fn before(&self, at: usize, end: bool) -> usize {
        let (mut out, mut original) = (0, 0);
        for span in &self.0 {
            let kept = span.start - original;
            if at <= out + kept {
                break;
            }
            out += kept;
            let marker = MARKER.len() + span.kind.len() + 1;
            if at < out + marker {
                return if end { span.end } else { span.start };
            }
            out += marker;
            original = span.end;
        }
        original + (at - out)
    }
}

/// How many of the bytes from a place on, up to so many, are of a sort.
pub(super) fn run(bytes: &[u8], from: usize, most: usize, sort: impl Fn(u8) -> bool) -> usize {
    let rest = bytes[from.min(bytes.len())..].iter().take(most);
    rest.take_while(|b| sort(**b)).count()
}

/// Whether a place touches a replacement of an earlier round.
pub(super) fn touches_marker(text: &str, start: usize, end: usize) -> bool {
    let from = text.floor_char_boundary(start.saturating_sub(MARKER.len() + 41));
    let to = text.floor_char_boundary(end + MARKER.len());
    let window = &text[from..to];
    let mut at = 0;
    while let Some(found) = window[at..].find(MARKER) {
        let begin = from + at + found;
        let close = text[begin..].find(']');
        let close = close.map_or(text.len(), |close| begin + close + 1);
        if begin < end && start < close {
            return true;
        }
        at += found + MARKER.len();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_finds_map_back_to_the_original() {
        let text = "aaa SECRET bbb SECRET ccc";
        let mut first = Spans::default();
        first.add(4, 10, "x".into());
        first.add(15, 21, "x".into());
        let out = first.replaced(text);
        assert_eq!(out, "aaa [REDACTED:x] bbb [REDACTED:x] ccc");
        let mut second = Spans::default();
        let at = out.find("bbb").unwrap();
        second.add(at, at + 3, "y".into());
        let inside = out.find("REDACTED").unwrap();
        second.add(0, inside, "z".into());
        let all = first.with(&second);
        let places: Vec<_> = all.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(places, [(0, 10), (11, 14), (15, 21)]);
    }

    #[test]
    fn a_marker_is_recognised_from_inside() {
        let text = "a=[REDACTED:secret]:b";
        assert!(touches_marker(text, 12, 18));
        assert!(!touches_marker(text, 19, 21));
        assert!(!touches_marker(text, 0, 2));
    }
}
