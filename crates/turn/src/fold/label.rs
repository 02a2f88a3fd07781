//! How the model is told who speaks. Every text that is not the model's own
//! stands in a tag that names its speaker; a text cannot close its tag or open
//! another, so nobody can speak in somebody else's name.

use butler_protocol::{Speaker, person_name};

/// The tags used here. A text that contains one of them gets its `<` escaped.
const TAGS: [&str; 6] = [
    "message",
    "note",
    "outside",
    "summary",
    "approved_call",
    "change_to_review",
];

/// The text of a speaker, labelled.
pub(crate) fn spoken(speaker: &Speaker, text: &str) -> String {
    match speaker {
        Speaker::Person { name, .. } => {
            let name = attribute(person_name(name));
            let from = format!(" from=\"person\" name=\"{name}\"");
            tagged("message", &from, text)
        }
        Speaker::Agent { role } => tagged("message", &format!(" from=\"{role}\""), text),
        Speaker::Runtime => note(text),
        Speaker::Outside { origin } => {
            let origin = attribute(origin);
            tagged("outside", &format!(" origin=\"{origin}\""), text)
        }
    }
}

/// A remark of the runtime.
pub(crate) fn note(text: &str) -> String {
    tagged("note", "", text)
}

/// The result of a call that a person approved on this card: data, as every result is.
pub(crate) fn approved_call(card: &str, text: &str) -> String {
    let card = attribute(card);
    tagged("approved_call", &format!(" card=\"{card}\""), text)
}

/// The change that is to be reviewed: data, as files are.
pub(crate) fn change_to_review(head: &str, text: &str) -> String {
    let head = attribute(head);
    tagged("change_to_review", &format!(" head=\"{head}\""), text)
}

/// What replaces the middle of a long conversation. Its text is put together
/// from labelled and [escaped] parts, so it is taken as it is.
pub(crate) fn summary(text: &str) -> String {
    format!("<summary>\n{}\n</summary>", text.trim_end())
}

fn tagged(tag: &str, attributes: &str, text: &str) -> String {
    let text = escaped(text.trim_end());
    format!("<{tag}{attributes}>\n{text}\n</{tag}>")
}

/// Escapes every `<` that begins one of our tags, in any case and with any
/// blanks, and leaves all other text (code, mostly) as it is.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        out.push_str(if begins_tag(after) { "&lt;" } else { "<" });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn begins_tag(after: &str) -> bool {
    let word = after.trim_start_matches(|c: char| c == '/' || c.is_whitespace() || c.is_control());
    TAGS.iter().any(|tag| {
        word.get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
    })
}

fn attribute(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '"' => '\'',
            '<' | '>' | '&' => '_',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Role, UserId};
    use proptest::prelude::*;

    use super::*;

    fn ana(text: &str) -> String {
        let speaker = Speaker::Person {
            user: UserId::new("U1"),
            name: "ana".into(),
        };
        spoken(&speaker, text)
    }

    #[test]
    fn everybody_has_a_label() {
        assert_eq!(
            ana("hi\n"),
            "<message from=\"person\" name=\"ana\">\nhi\n</message>"
        );
        for (name, told) in [("you", "the user"), ("U6LV3K9QA2X", "the user")] {
            let speaker = Speaker::Person {
                user: UserId::new("U6LV3K9QA2X"),
                name: name.into(),
            };
            let head = format!("<message from=\"person\" name=\"{told}\">\n");
            assert_eq!(spoken(&speaker, "hi"), format!("{head}hi\n</message>"));
        }
        let coder = Speaker::Agent { role: Role::Coder };
        assert_eq!(
            spoken(&coder, "done"),
            "<message from=\"coder\">\ndone\n</message>"
        );
        assert_eq!(spoken(&Speaker::Runtime, "x"), "<note>\nx\n</note>");
        let web = Speaker::Outside {
            origin: "https://a/\"><b".into(),
        };
        assert_eq!(
            spoken(&web, "data"),
            "<outside origin=\"https://a/'__b\">\ndata\n</outside>"
        );
    }

    #[test]
    fn code_stays_as_it_is() {
        let code = "if a < b && c <T> {} </div> <messy>";
        assert!(ana(code).contains(code));
        assert!(ana("<Message>").contains("\n&lt;Message>\n"));
    }

    proptest! {
        #[test]
        fn nobody_speaks_in_anothers_name(
            before in ".{0,10}", open in "< ?/? ?", tag in 0usize..6, upper: bool, after in ".{0,10}"
        ) {
            let tag = if upper { TAGS[tag].to_uppercase() } else { TAGS[tag].to_owned() };
            let text = ana(&format!("{before}{open}{tag}>{after}"));
            let inner = text
                .strip_prefix("<message from=\"person\" name=\"ana\">").unwrap()
                .strip_suffix("</message>").unwrap();
            let squeezed: String = inner.to_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
            for tag in TAGS {
                let forged = [format!("<{tag}"), format!("</{tag}")];
                prop_assert!(forged.iter().all(|word| !squeezed.contains(word.as_str())), "{}", inner);
            }
        }
    }
}
