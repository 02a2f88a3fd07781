//! HandOver: the one way to pass work on. For `ready_for_review` the runtime
//! commits, pushes and opens the pull request, and says what it saw of the
//! checks. The Reviewer's two kinds are in `verdict`.

mod verdict;

use std::time::Duration;

use butler_policy::{Permit, Right, Scope, right};
use butler_protocol::{
    CallId, DecisionKind, HandOver, Receipt, Record, Role, Then, ToolOutcome, ToolSpec, Waiting,
};
use butler_repo::{DiffOf, Error, NewPull, Worktree};
use butler_tools::ToolContext;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ChatTool, SLOW, failed, spec};
use crate::{
    decide::fast_track::FastTrack,
    thread::{
        context::ThreadContext,
        facts::{Asked, UNVERIFIED},
        tool_session,
    },
    upkeep::{overlap, pull_news},
};

pub struct HandOverTool(pub ThreadContext);

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// What kind of hand-over this is.
    kind: Kind,
    /// What the other side needs to know, in Markdown.
    text: String,
    /// For a question or answer: who gets it.
    #[serde(default)]
    to: Option<Role>,
    /// For a verdict: whether it may be merged.
    #[serde(default)]
    approved: Option<bool>,
    /// For a verdict, one line each: "[kind/severity] path:line what is there -> what to do"; one
    /// of an earlier round begins with its number.
    #[serde(default)]
    findings: Vec<String>,
    /// For a review: what must always hold.
    #[serde(default)]
    invariants: Vec<String>,
    /// For a review, one line each: "area/severity: note".
    #[serde(default)]
    risks: Vec<String>,
    /// For a review, one line each: "unit: what it shows -> tests/run.sh:20"; unit, integration or
    /// e2e; after the arrow the place, "missing", or why none is needed.
    #[serde(default)]
    tests: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Question,
    Answer,
    ReadyForReview,
    ReviewPlan,
    Verdict,
}

impl ChatTool for HandOverTool {
    type Input = Input;

    const NAME: &'static str = "HandOver";
    const DEADLINE: Duration = SLOW;

    fn told() -> ToolSpec {
        spec::<Input>(
            Self::NAME,
            "Passes work to another role; it is the usual end of your work. question and answer go \
             to the role in `to`, and a question sleeps until it is answered. ready_for_review \
             (Coder): the runtime commits, pushes, opens the pull request and calls the Reviewer; \
             run RunChecks first. review_plan (Reviewer): invariants, risks and tests before you \
             judge; a missing test goes back at once. verdict (Reviewer): approved and findings. \
             For a person use AskUser; for a remark that passes nothing on use SendMessage. Example: {\"kind\": \
             \"question\", \"to\": \"pm\", \"text\": \"Should --json also apply to remove?\"}",
        )
    }

    async fn act(&self, permit: &Permit, input: Input, tool_context: &ToolContext) -> ToolOutcome {
        let made = match input.kind {
            Kind::Question | Kind::Answer => word(&self.0, &input),
            Kind::ReadyForReview => ready(&self.0, permit.call(), &input, tool_context).await,
            Kind::ReviewPlan => verdict::first_pass(&self.0, &input, tool_context).await,
            Kind::Verdict => verdict::verdict(&self.0, &input, tool_context).await,
        };
        match made {
            Ok(body) => send(&self.0, permit.call(), &body).await,
            Err(refusal) => refusal,
        }
    }
}

async fn send(context: &ThreadContext, call: &CallId, body: &HandOver) -> ToolOutcome {
    let posted = context
        .poster
        .hand_over(&context.thread, context.idem(call), body)
        .await;
    if posted.is_ok() {
        context.write(Record::Gave {
            call: call.clone(),
            hand_over: Box::new(body.clone()),
        });
    }
    match (posted, body) {
        (Err(error), _) => failed("the hand-over was not posted", &error),
        (Ok(_), HandOver::ReviewPlan(_)) => verdict::second_pass(context),
        (Ok(_), HandOver::Question { .. }) => {
            let deadline_ms = context.agent.answer_by_ms();
            ToolOutcome::ok("asked; waiting for the answer").then(Then::Park {
                waiting: Waiting::Reply { deadline_ms },
            })
        }
        (Ok(_), _) => ToolOutcome::ok("handed over").then(Then::End),
    }
}

