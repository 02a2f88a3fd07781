//! `ready_for_review`: the runtime sees to the checks, commits, pushes, opens the pull
//! request and answers who commented on it.

use std::collections::BTreeSet;

use butler_protocol::{
    CommitSha, HandOver, PrNumber, Receipt, Record, RefusedFor, Said, ToolOutcome,
};
use butler_repo::{Author, DiffOf, Error, NewComment, NewPull, Worktree, with_block};
use butler_tools::{Tool, tools::RunChecks};
use serde_json::json;

use super::{CommentAnswer, Input, builds, pictures};
use crate::{
    OrWarn,
    decide::surface,
    tell::{forge_text, render},
    thread::tool_session,
    tools::{CallContext, OrFailed, github::patience::until_it_answers, refuse},
    upkeep::{overlap, pull_news, pull_page},
};

pub(super) async fn ready(
    context: &CallContext<'_>,
    input: &Input,
) -> Result<HandOver, ToolOutcome> {
    if !builds(context.role()) {
        return refuse("refused: only the Coder hands over for review");
    }
    let agent = &context.agent;
    let worktree = agent
        .repo
        .find(&context.thread)
        .await
        .or_failed("the worktree could not be found")?
        .ok_or_else(|| ToolOutcome::error("refused: this thread has no branch yet"))?;
    sound(context, &worktree).await?;
    let tree = worktree
        .tree()
        .await
        .or_failed("the files could not be hashed")?;
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
        None => run_checks(context).await,
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
    let pictures = pictures::take(context, &known).await?;
    let title = plan.as_ref().map(|plan| plan.title.clone());
    let title = agent.clean(&title.unwrap_or_else(|| first_line(&input.text)));
    let head = publish(context, &worktree, &title).await?;
    let clashes = overlap::conflicts(context, &worktree, &title).await;
    let below = worktree
        .stacked(&context.cancel)
        .await
        .or_failed("what the branch stands on could not be looked at")?;
    let text = pull_page::text(context, &input.text, receipt.as_ref(), Some(&pictures))
        .await
        .or_failed("the text of the pull request could not be put together")?;
    let new = NewPull {
        branch: worktree.branch.clone(),
        base: below.map(|below| below.branch),
        title,
        body: with_block("", &text),
        // Until our own review is done.
        draft: true,
    };
    let create = || agent.forge.create(&new, &context.cancel);
    let what = "the pull request could not be opened";
    let pr = until_it_answers(context, what, create).await?;
    pull_page::update(context, &pr, None, &text).await;
    pull_page::label(context, &pr).await;
    pull_news::opened(context, &worktree, &pr, &head).await;
    say_checks(context, &head, receipt.as_ref()).await;
    answer(context, &head, &input.answers).await?;
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
async fn say_checks(context: &CallContext<'_>, head: &CommitSha, receipt: Option<&Receipt>) {
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
    let told = forge.set_status(head, green, &said, &context.cancel);
    told.await.or_warn("the forge does not show our checks");
}

/// Whoever commented on the forge is answered there, below their words, once each.
async fn answer(
    context: &CallContext<'_>,
    head: &CommitSha,
    answers: &[CommentAnswer],
) -> Result<(), ToolOutcome> {
    let open = context.facts().pulls.to_answer.clone();
    let gone = gone_lines(context, &open).await;
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
        let reply = || forge.reply(*pr, &said.id, &comment, &context.cancel);
        let what = "a comment could not be answered";
        until_it_answers(context, what, reply).await?;
    }
    Ok(())
}

/// Those of the comments whose line is gone by now: what was pushed may have changed it.
/// Where that cannot be seen, what was seen before holds.
async fn gone_lines(context: &CallContext<'_>, open: &[(PrNumber, Said)]) -> BTreeSet<String> {
    let numbers: BTreeSet<PrNumber> = open.iter().map(|(pr, _)| *pr).collect();
    if numbers.is_empty() {
        return BTreeSet::new();
    }
    let numbers: Vec<PrNumber> = numbers.into_iter().collect();
    let forge = &context.agent.forge;
    let now = forge.look(&numbers, &context.cancel).await;
    let now = now.or_warn("which comments are outdated could not be seen");
    let said = now.into_iter().flatten().flat_map(|pull| pull.said);
    said.filter(|one| one.outdated).map(|one| one.id).collect()
}

/// The checks, where nobody ran them on these files: what the hand-over needs is
/// not worth a turn of the model. Not where commands ask first.
async fn run_checks(context: &CallContext<'_>) -> (Option<Receipt>, Option<String>) {
    if context.permit.unconfined() || context.agent.rules().checks.is_empty() {
        return (None, None);
    }
    let said = RunChecks
        .run(context.permit, &json!({}), context.tools)
        .await
        .text;
    let receipt = context.tools.take_receipt(context.id());
    if let Some(receipt) = &receipt {
        context.write(Record::Checked {
            receipt: receipt.clone(),
        });
    }
    (receipt, Some(said))
}

/// There is a plan that a person approved, and something was done for it.
async fn sound(context: &CallContext<'_>, worktree: &Worktree) -> Result<(), ToolOutcome> {
    let approved = tool_session::plan_approved(context)
        .await
        .or_failed("the plan's approval could not be looked up")?;
    if !approved {
        return refuse(
            "refused: no person has approved a plan for this, so there is nothing to review; ask the PM for one with HandOver(kind: question)",
        );
    }
    let marked = worktree
        .unsettled(&context.cancel)
        .await
        .or_failed("the conflict could not be looked at")?;
    if !marked.is_empty() {
        return refuse(format!(
            "refused: there are conflict marks left in {}; settle them, run the checks, then hand over",
            render::names(&marked).join(", ")
        ));
    }
    let diff = worktree
        .diff(DiffOf::Thread, &context.cancel)
        .await
        .or_failed("the change could not be looked at")?;
    if diff.trim().is_empty() {
        return refuse(
            "refused: the branch changes nothing, so there is nothing to review; do what the plan says, or tell the PM with HandOver(kind: question) why nothing needs to change",
        );
    }
    Ok(())
}

/// Commits what there is and pushes; both recognise their own repeat.
async fn publish(
    context: &CallContext<'_>,
    worktree: &Worktree,
    title: &str,
) -> Result<CommitSha, ToolOutcome> {
    let mut trailers = vec![
        ("CodeButler-Thread".to_owned(), context.thread.to_string()),
        ("CodeButler-Call".to_owned(), context.id().to_string()),
    ];
    if let Some(request) = &context.facts().request {
        trailers.push(("Requested-by".to_owned(), request.name.clone()));
    }
    worktree
        .commit_all(context.role(), title, &trailers, &context.cancel)
        .await
        .or_failed("the change could not be committed")?;
    let push = || async {
        match worktree.push(&context.cancel).await {
            Err(Error::BranchGone { branch }) => Ok(Err(branch)),
            pushed => pushed.map(Ok),
        }
    };
    let what = "the branch could not be pushed";
    let pushed = until_it_answers(context, what, push).await?;
    pushed.map_err(|branch| ToolOutcome::error(format!(
        "refused: somebody deleted `{branch}` on the remote, so it is not pushed again. Ask the person with AskUser: they can restore it there, or say that this is given up"
    )))
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("Changes").trim().chars().take(72).collect()
}
