//! What the Reviewer hands over: first what it judges by, then the verdict,
//! which names the head and tree that were read. The form is in `review`; here
//! it meets the thread and the pull request.

use std::collections::HashMap;

use butler_protocol::{
    Finding, FindingKind, HandOver, Observed, PlannedTest, PrNumber, Receipt, Record, RefusedFor,
    ReviewPlan, Risk, Severity, TestLevel, ToolOutcome, Verdict,
};
use butler_repo::{Author, NewComment, tree_of};
use butler_turn::{Form, Ready};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Input;
use crate::tools::{CallContext, OrFailed, refuse};
use crate::{
    ThreadContext,
    decide::review::{self, Depth, FormChecks},
    tell::{change, forge_text, render},
    tools::github::{patience::until_it_answers, pull},
    upkeep::overlap,
};

/// One finding as the Reviewer writes it.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FindingInput {
    kind: FindingKind,
    /// Only low may stay.
    severity: Severity,
    /// path:line.
    place: String,
    /// What is there.
    problem: String,
    /// What to do.
    fix: String,
    /// Only of one that was open before, as F2.
    #[serde(default)]
    number: Option<String>,
}

/// One row of the risk matrix as the Reviewer writes it.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RiskInput {
    area: String,
    severity: Severity,
    note: String,
}

/// One test as the Reviewer writes it.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TestInput {
    level: TestLevel,
    #[serde(default)]
    what: String,
    /// path:line, or missing, or why none is needed.
    place: String,
}

impl From<&FindingInput> for Finding {
    fn from(said: &FindingInput) -> Self {
        Finding {
            id: said.number.clone().unwrap_or_default(),
            kind: said.kind,
            severity: said.severity,
            place: said.place.trim().to_owned(),
            evidence: said.problem.trim().to_owned(),
            fix: said.fix.trim().to_owned(),
        }
    }
}

impl From<&RiskInput> for Risk {
    fn from(said: &RiskInput) -> Self {
        Risk {
            area: said.area.trim().to_lowercase(),
            severity: said.severity,
            note: said.note.trim().to_owned(),
        }
    }
}

impl From<&TestInput> for PlannedTest {
    fn from(said: &TestInput) -> Self {
        let place = said.place.trim();
        let missing = place.is_empty() || place.eq_ignore_ascii_case("missing");
        PlannedTest {
            level: said.level,
            what: said.what.trim().to_owned(),
            place: (!missing).then(|| place.to_owned()),
        }
    }
}

/// The first pass. A missing test ends it: it goes back to the Coder before
/// anybody talks about the logic.
pub(crate) async fn first_pass(
    context: &CallContext<'_>,
    input: &Input,
) -> Result<HandOver, ToolOutcome> {
    let ready = handed_over(context)?;
    let form = said(context, input);
    all_right(&form.problems(depth(context, &ready).await))?;
    if form.lacks_tests() {
        return give(
            context,
            input,
            &ready,
            Judged {
                approved: false,
                form,
            },
        )
        .await;
    }
    Ok(HandOver::ReviewPlan(Box::new(ReviewPlan {
        head: ready.head,
        round: ready.round,
        summary: input.text.clone(),
        invariants: form.invariants,
        risks: form.risks,
        tests: form.tests,
    })))
}

/// The first pass is clean: what comes now is the full one, by the full model.
pub(crate) fn second_pass(context: &ThreadContext) -> ToolOutcome {
    let rules = context.agent.rules();
    let models = &rules.models;
    let chosen = context.facts().chosen_model.is_some();
    if models.first_pass.is_some() && !chosen {
        context.write(Record::Model {
            model: models.chain.usual.clone(),
            reason: "the first pass of the review is clean".to_owned(),
            asked_for: false,
        });
    }
    ToolOutcome::ok(
        "posted. No test is missing, so the logic comes now: read each changed file whole, then HandOver(kind: verdict)",
    )
}

/// The verdict on what was handed over last.
pub(crate) async fn verdict(
    context: &CallContext<'_>,
    input: &Input,
) -> Result<HandOver, ToolOutcome> {
    let ready = handed_over(context)?;
    let depth = depth(context, &ready).await;
    let form = said(context, input);
    let mut problems = form.problems(depth);
    if depth == Depth::TwoPasses && !context.facts().review.first_pass && !problems.is_empty() {
        return refuse(
            "refused: before the verdict comes HandOver(kind: review_plan) with invariants, risks and tests, so that it is known what the change is judged by",
        );
    }
    if input.approved.is_none() {
        problems.push("`approved` is missing: true when it may be merged, else false".to_owned());
    }
    problems.extend(review::unknown(
        &numbers(input),
        &context.facts().review.findings,
    ));
    all_right(&problems)?;
    let approved = input.approved.unwrap_or_default();
    give(context, input, &ready, Judged { approved, form }).await
}

