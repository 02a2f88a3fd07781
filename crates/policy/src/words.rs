//! Words that people may use instead of a button or a question to the model.
//! Lists per language are data (`words/<language>.txt`); only a whole message
//! counts, so that nobody approves anything by talking about it.

use butler_protocol::{Choice, DecisionKind, UserId, mentions};
use serde::Deserialize;
use serde_json::Value;

/// What a whole message can mean by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// End what runs in this thread.
    Stop,
    /// Who does what.
    Status,
    /// What it cost so far.
    Cost,
    /// What one can say.
    Help,
    /// The whole team is paused.
    Pause,
    /// The whole team goes on.
    Resume,
    /// The whole team is started anew.
    Restart,
    /// Agree to the one open question.
    Yes,
    /// Turn it down.
    No,
    /// Merge what is ready to be merged.
    Merge,
    /// Leave it open for now.
    Hold,
    /// Close it without a merge.
    Close,
    /// Put the thread away.
    Archive,
}

const LISTS: [&str; 2] = [
    include_str!("../words/en.txt"),
    include_str!("../words/es.txt"),
];

/// Everything that a message can mean as a whole; several words share a meaning
/// and one word may have two ("dale" agrees, and merges).
pub fn meanings(text: &str) -> Vec<Word> {
    let said = plain(text);
    if said.is_empty() || said.len() > 40 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for line in LISTS.iter().flat_map(|list| list.lines()) {
        let Some((name, words)) = line.split_once(':') else {
            continue;
        };
        let word = named(name).filter(|word| !found.contains(word));
        if let Some(word) = word
            && words.split(',').any(|one| one.trim() == said)
        {
            found.push(word);
        }
    }
    found
}

/// What a word means for an open card; nothing where only a button will do. A
/// command is approved on its own card or by its id, and money by its button.
pub fn answer(word: Word, kind: DecisionKind) -> Option<Choice> {
    match (kind, word) {
        (DecisionKind::Plan | DecisionKind::Roadmap, Word::Yes) => Some(Choice::Approve),
        (DecisionKind::Learning | DecisionKind::Maps | DecisionKind::Picture, Word::Yes) => {
            Some(Choice::Accept)
        }
        (
            DecisionKind::Plan
            | DecisionKind::Learning
            | DecisionKind::Roadmap
            | DecisionKind::Develop
            | DecisionKind::Maps,
            Word::No,
        ) => Some(Choice::Reject),
        (DecisionKind::Picture, Word::No) => Some(Choice::Discard),
        (DecisionKind::Merge, Word::Merge) => Some(Choice::Merge),
        (DecisionKind::Merge, Word::No | Word::Hold) => Some(Choice::Hold),
        (DecisionKind::Merge, Word::Close) => Some(Choice::Close),
        _ => None,
    }
}

/// Whether a whole message asks everybody in its thread to stop.
pub fn is_stop(text: &str, bot: Option<&UserId>) -> bool {
    meanings(without_mentions(text, bot)).first() == Some(&Word::Stop)
}

/// Whether a reaction with this name does.
pub fn is_stop_emoji(name: &str) -> bool {
    matches!(
        name,
        "octagonal_sign" | "stop_sign" | "black_square_for_stop"
    )
}

/// The text without the mentions of the app, or of its roles, that it begins with.
pub fn without_mentions<'a>(text: &'a str, bot: Option<&UserId>) -> &'a str {
    let mut rest = text.trim();
    let user = bot.map(|user| format!("<@{user}>"));
    while let Some((first, after)) = rest.split_once(char::is_whitespace) {
        let ours = user.as_deref().is_some_and(|user| first.starts_with(user))
            || !mentions(first, bot).is_empty()
            || first.eq_ignore_ascii_case("@codebutler");
        if !ours {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

fn named(name: &str) -> Option<Word> {
    Word::deserialize(Value::from(name.trim())).ok()
}

fn plain(original: &str) -> String {
    let text = original.trim().trim_matches(['.', '!', '?', '¡', '¿', ' ']);
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let said = words.join(" ");
    // The leading mark was trimmed with the others, and means something: the whole team,
    // not this thread, is paused and goes on; a draft ends, and nothing is merged.
    let marked = original.trim_start().starts_with('!');
    match said.as_str() {
        "pause" | "resume" | "restart" | "pausa" | "sigue" | "reinicia" | "done" if marked => {
            format!("!{said}")
        }
        _ => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_a_whole_message_to_us_or_a_sign() {
        let bot = UserId::new("U0BOT");
        for text in ["stop", "STOP!", "<@U0BOT> stop", "@codebutler.coder stop"] {
            assert!(is_stop(text, Some(&bot)), "{text}");
        }
        for text in ["stop the server first", "<@U0ANA> stop", "don't stop", ""] {
            assert!(!is_stop(text, Some(&bot)), "{text}");
        }
        assert!(is_stop_emoji("octagonal_sign") && !is_stop_emoji("+1"));
    }

    #[test]
    fn whole_messages_mean_something_in_both_languages() {
        for (text, word) in [
            ("Merge", Word::Merge),
            ("¡Listo!", Word::Merge),
            ("DONE.", Word::Merge),
            ("sí", Word::Yes),
            ("ok", Word::Yes),
            ("  no ", Word::No),
            ("ayuda", Word::Help),
            ("estado?", Word::Status),
            ("cost", Word::Cost),
            ("!pause", Word::Pause),
            ("!sigue", Word::Resume),
        ] {
            assert_eq!(meanings(text), [word], "{text}");
        }
        assert_eq!(meanings("dale"), [Word::Yes, Word::Merge]);
    }

    #[test]
    fn talking_about_a_word_is_not_saying_it() {
        for text in [
            "",
            "please merge the two lists",
            "no, use the other one",
            "don't stop",
            "what is the status of the parser?",
            "yes but smaller",
            "`merge`",
            "!done",
            "resume",
            "pause",
        ] {
            assert_eq!(meanings(text), [], "{text}");
        }
    }

    #[test]
    fn commands_and_money_need_their_button() {
        for word in [Word::Yes, Word::No, Word::Merge] {
            assert_eq!(answer(word, DecisionKind::Command), None);
            assert_eq!(answer(word, DecisionKind::Cap), None);
        }
        assert_eq!(answer(Word::Yes, DecisionKind::Merge), None);
        assert_eq!(
            answer(Word::Merge, DecisionKind::Merge),
            Some(Choice::Merge)
        );
        assert_eq!(answer(Word::Merge, DecisionKind::Plan), None);
    }

    #[test]
    fn every_line_of_every_list_is_read() {
        for line in LISTS.iter().flat_map(|list| list.lines()) {
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            let (name, words) = line.split_once(':').unwrap();
            let word = named(name).unwrap();
            for one in words.split(',') {
                assert!(meanings(one).contains(&word), "{line}: {one}");
            }
        }
    }
}
