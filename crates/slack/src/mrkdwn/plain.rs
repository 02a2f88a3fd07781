//! What a person typed, read back from what Slack made of it.

use super::unescape;

/// The text without Slack's tokens and escapes: links as their label (and
/// address, where it differs), mentions as `@name` or `@id`. For models and
/// for looking things up; never to be posted again unescaped.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else {
            break;
        };
        out.push_str(&unescape(&rest[..start]));
        out.push_str(&token(&rest[start + 1..start + length]));
        rest = &rest[start + length + 1..];
    }
    out.push_str(&unescape(rest));
    out
}

fn token(inner: &str) -> String {
    let (target, label) = inner.split_once('|').unwrap_or((inner, ""));
    let (target, label) = (unescape(target), unescape(label));
    let named = |sign: char, id: &str| {
        let name = if label.is_empty() { id } else { &label };
        format!("{sign}{}", name.trim_start_matches(sign))
    };
    if let Some(id) = target.strip_prefix(['@', '!']) {
        return named('@', id);
    }
    if let Some(id) = target.strip_prefix('#') {
        return named('#', id);
    }
    // A bare domain that Slack linked reads as it was typed.
    let bare = target
        .split_once("://")
        .map_or(target.as_str(), |(_, rest)| rest);
    if label.is_empty() || label == target {
        target
    } else if label == bare {
        label
    } else {
        format!("{label} ({target})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mrkdwn::escape;

    #[test]
    fn tokens_read_as_they_were_typed() {
        assert_eq!(
            plain("a &lt; b &amp;&amp; <https://x.y/?a&amp;b|see>, <https://z>"),
            "a < b && see (https://x.y/?a&b), https://z"
        );
        assert_eq!(
            plain("@<http://codebutler.pm|codebutler.pm> hi"),
            "@codebutler.pm hi"
        );
        assert_eq!(
            plain("<@U1> <@U2|ana> <#C1|dev> <!here>"),
            "@U1 @ana #dev @here"
        );
        assert_eq!(plain("open <end"), "open <end");
    }

    proptest! {
        #[test]
        fn what_was_escaped_comes_back(text in ".*") {
            prop_assert_eq!(plain(&escape(&text)), text);
        }
    }
}
