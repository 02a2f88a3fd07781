//! mrkdwn to HTML. A pure function: whatever comes in, what goes out holds only
//! the tags made here, and every character of the text is escaped.

use std::{collections::HashMap, ops::Deref};

use butler_protocol::Role;
use butler_slack::mrkdwn::unescape;
use maud::{Markup, PreEscaped, html};
use url::Url;

use crate::page::render::code;

/// What a text is read with: user ids with the names people read, and where this
/// hub listens.
#[derive(Debug, Default)]
pub(crate) struct Names {
    people: HashMap<String, String>,
    port: Option<u16>,
}

impl Names {
    pub(crate) fn new(people: HashMap<String, String>, port: u16) -> Self {
        Self {
            people,
            port: Some(port),
        }
    }

    /// Where a link leads. A session is good under the name that it was made for,
    /// so an address of this hub is one within the page.
    fn target(&self, target: &str) -> String {
        let ours = |url: &Url| {
            let port = url.port_or_known_default();
            let local = url.host_str().is_some_and(|host| {
                matches!(host, "127.0.0.1" | "localhost" | "[::1]") || host.ends_with(".localhost")
            });
            local && url.scheme() == "http" && port.is_some() && port == self.port
        };
        match Url::parse(target) {
            // `//host` would be an address elsewhere.
            Ok(url) if ours(&url) && !url.path().starts_with("//") => {
                url[url::Position::BeforePath..].to_owned()
            }
            _ => target.to_owned(),
        }
    }
}

impl Deref for Names {
    type Target = HashMap<String, String>;

    fn deref(&self) -> &HashMap<String, String> {
        &self.people
    }
}

/// How deep marks may nest, and how far a closing mark is looked for.
const DEPTH: u8 = 6;
const REACH: usize = 2_000;

/// Renders a message text.
pub(crate) fn render(text: &str, names: &Names) -> Markup {
    let mut out = String::new();
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 1 {
            let (language, code) = fenced(part);
            out.push_str(&code::block(&unescape(code), language).into_string());
        } else {
            paragraphs(part, names, &mut out);
        }
    }
    PreEscaped(out)
}

/// The language after the opening fence, if one is named, and the code.
fn fenced(part: &str) -> (&str, &str) {
    match part.split_once('\n') {
        Some((first, rest)) if first.is_empty() || code::is_language(first) => (first, rest),
        _ => ("", part),
    }
}

/// Lines outside code: quotes stand together, empty lines part paragraphs.
fn paragraphs(text: &str, names: &Names, out: &mut String) {
    let mut plain = String::new();
    let mut quote = String::new();
    let flush = |buffer: &mut String, tag: &str, out: &mut String| {
        let body = buffer.trim_matches('\n');
        if !body.is_empty() {
            let inner = inline(body, names, 0);
            out.push_str(&format!("<{tag}>{}</{tag}>", inner.into_string()));
        }
        buffer.clear();
    };
    for line in text.split('\n') {
        let quoted = line
            .strip_prefix("&gt;")
            .or_else(|| line.strip_prefix('>'))
            .map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
        if let Some(quoted) = quoted {
            flush(&mut plain, "p", out);
            quote.push_str(quoted);
            quote.push('\n');
        } else {
            flush(&mut quote, "blockquote", out);
            if line.is_empty() {
                flush(&mut plain, "p", out);
            }
            plain.push_str(line);
            plain.push('\n');
        }
    }
    flush(&mut quote, "blockquote", out);
    flush(&mut plain, "p", out);
}

/// Marks, links, mentions and code inside a paragraph.
pub(crate) fn inline(text: &str, names: &Names, depth: u8) -> Markup {
    let mut out = String::new();
    let mut plain = String::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let found = special(text, at, names, depth);
        match found {
            Some((markup, length)) => {
                push_plain(&mut out, &mut plain);
                out.push_str(&markup.into_string());
                at += length;
            }
            None => {
                let step = rest.chars().next().map_or(1, char::len_utf8);
                plain.push_str(&rest[..step]);
                at += step;
            }
        }
    }
    push_plain(&mut out, &mut plain);
    PreEscaped(out)
}

fn push_plain(out: &mut String, plain: &mut String) {
    let mut lines = plain.split('\n').peekable();
    while let Some(line) = lines.next() {
        out.push_str(&html! { (unescape(line)) }.into_string());
        if lines.peek().is_some() {
            out.push_str("<br>");
        }
    }
    plain.clear();
}

