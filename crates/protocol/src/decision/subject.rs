//! What a person decides about, as types. The hash of its JSON is what a decision
//! binds: the order of the fields is part of it, and a field that is added needs a
//! default that is not written, so that cards of an earlier release still verify.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value, json};

use crate::{
    BudgetRefusal, ChannelId, CommitSha, Confidence, DecisionKind, DevelopSubject, MapsSubject,
    MessageTs, PictureSubject, Plan, PrNumber, RoadmapSubject, Role, Sha256Hex, ThreadId, TreeHash,
};

/// Exactly what would happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// This is built.
    Plan(Box<Plan>),
    /// This call runs.
    Command(Box<Call>),
    /// This is remembered, or let go.
    Learning(Box<Proposal>),
    Merge(Box<MergeSubject>),
    /// This is planned.
    Roadmap(Box<RoadmapSubject>),
    /// This is built, item by item.
    Develop(Box<DevelopSubject>),
    /// These project maps are kept.
    Maps(Box<MapsSubject>),
    /// This picture is kept.
    Picture(Box<PictureSubject>),
    /// This budget holds more.
    Cap(BudgetRefusal),
}

impl Subject {
    /// What is being decided.
    pub const fn kind(&self) -> DecisionKind {
        match self {
            Subject::Plan(_) => DecisionKind::Plan,
            Subject::Command(_) => DecisionKind::Command,
            Subject::Learning(_) => DecisionKind::Learning,
            Subject::Merge(_) => DecisionKind::Merge,
            Subject::Roadmap(_) => DecisionKind::Roadmap,
            Subject::Develop(_) => DecisionKind::Develop,
            Subject::Maps(_) => DecisionKind::Maps,
            Subject::Picture(_) => DecisionKind::Picture,
            Subject::Cap(_) => DecisionKind::Cap,
        }
    }

    /// Whether it is about money.
    pub const fn is_cap(&self) -> bool {
        matches!(self, Subject::Cap(_))
    }

    /// What a decision is bound to.
    pub fn sha256(&self) -> Sha256Hex {
        match self {
            Subject::Plan(plan) => Sha256Hex::of_json(plan),
            Subject::Command(call) => Sha256Hex::of_json(call),
            Subject::Learning(proposal) => Sha256Hex::of_json(proposal),
            Subject::Merge(merge) => Sha256Hex::of_json(merge),
            Subject::Roadmap(change) => Sha256Hex::of_json(change),
            Subject::Develop(run) => Sha256Hex::of_json(run),
            Subject::Maps(maps) => Sha256Hex::of_json(maps),
            Subject::Picture(picture) => Sha256Hex::of_json(picture),
            Subject::Cap(refusal) => Sha256Hex::of_json(refusal),
        }
    }
}

/// Reads a subject from a log. Earlier releases wrote more beside it, and of a call
/// only the text that people read; the cap of a run without a team was empty.
pub(crate) fn from_log<'de, D: Deserializer<'de>>(log: D) -> Result<Subject, D::Error> {
    let mut kept = Map::deserialize(log)?;
    if let Some(Value::String(text)) = kept.get("command") {
        return Ok(Subject::Command(Box::new(Call {
            arguments: json!({ "command": text }),
            network: false,
            role: Role::Coder,
            root: String::new(),
            scripts: Vec::new(),
            thread: ThreadId::new(ChannelId::new(""), MessageTs::from_parts(0, 0)),
            tool: kept["tool"].as_str().unwrap_or_default().to_owned(),
        })));
    }
    if kept.is_empty() {
        return Ok(Subject::Cap(BudgetRefusal::default()));
    }
    kept.retain(|name, _| !matches!(name.as_str(), "message" | "learnings"));
    Subject::deserialize(Value::Object(kept)).map_err(D::Error::custom)
}

/// Everything that gives a call its meaning. Change any of it and the approval is
/// void. The call's own id is not part of it: after the click the model makes the
/// same call again, and whoever records the approval as used keeps it single.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// As the model gave them, names in order.
    pub arguments: Value,
    /// Whether it gets the network.
    pub network: bool,
    pub role: Role,
    /// The folder in which it runs.
    pub root: String,
    /// The scripts of the repository that it names.
    pub scripts: Vec<Script>,
    pub thread: ThreadId,
    pub tool: String,
}

/// A script of the repository, as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Script {
    pub path: String,
    pub sha256: Sha256Hex,
}

impl Call {
    /// The same call with everything in its order, so that equal calls have equal
    /// hashes however they were written.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.scripts.sort();
        self.arguments = in_order(&self.arguments);
        self
    }

    /// What an approval of it carries.
    pub fn sha256(&self) -> Sha256Hex {
        Sha256Hex::of_json(self)
    }
}

