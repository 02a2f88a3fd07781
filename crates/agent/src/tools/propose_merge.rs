//! ProposeMerge: the Lead's look back and the merge card. The card binds the
//! reviewed head; a new head voids it.

use std::time::Duration;

use butler_policy::Permit;
use butler_protocol::{
    CallId, CommitSha, MergeSubject, PrNumber, Record, Remark, RequestId, Retrospective, Subject,
    ToolOutcome, ToolSpec, Verdict,
};
use butler_repo::{PullState, knowledge_branch};
use butler_tools::ToolContext;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    ChatTool,
    github::patience::{PATIENT, until_it_answers},
    spec,
};
use crate::{
    AgentError,
    decide::{cards::NewCard, evidence},
    tell::{render, thread_page},
    thread::context::ThreadContext,
    upkeep::{history, pull_page},
};

pub(crate) struct ProposeMerge(pub ThreadContext);

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The title of the merged commit, one line.
    title: String,
    /// Its description: summary, changes, decisions, open concerns.
    description: String,
    /// What went well, three at most.
    #[serde(default)]
    well: Vec<String>,
    /// What caused friction, without a look back.
    #[serde(default)]
    friction: Vec<String>,
}

impl ChatTool for ProposeMerge {
    type Input = Input;

    const NAME: &'static str = "ProposeMerge";
    const DEADLINE: Duration = PATIENT;

    fn told() -> ToolSpec {
        spec::<Input>(
            Self::NAME,
            "Shows the person the approved pull request with Merge, Hold and Close, and your look \
             back, and sleeps until they choose. Use it once the Reviewer has approved and you \
             know the diff. The runtime merges after the click, and only the head that was \
             reviewed. Example: {\"title\": \"notes: add list --json\", \"description\": \"…\", \
             \"well\": [\"one review round\"]}",
        )
    }

    async fn act(&self, permit: &Permit, input: Input, tool_context: &ToolContext) -> ToolOutcome {
        propose(&self.0, permit.call(), input, tool_context).await
    }
}

async fn propose(
    context: &ThreadContext,
    call: &CallId,
    input: Input,
    tool_context: &ToolContext,
) -> ToolOutcome {
    let Some((verdict, pr)) = context.facts().review.verdict.clone() else {
        return ToolOutcome::error(
            "refused: the Reviewer has judged nothing in this thread, so there is nothing to merge, and nothing to wait for; finish without it",
        );
    };
    if !verdict.approved && !verdict.last {
        return ToolOutcome::error(
            "refused: the Reviewer has not approved this head; decide with SendMessage or AskUser what should happen",
        );
    }
    let read = || context.agent.forge.view(pr, tool_context.cancel());
    let what = "the pull request could not be read";
    let view = match until_it_answers(context, tool_context, what, read).await {
        Ok(view) => view,
        Err(refusal) => return refusal,
    };
    if view.head != verdict.head {
        return ToolOutcome::error(format!(
            "refused: {pr} has moved to {} since the Reviewer read {}; it needs another review",
            render::short_sha(view.head.as_str()),
            render::short_sha(verdict.head.as_str())
        ));
    }
    let look_back = Retrospective {
        well: input.well,
        friction: input.friction,
        ..Retrospective::default()
    };
    let mut description = described(input.description.trim().to_owned(), &verdict);
    let said = description.clone();
    if let Some(thread) = context.poster.address(&context.thread).await {
        description.push_str(&format!("\n\nThread: {thread}"));
    }
    pull_page::ready(context, &view, tool_context.cancel()).await;
    let receipt = verdict.observed.receipt.as_ref();
    match pull_page::text(context, &said, receipt, None).await {
        Ok(text) => {
            let title = context.agent.clean(&input.title);
            let cancel = tool_context.cancel();
            pull_page::update(context, &view, Some(&title), &text, cancel).await;
        }
        Err(error) => warn!(%error, %pr, "the text of the pull request is not up to date"),
    }
    let evidence = evidence::of_pull(context, &view, Some(&verdict), tool_context.cancel()).await;
    let subject = MergeSubject {
        pr,
        evidence: evidence
            .iter()
            .map(|line| context.agent.clean(line))
            .collect(),
        head: verdict.head,
        tree: verdict.tree,
        title: context.agent.clean(&input.title),
        description: context.agent.clean(&description),
        writer: context.role(),
        research: research(context, tool_context.cancel()).await,
        knowledge: false,
    };
    if let Err(error) = departures(context, &subject.head, tool_context.cancel()).await {
        warn!(%error, "departures from the plan were not written down");
    }
    ask(context, call, subject, &look_back).await
}

/// Writes down where the change departs from the plan, each once.
async fn departures(
    context: &ThreadContext,
    head: &CommitSha,
    cancel: &CancellationToken,
) -> Result<(), AgentError> {
    let plans = context.poster.control.plans_of(&context.thread).await?;
    let plan = history::plan_of(&plans, &context.thread);
    let changes = context
        .agent
        .repo
        .changes_of(&context.thread, head, cancel)
        .await?;
    let files: Vec<String> = changes.files.into_iter().map(|file| file.path).collect();
    for what in thread_page::deviations(plan, &[], &files) {
        let known = context.facts();
        let known = known.chosen.all().iter().any(|one| one.choice == what);
        if !known {
            context.write(Record::Chose {
                about: "plan deviation".to_owned(),
                what,
                why: "the change as it was proposed for the merge".to_owned(),
            });
        }
    }
    Ok(())
}

/// Without agreement the open findings stand in the description, word for word.
fn described(description: String, verdict: &Verdict) -> String {
    if verdict.approved {
        return description;
    }
    let open: String = verdict
        .findings
        .iter()
        .map(|finding| format!("- {}\n", render::finding(finding)))
        .collect();
    format!(
        "{description}\n\n⚠ Not approved by the Reviewer; the Lead decided. Open concerns:\n\n{open}"
    )
}

/// The open pull request with this thread's findings.
pub(crate) async fn research(
    context: &ThreadContext,
    cancel: &CancellationToken,
) -> Option<(PrNumber, CommitSha)> {
    let branch = knowledge_branch(&context.thread);
    let found = context.agent.forge.find(&branch, cancel).await.ok()??;
    (found.state == PullState::Open).then_some((found.number, found.head))
}

async fn ask(
    context: &ThreadContext,
    call: &CallId,
    subject: MergeSubject,
    look_back: &Retrospective,
) -> ToolOutcome {
    let look_back = [
        ("Went well", &look_back.well),
        ("Friction", &look_back.friction),
    ];
    let remarks = look_back
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .map(|(label, lines)| Remark::model(label, lines.join("\n")));
    let card = NewCard {
        request: RequestId::of(call),
        subject: Subject::Merge(Box::new(subject)),
        remarks: remarks.collect(),
        learnings: Vec::new(),
    };
    super::decide(
        context,
        call,
        card,
        "the merge card is waiting for a decision",
    )
    .await
}
