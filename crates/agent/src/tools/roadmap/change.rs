//! ChangeRoadmap: the PM's way to plan ahead. Typed changes are applied to the file
//! as it is on the default branch and checked there; a person sees the whole with its
//! diff on one card, and one approval is one commit.

use std::{collections::BTreeSet, time::Duration};

use butler_playbook::{Roadmap, diff};
use butler_protocol::{
    Remark, RequestId, RoadmapChange, RoadmapItem, RoadmapStatus, RoadmapSubject, Subject,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::decide::{cards::NewCard, roadmap};
use crate::tools::{Answer, CallContext, ChatTool, OrFailed, SLOW, decide, refuse};

pub(crate) struct ChangeRoadmap;

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

    const TOLD: &'static str = "Shows the person a change of .codebutler/roadmap.md with Approve, Modify and Reject, and \
             sleeps until they choose; after Approve the runtime commits it. Put everything \
             into one call; without the file the first item is 1. Example: {\"changes\": [{\"op\": \"add\", \
             \"title\": \"Search\", \"depends_on\": [2], \"criteria\": [\"finds a note by a word\"]}], \
             \"why\": \"Search first: the others need it.\"}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let why = input.why.trim().to_owned();
        let changes = read(input).or_else(|problems| refuse(problems.join("; ")))?;
        let now = roadmap::now(context)
            .await
            .or_failed("the roadmap could not be read")?;
        let changes = now.numbered(changes);
        let changed = now.apply(&changes).or_else(|problems| {
            refuse(format!(
                "the roadmap was not changed: {}",
                problems.join("; ")
            ))
        })?;
        let mut remarks: Vec<Remark> = meant(&now, &changes).into_iter().collect();
        let there = roadmap::is_there(context).await;
        if !there.or_failed("the roadmap could not be read")? {
            let new = "is new: there is no roadmap yet";
            remarks.push(Remark::runtime("The file", new));
        }
        if !why.is_empty() {
            remarks.push(Remark::model("Why", why));
        }
        let subject = RoadmapSubject {
            diff: shown(&now, &changed, &changes),
            changes,
        };
        let subject = Subject::Roadmap(Box::new(subject));
        let card = NewCard::new(RequestId::of(context.id()), subject).with(remarks);
        let said = "the change of the roadmap is waiting for approval";
        decide(context, card, said).await
    }
}

/// The titles of the items that are only numbers on the card.
fn meant(now: &Roadmap, changes: &[RoadmapChange]) -> Option<Remark> {
    let numbers = changes.iter().flat_map(|change| match change {
        RoadmapChange::Add(_) => [None, None],
        RoadmapChange::Move { item, before } => [Some(*item), *before],
        RoadmapChange::Change { item, .. }
        | RoadmapChange::Split { item, .. }
        | RoadmapChange::Status { item, .. }
        | RoadmapChange::Block { item, .. } => [Some(*item), None],
    });
    let numbers: BTreeSet<u32> = numbers.flatten().collect();
    let items = numbers.into_iter().filter_map(|number| now.item(number));
    let names: Vec<String> = items
        .map(|item| format!("{}. {}", item.number, item.title))
        .collect();
    (!names.is_empty()).then(|| Remark::runtime("Items meant", names.join("\n")))
}

/// What goes and comes of what is there. New items stand on the card as they are, so
/// that nobody has to read them twice.
fn shown(now: &Roadmap, changed: &Roadmap, changes: &[RoadmapChange]) -> String {
    let others = changes
        .iter()
        .filter(|change| !matches!(change, RoadmapChange::Add(_)));
    let others: Vec<RoadmapChange> = others.cloned().collect();
    if others.is_empty() {
        return String::new();
    }
    // Those that name a new item go only together with it.
    let after = now.apply(&others);
    let after = after.as_ref().unwrap_or(changed);
    let whole = diff("roadmap.md", now.text(), after.text());
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
    fn the_card_shows_an_item_once_and_names_what_is_only_a_number() {
        let now = Roadmap::parse("## 1. Auth\n\n## 2. Mail\n");
        let add = json!({"op": "add", "title": "Search"});
        let block = json!({"op": "block", "item": 2, "reason": "no account"});
        let card = |changes: &Value| {
            let changes = now.numbered(of(changes).unwrap());
            let changed = now.apply(&changes).unwrap();
            let meant = meant(&now, &changes).map(|remark| remark.text);
            (shown(&now, &changed, &changes), meant)
        };
        assert_eq!(card(&json!([add.clone()])), (String::new(), None));
        let (diff, meant) = card(&json!([add.clone(), block]));
        assert!(
            diff.contains("no account") && !diff.contains("Search"),
            "{diff}"
        );
        assert_eq!(meant.as_deref(), Some("2. Mail"));
        let moved = json!({"op": "move", "item": 2, "before": 1});
        assert_eq!(card(&json!([moved])).1.as_deref(), Some("1. Auth\n2. Mail"));
        // What needs the new item is shown with it.
        let needs = json!({"op": "change", "item": 1, "depends_on": [3]});
        assert!(card(&json!([add, needs])).0.contains("+## 3. Search"));
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
