//! HandOver: the one way to pass work on. For `ready_for_review` the runtime
//! commits, pushes and opens the pull request, and says what it saw of the
//! checks. The Reviewer's two kinds are in `verdict`, the Artist's in `design`.

mod design;
mod pictures;
mod verdict;

use std::{collections::BTreeSet, time::Duration};

use butler_policy::{Permit, Right, Scope, right};
use butler_protocol::{
    CallId, CommitSha, DecisionKind, HandOver, PrNumber, Receipt, Record, RefusedFor, Role, Said,
    Then, ToolOutcome, ToolSpec, Waiting,
};
use butler_repo::{Author, DiffOf, Error, NewComment, NewPull, Worktree, with_block};
use butler_tools::{Tool, ToolContext, tools::RunChecks};
use butler_turn::Asked;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    ChatTool, arguments, failed,
    github::patience::{PATIENT, until_it_answers},
    spec,
};
use crate::{
    decide::{fast_track::FastTrack, surface},
    tell::{forge_text, render},
    thread::{context::ThreadContext, tool_session},
    upkeep::{overlap, pull_news, pull_page},
};

pub(crate) struct HandOverTool(pub ThreadContext);

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
    answers: Vec<Answer>,
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
struct Answer {
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
    /// What a role is told: the kinds that it may hand over, and their fields.
    pub(crate) fn told_to(role: Role) -> ToolSpec {
        Self::told_with(role, Now::default())
    }

    /// The same at this moment.
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
    // The checks may have to run, and the forge may be away.
    const DEADLINE: Duration = PATIENT;

    fn told() -> ToolSpec {
        let description =
            format!("{EVERYBODY} {BUILDER} {REVIEWER} {DESIGNER} {LOOKER} Example: {ASK}");
        spec::<Input>(Self::NAME, &description)
    }

    fn told_here(&self) -> ToolSpec {
        let facts = self.0.facts();
        let now = Now {
            commented: !facts.pulls.to_answer.is_empty(),
            to_look: facts.surface.to_look.is_some(),
        };
        Self::told_with(self.0.role(), now)
    }

    fn item(field: &str, given: Value) -> Value {
        match field {
            "findings" => arguments::finding(given),
            "risks" => arguments::risk(given),
            "tests" => arguments::test(given),
            _ => given,
        }
    }

