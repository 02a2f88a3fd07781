//! The end of a thread: what was accepted is written, the reviewed head is
//! merged, the branch goes, and the people read what it cost. Every step
//! recognises its own repeat.

use std::path::{Path, PathBuf};

use butler_protocol::{
    CommitSha, HandOver, MergeSubject, PrNumber, Proposal, PullEvent, PullStatus, Subject, Then,
    ThreadId, ToolOutcome, fault,
};
use butler_repo::{Edit, Error, Merge, NewPull, PullState, tree_of};
use butler_turn::{Asked, Order};
use tracing::warn;

use crate::{
    AgentError, OrWarn, ThreadContext,
    decide::{
        blocked_merge,
        cards::NewCard,
        evidence,
        knowledge::{self, Written},
        outcomes,
    },
    develop::{item, stacking},
    listen::issue,
    tell::{forge_text, render, report, thread_journal, thread_page},
    thread::context::request_nth,
    upkeep::{conflict, growing, history, overlap, pull_news, tree},
};

/// Squash onto the default branch, exactly the reviewed files; then clean up.
pub(crate) async fn merge(
    context: &ThreadContext,
    order: &Order,
    asked: &Asked,
) -> Result<ToolOutcome, AgentError> {
    let subject = outcomes::subject(order, asked)?;
    if is_merged(context, subject.pr) {
        let text = format!("{} was merged already; nothing is left to do.", subject.pr);
        context.say_of(&order.request, "merged", &text).await?;
        return Ok(ToolOutcome::ok(text).then(Then::End));
    }
    let accepted = accepted(context, &subject);
    let item = item::of_thread(context).await?;
    let landed = land(context, order, &subject, (&accepted, item)).await;
    let (merged, written) = match landed {
        Ok(landed) => landed,
        Err(AgentError::Repo(error @ Error::HeadMoved { .. })) => {
            return Ok(ToolOutcome::error(format!(
                "not merged: {error}. The card was for {}; it needs another review and a new card.",
                render::short_sha(subject.head.as_str())
            )));
        }
        Err(AgentError::Repo(Error::Conflict { files, .. })) if !subject.knowledge => {
            if item.is_some() {
                // The roadmap is ours to write: it is nothing for the Coder to settle.
                unmark(context, order).await?;
            }
            return settle(context, order, &subject, &files).await;
        }
        Err(AgentError::AnotherBase) => {
            return settle(context, order, &subject, &[]).await;
        }
        Err(AgentError::Repo(error)) if !matches!(error, Error::Cancelled { .. }) => {
            return blocked_merge::tell(context, order, subject.pr, &error).await;
        }
        Err(error) => return Err(error),
    };
    blocked_merge::passed(context, &order.request).await;
    let text = format!(
        "Merged {} as `{}`.",
        subject.pr,
        render::short_sha(merged.as_str())
    );
    finish(context, order, &subject, (&merged, written.kept), &text).await?;
    Ok(ToolOutcome::ok(text).then(Then::End))
}

/// Whether it was seen, and told, that somebody merged it on the forge.
fn is_merged(context: &ThreadContext, pr: PrNumber) -> bool {
    let facts = context.facts();
    let seen = facts.pulls.seen.as_ref().filter(|seen| seen.number == pr);
    let merged = |one: &PullEvent| matches!(one, PullEvent::Merged { .. });
    seen.is_some_and(|seen| seen.state == PullStatus::Merged) && facts.pulls.news.iter().any(merged)
}