/// What begins at `at`, if it is more than a character: its HTML and its length.
fn special(text: &str, at: usize, names: &Names, depth: u8) -> Option<(Markup, usize)> {
    let rest = &text[at..];
    let before = text[..at].chars().next_back();
    match rest.as_bytes().first()? {
        b'<' => {
            let end = reach(rest).find('>')?;
            Some((token(&rest[1..end], names), end + 1))
        }
        b'`' => {
            let body = &rest[1..];
            let end = line_of(reach(body)).find('`').filter(|end| *end > 0)?;
            Some((html! { code { (unescape(&body[..end])) } }, end + 2))
        }
        mark @ (b'*' | b'_' | b'~')
            if depth < DEPTH && !before.is_some_and(char::is_alphanumeric) =>
        {
            marked(rest, *mark as char, names, depth)
        }
        b'@' if !before.is_some_and(char::is_alphanumeric) => role_mention(rest),
        b'h' if !before.is_some_and(char::is_alphanumeric) => bare_link(rest, names),
        _ => None,
    }
}

/// The part of a text in which a closing mark is looked for.
fn reach(text: &str) -> &str {
    &text[..text.floor_char_boundary(REACH)]
}

fn line_of(text: &str) -> &str {
    text.split('\n').next().unwrap_or(text)
}

fn marked(rest: &str, mark: char, names: &Names, depth: u8) -> Option<(Markup, usize)> {
    if let Some(doubled) = rest.strip_prefix("**") {
        return strong(doubled, names, depth);
    }
    let body = line_of(reach(&rest[1..]));
    if body.starts_with([' ', mark]) {
        return None;
    }
    let end = body.match_indices(mark).map(|(end, _)| end).find(|end| {
        let inside = body[..*end].chars().next_back();
        let after = body[end + 1..].chars().next();
        inside.is_some_and(|c| c != ' ') && !after.is_some_and(char::is_alphanumeric)
    })?;
    let inner = inline(&body[..end], names, depth + 1);
    let markup = match mark {
        '*' => html! { strong { (inner) } },
        '_' => html! { em { (inner) } },
        _ => html! { s { (inner) } },
    };
    Some((markup, end + 2))
}

/// `**bold**`, as people type it who know Markdown.
fn strong(rest: &str, names: &Names, depth: u8) -> Option<(Markup, usize)> {
    let body = line_of(reach(rest));
    let end = body.find("**").filter(|end| *end > 0)?;
    if body.starts_with([' ', '*']) || body[..end].ends_with(' ') {
        return None;
    }
    let inner = inline(&body[..end], names, depth + 1);
    Some((html! { strong { (inner) } }, end + 4))
}

/// `<@U1>`, `<#C1|name>`, `<!here>`, `<https://…|label>`.
fn token(inner: &str, names: &Names) -> Markup {
    let (target, label) = inner
        .split_once('|')
        .map_or((inner, None), |(target, label)| (target, Some(label)));
    let label = label.map(unescape);
    if let Some(user) = target.strip_prefix('@') {
        let name = names.get(user).cloned().or(label);
        return html! { span.mention { "@" (name.unwrap_or_else(|| user.to_owned())) } };
    }
    if let Some(channel) = target.strip_prefix('#') {
        return html! { span.mention { "#" (label.unwrap_or_else(|| channel.to_owned())) } };
    }
    if let Some(command) = target.strip_prefix('!') {
        return html! { span.mention { "@" (label.unwrap_or_else(|| command.to_owned())) } };
    }
    let target = unescape(target);
    link(&target, label.as_deref().unwrap_or(&target), names)
}

/// Whether a link leads to the web or to a mail address, and not to a script.
pub(crate) fn is_web(target: &str) -> bool {
    let target = target.to_ascii_lowercase();
    ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| target.starts_with(scheme))
}

/// A link to the web; any other scheme is shown as text.
pub(crate) fn link(target: &str, label: &str, names: &Names) -> Markup {
    if is_web(target) {
        html! { a href=(names.target(target)) rel="noopener noreferrer nofollow" target="_blank" { (label) } }
    } else {
        html! { (label) }
    }
}

/// `@codebutler.coder`, as the roles call each other.
fn role_mention(rest: &str) -> Option<(Markup, usize)> {
    let name = rest.strip_prefix("@codebutler.")?;
    let end = name
        .find(|c: char| !c.is_ascii_lowercase())
        .unwrap_or(name.len());
    let role: Role = name[..end].parse().ok()?;
    let markup = html! { span.mention { "@" (role.title()) } };
    Some((markup, rest.len() - name.len() + end))
}

fn bare_link(rest: &str, names: &Names) -> Option<(Markup, usize)> {
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| rest.starts_with(scheme))?;
    let mark = rest.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`'));
    // Slack writes what people type as `<` and `>` like this.
    let ends = ["&lt;", "&gt;"].map(|escaped| rest.find(escaped));
    let end = ends.into_iter().chain([mark]).flatten().min();
    let end = end.unwrap_or(rest.len());
    let target = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '*', '_']);
    if target.len() <= scheme.len() {
        return None;
    }
    let plain = unescape(target);
    Some((link(&plain, &plain, names), target.len()))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
