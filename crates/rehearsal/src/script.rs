//! The words of a scenario file, as they are written.

use std::collections::BTreeMap;

use butler_protocol::Role;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use crate::Fault;

/// A story: what each role's model answers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    /// What the story is about, in one line.
    pub title: String,
    /// More about it, for readers.
    #[serde(default)]
    #[expect(dead_code, reason = "for those who read the file")]
    pub about: String,
    /// The words of a person that start the story, for whoever offers it.
    #[serde(default)]
    pub request: String,
    /// Where several stories are played side by side: words that the first
    /// message of a conversation must hold for it to belong to this one.
    #[serde(default)]
    pub words: Vec<String>,
    /// What the rehearsal model pretends to cost.
    #[serde(default)]
    pub price: ScriptPrice,
    /// The window it pretends to have, in tokens.
    #[serde(default = "default_context")]
    pub context: u64,
    /// Roles whose model does not see: it is listed so, and refuses pictures.
    #[serde(default)]
    pub blind: Vec<Role>,
    /// What a role says to a person who speaks while it works: it goes along
    /// with the next step, as a SendMessage.
    #[serde(default)]
    pub aside: Option<String>,
    /// Values for `${name}` in every step.
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// The steps of each role.
    #[schemars(with = "BTreeMap<Role, Vec<Step>>")]
    pub roles: BTreeMap<Role, Vec<Spanned<Step>>>,
}

fn default_context() -> u64 {
    128_000
}

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScriptPrice {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
}

/// One answer of the model, and when it is given.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    /// A name that `played` conditions and error texts use.
    pub id: Option<String>,
    /// A branch: the step is skipped unless all of this holds.
    pub when: Option<When>,
    /// A check: when the step's turn comes, all of this must hold.
    pub expect: Option<When>,
    /// Values taken from earlier messages, for `${name}` here and in later steps.
    pub capture: BTreeMap<String, Capture>,
    /// Text of the answer.
    pub say: Option<String>,
    /// Tool calls of the answer.
    pub call: Vec<Call>,
    /// How often the same answer is given: a number, or `forever`.
    pub repeat: Option<Repeat>,
    /// Milliseconds before the answer begins.
    pub delay_ms: u64,
    /// Milliseconds between the pieces of a streamed answer.
    pub pace_ms: u64,
    /// Something that goes wrong.
    pub fault: Option<Fault>,
    /// Tokens to report instead of counting.
    pub usage: Option<StepUsage>,
}

/// A tool call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// The tool's name.
    pub tool: String,
    /// Its arguments; strings may hold `${name}`, and `${name:number}` becomes a number.
    #[serde(default)]
    pub with: Map<String, Value>,
}

/// Conditions on what came before. All that are given must hold.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct When {
    /// In the first message to the model.
    pub first_user_contains: Option<Texts>,
    /// In the newest message to the model.
    pub last_user_contains: Option<Texts>,
    /// In any message to the model.
    pub any_user_contains: Option<Texts>,
    /// One of these tools gave one of the newest results.
    pub last_tool: Option<Texts>,
    /// In the newest tool results.
    pub tool_result_contains: Option<Texts>,
    /// Not in the newest tool results.
    pub tool_result_lacks: Option<Texts>,
    /// A regular expression that matches in the newest tool results.
    pub tool_result_matches: Option<String>,
    /// Whether a newest tool result says that its call was interrupted.
    pub interrupted: Option<bool>,
    /// Which answer of the conversation this would be, from 1.
    pub nth: Option<u32>,
    /// Which answer since the newest message to the model this would be, from 1.
    pub turn: Option<u32>,
    /// Whether the request offers tools.
    pub tools_offered: Option<bool>,
    /// Whether a person spoke since the last answer; words that open the story
    /// do not count.
    pub person_said: Option<bool>,
    /// What was heard since a tool was called last.
    pub since: Option<Since>,
    /// Steps (by id) that were played.
    pub played: Option<Texts>,
    /// Steps (by id) that were not played.
    pub not_played: Option<Texts>,
}

/// What was heard since the newest call of a tool. Does not hold without one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Since {
    /// The tool.
    pub call: String,
    /// In the arguments of that call, as JSON.
    pub with: Option<String>,
    /// In a message since then.
    pub heard: Option<Texts>,
    /// In no message since then.
    pub unheard: Option<Texts>,
}

/// One text or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Texts {
    /// One.
    One(String),
    /// Several: all of them for texts, any of them for tools.
    Many(Vec<String>),
}

impl Texts {
    /// All of them.
    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            Texts::One(text) => std::slice::from_ref(text),
            Texts::Many(texts) => texts,
        }
    }
}

/// A value taken from an earlier message.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Capture {
    /// Where to look; the newest match wins.
    pub from: Source,
    /// Its first group is the value, or the whole match when it has no group.
    pub regex: String,
}

/// Where a capture looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// In tool results.
    ToolResult,
    /// In messages to the model.
    User,
    /// In what people said.
    Person,
}

impl Source {
    /// The word in a scenario file.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Source::ToolResult => "tool_result",
            Source::User => "user",
            Source::Person => "person",
        }
    }
}

/// How often a step is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Repeat {
    /// So often.
    Times(u32),
    /// Whenever its turn comes.
    Word(Forever),
}

/// The word for endless repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Forever {
    /// Never played out.
    Forever,
}

/// Tokens that a step reports.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StepUsage {
    /// Input tokens, cached ones included.
    pub input: u64,
    /// Of these, cached.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
    /// Dollars, instead of the scenario's price.
    pub cost: Option<f64>,
}
