//! The three characters that Slack wants escaped, and no more.

/// Escapes `&`, `<` and `>`, so that no text can become a mention or a link.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

/// Takes the escapes back. `<…>` tokens must have been read before.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (plain, length) = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')]
            .into_iter()
            .find(|(escaped, _)| rest.starts_with(escaped))
            .map_or(('&', 1), |(escaped, plain)| (plain, escaped.len()));
        out.push(plain);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_channel_ping_stays_text() {
        assert_eq!(escape("<!channel> & co"), "&lt;!channel&gt; &amp; co");
        assert_eq!(unescape("&amp;lt; &nbsp; & &l"), "&lt; &nbsp; & &l");
    }

    proptest! {
        #[test]
        fn escaped_text_reads_back_and_holds_no_token(text in ".*") {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(['<', '>']));
            prop_assert_eq!(unescape(&escaped), text);
        }
    }
}