    async fn act(&self, permit: &Permit, input: Input, tool_context: &ToolContext) -> ToolOutcome {
        if input.text.trim().is_empty() {
            let refusal = "`text` is missing: what the other side needs to know";
            return ToolOutcome::error(refusal);
        }
        let made = match input.kind {
            Kind::Question | Kind::Answer => word(&self.0, &input).await,
            Kind::ReadyForReview => ready(&self.0, permit, &input, tool_context).await,
            Kind::ReviewPlan => verdict::first_pass(&self.0, &input, tool_context).await,
            Kind::Verdict => verdict::verdict(&self.0, &input, tool_context).await,
            Kind::Design => design::design(&self.0, &input),
            Kind::Look => design::look(&self.0, &input),
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
        (Ok(_), HandOver::Question { to, .. }) => {
            let deadline_ms = context.agent.answer_by_ms();
            let from = vec![*to];
            ToolOutcome::ok("asked; waiting for the answer").then(Then::Park {
                waiting: Waiting::Replies { deadline_ms, from },
            })
        }
        (Ok(_), _) => ToolOutcome::ok("handed over").then(Then::PassOn),
    }
}

async fn word(context: &ThreadContext, input: &Input) -> Result<HandOver, ToolOutcome> {
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
    if matches!(input.kind, Kind::Question) && quiet(context).await {
        let why = if context.is_small() {
            "no look back is needed"
        } else {
            "this was a small task and there was no friction"
        };
        return Err(ToolOutcome::error(format!(
            "refused: {why}, so nobody is asked to look back; write the short form with ProposeMerge"
        )));
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

async fn ready(
    context: &ThreadContext,
    permit: &Permit,
    input: &Input,
    tool_context: &ToolContext,
) -> Result<HandOver, ToolOutcome> {
    let call = permit.call();
    if !builds(context.role()) {
        return Err(ToolOutcome::error(
            "refused: only the Coder hands over for review",
        ));
    }
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
        let plan = facts.plan().map(|(_, plan)| plan.clone());
        (
            facts.receipt.clone(),
            facts.review.unverified,
            facts.review.rounds + 1,
            plan,
            facts.task.clone(),
        )
    };
    let receipt = receipt.filter(|receipt| receipt.tree == tree);
    let (receipt, said) = match receipt {
        Some(receipt) => (Some(receipt), None),
        None => run_checks(context, permit, tool_context).await,
    };
    let receipt = receipt.filter(|receipt| receipt.tree == tree);
    if !receipt.as_ref().is_some_and(Receipt::green) && unverified == 0 {
        let said = said.map_or_else(String::new, |said| format!("\n\n{said}"));
        return Err(ToolOutcome::refused(
            RefusedFor::Unverified,
            format!(
                "refused: the checks have not passed on exactly these files; fix what fails, then hand over. If they cannot pass, say why in the text and hand over again: it will be marked unverified.{said}"
            ),
        ));
    }
    let known = context.facts().surface.clone();
    let pictures = pictures::take(context, permit, &known, tool_context).await?;
    let title = plan.as_ref().map(|plan| plan.title.clone());
    let title = agent.clean(&title.unwrap_or_else(|| first_line(&input.text)));
    let head = publish(context, &worktree, call, &title, tool_context).await?;
    let clashes = overlap::conflicts(context, &worktree, &title, tool_context.cancel()).await;
    let below = worktree
        .stacked(tool_context.cancel())
        .await
        .map_err(|error| failed("what the branch stands on could not be looked at", &error))?;
    let text = pull_page::text(context, &input.text, receipt.as_ref(), Some(&pictures))
        .await
        .map_err(|error| {
            failed(
                "the text of the pull request could not be put together",
                &error,
            )
        })?;
    let new = NewPull {
        branch: worktree.branch.clone(),
        base: below.map(|below| below.branch),
        title,
        body: with_block("", &text),
        // Until our own review is done.
        draft: true,
    };
    let create = || agent.forge.create(&new, tool_context.cancel());
    let what = "the pull request could not be opened";
    let pr = until_it_answers(context, tool_context, what, create).await?;
    pull_page::update(context, &pr, None, &text, tool_context.cancel()).await;
    pull_page::label(context, &pr, tool_context.cancel()).await;
    pull_news::opened(context, &worktree, &pr, &head, tool_context.cancel()).await;
    say_checks(context, &head, receipt.as_ref(), tool_context).await;
    answer(context, &head, &input.answers, tool_context).await?;
    // A forecast that fails is none: it warns, it does not decide.
    let warnings = clashes.unwrap_or_default();
    let warnings: String = warnings.iter().map(|one| format!("\n\n⚠ {one}")).collect();
    let link = pr.url.map_or_else(String::new, |url| format!("\n\n{url}"));
    let look = surface::wants_look(context, &known, pictures.len());
    Ok(HandOver::ReadyForReview {
        pictures,
        look,
        summary: format!("{}{link}{warnings}", input.text),
        branch: worktree.branch,
        head,
        pr: pr.number,
        receipt,
        round,
        task,
    })
}

/// The forge shows our receipt beside its own checks. Nothing depends on it.
async fn say_checks(
    context: &ThreadContext,
    head: &CommitSha,
    receipt: Option<&Receipt>,
    tool_context: &ToolContext,
) {
    let green = receipt.is_some_and(Receipt::green);
    let said = receipt.map_or_else(
        || "unverified: no checks ran on these files".to_owned(),
        |receipt| {
            let checks = receipt.checks.iter();
            let said = checks.map(|check| format!("{} {}", check.name, check.said()));
            said.collect::<Vec<_>>().join("; ")
        },
    );
    let forge = &context.agent.forge;
    let told = forge.set_status(head, green, &said, tool_context.cancel());
    if let Err(error) = told.await {
        tracing::warn!(%error, "the forge does not show our checks");
    }
}

/// Whoever commented on the forge is answered there, below their words, once each.
async fn answer(
    context: &ThreadContext,
    head: &CommitSha,
    answers: &[Answer],
    tool_context: &ToolContext,
) -> Result<(), ToolOutcome> {
    let open = context.facts().pulls.to_answer.clone();
    let gone = gone_lines(context, &open, tool_context).await;
    for (pr, said) in &open {
        let given = answers.iter().find(|answer| answer.to == said.id);
        let text = given.map_or("This was looked at.", |answer| answer.text.trim());
        let gone = if said.outdated || gone.contains(&said.id) {
            "\n\nThe line that this was about is gone."
        } else {
            ""
        };
        // What stands on no line is answered below everything: it says what it answers.
        let about = match said.id.starts_with("line-") {
            true => String::new(),
            false => format!("{}\n\n", render::quote(first_line(&said.text).as_str())),
        };
        let sha = render::short_sha(head.as_str());
        let comment = NewComment {
            author: Author::Role(context.role()),
            body: context.agent.clean(&forge_text::quiet(&format!(
                "{about}{text} (`{sha}`){gone}"
            ))),
            place: None,
            key: format!("answer-{}", said.id),
        };
        let forge = &context.agent.forge;
        let reply = || forge.reply(*pr, &said.id, &comment, tool_context.cancel());
        let what = "a comment could not be answered";
        until_it_answers(context, tool_context, what, reply).await?;
    }
    Ok(())
}

/// Those of the comments whose line is gone by now: what was pushed may have changed it.
/// Where that cannot be seen, what was seen before holds.
async fn gone_lines(
    context: &ThreadContext,
    open: &[(PrNumber, Said)],
    tool_context: &ToolContext,
) -> BTreeSet<String> {
    let numbers: BTreeSet<PrNumber> = open.iter().map(|(pr, _)| *pr).collect();
    if numbers.is_empty() {
        return BTreeSet::new();
    }
    let numbers: Vec<PrNumber> = numbers.into_iter().collect();
    let forge = &context.agent.forge;
    match forge.look(&numbers, tool_context.cancel()).await {
        Ok(now) => {
            let said = now.into_iter().flat_map(|pull| pull.said);
            said.filter(|one| one.outdated).map(|one| one.id).collect()
        }
        Err(error) => {
            tracing::warn!(%error, "which comments are outdated could not be seen");
            BTreeSet::new()
        }
    }
}

/// The checks, where nobody ran them on these files: what the hand-over needs is
/// not worth a turn of the model. Not where commands ask first.
async fn run_checks(
    context: &ThreadContext,
    permit: &Permit,
    tool_context: &ToolContext,
) -> (Option<Receipt>, Option<String>) {
    if permit.unconfined() || context.agent.rules().checks.is_empty() {
        return (None, None);
    }
    let said = RunChecks.run(permit, &json!({}), tool_context).await.text;
    let receipt = tool_context.take_receipt(permit.call());
    if let Some(receipt) = &receipt {
        context.write(Record::Checked {
            receipt: receipt.clone(),
        });
    }
    (receipt, Some(said))
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
) -> Result<CommitSha, ToolOutcome> {
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
    let push = || async {
        match worktree.push(tool_context.cancel()).await {
            Err(Error::BranchGone { branch }) => Ok(Err(branch)),
            pushed => pushed.map(Ok),
        }
    };
    let what = "the branch could not be pushed";
    let pushed = until_it_answers(context, tool_context, what, push).await?;
    pushed.map_err(|branch| ToolOutcome::error(format!(
        "refused: somebody deleted `{branch}` on the remote, so it is not pushed again. Ask the person with AskUser: they can restore it there, or say that this is given up"
    )))
}

/// Whoever writes in the worktree is the one who hands over what was written.
fn builds(role: Role) -> bool {
    right(role, "Write") == Right::Scoped(Scope::Worktree)
}

/// Whoever has the Reviewer's right to run checks is the one who judges.
fn reviews(role: Role) -> bool {
    right(role, "RunChecks") == right(Role::Reviewer, "RunChecks")
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("Changes").trim().chars().take(72).collect()
}