fn in_order(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries
                .into_iter()
                .map(|(key, value)| (key.clone(), in_order(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(in_order).collect()),
        other => other.clone(),
    }
}

/// One thing that the team may remember, or let go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Below `.codebutler/`.
    pub file: String,
    pub change: Change,
}

/// What is done to a file of the team's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Change {
    /// One more learning.
    Learning {
        /// A few words that name it.
        title: String,
        /// The situation it is for.
        when: String,
        /// What to do then.
        rule: String,
        /// The case it was learned from.
        example: String,
        /// How sure the Lead is.
        confidence: Confidence,
        /// The thread and the day.
        source: String,
    },
    /// A passage replaced by another; an empty `old` adds to the project map, or
    /// as a section of its own.
    Passage {
        /// What stands there now.
        old: String,
        /// What stands there then.
        new: String,
        /// One line.
        why: String,
    },
    /// A learning that goes.
    Pruning {
        title: String,
        /// Why, for the person who decides.
        reason: String,
        fate: Fate,
    },
}

/// What becomes of a learning that should go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Out of the prompt, kept in the file: it may be true again.
    Archive,
    /// Out of the file: it is wrong, or said elsewhere.
    Remove,
}

impl Proposal {
    /// The hash of exactly what would be written.
    pub fn sha256(&self) -> Sha256Hex {
        Sha256Hex::of_json(self)
    }

    /// Its path in the repository.
    pub fn path(&self) -> String {
        format!(".codebutler/{}", self.file)
    }

    /// One line that names it.
    pub fn title(&self) -> String {
        match &self.change {
            Change::Learning { title, .. } => format!("{title} ({})", self.file),
            Change::Passage { why, .. } => format!("{why} ({})", self.file),
            Change::Pruning { title, .. } => format!("{title} goes ({})", self.file),
        }
    }
}

/// Exactly what a click on Merge does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeSubject {
    pub pr: PrNumber,
    /// The reviewed head; nothing else is merged.
    pub head: CommitSha,
    /// The reviewed tree.
    pub tree: TreeHash,
    /// The title of the merged commit.
    pub title: String,
    pub description: String,
    /// Whose words the two are.
    pub writer: Role,
    /// What the runtime saw of it, a line each; no model writes it.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// The findings that are merged with it, and at which head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub research: Option<(PrNumber, CommitSha)>,
    /// Whether it is nothing but knowledge, without a branch of code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub knowledge: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What earlier releases hashed; a card of theirs is decided by this one.
    #[test]
    fn what_is_hashed_is_what_it_was() {
        let merge = r##"{"pr":7,"head":"a","tree":"b","title":"T","description":"D","writer":"lead","evidence":["e"]}"##;
        let plan = r#"{"title":"t","summary":"s","steps":[{"text":"x","place":"a:1"}],"criteria":["c"],"files":[],"rejected":[],"complexity":"simple","estimate":[1,2]}"#;
        let learning =
            r#"{"file":"coder.md","change":{"is":"passage","old":"a","new":"b","why":"w"}}"#;
        let call = r#"{"arguments":{"a":1,"command":"ls"},"network":false,"role":"coder","root":"/r","scripts":[{"path":"x","sha256":"00"}],"thread":{"channel":"C1","root":"1700000000.000100"},"tool":"Bash"}"#;
        for (name, text) in [
            ("merge", merge),
            ("plan", plan),
            ("learning", learning),
            ("command", call),
        ] {
            let line = format!("{{\"{name}\":{text},\"message\":\"1.000000\",\"learnings\":[]}}");
            let subject = from_log(&mut serde_json::Deserializer::from_str(&line)).unwrap();
            assert_eq!(subject.sha256(), Sha256Hex::of(text), "{name}");
        }
        let old = r#"{"command":"ls -l","tool":"Bash","message":"1.000000"}"#;
        let subject = from_log(&mut serde_json::Deserializer::from_str(old)).unwrap();
        assert_eq!(subject.kind(), DecisionKind::Command);
        let subject = from_log(&mut serde_json::Deserializer::from_str("{}")).unwrap();
        assert_eq!(subject.kind(), DecisionKind::Cap);
    }

    #[test]
    fn equal_calls_have_equal_hashes_however_they_were_written() {
        let call = |arguments: &str| Call {
            arguments: serde_json::from_str(arguments).unwrap(),
            network: true,
            role: Role::Coder,
            root: "/r".into(),
            scripts: Vec::new(),
            thread: "C1/1700000000.000100".parse().unwrap(),
            tool: "Bash".into(),
        };
        let one = call(r#"{"b":{"y":1,"x":2},"a":[{"d":1,"c":2}]}"#).in_order();
        let other = call(r#"{"a":[{"c":2,"d":1}],"b":{"x":2,"y":1}}"#).in_order();
        assert_eq!(one.sha256(), other.sha256());
    }
}