/// What follows a merge, whoever made it: with it what was `kept` is on the default
/// branch, and `how` says that it happened.
pub(crate) async fn finish(
    context: &ThreadContext,
    order: &Order,
    subject: &MergeSubject,
    (merged, kept): (&CommitSha, Vec<String>),
    how: &str,
) -> Result<(), AgentError> {
    pull_news::ended(context, subject, PullStatus::Merged).await;
    if !subject.knowledge {
        thread_journal::keep(&context.agent, &context.thread, &context.cancel).await;
    }
    let beside = merge_research(context, subject).await;
    if context.agent.rules().knowledge_direct {
        // What was on it is on the default branch already.
        let repo = &context.agent.repo;
        let _ = repo
            .remove_knowledge(&context.thread, &context.cancel)
            .await;
    }
    let item = item::of_thread(context).await?;
    if let Some(number) = item.filter(|_| !subject.knowledge) {
        let branch = branch(context, subject).await;
        let key = order.request.as_str();
        item::see_done(context, number, (&branch, key)).await;
    }
    fault("agent.before-clean-up");
    let gone = clean_up(context, subject).await?;
    fault("agent.after-clean-up");
    let settled = if subject.knowledge {
        Vec::new()
    } else {
        issue::close(context).await
    };
    let mut late = accepted(context, subject);
    late.retain(|proposal| !kept.contains(&proposal.title()));
    if !late.is_empty() && !subject.knowledge {
        offer(context, order, &late).await?;
    }
    let mut text = format!("{how} {gone}");
    for line in kept
        .iter()
        .map(|title| format!("Remembered: {title}"))
        .chain(beside)
        .chain(settled)
    {
        text.push_str(&format!("\n{line}"));
    }
    context.say_of(&order.request, "merged", &text).await?;
    if subject.knowledge {
        outcomes::collect(context, order).await?;
    } else {
        mark_answered(context).await;
        growing::offer(context, order).await;
        let files = overlap::changed(context, merged).await;
        overlap::tell_others(context, &subject.pr.to_string(), &files).await;
        // The last word: who writes after it speaks to whoever is there then, not to us.
        if let Some(updates) = &context.poster.updates {
            updates.rest().await;
        }
        tell_cost(context, order, &kept).await?;
    }
    context.agent.digests.merged.notify_one();
    Ok(())
}

/// What people accepted to be remembered with this merge.
fn accepted(context: &ThreadContext, subject: &MergeSubject) -> Vec<Proposal> {
    if subject.knowledge {
        return Vec::new();
    }
    context.facts().cards.accepted()
}

/// Takes away what the merge has made needless, and says so.
async fn clean_up(
    context: &ThreadContext,
    subject: &MergeSubject,
) -> Result<&'static str, AgentError> {
    let (repo, thread) = (&context.agent.repo, &context.thread);
    if subject.knowledge {
        repo.remove_knowledge(thread, &context.cancel).await?;
    } else {
        context.agent.preparations.stop(thread).await;
        match repo.remove(thread, &context.cancel).await {
            Err(Error::Busy { .. }) => {
                return Ok("Somebody is still at work in its worktree, so that stays for now.");
            }
            removed => removed?,
        }
    }
    Ok("The branch and its worktree are gone.")
}

/// What the thread was opened for is done: its first message says so.
async fn mark_answered(context: &ThreadContext) {
    let ThreadId { channel, root } = &context.thread;
    let marked = context.poster.web.react(channel, root, "white_check_mark");
    marked.await.or_warn("the request keeps its open mark");
}

/// The conflict goes to the Coder, who finds it laid out in its worktree; checks,
/// review and a new card follow from there.
async fn settle(
    context: &ThreadContext,
    order: &Order,
    subject: &MergeSubject,
    files: &[PathBuf],
) -> Result<ToolOutcome, AgentError> {
    let others = conflict::others(&context.agent, &context.thread, files, &context.cancel).await;
    let body = HandOver::Conflict {
        pr: subject.pr,
        files: render::names(files),
        others,
    };
    let idem = context.idem_for(&order.request, "conflict");
    context.hand_over(idem, &body).await?;
    let why = match files {
        [] => "stands on another base than the one that its checks ran on",
        _ => "conflicts with what was merged meanwhile",
    };
    let text = format!(
        "not merged: {} {why}. The Coder settles it; its review comes back to you, then propose the merge again.",
        subject.pr
    );
    Ok(ToolOutcome::ok(text).then(Then::PassOn))
}

