//! The buttons of a thread at a terminal. A button has a number that stays: that of
//! its message among those of the team, and its own place there, as in `4.1`.

use serde_json::Value;

use crate::CliError;

/// A button of an open card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Button {
    /// As in `4.1`.
    pub number: String,
    /// The message that it belongs to.
    pub message: String,
    /// What pressing it means.
    pub action: String,
    /// What it says.
    pub label: String,
}

/// Every button that can be pressed, in the order of the thread.
pub(crate) fn buttons(messages: &[Value]) -> Vec<Button> {
    let mut found = Vec::new();
    // What people write can be deleted, so it does not count.
    let team = messages.iter().filter(|one| one["username"].is_string());
    for (message, at) in team.zip(1..) {
        let blocks = message["blocks"].as_array().into_iter().flatten();
        let elements = blocks.filter_map(|block| block["elements"].as_array());
        let pressed = elements.flatten().filter_map(|element| {
            let action = element["action_id"].as_str()?;
            Some((action, element["text"]["text"].as_str().unwrap_or(action)))
        });
        for ((action, label), place) in pressed.zip(1..) {
            found.push(Button {
                number: format!("{at}.{place}"),
                message: message["ts"].as_str().unwrap_or_default().to_owned(),
                action: action.to_owned(),
                label: label.to_owned(),
            });
        }
    }
    found
}

/// The button that a number or a name means. Of two with one name none is meant.
pub(crate) fn meant<'a>(buttons: &'a [Button], name: &str) -> Result<&'a Button, CliError> {
    let name = name.trim();
    let fits = |one: &&Button| one.number == name || one.label.eq_ignore_ascii_case(name);
    let mut found = buttons.iter().filter(fits);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(CliError::user(format!(
            "more than one button is called `{name}`"
        ))
        .hint(format!("press one by its number: {}", listed(buttons)))),
        (None, _) if buttons.is_empty() => Err(CliError::user(
            "no button can be pressed in this thread now",
        )),
        (None, _) => Err(CliError::user(format!("there is no button `{name}`"))
            .hint(format!("there are {}", listed(buttons)))),
    }
}

fn listed(buttons: &[Button]) -> String {
    let named = buttons
        .iter()
        .map(|one| format!("{} {}", one.number, one.label));
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn card(ts: &str, actions: &[&str]) -> Value {
        let elements: Vec<_> = actions
            .iter()
            .map(|a| json!({"action_id": a, "text": {"text": a.to_uppercase()}}))
            .collect();
        json!({"ts": ts, "username": "codebutler.pm", "text": "a card", "blocks": [
            {"type": "section"}, {"type": "actions", "elements": elements}]})
    }

    #[test]
    fn a_button_keeps_its_number_when_others_are_gone() {
        let person = json!({"ts": "0", "user": "U1", "text": "hi"});
        let both = [person.clone(), card("1", &["a"]), card("2", &["b", "c"])];
        let numbers = |messages: &[Value]| -> Vec<(String, String)> {
            let all = buttons(messages).into_iter();
            all.map(|one| (one.number, one.label)).collect()
        };
        let expected = [("1.1", "A"), ("2.1", "B"), ("2.2", "C")];
        let expected = expected.map(|(n, l)| (n.to_owned(), l.to_owned()));
        assert_eq!(numbers(&both), expected);
        let decided = [card("1", &[]), card("2", &["b", "c"])];
        assert_eq!(numbers(&decided), expected[1..]);
    }

    #[test]
    fn a_button_is_pressed_by_name_or_number_and_never_by_chance() {
        let all = buttons(&[card("1", &["a", "b"]), card("2", &["b"])]);
        assert_eq!(meant(&all, "a").unwrap().number, "1.1");
        assert_eq!(meant(&all, "2.1").unwrap().message, "2");
        for wrong in ["b", "B", "1", "x", ""] {
            meant(&all, wrong).unwrap_err();
        }
        meant(&[], "a").unwrap_err();
    }
}
