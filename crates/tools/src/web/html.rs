//! HTML as Markdown, also when the page is made to hurt.
//!
//! The converter recurses, compares the attributes of a tag with each other, and
//! copies elements by the standard's rules for unclosed formatting: a small hostile
//! page can be a very deep tree, a very large one or a very slow one. So it never
//! sees the page, only what we write from its [`pieces`]: tags with the few
//! attributes that matter. A page that nests too oddly loses its tags altogether.

mod pieces;

use std::fmt::Write;

use butler_protocol::among;
use pieces::{Piece, Tag, pieces};

/// Open elements at a time, counted naively.
const DEPTH: usize = 256;

/// Open formatting elements at a time: those are copied into every block.
const FORMATTING: usize = 10;

/// Stack of the converting thread; the depth above needs a fraction of it.
const STACK: usize = 64 * 1024 * 1024;

const SKIPPED: [&str; 9] = [
    "script", "style", "noscript", "template", "svg", "iframe", "canvas", "object", "head",
];

/// The page as Markdown, or as bare text.
pub(super) fn to_markdown(html: &str) -> String {
    let Some(page) = rewritten(html) else {
        return bare(html);
    };
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

/// The page written anew, unless it nests too oddly.
fn rewritten(html: &str) -> Option<String> {
    let mut page = String::with_capacity(html.len());
    let (mut depth, mut formatting) = (0_usize, 0_usize);
    for piece in pieces(html) {
        let tag = match piece {
            Piece::Text(text) => {
                page.push_str(&text.replace('<', "&lt;"));
                continue;
            }
            Piece::Tag(tag) => tag,
        };
        let formats = is_formatting(&tag.name);
        if tag.closes {
            depth = depth.saturating_sub(1);
            formatting = formatting.saturating_sub(usize::from(formats));
        } else if !is_void(&tag.name) && !tag.closes_itself {
            depth += 1;
            formatting += usize::from(formats);
        }
        if depth > DEPTH || formatting > FORMATTING {
            return None;
        }
        write_tag(&mut page, &tag);
    }
    Some(page)
}

fn write_tag(page: &mut String, tag: &Tag<'_>) {
    // A name is letters in the standard's eyes until a blank; only those we know matter.
    let name: String = tag
        .name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    page.push_str(if tag.closes { "</" } else { "<" });
    page.push_str(&name);
    if !tag.closes {
        for (name, value) in &tag.attributes {
            let _ = write!(page, " {name}=\"{}\"", value.replace('"', "&quot;"));
        }
    }
    page.push_str(if tag.closes_itself { "/>" } else { ">" });
}

/// The text between the tags.
fn bare(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut hidden: Option<String> = None;
    for piece in pieces(html) {
        match piece {
            Piece::Text(words) if hidden.is_none() => text.push_str(&entities(words)),
            Piece::Text(_) => {}
            Piece::Tag(tag) => match &hidden {
                Some(name) if tag.closes && tag.name == *name => hidden = None,
                Some(_) => {}
                None => {
                    if is_block(&tag.name) {
                        text.push('\n');
                    }
                    if !tag.closes && !tag.closes_itself && SKIPPED.contains(&tag.name.as_str()) {
                        hidden = Some(tag.name);
                    }
                }
            },
        }
    }
    text
}

fn is_formatting(name: &str) -> bool {
    const WORDS: &str = "a b big code em font i nobr s small strike strong tt u";
    among(WORDS, name)
}

fn is_void(name: &str) -> bool {
    const WORDS: &str = "area base br col embed hr img input link meta param source track wbr p li dt dd \
        option tr td th";
    name.is_empty() || among(WORDS, name)
}

fn is_block(name: &str) -> bool {
    const WORDS: &str =
        "p div br li tr h1 h2 h3 h4 h5 h6 pre section article ul ol table blockquote dt dd";
    among(WORDS, name)
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

    /// Whatever the quotes look like, what the converter reads has few attributes.
    #[test]
    fn no_tag_that_is_written_has_more_attributes_than_are_kept() {
        for tag in [
            "<a",
            "<a x=\">\"",
            "<a x='\"' y=\">\" z='",
            "<a x=\"'>'\"",
            "<a '",
            "<a \"' ",
        ] {
            let page = rewritten(&many_attributes(tag)).unwrap();
            let longest = page.split('<').map(str::len).max().unwrap_or(0);
            assert!(longest < 100, "{tag}: a tag of {longest} bytes");
        }
        let page = rewritten("<a href='a\"><b c=\"' x>1 < 2</a>").unwrap();
        assert_eq!(page, "<a href=\"a&quot;><b c=&quot;\">1 &lt; 2</a>");
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
            // Each closes the other's quote, so counting quotes finds nothing odd.
            many_attributes("<a x='\"' y=\">\" z='"),
            many_attributes("<a x=\"'\" y='>' z=\""),
            many_attributes("<a x=\"'>'\""),
            many_attributes("<a x='\">\"'"),
            many_attributes("<a \"' x=\">\" '"),
        ] {
            // Neither hangs nor overflows the stack; what comes out is plain.
            let text = to_markdown(&page);
            assert!(text.len() <= page.len() + 64);
        }
        assert!(to_markdown(&("<div>".repeat(5000) + "deep &amp; low")).contains("deep & low"));
        assert_eq!(bare("a<script>x<b>y</script>c").replace('\n', ""), "ac");
    }
}
