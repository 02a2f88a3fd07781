//! ChangeRoadmap: the PM's way to plan ahead. Typed changes are applied to the file
//! as it is on the default branch and checked there; a person sees the whole with its
//! diff on one card, and one approval is one commit.

use std::time::Duration;

use butler_playbook::diff;
use butler_policy::Permit;
use butler_protocol::{
    Remark, RequestId, RoadmapChange, RoadmapItem, RoadmapStatus, RoadmapSubject, Subject,
    ToolOutcome, ToolSpec,
};
use butler_tools::ToolContext;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    decide::{cards::NewCard, roadmap},
    thread::context::ThreadContext,
    tools::{ChatTool, SLOW, decide, failed, spec},
};

pub(crate) struct ChangeRoadmap(pub ThreadContext);

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What is done to it, in order; a new item gets the next free number.
    changes: Vec<Change>,
    /// What the person should know: what you assumed, why this order.
    #[serde(default)]
    why: String,
}

/// Flat, because models fill one form better than six.
#[derive(Debug, Deserialize, JsonSchema)]
struct Change {
    /// add, change, move, split, status or block.
    op: String,
    /// The item's number; not for add.
    #[serde(default)]
    item: Option<u32>,
    /// add, change: its title.
    #[serde(default)]
    title: Option<String>,
    /// add, change: numbers of the items that must be done first.
    #[serde(default)]
    depends_on: Option<Vec<u32>>,
    /// add, change: what counts as done, one each.
    #[serde(default)]
    criteria: Option<Vec<String>>,
    /// move: the item before which it stands then; left out: the end.
    #[serde(default)]
    before: Option<u32>,
    /// split: the pieces, each with title, depends_on and criteria. The first keeps the
    /// number, the others get the next free ones; what waited for the item waits for all.
    #[serde(default)]
    into: Vec<Piece>,
    /// status: pending, in_progress or done.
    #[serde(default)]
    status: Option<String>,
    /// block: why it cannot go on.
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Piece {
    title: String,
    #[serde(default)]
    depends_on: Vec<u32>,
    #[serde(default)]
    criteria: Vec<String>,
}

impl ChatTool for ChangeRoadmap {
    type Input = Input;

    const NAME: &'static str = "ChangeRoadmap";
    const DEADLINE: Duration = SLOW;

    fn told() -> ToolSpec {
        spec::<Input>(
            Self::NAME,
            "Shows the person a change of .codebutler/roadmap.md with Approve, Modify and Reject, and \
             sleeps until they choose; after Approve the runtime commits it. Put everything \
             into one call; without the file the first item is 1. Example: {\"changes\": [{\"op\": \"add\", \
             \"title\": \"Search\", \"depends_on\": [2], \"criteria\": [\"finds a note by a word\"]}], \
             \"why\": \"Search first: the others need it.\"}",
        )
    }