/// Writes what was accepted onto the branch and merges it. The reviewed files
/// themselves stay what they were: the tree without `.codebutler/` is compared.
async fn land(
    context: &ThreadContext,
    order: &Order,
    subject: &MergeSubject,
    (accepted, item): (&[Proposal], Option<u32>),
) -> Result<(CommitSha, Written), AgentError> {
    let forge = &context.agent.forge;
    let pull = forge.view(subject.pr, &context.cancel).await?;
    if let PullState::Merged { commit } = pull.state {
        let titles = accepted.iter().map(Proposal::title).collect();
        let kept = Written {
            kept: titles,
            left_out: Vec::new(),
        };
        return Ok((commit, kept));
    }
    let head = stacking::head_to_merge(context, subject, &pull).await?;
    let head = head.ok_or(AgentError::AnotherBase)?;
    let asked = (head, accepted, item);
    let (head, written) = remember(context, order, subject, asked).await?;
    let wanted =
        |head: &CommitSha| Merge::of(subject.pr, head).saying(&subject.title, &subject.description);
    match forge.merge(&wanted(&head), &context.cancel).await {
        Err(Error::Conflict { files, .. }) if item::only_roadmap(&files) => {
            let head = unmark(context, order).await?.unwrap_or(head);
            Ok((forge.merge(&wanted(&head), &context.cancel).await?, written))
        }
        merged => Ok((merged?, written)),
    }
}

/// The branch without its line in the roadmap, where that does not go together with
/// the default branch; nothing where nobody may write there now.
async fn unmark(context: &ThreadContext, order: &Order) -> Result<Option<CommitSha>, AgentError> {
    let Some(worktree) = context.agent.repo.find(&context.thread).await? else {
        return Ok(None);
    };
    let Some(_lock) = worktree.try_lock()? else {
        return Ok(None);
    };
    item::unmark(context, &worktree).await?;
    let key = format!("{}-unmarked", order.request);
    let message = "roadmap: said on the default branch instead";
    let head = knowledge::publish(context, &worktree, message, &key).await?;
    Ok(Some(head))
}

/// The name of the branch that is merged, as the roadmap keeps it.
async fn branch(context: &ThreadContext, subject: &MergeSubject) -> String {
    let pull = context.agent.forge.view(subject.pr, &context.cancel).await;
    pull.map_or_else(|_| "—".to_owned(), |pull| pull.branch.to_string())
}

async fn remember(
    context: &ThreadContext,
    order: &Order,
    subject: &MergeSubject,
    (reviewed, accepted, item): (CommitSha, &[Proposal], Option<u32>),
) -> Result<(CommitSha, Written), AgentError> {
    let as_reviewed = (reviewed, Written::default());
    let journal = context.agent.rules().journal_in_pull && !subject.knowledge;
    let item = item.filter(|_| !subject.knowledge);
    if accepted.is_empty() && !journal && item.is_none() {
        return Ok(as_reviewed);
    }
    let Some(worktree) = context.agent.repo.find(&context.thread).await? else {
        return Ok(as_reviewed);
    };
    // Somebody still works there, or there are files that nobody reviewed: the
    // reviewed head is merged as it is, and the rest gets a pull request of its own.
    let Some(_lock) = worktree.try_lock()? else {
        return Ok(as_reviewed);
    };
    if worktree.tree().await? != subject.tree {
        return Ok(as_reviewed);
    }
    let written = knowledge::write_all(&worktree.path, accepted)?;
    if journal {
        keep_page(context, &worktree.path, subject).await?;
    }
    if let Some(number) = item {
        item::mark_done(context, &worktree, number).await?;
    }
    fault("agent.before-remember");
    let message = "knowledge: what this thread taught";
    let head = knowledge::publish(context, &worktree, message, order.request.as_str()).await?;
    fault("agent.after-remember");
    if tree_of(context.agent.repo.git(), head.as_str()).await? != subject.tree {
        return Err(AgentError::Missing(format!(
            "{} holds other files than the ones that were reviewed; nothing was merged",
            subject.pr
        )));
    }
    Ok((head, written))
}

/// The page of the thread goes with it, as the card said. What an interrupted
/// attempt wrote stays: the logs have grown since, and the commit is the same one.
async fn keep_page(
    context: &ThreadContext,
    root: &Path,
    subject: &MergeSubject,
) -> Result<(), AgentError> {
    let path = thread_journal::path(&context.thread);
    if knowledge::read(root, &path).is_some() {
        return Ok(());
    }
    let files = context.files_at(&subject.head).await?;
    let logs = context.logs().await?;
    let text = thread_page::write(&logs, &subject.evidence, &files);
    knowledge::write(root, &path, &context.agent.clean(&text))
}

