//! HandOver: the one way to pass work on. The Coder's kind is in `ready`, the
//! Reviewer's two in `verdict`, the Artist's in `design`.

mod design;
mod pictures;
mod ready;
mod verdict;

use crate::tools::cards::park;
use std::time::Duration;

use butler_policy::{Right, Scope, right};
use butler_protocol::{DecisionKind, HandOver, Role, Then, ToolOutcome, ToolSpec, Waiting};
use butler_turn::Asked;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{arguments, github::patience::PATIENT};
use crate::tools::{Answer, CallContext, ChatTool, OrFailed, refuse, spec};
use crate::{ThreadContext, decide::fast_track::FastTrack};

pub(crate) struct HandOverTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What is handed over.
    kind: Kind,
    /// What the other side needs to know, in Markdown.
    #[serde(default)]
    text: String,
    /// Who gets a question or an answer.
    #[serde(default)]
    to: Option<Role>,
    /// To comments on the pull request that you were given.
    #[serde(default)]
    answers: Vec<CommentAnswer>,
    /// Of a verdict.
    #[serde(default)]
    approved: Option<bool>,
    /// Of a verdict.
    #[serde(default)]
    findings: Vec<verdict::FindingInput>,
    /// Of a review plan: what must always hold.
    #[serde(default)]
    invariants: Vec<String>,
    /// Of a review plan.
    #[serde(default)]
    risks: Vec<verdict::RiskInput>,
    /// Of a review plan: those that the change needs.
    #[serde(default)]
    tests: Vec<verdict::TestInput>,
    /// What, where, in which order.
    #[serde(default)]
    layout: String,
    /// Each action and what answers it.
    #[serde(default)]
    interaction: String,
    /// Empty, loading, error, too much.
    #[serde(default)]
    states: String,
    /// Narrow and wide.
    #[serde(default)]
    responsive: String,
    /// Keyboard, focus, contrast, names.
    #[serde(default)]
    accessibility: String,
    /// Pictures and icons, by path.
    #[serde(default)]
    assets: Vec<String>,
    /// What is used again, as path:line.
    #[serde(default)]
    reuse: Vec<String>,
}

/// What is said below a comment.
#[derive(Debug, Deserialize, JsonSchema)]
struct CommentAnswer {
    /// The comment's id.
    to: String,
    /// What was done about it, or why not.
    text: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Question,
    Answer,
    ReadyForReview,
    ReviewPlan,
    Verdict,
    Design,
    Look,
}

/// What every role is told.
const EVERYBODY: &str = "Passes work to another role; it is the usual end of your work. A question \
    sleeps until it is answered, several in one turn until all are. For a person use AskUser.";
const ASK: &str =
    r#"{"kind": "question", "to": "pm", "text": "Should --json also apply to remove?"}"#;
/// What whoever builds is told besides.
const BUILDER: &str = "ready_for_review: the runtime runs the checks if these files have no receipt, \
    commits, pushes, opens the pull request and calls the Reviewer.";
const READY: &str = r#"{"kind": "ready_for_review", "text": "notes.sh:40 parses --json (criterion 1, test json_empty)"}"#;
/// What whoever reviews is told besides.
const REVIEWER: &str = "review_plan: invariants, risks and tests, before you judge. verdict: approved \
    and findings.";
const FINDING: &str = r#"{"kind": "verdict", "approved": false, "text": "Read all of it.", "findings": [{"kind": "test", "severity": "high", "place": "tests/run.sh:20", "problem": "the empty list is not covered", "fix": "add a case without notes"}]}"#;

/// What whoever designs is told besides.
const DESIGNER: &str = "design: to the PM, who puts it into the plan; text is its purpose.";
const DESIGN: &str = r#"{"kind": "design", "text": "find a note again", "layout": "search field over the list, full width", "interaction": "typing filters at once", "states": "no hit: 'No notes with …'", "responsive": "same on 390 px", "accessibility": "label 'Search notes', focus ring as elsewhere", "reuse": ["site/list.css:12"]}"#;
/// The same while pictures wait for a look.
const LOOKER: &str = "look: what the pictures show against the design, before the review: approved, \
    or findings for the Coder.";
const LOOK: &str = r#"{"kind": "look", "approved": false, "text": "As designed but for one thing.", "findings": [{"kind": "quality", "severity": "medium", "place": "site/list.css:12", "problem": "the field touches the edge at 390 px", "fix": "padding 0 16px"}]}"#;
const DESIGN_FIELDS: [&str; 7] = [
    "layout",
    "interaction",
    "states",
    "responsive",
    "accessibility",
    "assets",
    "reuse",
];

/// What the moment adds to what a role is told.
#[derive(Clone, Copy, Default)]
struct Now {
    /// There are comments to answer.
    commented: bool,
    /// Pictures wait for a look.
    to_look: bool,
}

impl HandOverTool {
    /// What a role is told at this moment: the kinds that it may hand over, and their fields.
    fn told_with(role: Role, now: Now) -> ToolSpec {
        let answers: &[&str] = if now.commented { &["answers"] } else { &[] };
        let (part, kinds, fields, example): (_, &[&str], &[&str], _) = if builds(role) {
            (BUILDER, &["ready_for_review"], answers, READY)
        } else if reviews(role) {
            let fields = &["approved", "findings", "invariants", "risks", "tests"];
            (REVIEWER, &["review_plan", "verdict"], fields, FINDING)
        } else if design::designs(role) && now.to_look {
            (LOOKER, &["look"], &["approved", "findings"], LOOK)
        } else if design::designs(role) {
            (DESIGNER, &["design"], &DESIGN_FIELDS, DESIGN)
        } else {
            ("", &[], &[], ASK)
        };
        let description = format!("{EVERYBODY} {part} Example: {example}");
        let mut told = spec::<Input>(Self::NAME, &description);
        if let Some(choices) = told.parameters["properties"]["kind"]["enum"].as_array_mut() {
            choices.retain(|kind| {
                let name = kind.as_str().unwrap_or_default();
                ["question", "answer"].contains(&name) || kinds.contains(&name)
            });
        }
        if let Some(all) = told.parameters["properties"].as_object_mut() {
            all.retain(|name, _| {
                ["kind", "text", "to"].contains(&name.as_str()) || fields.contains(&name.as_str())
            });
        }
        told
    }
}