struct Judged {
    approved: bool,
    form: Form,
}

fn handed_over(context: &ThreadContext) -> Result<Ready, ToolOutcome> {
    if !super::reviews(context.role()) {
        return refuse("refused: only the Reviewer reviews and gives a verdict");
    }
    context.facts().review.ready.clone().ok_or_else(|| {
        ToolOutcome::error("refused: nothing was handed over for review in this thread")
    })
}

/// Everything that is wrong, in one answer.
fn all_right(problems: &[String]) -> Result<(), ToolOutcome> {
    if problems.is_empty() {
        return Ok(());
    }
    refuse(problems.join("; "))
}

fn numbers(input: &Input) -> Vec<&str> {
    let numbers = input
        .findings
        .iter()
        .filter_map(|one| one.number.as_deref());
    numbers.filter(|number| !number.trim().is_empty()).collect()
}

/// What this call says, and what earlier ones said that it does not repeat.
fn said(context: &ThreadContext, input: &Input) -> Form {
    let invariants = input.invariants.iter().map(|one| one.trim().to_owned());
    let form = Form {
        invariants: invariants.filter(|one| !one.is_empty()).collect(),
        risks: input.risks.iter().map(Risk::from).collect(),
        tests: input.tests.iter().map(PlannedTest::from).collect(),
    };
    form.or(context.facts().review.form.as_ref())
}

async fn depth(context: &CallContext<'_>, ready: &Ready) -> Depth {
    if context.is_small() {
        Depth::FindingsOnly
    } else if ready.simple || review::only_texts(&changed(context).await) {
        Depth::OnePass
    } else {
        Depth::TwoPasses
    }
}

