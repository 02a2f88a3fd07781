//! How a person is named where a model reads: by the name people see, or as "the
//! user" where there is none. "You" would be the model itself, and an id is a name
//! that nobody can say.

use std::borrow::Cow;

/// Stands for a person without a name.
const NAMELESS: &str = "the user";
/// Ids are at least so long.
const ID_CHARS: usize = 9;

/// The name of a person for what a model reads.
pub fn person_name(name: &str) -> &str {
    let name = name.trim();
    let nobody = name.is_empty() || name.eq_ignore_ascii_case("you") || is_id(name);
    if nobody { NAMELESS } else { name }
}

/// The same where a sentence begins with it.
pub fn person_first(name: &str) -> &str {
    match person_name(name) {
        NAMELESS => "The user",
        name => name,
    }
}

/// Whether it is what Slack and the built-in workspace call a user.
fn is_id(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    name.len() >= ID_CHARS && name.starts_with(['U', 'W']) && name.bytes().all(plain)
}

/// The ids of the people that a text of Slack's mentions (`<@U…>`), in order.
pub fn people_mentioned(text: &str) -> impl Iterator<Item = &str> {
    text.split("<@").skip(1).filter_map(|rest| {
        let (inside, _) = rest.split_once('>')?;
        Some(inside.split('|').next().unwrap_or(inside))
    })
}

/// The text with the people that it mentions called by their names.
pub fn with_names<'a>(text: &'a str, name: impl Fn(&str) -> Option<String>) -> Cow<'a, str> {
    if !text.contains("<@") {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split("<@");
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((inside, rest)) = part.split_once('>') else {
            named.push_str("<@");
            named.push_str(part);
            continue;
        };
        let (id, label) = inside.split_once('|').unwrap_or((inside, ""));
        let known = name(id).unwrap_or_else(|| label.to_owned());
        match person_name(&known) {
            // With the sign nobody takes it for a part of the sentence.
            NAMELESS => named.push_str("@the user"),
            known => {
                named.push('@');
                named.push_str(known.trim_start_matches('@'));
            }
        }
        named.push_str(rest);
    }
    Cow::Owned(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_names_or_the_user() {
        for (name, told) in [
            ("ana", "ana"),
            (" Ana Ruiz ", "Ana Ruiz"),
            ("URSULA", "URSULA"),
            ("you", "the user"),
            ("You", "the user"),
            ("", "the user"),
            ("U6LV3K9QA2X", "the user"),
            ("W012A3CDE", "the user"),
            ("youssef", "youssef"),
        ] {
            assert_eq!(person_name(name), told, "{name}");
        }
    }

    #[test]
    fn mentions_are_read_as_names() {
        let name = |id: &str| (id == "U1").then(|| "ana".to_owned());
        for (text, told) in [
            (
                "ask <@U1>, <@U2> or <@U3|ben>",
                "ask @ana, @the user or @ben",
            ),
            ("a <@ b", "a <@ b"),
            ("a < b", "a < b"),
        ] {
            assert_eq!(with_names(text, name), told);
        }
        let ids: Vec<&str> = people_mentioned("<@U1> and <@U2|ben> <@").collect();
        assert_eq!(ids, ["U1", "U2"]);
    }
}
