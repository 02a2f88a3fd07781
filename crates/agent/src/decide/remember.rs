//! What a person wants remembered, in their own words: a card at once, without a
//! model. Pure, apart from the card.

use butler_playbook::Topic;
use butler_policy::Remembered;
use butler_protocol::{CallId, Change, Confidence, Proposal, Remark, Role, Subject};

use crate::{
    AgentError, ThreadContext,
    decide::{cards::NewCard, person_actions::Asked},
    thread::context::request_nth,
};

/// A title longer than this is no title.
const TITLE_WORDS: usize = 8;

/// Puts it before them. The same message makes the same card.
pub(crate) async fn put_up(context: &ThreadContext, asked: &Asked) -> Result<(), AgentError> {
    let source = format!("thread-{}, {}", context.thread.root, context.agent.today());
    let words = context.agent.clean(&asked.words);
    let Some(said) = Remembered::read(&words) else {
        return Ok(());
    };
    let request = request_nth(&CallId::new(format!("act-{}", asked.key)), 0);
    let idem = context.idem_for(&request, "remember");
    let words = Remark::runtime("In the words of", &asked.name);
    let subject = Subject::Learning(Box::new(proposal(&said, &source)));
    let card = NewCard::new(request, subject).with([words]);
    context.put_up(idem, card).await?;
    Ok(())
}

/// Somebody's words as a learning. "when X, Y" and "X: Y" have a case of their own.
fn proposal(said: &Remembered<'_>, source: &str) -> Proposal {
    let whom = said
        .whom
        .and_then(|whom| Topic::read(whom.trim_start_matches("the ")));
    let file = whom.and_then(|topic| topic.file(&Role::ALL).ok());
    let (when, rule) = case(said.what);
    let mut words = rule.split_whitespace();
    let mut title: Vec<&str> = words.by_ref().take(TITLE_WORDS).collect();
    if words.next().is_some() {
        title.push("…");
    }
    Proposal {
        file: file.unwrap_or("global.md").to_owned(),
        change: Change::Learning {
            title: title.join(" ").trim_end_matches(['.', '!']).to_owned(),
            when: when.to_owned(),
            rule: rule.to_owned(),
            example: format!("\"{}\"", said.what),
            confidence: Confidence::High,
            source: source.to_owned(),
        },
    }
}

fn case(what: &str) -> (&str, &str) {
    let lower = what.to_lowercase();
    let starts = ["when ", "if ", "before ", "after ", "cuando ", "si "];
    let begins = starts.iter().any(|start| lower.starts_with(start));
    match what.split_once([',', ':']) {
        Some((when, rule)) if begins && !rule.trim().is_empty() => (when.trim(), rule.trim()),
        _ => ("always", what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> (String, String, String, String) {
        let said = Remembered::read(text).unwrap();
        let made = proposal(&said, "thread-1, 2026-01-02");
        match made.change {
            Change::Learning {
                title, when, rule, ..
            } => (made.file, title, when, rule),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_become_a_learning_for_whom_they_are() {
        let (file, title, when, rule) = made("remember: use tabs in shell scripts.");
        assert_eq!(
            (file.as_str(), title.as_str(), when.as_str(), rule.as_str()),
            (
                "global.md",
                "use tabs in shell scripts",
                "always",
                "use tabs in shell scripts."
            )
        );
        let (file, title, when, rule) = made(
            "Remember for the Coder: when a flag is planned, list every caller of the command in the plan",
        );
        assert_eq!(
            (file.as_str(), when.as_str()),
            ("coder.md", "when a flag is planned")
        );
        assert_eq!(title, "list every caller of the command in the …");
        assert!(rule.starts_with("list every caller"));
        assert_eq!(made("remember for process: ask first").0, "workflows.md");
        assert_eq!(
            made("recuerda para el reviewer: mira los tests").0,
            "reviewer.md"
        );
    }
}
