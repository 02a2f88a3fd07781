//! ProposePlan: a plan becomes a card that a person can approve. The approval
//! is bound to the hash of exactly this plan.

use std::time::Duration;

use butler_protocol::{
    Complexity, Plan, PlanStep, RefusedFor, Remark, RequestId, Subject, ToolOutcome, Usd,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    ThreadContext,
    decide::{cards::NewCard, surface},
    tell::{plan_changes, render, thread_logs},
    thread::prepare,
    tools::{Answer, CallContext, ChatTool, OrFailed, SLOW, arguments, decide, refuse},
    upkeep::{
        history::{self, Estimate},
        overlap,
    },
};

pub(crate) struct ProposePlan;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// One line that names the change.
    title: String,
    /// What, why, and what you rejected.
    summary: String,
    /// The steps in order.
    steps: Vec<Step>,
    /// What a person can check when it is done.
    criteria: Vec<String>,
    /// Files expected to change.
    #[serde(default)]
    files: Vec<String>,
    /// Chooses the Coder's model: simple is a few lines, complex needs the strongest.
    complexity: Complexity,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Step {
    text: String,
    /// path:line.
    #[serde(default)]
    place: Option<String>,
}

impl Input {
    /// The plan, or everything that it lacks.
    fn plan(self) -> Result<Plan, String> {
        let input = self;
        let lacks = [
            (
                "title",
                input.title.trim().is_empty(),
                "one line that names the change",
            ),
            (
                "summary",
                input.summary.trim().is_empty(),
                "a paragraph: what and why",
            ),
            (
                "steps",
                input.steps.is_empty(),
                "the steps in order, each with its place",
            ),
            (
                "criteria",
                input.criteria.is_empty(),
                "what a person can check when it is done",
            ),
        ];
        let lacks = lacks.iter().filter(|(_, lacking, _)| *lacking);
        let lacks: Vec<String> = lacks
            .map(|(name, _, what)| format!("`{name}` is empty: give {what}"))
            .collect();
        if !lacks.is_empty() {
            return Err(lacks.join("; "));
        }
        let step = |step: Step| PlanStep {
            text: step.text.trim().to_owned(),
            place: step.place.filter(|place| !place.trim().is_empty()),
        };
        Ok(Plan {
            title: input.title.trim().to_owned(),
            summary: input.summary.trim().to_owned(),
            steps: input.steps.into_iter().map(step).collect(),
            criteria: input.criteria,
            files: input.files,
            rejected: Vec::new(),
            complexity: input.complexity,
            estimate: None,
            cap: None,
            model: None,
            design: None,
        })
    }
}

impl ChatTool for ProposePlan {
    type Input = Input;
    const NAME: &'static str = "ProposePlan";
    // Making the worktree fetches from the remote.
    const DEADLINE: Duration = SLOW;
    const TOLD: &'static str = "Shows the person a plan with Approve, Modify and Reject, and sleeps until they \
         choose. Use it once you have read the code that will change. After Approve the Coder gets \
         the plan by itself; else you are told what the person wants. Example: \
         {\"title\": \"Add list --json\", \"summary\": \"…\", \"steps\": [{\"text\": \"Parse the flag\", \
         \"place\": \"notes.sh:40\"}], \"criteria\": [\"notes.sh list --json prints an array\"], \"files\": \
         [\"notes.sh\"], \"complexity\": \"simple\"}";

    /// Steps come as lines too.
    fn item(field: &str, given: Value) -> Value {
        match field {
            "steps" => arguments::plan_step(given),
            _ => given,
        }
    }

    /// What it estimates: the card is bound to it, so a repeat after a crash must not
    /// estimate anew. Every step of it can be repeated.
    fn trace(context: &ThreadContext, input: Input) -> Option<Value> {
        let plan = input.plan().ok()?;
        serde_json::to_value(history::estimate_in(context, plan.complexity)).ok()
    }

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        propose(context, input.plan().or_else(refuse)?).await
    }
}

async fn propose(context: &CallContext<'_>, mut plan: Plan) -> Answer {
    let logs = context.logs().await;
    let logs = logs.or_failed("what the others did could not be read")?;
    if thread_logs::is_closed(&logs) {
        return refuse("refused: this thread is closed; offer the person a new thread for it");
    }
    plan.design.clone_from(&context.facts().surface.design);
    if surface::wants_design(&plan) && context.facts().surface.undesigned == 0 {
        return Err(ToolOutcome::refused(
            RefusedFor::Undesigned,
            "refused: people will see this, and nobody has designed it. Ask the Artist with HandOver(kind: question, to: artist): who uses it, what for, what must stay; the design becomes part of this plan. Where nothing changes for the eye, propose it again as it is",
        ));
    }
    // Made now, so that it is ready when the person approves.
    let (agent, thread) = (&context.agent, &context.thread);
    let made = agent
        .repo
        .create(thread, &plan.title, &context.cancel)
        .await;
    let made = made.or_failed("the branch for this thread could not be made")?;
    prepare::begin(agent, thread, &made.path, prepare::Place::Worktree);
    let estimated = context.trace.as_ref();
    let estimated = estimated.and_then(|trace| Estimate::deserialize(trace).ok());
    let estimate = estimated.unwrap_or_else(|| history::estimate_in(context, plan.complexity));
    // Where no price is known no amount is made up.
    let priced = estimate.high > Usd::ZERO;
    plan.estimate = priced.then_some((estimate.low, estimate.high));
    let rules = context.agent.rules();
    let model = rules.models.builders.of(plan.complexity);
    let cap = rules.limits.thread_cap;
    let mut remarks = render::plan_remarks(priced.then_some(estimate.threads), model, cap).to_vec();
    // Others at work there are worth knowing, not worth failing for.
    let others = overlap::others(context, &plan.files).await;
    let others: Vec<String> = others.iter().flatten().map(|other| other.line()).collect();
    if !others.is_empty() {
        remarks.push(Remark::runtime(
            "Others are at work on these files",
            others.join("\n"),
        ));
    }
    let request = RequestId::of(context.id());
    if let Some(before) = context.facts().cards.plan_before(&request) {
        let lines = plan_changes::between(before, &plan);
        remarks.push(Remark::runtime(
            "Changed since the plan before",
            lines.join("\n"),
        ));
    }
    let card = NewCard::new(request, Subject::Plan(Box::new(plan))).with(remarks);
    decide(context, card, "the plan is waiting for approval").await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_a_plan_lacks_is_named_at_once() {
        let empty = json!({"title": " ", "summary": "", "steps": [], "criteria": [], "complexity": "simple"});
        let problem = Input::deserialize(empty).unwrap().plan().unwrap_err();
        for field in ["`title`", "`summary`", "`steps`", "`criteria`"] {
            assert!(problem.contains(field), "{field}: {problem}");
        }
    }
}
