//! ProposePlan: a plan becomes a card that a person can approve. The approval
//! is bound to the hash of exactly this plan.

use std::time::Duration;

use butler_policy::Permit;
use butler_toolbox::Desk;
use butler_vocab::{CallId, DecisionKind, Plan, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ChatTool, SLOW, failed, spec};
use crate::{
    arguments,
    cards::NewCard,
    history::{self, Estimate},
    overlap, prepare, render,
    seat::{Seat, request_of},
    standing,
};

pub struct ProposePlan(pub Seat);

/// For the schema only; `arguments::plan` reads and checks it.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(
    dead_code,
    reason = "the fields are the schema that the model is shown"
)]
struct Input {
    /// One line that names the change.
    title: String,
    /// A paragraph: what, why, and what you rejected.
    summary: String,
    /// The steps in order, each with its place: "Parse the flag — notes.sh:40".
    steps: Vec<String>,
    /// What a person can check when it is done.
    criteria: Vec<String>,
    /// Files expected to change.
    #[serde(default)]
    files: Vec<String>,
    /// simple, medium or complex; it chooses the Coder's model.
    complexity: butler_vocab::Complexity,
}

impl ChatTool for ProposePlan {
    /// `arguments` reads it, field by field.
    type Input = Value;

    const NAME: &'static str = "ProposePlan";
    const DEADLINE: Duration = SLOW;

    fn told() -> ToolSpec {
        spec::<Input>(
            Self::NAME,
            "Shows the person a plan with Approve, Modify and Reject, and sleeps until they \
             choose. Use it once you have read the code that will change; nothing is built before \
             it is approved. Not for questions (AskUser). After Approve the Coder gets the plan by \
             itself; after Modify or Reject you are told what the person wants. Example: \
             {\"title\": \"Add list --json\", \"summary\": \"…\", \"steps\": [\"Parse the flag — \
             notes.sh:40\"], \"criteria\": [\"notes.sh list --json prints an array\"], \"files\": \
             [\"notes.sh\"], \"complexity\": \"simple\"}",
        )
    }

    async fn act(&self, permit: &Permit, input: Value, desk: &Desk) -> ToolOutcome {
        match arguments::plan(&input) {
            Err(problem) => ToolOutcome::error(problem),
            Ok(plan) => propose(&self.0, permit.call(), plan, desk).await,
        }
    }
}

async fn propose(seat: &Seat, call: &CallId, mut plan: Plan, desk: &Desk) -> ToolOutcome {
    let standings = standing::of_thread(&seat.office.threads(), &seat.thread);
    if standings.iter().any(|standing| standing.facts.is_closed()) {
        return ToolOutcome::error(
            "refused: this thread is closed; offer the person a new thread for it",
        );
    }
    // Made now, so that it is ready when the person approves.
    let made = seat
        .office
        .repo
        .create(&seat.thread, &plan.title, desk.cancel())
        .await;
    let made = match made {
        Ok(made) => made,
        Err(error) => return failed("the branch for this thread could not be made", &error),
    };
    prepare::begin(
        &seat.office,
        &seat.thread,
        &made.path,
        prepare::Place::Worktree,
    );
    let estimate = estimate(seat, &plan);
    plan.estimate = Some((estimate.low, estimate.high));
    let mut body = render::plan(&plan);
    // Others at work there are worth knowing, not worth failing for.
    let others = overlap::others(seat, &plan.files, desk.cancel()).await;
    let others = others.unwrap_or_default();
    if !others.is_empty() {
        body.push_str("\n\n**Others are at work on these files**\n");
        for other in &others {
            body.push_str(&format!("\n- {}", other.line()));
        }
    }
    let config = &seat.office.config;
    let context = render::plan_context(
        &plan,
        estimate.threads,
        config.builders.of(plan.complexity),
        config.thread_cap,
    );
    let card = NewCard {
        request: request_of(call),
        kind: DecisionKind::Plan,
        title: "Plan",
        body: &body,
        context: &context,
        sha256: plan.sha256(),
        subject: json!({"plan": plan}),
    };
    super::decide(seat, call, card, "the plan is before the person").await
}

/// From what similar threads cost, else from the price of the model that builds.
fn estimate(seat: &Seat, plan: &Plan) -> Estimate {
    let config = &seat.office.config;
    let client = &config.client;
    let model = config.builders.of(plan.complexity);
    let price = client.prices.reserve_price(model, &client.upper_price);
    let threads = seat.office.threads();
    history::estimate(&threads, &seat.thread, plan.complexity, |usage| {
        price.of(usage)
    })
}
