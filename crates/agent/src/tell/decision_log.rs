//! The decision log of a role in a thread: only choices between alternatives,
//! one line of JSON each. What it did is in its conversation log; this is where
//! one looks to learn why.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
};

use butler_protocol::{Ending, Record};
use serde::{Deserialize, Serialize};
use tracing::warn;

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// What was decided about: model, stuck, approval, compaction, answer.
    pub about: String,
    /// What was chosen.
    pub choice: String,
    /// What it was chosen from, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
    /// Why.
    pub evidence: String,
}

/// The choice that a record stands for, if it does.
pub(crate) fn of_record(record: &Record, at_ms: i64) -> Option<Choice> {
    let choice = |about: &str, choice: String, evidence: String| Choice {
        at_ms,
        about: about.to_owned(),
        choice,
        alternatives: Vec::new(),
        evidence,
    };
    Some(match record {
        Record::Model { model, reason, .. } => choice("model", model.clone(), reason.clone()),
        Record::DecisionAsked {
            request, subject, ..
        } => {
            let kind = subject.kind();
            let labels = kind.choices().iter().map(|one| one.label().to_owned());
            Choice {
                alternatives: labels.collect(),
                ..choice(
                    "approval",
                    "ask a person".to_owned(),
                    format!("{kind:?} card {request}").to_lowercase(),
                )
            }
        }
        Record::DecisionUsed {
            request,
            choice: chosen,
            person,
        } => choice(
            "approval",
            chosen.label().to_owned(),
            format!("{person} on card {request}"),
        ),
        Record::Summary { upto, .. } => choice(
            "compaction",
            "a summary".to_owned(),
            format!("the next request would not fit; lines up to {upto} are covered"),
        ),
        Record::ActivationEnded {
            ending: Ending::Stuck,
            ..
        } => choice(
            "stuck",
            "stop and hand up".to_owned(),
            "every other way out was tried".to_owned(),
        ),
        _ => return None,
    })
}

/// What the machine chose.
pub(crate) fn chosen(about: &str, choice: String, evidence: String, at_ms: i64) -> Choice {
    Choice {
        at_ms,
        about: about.to_owned(),
        choice,
        alternatives: Vec::new(),
        evidence,
    }
}

/// Adds choices to a log. It explains; nothing depends on it, so a disk that
/// says no is told to the operator and to nobody else.
pub(crate) fn keep(path: &Path, choices: &[Choice]) {
    if choices.is_empty() {
        return;
    }
    let lines: String = choices
        .iter()
        .filter_map(|choice| serde_json::to_string(choice).ok())
        .map(|line| format!("{line}\n"))
        .collect();
    let append = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(lines.as_bytes())
    };
    if let Err(error) = append() {
        warn!(%error, path = %path.display(), "a choice was not written down");
    }
}

/// What a log holds; lines that cannot be read are passed over.
#[must_use]
pub fn read(path: &Path) -> Vec<Choice> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use butler_protocol::{BudgetRefusal, RequestId, Sha256Hex, Subject, Usd};

    use super::*;

    #[test]
    fn choices_are_kept_and_what_is_none_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions/coder.jsonl");
        let records = [
            Record::Note { text: "n".into() },
            Record::Model {
                model: "strong".into(),
                reason: "the checks keep failing".into(),
                asked_for: false,
            },
            Record::DecisionAsked {
                request: RequestId::new("abcdef"),
                sha256: Sha256Hex::of("x"),
                subject: Subject::Cap(BudgetRefusal {
                    budget: "thread".into(),
                    cap: Usd::ZERO,
                    used: Usd::ZERO,
                }),
                learnings: Vec::new(),
            },
        ];
        for record in &records {
            let choice = of_record(record, 7);
            keep(&path, choice.as_slice());
        }
        let kept = read(&path);
        assert_eq!(kept.len(), 2);
        assert_eq!(
            (kept[0].about.as_str(), kept[0].choice.as_str()),
            ("model", "strong")
        );
        assert_eq!(kept[1].alternatives, ["Raise", "Stop"]);
        assert_eq!(kept[1].evidence, "cap card abcdef");
        assert_eq!(read(&folder.path().join("nothing")), []);
    }
}