/// The findings of this thread, if the card said that they are merged with it.
async fn merge_research(context: &ThreadContext, subject: &MergeSubject) -> Option<String> {
    let (pr, head) = subject.research.as_ref()?;
    let wanted = Merge::of(*pr, head);
    match context.agent.forge.merge(&wanted, &context.cancel).await {
        Ok(_) => {
            // Where the page shows it, it must not wait for anybody any more.
            let title = match context.agent.forge.view(*pr, &context.cancel).await {
                Ok(pull) => pull.title,
                Err(_) => "what was kept".to_owned(),
            };
            let beside = MergeSubject {
                pr: *pr,
                head: head.clone(),
                title,
                ..subject.clone()
            };
            pull_news::ended(context, &beside, PullStatus::Merged).await;
            // Left behind, it would only take space.
            let _ = context
                .agent
                .repo
                .remove_knowledge(&context.thread, &context.cancel)
                .await;
            Some(format!("The research in {pr} is kept too."))
        }
        Err(error) => {
            warn!(%error, %pr, "the research was not merged");
            let why = forge_text::why(&error);
            Some(format!("The research in {pr} stays open: {why}."))
        }
    }
}

/// Accepted when the branch was gone or busy: a small pull request of its own,
/// which a person merges.
pub(crate) async fn offer(
    context: &ThreadContext,
    order: &Order,
    proposals: &[Proposal],
) -> Result<(), AgentError> {
    let agent = &context.agent;
    let worktree = agent
        .repo
        .knowledge(&context.thread, &context.cancel)
        .await?;
    let _lock = worktree.lock().await?;
    let written = knowledge::write_all(&worktree.path, proposals)?;
    if !written.left_out.is_empty() {
        let text = format!(
            "Accepted, and not written:\n- {}",
            written.left_out.join("\n- ")
        );
        context.say_of(&order.request, "left-out", &text).await?;
    }
    if written.kept.is_empty() {
        return Ok(());
    }
    let message = "knowledge: what a thread taught";
    let key = order.request.as_str();
    let list: String = written
        .kept
        .iter()
        .map(|title| format!("- {title}\n"))
        .collect();
    if agent.rules().knowledge_direct {
        let landed = knowledge::land(context, &worktree, message, key).await?;
        let text = format!(
            "Remembered on the default branch, as `{}`:\n{list}",
            render::short_sha(landed.as_str())
        );
        context.say_of(&order.request, "landed", &text).await?;
        return Ok(());
    }
    let head = knowledge::publish(context, &worktree, message, key).await?;
    let new = NewPull {
        branch: worktree.branch.clone(),
        base: None,
        title: message.to_owned(),
        body: agent.clean(list.trim_end()),
        draft: false,
    };
    let pull = agent.forge.create(&new, &context.cancel).await?;
    // One that waits already says what is in it now.
    let words = Edit {
        title: Some(new.title.clone()),
        body: Some(new.body.clone()),
        base: None,
    };
    agent
        .forge
        .edit(pull.number, &words, &context.cancel)
        .await?;
    pull_news::opened(context, &worktree, &pull, &head).await;
    let evidence = evidence::of_knowledge(context, &pull).await;
    let subject = MergeSubject {
        pr: pull.number,
        evidence,
        tree: tree_of(agent.repo.git(), head.as_str()).await?,
        head,
        title: new.title,
        description: new.body,
        writer: context.role(),
        research: None,
        knowledge: true,
    };
    let request = request_nth(&butler_protocol::CallId::new(key), 0);
    let idem = context.idem_for(&request, "knowledge");
    let mut card = NewCard::new(request, Subject::Merge(Box::new(subject)));
    card.learnings = proposals.iter().map(Proposal::sha256).collect();
    context.put_up(idem, card).await?;
    Ok(())
}

/// What the thread cost, against what was expected.
async fn tell_cost(
    context: &ThreadContext,
    order: &Order,
    kept: &[String],
) -> Result<(), AgentError> {
    let logs = context.logs().await?;
    let plans = context.poster.control.plans_of(&context.thread).await?;
    let plan = history::plan_of(&plans, &context.thread);
    let rounds = context.facts().review.rounds;
    let mut text = report::render(&logs, plan, rounds, kept);
    match tree::drift(&context.agent.repo, &context.cancel).await {
        Ok(drift) => text.extend(drift.map(|drift| format!("\n\n{drift}"))),
        Err(error) => warn!(%error, "the project maps were not compared with the tree"),
    }
    context.say_of(&order.request, "report", &text).await?;
    Ok(())
}