impl ChatTool for HandOverTool {
    type Input = Input;

    const NAME: &'static str = "HandOver";
    const TOLD: &'static str = EVERYBODY;
    // The checks may have to run, and the forge may be away.
    const DEADLINE: Duration = PATIENT;

    fn told() -> ToolSpec {
        let description =
            format!("{EVERYBODY} {BUILDER} {REVIEWER} {DESIGNER} {LOOKER} Example: {ASK}");
        spec::<Input>(Self::NAME, &description)
    }

    fn told_to(role: Role) -> ToolSpec {
        Self::told_with(role, Now::default())
    }

    fn told_here(context: &ThreadContext) -> ToolSpec {
        let facts = context.facts();
        let now = Now {
            commented: !facts.pulls.to_answer.is_empty(),
            to_look: facts.surface.to_look.is_some(),
        };
        Self::told_with(context.role(), now)
    }

    fn item(field: &str, given: Value) -> Value {
        match field {
            "findings" => arguments::finding(given),
            "risks" => arguments::risk(given),
            "tests" => arguments::test(given),
            _ => given,
        }
    }

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        // What a change is judged by stands in fields of its own.
        if input.text.trim().is_empty() && !matches!(input.kind, Kind::ReviewPlan) {
            let refusal = "`text` is missing: what the other side needs to know";
            return refuse(refusal);
        }
        let made = match input.kind {
            Kind::Question | Kind::Answer => word(context, &input).await,
            Kind::ReadyForReview => ready::ready(context, &input).await,
            Kind::ReviewPlan => verdict::first_pass(context, &input).await,
            Kind::Verdict => verdict::verdict(context, &input).await,
            Kind::Design => design::design(context, &input),
            Kind::Look => design::look(context, &input),
        };
        send(context, made?).await
    }
}

async fn send(context: &CallContext<'_>, body: HandOver) -> Answer {
    let call = context.id();
    let given = context.give(call, context.idem(call), body.clone()).await;
    given.or_failed("the hand-over was not posted")?;
    Ok(match body {
        HandOver::ReviewPlan(_) => verdict::second_pass(context),
        HandOver::Question { to, .. } => {
            let deadline_ms = context.agent.answer_by_ms();
            let from = vec![to];
            let waiting = Waiting::Replies { deadline_ms, from };
            park("asked; waiting for the answer", waiting)
        }
        _ => ToolOutcome::ok("handed over").then(Then::PassOn),
    })
}

async fn word(context: &ThreadContext, input: &Input) -> Result<HandOver, ToolOutcome> {
    if let Some(findings) = findings(context, &input.text) {
        return match input.kind {
            Kind::Answer => Ok(findings),
            _ => refuse(
                "refused: this request is all there is; answer what can be answered, and say what is unclear",
            ),
        };
    }
    let Some(to) = input.to.filter(|to| *to != context.role()) else {
        return refuse("`to` is missing: name the other role that gets it");
    };
    if matches!(input.kind, Kind::Question) && quiet(context).await {
        let why = if context.is_small() {
            "no look back is needed"
        } else {
            "this was a small task and there was no friction"
        };
        return refuse(format!(
            "refused: {why}, so nobody is asked to look back; write the short form with ProposeMerge"
        ));
    }
    let text = input.text.clone();
    Ok(match input.kind {
        Kind::Question => HandOver::Question { to, text },
        _ => HandOver::Answer { to, text },
    })
}

/// Whether this role is to close a small thread that went well. Not once its
/// merge card was there (a conflict is for the Coder), nor where a person
/// speaks to it: they may want a discussion.
async fn quiet(context: &ThreadContext) -> bool {
    let closes = {
        let facts = context.facts();
        let card = |asked: &Asked| asked.kind() == DecisionKind::Merge;
        let agreed = facts
            .review
            .verdict
            .as_ref()
            .is_some_and(|(v, _)| v.approved);
        agreed && facts.request.is_none() && !facts.cards.asked.values().any(card)
    };
    if !closes || right(context.role(), "ProposeMerge") == Right::No {
        return false;
    }
    if context.is_small() {
        return true;
    }
    // Whoever cannot look may ask.
    let fast_track = FastTrack::of(&context.agent, &context.thread).await;
    fast_track.is_ok_and(|fast_track| fast_track.is_quiet())
}

/// The answer to the one question that this context is about, if it is about one.
pub(crate) fn findings(context: &ThreadContext, text: &str) -> Option<HandOver> {
    let (inquirer, outside) = {
        let facts = context.facts();
        (facts.research.inquirer, facts.outside.taint.is_some())
    };
    Some(HandOver::Findings {
        request: context.research.clone()?,
        to: inquirer?,
        text: text.to_owned(),
        outside,
    })
}

/// Whoever writes in the worktree is the one who hands over what was written.
fn builds(role: Role) -> bool {
    right(role, "Write") == Right::Scoped(Scope::Worktree)
}

/// Whoever has the Reviewer's right to run checks is the one who judges.
fn reviews(role: Role) -> bool {
    right(role, "RunChecks") == right(Role::Reviewer, "RunChecks")
}
