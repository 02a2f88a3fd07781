//! Which roles a text mentions, in every form that typing and Slack make of it.
//!
//! Code spans and fences never mention anybody; the sender prefix
//! (`@codebutler.pm: …`) is not a mention either. Pure string work: a role is
//! woken by this function and the metadata address, never by a model.

use crate::{Role, UserId};

/// The roles that `text` mentions, in order of first appearance.
///
/// `bot` is the app's own user id: autocomplete turns `@codebutler` into it.
pub fn mentions(text: &str, bot: Option<&UserId>) -> Vec<Role> {
    let plain = strip_links(&without_code(text));
    let plain = plain.to_ascii_lowercase();
    let body = without_sender_prefix(&plain);
    let bot = bot.map(|user| format!("<@{}>", user.as_str().to_ascii_lowercase()));
    let mut found = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let rest = &body[at..];
        let hit = rest
            .strip_prefix("@codebutler.")
            .filter(|_| starts_word(body, at))
            .or_else(|| {
                let tail = rest.strip_prefix(bot.as_deref()?)?.trim_start_matches(' ');
                Some(tail.strip_prefix('.').unwrap_or(tail))
            })
            .and_then(leading_role);
        if let Some(role) = hit
            && !found.contains(&role)
        {
            found.push(role);
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// The text with fenced blocks and inline code replaced by a space each.
pub fn without_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        out.push_str(&rest[..start]);
        let ticks = rest[start..].bytes().take_while(|b| *b == b'`').count();
        let fence = &rest[start..start + ticks];
        let body = &rest[start + ticks..];
        // Inline code ends on its line; a fence may run to the end of the text.
        let scope = if ticks >= 3 {
            body
        } else {
            body.split('\n').next().unwrap_or(body)
        };
        match scope.find(fence) {
            Some(end) => {
                out.push(' ');
                rest = &body[end + ticks..];
            }
            None if ticks >= 3 => return out,
            None => {
                out.push_str(fence);
                rest = body;
            }
        }
    }
    out.push_str(rest);
    out
}

/// `<http://codebutler.pm|codebutler.pm>` becomes its label: `.pm` is a real domain,
/// so Slack links the word behind the at sign.
fn strip_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<http") {
        let Some(length) = rest[start..].find('>') else {
            break;
        };
        out.push_str(&rest[..start]);
        let token = &rest[start + 1..start + length];
        let label = token.split_once('|').map_or_else(
            || token.split_once("://").map_or(token, |(_, host)| host),
            |(_, label)| label,
        );
        out.push_str(label);
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    out
}

fn without_sender_prefix(text: &str) -> &str {
    let trimmed = text.trim_start_matches([' ', '*', '_']);
    let Some(after) = trimmed.strip_prefix("@codebutler.") else {
        return text;
    };
    let name = after.bytes().take_while(u8::is_ascii_alphabetic).count();
    match after[name..]
        .trim_start_matches(['*', '_'])
        .strip_prefix(':')
    {
        Some(body) if after[..name].parse::<Role>().is_ok() => body,
        _ => text,
    }
}

fn starts_word(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_none_or(|before| !before.is_alphanumeric() && !matches!(before, '.' | '/' | '@'))
}

/// The role at the start of `text`, if a whole word names one.
fn leading_role(text: &str) -> Option<Role> {
    let length = text
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-'))
        .count();
    text[..length].parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[Role]) {
        let bot = UserId::new("U0BOT");
        assert_eq!(mentions(text, Some(&bot)), expected, "{text}");
    }

    #[test]
    fn what_people_type_and_what_slack_makes_of_it() {
        check("@codebutler.coder fix it", &[Role::Coder]);
        check("hey @codebutler.lead, look", &[Role::Lead]);
        check("done @codebutler.lead.", &[Role::Lead]);
        check("*@codebutler.pm*", &[Role::Pm]);
        check(
            "@<http://codebutler.pm|codebutler.pm> plan this",
            &[Role::Pm],
        );
        check("@<http://codebutler.pm> plan this", &[Role::Pm]);
        check("<@U0BOT>.coder go", &[Role::Coder]);
        check("<@U0BOT> .coder go", &[Role::Coder]);
        check("<@U0BOT> coder go", &[Role::Coder]);
        check(
            "@CodeButler.Reviewer and @codebutler.pm",
            &[Role::Reviewer, Role::Pm],
        );
    }

    #[test]
    fn what_is_no_mention() {
        check("the coder did it", &[]);
        check("`@codebutler.coder`", &[]);
        check("```\n@codebutler.coder\n```", &[]);
        check("```\n@codebutler.coder never closed", &[]);
        check("mail me@codebutler.coder", &[]);
        check("https://x/@codebutler.coder", &[]);
        check("@codebutler.coders", &[]);
        check("@codebutler.coder-x", &[]);
        check("<@U0BOT> thanks", &[]);
        check("<@UOTHER> coder", &[]);
    }

    #[test]
    fn the_sender_prefix_is_no_mention_but_what_follows_may_be() {
        check("@codebutler.pm: I have a plan", &[]);
        check(
            "*@codebutler.pm*: over to @codebutler.coder",
            &[Role::Coder],
        );
        check("@codebutler.pm please", &[Role::Pm]);
    }

    #[test]
    fn code_is_cut_out_and_the_rest_stays() {
        assert_eq!(without_code("a `b` c"), "a   c");
        assert_eq!(without_code("a ``b ` c`` d"), "a   d");
        assert_eq!(without_code("a ` b\nc ` d"), "a ` b\nc ` d");
    }

    proptest! {
        #[test]
        fn nothing_panics_and_code_never_mentions(text in ".{0,60}", role in 0usize..6) {
            let bot = UserId::new("U0BOT");
            let _ = mentions(&text, Some(&bot));
            let quoted = format!("```\n{}\n```", Role::ALL[role].mention());
            prop_assert!(mentions(&quoted, Some(&bot)).is_empty());
        }
    }
}