/// What the branch changed; when that cannot be told, it is not called texts.
async fn changed(context: &CallContext<'_>) -> Vec<String> {
    match context.agent.repo.find(&context.thread).await {
        Ok(Some(worktree)) => overlap::changed_by(context, &worktree.branch)
            .await
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

async fn give(
    context: &CallContext<'_>,
    input: &Input,
    ready: &Ready,
    judged: Judged,
) -> Result<HandOver, ToolOutcome> {
    let Judged { approved, form } = judged;
    // What was a risk in an earlier round is one now only if it was said again.
    let said_now = !input.risks.is_empty() || context.facts().review.risks_hold(ready.round);
    let known = context.facts().review.findings.clone();
    let mut findings: Vec<Finding> = input.findings.iter().map(Finding::from).collect();
    review::agrees(approved, &form, &findings).map_err(ToolOutcome::error)?;
    if ready.round > 1 {
        let changed = changed_since(context, ready).await;
        all_right(&changed.map_or_else(Vec::new, |changed| {
            review::too_late(&findings, &known, ready.round, &changed)
        }))?;
    }
    findings.extend(form.missing());
    review::number(&mut findings, &known);
    let tree = tree_of(context.agent.repo.git(), ready.head.as_str())
        .await
        .or_failed("the reviewed commit could not be read")?;
    // The Reviewer's own run counts as much as the Coder's.
    let own = context.facts().receipt.clone();
    let mut receipts: Vec<Receipt> = own.into_iter().chain(ready.receipt.clone()).collect();
    receipts.retain(|receipt| receipt.tree == tree);
    receipts.sort_by_key(|receipt| !receipt.green());
    let receipt = receipts.into_iter().next();
    let unread = unread(context, ready).await;
    if approved {
        stands(context, receipt.as_ref(), &unread)?;
    }
    let said_before = context.facts().review.form.as_ref() == Some(&form);
    let verdict = Verdict {
        head: ready.head.clone(),
        tree,
        approved,
        round: ready.round,
        last: ready.round >= context.agent.rules().limits.review_rounds,
        summary: input.text.clone(),
        invariants: form.invariants,
        risks: if said_now { form.risks } else { Vec::new() },
        tests: form.tests,
        findings,
        observed: Observed {
            receipt,
            unread,
            said_before,
        },
    };
    let body = HandOver::Verdict {
        verdict,
        pr: ready.pr,
    };
    comment(context, ready.pr, ready.round, &body).await?;
    Ok(body)
}

/// The lines that changed since the round before; nothing when that is not known.
async fn changed_since(
    context: &CallContext<'_>,
    ready: &Ready,
) -> Option<Vec<(String, u64, u64)>> {
    let before = context
        .facts()
        .review
        .reading
        .given_before(&ready.head)
        .cloned()?;
    let repo = &context.agent.repo;
    let diff = repo.changed_since(&before, &ready.head, &context.cancel);
    let diff = diff.await.ok()?;
    Some(change::changed_lines(&diff))
}

/// Changed files that were not opened as they are now. What cannot be looked at
/// counts as opened by nobody, so it is said.
async fn unread(context: &CallContext<'_>, ready: &Ready) -> Vec<String> {
    let repo = &context.agent.repo;
    let Ok(paths) = context.files_at(&ready.head).await else {
        return vec!["(the change could not be listed)".to_owned()];
    };
    let reading = context.facts().review.reading.clone();
    let mut stale = HashMap::new();
    for head in reading.earlier() {
        let since = repo.differing(&head, &ready.head, &context.cancel).await;
        stale.insert(head, since.ok());
    }
    let seen = |path: &str| match reading.opened_at(path) {
        None => false,
        Some(head) if *head == ready.head => true,
        Some(head) => match stale.get(head) {
            Some(Some(since)) => !since.iter().any(|changed| changed == path),
            _ => false,
        },
    };
    paths.into_iter().filter(|path| !seen(path)).collect()
}

/// Nobody approves what they have not read, nor without a run of the checks on
/// exactly these files. Where the checks ran and failed, an approval is refused
/// once; said again it counts, and everybody reads what it lacks.
fn stands(
    context: &ThreadContext,
    receipt: Option<&Receipt>,
    unread: &[String],
) -> Result<(), ToolOutcome> {
    let mut lacks = Vec::new();
    if receipt.is_none() && !context.agent.rules().checks.is_empty() {
        lacks.push("no checks ran on exactly these files: run RunChecks".to_owned());
    }
    if !unread.is_empty() {
        lacks.push(format!(
            "you have not read {} as it is now: read it with GitDiff or Read",
            unread.join(", ")
        ));
    }
    if !lacks.is_empty() {
        return refuse(format!(
            "refused: nothing stands behind this approval: {}",
            lacks.join("; ")
        ));
    }
    if receipt.is_some_and(Receipt::green) || context.facts().review.hasty > 0 {
        return Ok(());
    }
    Err(ToolOutcome::refused(
        RefusedFor::Hasty,
        "refused: the checks have not passed on exactly these files: ask for changes. If it must be approved all the same, say why in the text and hand over again: the verdict and the merge card will say it.",
    ))
}

/// One identity on the forge cannot approve its own pull request, so the verdict
/// stands there as a comment.
async fn comment(
    context: &CallContext<'_>,
    pr: PrNumber,
    round: u32,
    body: &HandOver,
) -> Result<(), ToolOutcome> {
    let comment = NewComment {
        author: Author::Role(context.role()),
        body: context.agent.clean(&render::on_forge(body)),
        place: None,
        key: format!("verdict-{}-{round}", context.thread.short()),
    };
    let forge = &context.agent.forge;
    let say = || forge.comment(pr, &comment, &context.cancel);
    let what = "the verdict could not be put on the pull request";
    until_it_answers(context, what, say).await?;
    if let HandOver::Verdict { verdict, .. } = body {
        at_their_lines(context, pr, verdict).await;
    }
    Ok(())
}

/// Where others read along each finding stands at its line too. One about a line that
/// the change does not show stands in the verdict only.
async fn at_their_lines(context: &CallContext<'_>, pr: PrNumber, verdict: &Verdict) {
    let forge = &context.agent.forge;
    for finding in verdict.findings.iter().filter(|_| forge.is_hosted()) {
        let Some(place) = pull::place(&finding.place) else {
            continue;
        };
        let comment = NewComment {
            author: Author::Role(context.role()),
            body: context
                .agent
                .clean(&forge_text::quiet(&render::finding(finding))),
            place: Some(place),
            key: format!(
                "finding-{}-{}-{}",
                context.thread.short(),
                verdict.round,
                finding.id
            ),
        };
        let posted = forge.comment(pr, &comment, &context.cancel).await;
        if let Err(error) = posted {
            tracing::info!(%error, finding = finding.id, "a finding stands in the verdict only");
        }
    }
}