fn word(context: &ThreadContext, input: &Input) -> Result<HandOver, ToolOutcome> {
    if let Some(findings) = findings(context, &input.text) {
        return match input.kind {
            Kind::Answer => Ok(findings),
            _ => Err(ToolOutcome::error(
                "refused: this request is all there is; answer what can be answered, and say what is unclear",
            )),
        };
    }
    let Some(to) = input.to.filter(|to| *to != context.role()) else {
        return Err(ToolOutcome::error(
            "`to` is missing: name the other role that gets it",
        ));
    };
    if matches!(input.kind, Kind::Question) && quiet(context) {
        return Err(ToolOutcome::error(
            "refused: this was a small task and there was no friction, so nobody is asked to look back; write the short form with ProposeMerge",
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
fn quiet(context: &ThreadContext) -> bool {
    let closes = {
        let facts = context.facts();
        let card = |asked: &Asked| asked.kind == DecisionKind::Merge;
        let agreed = facts.verdict.as_ref().is_some_and(|(v, _)| v.approved);
        agreed && facts.request.is_none() && !facts.asked.values().any(card)
    };
    closes
        && right(context.role(), "ProposeMerge") != Right::No
        && FastTrack::of(&context.agent.threads(), &context.thread).is_quiet()
}

/// The answer to the one question that this context is about, if it is about one.
pub fn findings(context: &ThreadContext, text: &str) -> Option<HandOver> {
    let (inquirer, outside) = {
        let facts = context.facts();
        (facts.inquirer, facts.taint.is_some())
    };
    Some(HandOver::Findings {
        request: context.research.clone()?,
        to: inquirer?,
        text: text.to_owned(),
        outside,
    })
}

async fn ready(
    context: &ThreadContext,
    call: &CallId,
    input: &Input,
    tool_context: &ToolContext,
) -> Result<HandOver, ToolOutcome> {
    may_build(context)?;
    let agent = &context.agent;
    let worktree = agent
        .repo
        .find(&context.thread)
        .await
        .map_err(|error| failed("the worktree could not be found", &error))?
        .ok_or_else(|| ToolOutcome::error("refused: this thread has no branch yet"))?;
    sound(context, &worktree, tool_context).await?;
    let tree = worktree
        .tree()
        .await
        .map_err(|error| failed("the files could not be hashed", &error))?;
    let (receipt, unverified, round, plan, task) = {
        let facts = context.facts();
        let plan = facts.task.as_ref().map(|(_, plan)| plan.clone());
        (
            facts.receipt.clone(),
            facts.unverified,
            facts.rounds + 1,
            plan,
            facts.brief.clone(),
        )
    };
    let receipt = receipt.filter(|receipt| receipt.tree == tree);
    if !receipt.as_ref().is_some_and(Receipt::green) && unverified == 0 {
        return Err(ToolOutcome::error(format!(
            "{UNVERIFIED}; run RunChecks last, fix what fails, then hand over. If they cannot pass, say why in the text and hand over again: it will be marked unverified."
        )));
    }
    let title = agent.clean(&plan.map_or_else(|| first_line(&input.text), |plan| plan.title));
    let head = publish(context, &worktree, call, &title, tool_context).await?;
    let thread = agent.poster.address(&context.thread).await;
    let thread = thread.unwrap_or_else(|| context.thread.to_string());
    let clashes = overlap::conflicts(context, &worktree, tool_context.cancel()).await;
    let pr = agent
        .forge
        .create(
            &NewPull {
                branch: worktree.branch.clone(),
                title,
                body: agent.clean(&format!("{}\n\nThread: {thread}", input.text)),
            },
            tool_context.cancel(),
        )
        .await
        .map_err(|error| failed("the pull request could not be opened", &error))?;
    pull_news::opened(context, &worktree, &pr, &head, tool_context.cancel()).await;
    // A forecast that fails is none: it warns, it does not decide.
    let warnings = clashes.unwrap_or_default();
    let warnings: String = warnings.iter().map(|one| format!("\n\n⚠ {one}")).collect();
    let link = pr.url.map_or_else(String::new, |url| format!("\n\n{url}"));
    Ok(HandOver::ReadyForReview {
        summary: format!("{}{link}{warnings}", input.text),
        branch: worktree.branch,
        head,
        pr: pr.number,
        receipt,
        round,
        task,
    })
}

/// There is a plan that a person approved, and something was done for it.
async fn sound(
    context: &ThreadContext,
    worktree: &Worktree,
    tool_context: &ToolContext,
) -> Result<(), ToolOutcome> {
    let approved = tool_session::plan_approved(context)
        .await
        .map_err(|error| failed("the plan's approval could not be looked up", &error))?;
    if !approved {
        return Err(ToolOutcome::error(
            "refused: no person has approved a plan for this, so there is nothing to review; ask the PM for one with HandOver(kind: question)",
        ));
    }
    let marked = worktree
        .unsettled(tool_context.cancel())
        .await
        .map_err(|error| failed("the conflict could not be looked at", &error))?;
    if !marked.is_empty() {
        let names: Vec<String> = marked
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        return Err(ToolOutcome::error(format!(
            "refused: there are conflict marks left in {}; settle them, run the checks, then hand over",
            names.join(", ")
        )));
    }
    let diff = worktree
        .diff(DiffOf::Thread, tool_context.cancel())
        .await
        .map_err(|error| failed("the change could not be looked at", &error))?;
    if diff.trim().is_empty() {
        return Err(ToolOutcome::error(
            "refused: the branch changes nothing, so there is nothing to review; do what the plan says, or tell the PM with HandOver(kind: question) why nothing needs to change",
        ));
    }
    Ok(())
}

/// Commits what there is and pushes; both recognise their own repeat.
async fn publish(
    context: &ThreadContext,
    worktree: &Worktree,
    call: &CallId,
    title: &str,
    tool_context: &ToolContext,
) -> Result<butler_protocol::CommitSha, ToolOutcome> {
    let mut trailers = vec![
        ("CodeButler-Thread".to_owned(), context.thread.to_string()),
        ("CodeButler-Call".to_owned(), call.to_string()),
    ];
    if let Some(request) = &context.facts().request {
        trailers.push(("Requested-by".to_owned(), request.name.clone()));
    }
    worktree
        .commit_all(context.role(), title, &trailers, tool_context.cancel())
        .await
        .map_err(|error| failed("the change could not be committed", &error))?;
    worktree
        .push(tool_context.cancel())
        .await
        .map_err(|error| match error {
            Error::BranchGone { branch } => ToolOutcome::error(format!(
                "refused: somebody deleted `{branch}` on the remote, so it is not pushed again. Ask the person with AskUser: they can restore it there, or say that this is given up"
            )),
            error => failed("the branch could not be pushed", &error),
        })
}

/// Whoever writes in the worktree is the one who hands over what was written.
fn may_build(context: &ThreadContext) -> Result<(), ToolOutcome> {
    let builds = right(context.role(), "Write") == Right::Scoped(Scope::Worktree);
    let refusal = || ToolOutcome::error("refused: only the Coder hands over for review");
    builds.then_some(()).ok_or_else(refusal)
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("Changes").trim().chars().take(72).collect()
}
