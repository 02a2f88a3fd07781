//! ProposePlan: a plan becomes a card that a person can approve. The approval
//! is bound to the hash of exactly this plan.

use std::sync::{Mutex, PoisonError};

use butler_policy::Permit;
use butler_protocol::{
    Complexity, CrashClass, Plan, PlanStep, PlanSummary, RefusedFor, Remark, RequestId, Subject,
    Tier, ToolOutcome, ToolSpec, Usd,
};
use butler_tools::{Tool, ToolContext};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::tools::spec;
use crate::tools::{Answer, CallContext, OrFailed, decide, refuse};
use crate::{
    decide::{cards::NewCard, surface},
    tell::{plan_changes, render, thread_logs},
    thread::{context::ThreadContext, prepare},
    tools::arguments,
    upkeep::{
        history::{self, Estimate},
        overlap,
    },
};

const NAME: &str = "ProposePlan";

/// Keeps what it estimated when the intent was written: the card is bound to
/// it, so a repeat after a crash must not estimate anew.
pub(crate) struct ProposePlan {
    context: ThreadContext,
    estimated: Mutex<Option<(Value, Estimate)>>,
    /// What earlier threads cost.
    past: Vec<PlanSummary>,
}

impl ProposePlan {
    /// In one thread.
    pub(crate) fn new(context: &ThreadContext, past: &[PlanSummary]) -> Self {
        Self {
            context: context.clone(),
            estimated: Mutex::default(),
            past: past.to_vec(),
        }
    }

    fn propose<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        estimate: Option<Estimate>,
        tools: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        let context = CallContext::new(&self.context, permit, tools);
        let proposed = propose(self, context, input, estimate);
        Box::pin(async move { proposed.await.unwrap_or_else(|refusal| refusal) })
    }

    /// The estimate of the intent for this very input.
    fn estimated(&self, input: &Value) -> Option<Estimate> {
        let kept = self
            .estimated
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (of, estimate) = kept.as_ref()?;
        (of == input).then_some(*estimate)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
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
    fn plan(input: &Value) -> Result<Plan, String> {
        let input = Self::deserialize(input).map_err(|error| format!("bad input: {error}"))?;
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

/// What a model is told.
pub(crate) fn told() -> ToolSpec {
    spec::<Input>(
        NAME,
        "Shows the person a plan with Approve, Modify and Reject, and sleeps until they \
         choose. Use it once you have read the code that will change. After Approve the Coder gets \
         the plan by itself; else you are told what the person wants. Example: \
         {\"title\": \"Add list --json\", \"summary\": \"…\", \"steps\": [{\"text\": \"Parse the flag\", \
         \"place\": \"notes.sh:40\"}], \"criteria\": [\"notes.sh list --json prints an array\"], \"files\": \
         [\"notes.sh\"], \"complexity\": \"simple\"}",
    )
}

/// Steps come as lines too.
pub(crate) fn item(field: &str, given: Value) -> Value {
    match field {
        "steps" => arguments::plan_step(given),
        _ => given,
    }
}

impl Tool for ProposePlan {
    fn name(&self) -> &'static str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        told()
    }

    fn item(&self, field: &str, given: Value) -> Value {
        item(field, given)
    }

    fn tier(&self) -> Tier {
        Tier::WriteVisible
    }

    fn crash(&self) -> CrashClass {
        CrashClass::Checkable
    }

    fn deadline(&self, _input: &Value) -> std::time::Duration {
        // Making the worktree fetches from the remote.
        std::time::Duration::from_secs(300)
    }

    fn trace(&self, input: &Value, _context: &ToolContext) -> Option<Value> {
        let plan = Input::plan(input).ok()?;
        let estimate = estimate(&self.context, &self.past, &plan);
        let mut kept = self
            .estimated
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *kept = Some((input.clone(), estimate));
        serde_json::to_value(estimate).ok()
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        tool_context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        self.propose(permit, input, self.estimated(input), tool_context)
    }

    /// Every step of it can be repeated: the worktree is found, the card has a key.
    fn recover<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        trace: Option<&'a Value>,
        tool_context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        let estimate = trace.and_then(|trace| Estimate::deserialize(trace).ok());
        self.propose(permit, input, estimate, tool_context)
    }
}

async fn propose(
    tool: &ProposePlan,
    context: CallContext<'_>,
    input: &Value,
    estimated: Option<Estimate>,
) -> Answer {
    let context = &context;
    let mut plan = Input::plan(input).or_else(refuse)?;
    let logs = context
        .logs()
        .await
        .or_failed("what the others did could not be read")?;
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
    let made = context
        .agent
        .repo
        .create(&context.thread, &plan.title, &context.cancel)
        .await;
    let made = made.or_failed("the branch for this thread could not be made")?;
    prepare::begin(
        &context.agent,
        &context.thread,
        &made.path,
        prepare::Place::Worktree,
    );
    let estimate = estimated.unwrap_or_else(|| estimate(context, &tool.past, &plan));
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

/// From what similar threads cost, else from the price of the model that builds.
fn estimate(context: &ThreadContext, past: &[PlanSummary], plan: &Plan) -> Estimate {
    let client = &context.agent.config.client;
    let rules = context.agent.rules();
    let model = rules.models.builders.of(plan.complexity);
    let price = client.prices.reserve_price(model, &client.upper_price);
    history::estimate(past, plan.complexity, |usage| price.of(usage))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_a_plan_lacks_is_named_at_once() {
        let empty = json!({"title": " ", "summary": "", "steps": [], "criteria": [], "complexity": "simple"});
        let problem = Input::plan(&empty).unwrap_err();
        for field in ["`title`", "`summary`", "`steps`", "`criteria`"] {
            assert!(problem.contains(field), "{field}: {problem}");
        }
    }
}