    async fn act(&self, permit: &Permit, input: Input, tool_context: &ToolContext) -> ToolOutcome {
        let why = input.why.trim().to_owned();
        let changes = match read(input) {
            Ok(changes) => changes,
            Err(problems) => return ToolOutcome::error(problems.join("; ")),
        };
        let context = &self.0;
        let now = match roadmap::now(context, tool_context.cancel()).await {
            Ok(now) => now,
            Err(error) => return failed("the roadmap could not be read", &error),
        };
        let changes = now.numbered(changes);
        let changed = match now.apply(&changes) {
            Ok(changed) => changed,
            Err(problems) => {
                return ToolOutcome::error(format!(
                    "the roadmap was not changed: {}",
                    problems.join("; ")
                ));
            }
        };
        let subject = RoadmapSubject {
            changes,
            diff: shown(now.text(), changed.text()),
        };
        let card = NewCard {
            request: RequestId::of(permit.call()),
            subject: Subject::Roadmap(Box::new(subject)),
            remarks: (!why.is_empty())
                .then(|| Remark::model("Why", why))
                .into_iter()
                .collect(),
            learnings: Vec::new(),
        };
        let said = "the change of the roadmap is waiting for approval";
        decide(context, permit.call(), card, said).await
    }
}

/// What goes and comes; which side is which says the card.
fn shown(before: &str, after: &str) -> String {
    let whole = diff("roadmap.md", before, after);
    // An empty line of the file has nothing to show for its blank.
    let lines: Vec<&str> = whole.lines().skip(2).map(str::trim_end).collect();
    lines.join("\n")
}

/// The changes, or everything that they lack.
fn read(input: Input) -> Result<Vec<RoadmapChange>, Vec<String>> {
    let (mut changes, mut wrong) = (Vec::new(), Vec::new());
    for (number, change) in (1..).zip(input.changes) {
        match change.typed() {
            Ok(change) => changes.push(change),
            Err(lack) => wrong.push(format!("change {number}: {lack}")),
        }
    }
    if changes.is_empty() && wrong.is_empty() {
        wrong.push("`changes` is empty".to_owned());
    }
    if wrong.is_empty() {
        Ok(changes)
    } else {
        Err(wrong)
    }
}

impl Change {
    fn typed(self) -> Result<RoadmapChange, String> {
        let named = self.item;
        let item = || named.ok_or_else(|| "`item` is missing: the number of the item".to_owned());
        let title = self.title.filter(|title| !title.trim().is_empty());
        Ok(match self.op.trim().to_lowercase().as_str() {
            "add" => RoadmapChange::Add(RoadmapItem {
                number: None,
                title: title.ok_or("`title` is missing: a few words that name the item")?,
                depends_on: self.depends_on.unwrap_or_default(),
                criteria: self.criteria.unwrap_or_default(),
            }),
            "change" | "edit" | "update" => RoadmapChange::Change {
                item: item()?,
                title,
                depends_on: self.depends_on,
                criteria: self.criteria,
            },
            "move" | "reorder" => RoadmapChange::Move {
                item: item()?,
                before: self.before,
            },
            "split" => RoadmapChange::Split {
                item: item()?,
                into: self.into.into_iter().map(Piece::item).collect(),
            },
            "status" | "set_status" => RoadmapChange::Status {
                item: item()?,
                status: status(self.status.as_deref())?,
            },
            "block" => RoadmapChange::Block {
                item: item()?,
                reason: self
                    .reason
                    .filter(|reason| !reason.trim().is_empty())
                    .ok_or("`reason` is missing: why it cannot go on")?,
            },
            other => {
                return Err(format!(
                    "`op` is \"{other}\": use add, change, move, split, status or block"
                ));
            }
        })
    }
}

impl Piece {
    fn item(self) -> RoadmapItem {
        RoadmapItem {
            number: None,
            title: self.title,
            depends_on: self.depends_on,
            criteria: self.criteria,
        }
    }
}

fn status(word: Option<&str>) -> Result<RoadmapStatus, String> {
    let word = word.unwrap_or_default().trim().to_lowercase();
    match word.replace(['-', ' '], "_").as_str() {
        "pending" => Ok(RoadmapStatus::Pending),
        "in_progress" => Ok(RoadmapStatus::InProgress),
        "done" => Ok(RoadmapStatus::Done),
        other => Err(format!(
            "`status` is \"{other}\": use pending, in_progress or done; block has an op of its own"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(changes: &Value) -> Result<Vec<RoadmapChange>, Vec<String>> {
        read(serde_json::from_value(json!({ "changes": changes.clone() })).unwrap())
    }

    #[test]
    fn everything_that_changes_lack_is_said_at_once() {
        let wrong = of(&json!([
            {"op": "add"},
            {"op": "move"},
            {"op": "status", "item": 1, "status": "blocked"},
            {"op": "block", "item": 1},
            {"op": "drop", "item": 1},
        ]))
        .unwrap_err();
        assert_eq!(wrong.len(), 5, "{wrong:?}");
        assert!(of(&json!([])).is_err());
        let good = of(&json!([{"op": "Status", "item": 2, "status": "In progress"}])).unwrap();
        assert_eq!(good[0].to_string(), "item 2 is in_progress");
    }
}
