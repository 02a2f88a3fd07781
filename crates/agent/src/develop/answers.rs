//! Answers that a person gives in the thread of a run: `3: words` is for item 3. Read
//! anew each time, so that nothing about them has to be kept.

use butler_protocol::MessageTs;
use butler_slack::{Message, mrkdwn};

use super::next::{Answer, Standing};

/// What a person says to an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// Which item.
    pub(crate) number: u32,
    /// Their words.
    pub(crate) words: String,
}

/// Reads `3: words`, also as `item 3: words` or `#3: words`.
pub(crate) fn read(text: &str) -> Option<Said> {
    let text = text.trim();
    let (name, words) = text.split_once(':')?;
    let name = name.trim().trim_start_matches('#');
    let name = match name.get(..5) {
        Some(word) if word.eq_ignore_ascii_case("item ") => &name[5..],
        _ => name,
    };
    let number = name.trim().trim_start_matches('#').parse().ok()?;
    let words = words.trim();
    (!words.is_empty()).then(|| Said {
        number,
        words: words.to_owned(),
    })
}

/// The newest answer of a person to an item that was given after it asked.
pub(crate) fn given(messages: &[Message], number: u32, standing: &Standing) -> Option<Answer> {
    let mut theirs = messages.iter().rev().filter(|message| is_persons(message));
    theirs.find_map(|message| {
        let said = read(&mrkdwn::plain(&message.text))?;
        let after = said.number == number && millis(&message.ts) >= standing.since_ms;
        let user = message.user.clone()?;
        after.then(|| Answer::Said {
            ts: message.ts.clone(),
            user,
            words: said.words,
        })
    })
}

fn is_persons(message: &Message) -> bool {
    message.user.is_some() && message.bot_id.is_none() && message.username.is_none()
}

/// Slack tells microseconds apart, our logs milliseconds.
fn millis(ts: &MessageTs) -> i64 {
    let text = ts.as_str().replace('.', "");
    text.parse::<i64>().unwrap_or(0) / 1000
}

#[cfg(test)]
mod tests {
    use butler_protocol::ItemState;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_names_its_item() {
        for (text, number, words) in [
            ("3: blue", 3, "blue"),
            (
                " item 12 : take the second: it is better",
                12,
                "take the second: it is better",
            ),
            ("#4: no", 4, "no"),
        ] {
            let said = read(text).unwrap();
            assert_eq!((said.number, said.words.as_str()), (number, words));
        }
        for text in ["3", "3:", "note: three", "see 3: x", "http://x"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_persons_word_after_the_question_counts() {
        let message = |ts: &str, text: &str, by: serde_json::Value| -> Message {
            let mut message = json!({"ts": ts, "text": text});
            for (name, value) in by.as_object().unwrap() {
                message[name] = value.clone();
            }
            serde_json::from_value(message).unwrap()
        };
        let person = || json!({"user": "U1"});
        let messages = [
            message("1700000001.000000", "3: early", person()),
            message("1700000003.000000", "3: late", person()),
            message(
                "1700000004.000000",
                "3: a role",
                json!({"username": "codebutler.pm"}),
            ),
            message("1700000005.000000", "4: other", person()),
        ];
        let mut asked = Standing::plain(ItemState::Asks);
        asked.since_ms = 1_700_000_002_000;
        let Some(Answer::Said { words, .. }) = given(&messages, 3, &asked) else {
            panic!("no answer");
        };
        assert_eq!(words, "late");
        asked.since_ms = 1_700_000_003_500;
        assert_eq!(given(&messages, 3, &asked), None);
    }
}
