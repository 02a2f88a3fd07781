//! What a role is told about the thread when it joins it: the messages so far,
//! capped, newest kept.

use std::fmt::Write;

use butler_slack::{Message, mrkdwn};
use butler_vocab::MessageTs;

/// More than this is not worth its tokens; the newest lines stay.
const CAP_BYTES: usize = 12 * 1024;

/// The thread before `until` as one text; `None` when there is nothing to tell.
pub fn so_far(messages: &[Message], until: Option<&MessageTs>) -> Option<String> {
    let mut lines: Vec<String> = messages
        .iter()
        .filter(|message| until.is_none_or(|until| message.ts < *until))
        .map(line)
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut size: usize = lines.iter().map(String::len).sum();
    let mut left_out = 0;
    while size > CAP_BYTES && lines.len() > 1 {
        size -= lines.remove(0).len();
        left_out += 1;
    }
    let mut text = String::from("The thread before you were called:\n");
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} earlier messages left out)");
    }
    text.push_str(&lines.join("\n"));
    Some(text)
}

/// One message as a line.
pub fn line(message: &Message) -> String {
    let who = message
        .username
        .clone()
        .or_else(|| message.user.as_ref().map(ToString::to_string))
        .unwrap_or_else(|| "somebody".to_owned());
    let text = mrkdwn::unescape(&message.text).replace('\n', "\n  ");
    format!("- {who}: {text}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(ts: &str, text: &str) -> Message {
        serde_json::from_value(json!({"ts": ts, "username": "codebutler.pm", "text": text}))
            .unwrap()
    }

    #[test]
    fn only_what_came_before_and_the_newest_when_it_is_much() {
        let messages: Vec<Message> = (0..30)
            .map(|n| {
                message(
                    &format!("17000000{n:02}.000000"),
                    &format!("{n} {}", "x".repeat(1000)),
                )
            })
            .collect();
        let until: MessageTs = "1700000029.000000".parse().unwrap();
        let text = so_far(&messages, Some(&until)).unwrap();
        assert!(text.len() < CAP_BYTES + 200);
        assert!(text.contains("28 xxx") && !text.contains("29 xxx"));
        assert!(text.contains("earlier messages left out"));
        assert_eq!(so_far(&messages[..1], Some(&messages[0].ts)), None);
    }
}
