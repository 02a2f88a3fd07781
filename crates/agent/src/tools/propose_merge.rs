//! ProposeMerge: the Lead's look back and the merge card. The card binds the
//! reviewed head; a new head voids it.

use std::time::Duration;

use butler_protocol::{
    CommitSha, MergeSubject, PrNumber, Record, Remark, RequestId, Retrospective, Subject, Verdict,
};
use butler_repo::{PullState, knowledge_branch};
use schemars::JsonSchema;
use serde::Deserialize;
use tracing::warn;

use super::github::patience::{PATIENT, until_it_answers};
use crate::tools::{Answer, CallContext, ChatTool, decide, refuse};
use crate::{
    AgentError, OrWarn, ThreadContext,
    decide::{cards::NewCard, evidence},
    tell::{render, thread_page},
    upkeep::{history, pull_page},
};

pub(crate) struct ProposeMerge;

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

    const TOLD: &'static str = "Shows the person the approved pull request with Merge, Hold and Close, and your look \
             back, and sleeps until they choose. Use it once the Reviewer has approved and you \
             know the diff. The runtime merges after the click, and only the head that was \
             reviewed. Example: {\"title\": \"notes: add list --json\", \"description\": \"…\", \
             \"well\": [\"one review round\"]}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let Some((verdict, pr)) = context.facts().review.verdict.clone() else {
            return refuse(
                "refused: the Reviewer has judged nothing in this thread, so there is nothing to merge, and nothing to wait for; finish without it",
            );
        };
        if !verdict.approved && !verdict.last {
            return refuse(
                "refused: the Reviewer has not approved this head; decide with SendMessage or AskUser what should happen",
            );
        }
        let read = || context.agent.forge.view(pr, &context.cancel);
        let what = "the pull request could not be read";
        let view = until_it_answers(context, what, read).await?;
        if view.head != verdict.head {
            return refuse(format!(
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
        pull_page::ready(context, &view).await;
        let receipt = verdict.observed.receipt.as_ref();
        match pull_page::text(context, &said, receipt, None).await {
            Ok(text) => {
                let title = context.agent.clean(&input.title);
                pull_page::update(context, &view, Some(&title), &text).await;
            }
            Err(error) => warn!(%error, %pr, "the text of the pull request is not up to date"),
        }
        let evidence = evidence::of_pull(context, &view, Some(&verdict)).await;
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
            research: research(context).await,
            knowledge: false,
        };
        departures(context, &subject.head)
            .await
            .or_warn("departures from the plan were not written down");
        ask(context, subject, &look_back).await
    }
}

/// Writes down where the change departs from the plan, each once.
async fn departures(context: &ThreadContext, head: &CommitSha) -> Result<(), AgentError> {
    let plans = context.poster.control.plans_of(&context.thread).await?;
    let plan = history::plan_of(&plans, &context.thread);
    let files = context.files_at(head).await?;
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
pub(crate) async fn research(context: &ThreadContext) -> Option<(PrNumber, CommitSha)> {
    let branch = knowledge_branch(&context.thread);
    let found = context
        .agent
        .forge
        .find(&branch, &context.cancel)
        .await
        .ok()??;
    (found.state == PullState::Open).then_some((found.number, found.head))
}

async fn ask(
    context: &CallContext<'_>,
    subject: MergeSubject,
    look_back: &Retrospective,
) -> Answer {
    let look_back = [
        ("Went well", &look_back.well),
        ("Friction", &look_back.friction),
    ];
    let remarks = look_back
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .map(|(label, lines)| Remark::model(label, lines.join("\n")));
    let subject = Subject::Merge(Box::new(subject));
    let card = NewCard::new(RequestId::of(context.id()), subject).with(remarks);
    decide(context, card, "the merge card is waiting for a decision").await
}
