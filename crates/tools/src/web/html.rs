//! HTML as Markdown, also when the page is made to hurt.
//!
//! The converter recurses, and the standard's rules for unclosed formatting
//! copy elements: a small hostile page can be a very deep or very large tree.
//! So its tags are counted first, and a page that is too odd only loses its tags.

/// Open elements at a time, counted naively.
const DEPTH: usize = 256;

/// Open formatting elements at a time: those are copied into every block.
const FORMATTING: usize = 10;

/// Attributes of one tag: each is compared with all before it.
const ATTRIBUTES: usize = 1000;

/// Up to here a page is converted even where a quote may hide the end of a tag.
const SMALL: usize = 256 * 1024;

/// Stack of the converting thread; the depth above needs a fraction of it.
const STACK: usize = 64 * 1024 * 1024;

const SKIPPED: [&str; 9] = [
    "script", "style", "noscript", "template", "svg", "iframe", "canvas", "object", "head",
];

/// The page as Markdown, or as bare text.
pub(super) fn to_markdown(html: &str) -> String {
    if is_odd(html) {
        return bare(html);
    }
    let page = html.to_owned();
    let converted = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || {
            htmd::HtmlToMarkdown::builder()
                .skip_tags(SKIPPED.to_vec())
                .build()
                .convert(&page)
                .ok()
        })
        .ok()
        .and_then(|thread| thread.join().ok())
        .flatten();
    converted.unwrap_or_else(|| bare(html))
}

fn is_odd(html: &str) -> bool {
    let (mut depth, mut formatting) = (0_usize, 0_usize);
    for tag in tags(html) {
        let text = &html[tag.start..tag.end];
        let is_comment = tag.name.is_empty();
        if !is_comment && (has_many_attributes(text) || html.len() > SMALL && is_open_ended(text)) {
            return true;
        }
        let formats = is_formatting(tag.name);
        if tag.closes {
            depth = depth.saturating_sub(1);
            formatting = formatting.saturating_sub(usize::from(formats));
        } else if !is_void(tag.name) && !tag.closes_itself {
            depth += 1;
            formatting += usize::from(formats);
        }
        if depth > DEPTH || formatting > FORMATTING {
            return true;
        }
    }
    false
}

/// Every attribute has something before it: a blank, a slash or a quote.
fn has_many_attributes(tag: &str) -> bool {
    let gaps = tag.bytes().filter(|byte| b" \t\n\r\x0c/\"'".contains(byte));
    gaps.take(ATTRIBUTES + 1).count() > ATTRIBUTES
}

/// Whether what looks like the end of a tag may be inside a quoted value.
fn is_open_ended(tag: &str) -> bool {
    let odd = |quote: u8| tag.bytes().filter(|byte| *byte == quote).count() % 2 == 1;
    odd(b'"') || odd(b'\'')
}

/// The text between the tags.
fn bare(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut at = 0;
    let mut hidden: Option<&str> = None;
    for tag in tags(html) {
        if hidden.is_none() {
            text.push_str(&entities(&html[at..tag.start]));
            if is_block(tag.name) {
                text.push('\n');
            }
        }
        match hidden {
            Some(name) if tag.closes && tag.name.eq_ignore_ascii_case(name) => hidden = None,
            None if !tag.closes && !tag.closes_itself => {
                hidden = SKIPPED
                    .iter()
                    .copied()
                    .find(|name| tag.name.eq_ignore_ascii_case(name));
            }
            _ => {}
        }
        at = tag.end;
    }
    if hidden.is_none() {
        text.push_str(&entities(&html[at..]));
    }
    text
}

/// One tag of a page, comments included.
struct Tag<'h> {
    name: &'h str,
    closes: bool,
    closes_itself: bool,
    start: usize,
    end: usize,
}

/// The tags in order; what only looks like one is skipped.
fn tags(html: &str) -> impl Iterator<Item = Tag<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + html.get(at..)?.find('<')?;
            let rest = &html[start + 1..];
            if rest.starts_with("!--") {
                let end = rest
                    .find("-->")
                    .map_or(html.len(), |end| start + 1 + end + 3);
                at = end;
                return Some(Tag {
                    name: "",
                    closes: true,
                    closes_itself: true,
                    start,
                    end,
                });
            }
            let closes = rest.starts_with('/');
            let body = rest.trim_start_matches('/');
            let length = body
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(body.len());
            if length == 0 && !rest.starts_with(['!', '?']) {
                at = start + 1;
                continue;
            }
            let end = rest.find('>').map_or(html.len(), |end| start + 1 + end + 1);
            at = end;
            let closes_itself = html[start..end].ends_with("/>");
            return Some(Tag {
                name: &body[..length],
                closes,
                closes_itself,
                start,
                end,
            });
        }
    })
}

fn is_formatting(name: &str) -> bool {
    [
        "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt",
        "u",
    ]
    .iter()
    .any(|known| name.eq_ignore_ascii_case(known))
}

fn is_void(name: &str) -> bool {
    [
        "", "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr", "p", "li", "dt", "dd", "option", "tr", "td", "th",
    ]
    .iter()
    .any(|known| name.eq_ignore_ascii_case(known))
}

fn is_block(name: &str) -> bool {
    [
        "p",
        "div",
        "br",
        "li",
        "tr",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "pre",
        "section",
        "article",
        "ul",
        "ol",
        "table",
        "blockquote",
        "dt",
        "dd",
    ]
    .iter()
    .any(|known| name.eq_ignore_ascii_case(known))
}

fn entities(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&nbsp;", " ")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_pages_become_markdown() {
        let page = "<html><head><title>t</title><script>bad()</script></head><body><h1>Title</h1><p>Some <b>bold</b> text, <a href=\"/x\">link</a>.</p><ul><li>one<li>two</ul><pre><code>let a = 1;</code></pre><table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table></body></html>";
        let text = to_markdown(page);
        for part in [
            "# Title",
            "**bold**",
            "[link](/x)",
            "one",
            "let a = 1;",
            "| a",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("bad()"), "{text}");
    }

    fn many_attributes(tag: &str) -> String {
        let attributes: String = (0..300_000).map(|n| format!(" a{n}=1")).collect();
        format!("<p>seen</p>{tag}{attributes}>after")
    }

    #[test]
    fn hostile_pages_only_lose_their_tags() {
        for page in [
            "<div>".repeat(100_000) + "deep",
            (0..5000).map(|n| format!("<b x={n}>")).collect::<String>() + &"<p>x".repeat(20_000),
            "<".repeat(50_000),
            "<!--".repeat(20_000),
            "</".repeat(20_000),
            "<table><tr><td>".repeat(50_000),
            many_attributes("<a"),
            many_attributes("<a x=\">\""),
            many_attributes("</a"),
        ] {
            // Neither hangs nor overflows the stack; what comes out is plain.
            let text = to_markdown(&page);
            assert!(text.len() <= page.len() + 64);
        }
        assert!(to_markdown(&("<div>".repeat(5000) + "deep &amp; low")).contains("deep & low"));
        assert_eq!(bare("a<script>x<b>y</script>c").replace('\n', ""), "ac");
    }
}
