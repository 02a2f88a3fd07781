//! Threads that change the same files. A plan names them before work begins, a
//! push warns when two branches would conflict, and a merge tells the threads
//! whose files it has changed.

pub(crate) mod ahead;

use butler_protocol::{BranchName, Choice, CommitSha, Idem, ThreadId};
use butler_repo::{BRANCH_PREFIX, Worktree, short_of};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{Agent, AgentError, OrWarn, ThreadContext, tell::render};

/// Another thread at work on some of the same files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Overlap {
    /// Its branch.
    pub branch: BranchName,
    /// The thread, when it had a plan.
    pub thread: Option<ThreadId>,
    /// What it is about.
    pub title: String,
    /// The files that both touch.
    pub files: Vec<String>,
}

impl Overlap {
    /// One line for people.
    pub(crate) fn line(&self) -> String {
        let files = render::as_code(&self.files);
        format!("{files}: “{}” on `{}`", self.title, self.branch)
    }
}

/// Who else is at work on these files: by what their branches changed, and by
/// what their plans say they will.
pub(crate) async fn others(
    context: &ThreadContext,
    files: &[String],
) -> Result<Vec<Overlap>, AgentError> {
    let repo = &context.agent.repo;
    let own = context.thread.short();
    let open = open_branches(&context.agent, Some(&own), &context.cancel).await?;
    let forecast = repo.forecast(&open, &context.cancel).await?;
    let plans = context.poster.control.plans().await?;
    let mut found = Vec::new();
    for branch in open {
        let short = short_of(&branch).unwrap_or_default();
        let mut of_thread = plans.iter().rev().filter(|one| one.thread.short() == short);
        let thread = of_thread.clone().next().map(|one| one.thread.clone());
        let plan = of_thread.find(|one| one.choice != Some(Choice::Reject));
        let plan = plan.map(|one| &one.plan);
        let changed = forecast.branches.iter().filter(|one| one.branch == branch);
        let changed = changed.flat_map(|one| render::names(&one.files));
        let planned = plan.iter().flat_map(|plan| plan.files.iter().cloned());
        let mut both: Vec<String> = changed
            .chain(planned)
            .filter(|file| files.contains(file))
            .collect();
        both.sort();
        both.dedup();
        if !both.is_empty() {
            found.push(Overlap {
                title: plan.map_or_else(|| branch.to_string(), |plan| plan.title.clone()),
                branch,
                thread,
                files: both,
            });
        }
    }
    Ok(found)
}

/// Branches of threads that have a worktree here, but for one of them.
pub(crate) async fn open_branches(
    agent: &Agent,
    but: Option<&str>,
    cancel: &CancellationToken,
) -> Result<Vec<BranchName>, AgentError> {
    let worktrees = agent.repo.list(cancel).await?;
    let knowledge = format!("{BRANCH_PREFIX}knowledge-");
    Ok(worktrees
        .into_iter()
        .map(|worktree| worktree.branch)
        .filter(|branch| but.is_none() || short_of(branch) != but)
        .filter(|branch| !branch.as_str().starts_with(&knowledge))
        .collect())
}

/// What a thread's branch has changed so far.
pub(crate) async fn changed_by(
    context: &ThreadContext,
    branch: &BranchName,
) -> Result<Vec<String>, AgentError> {
    let branch = std::slice::from_ref(branch);
    let forecast = context.agent.repo.forecast(branch, &context.cancel).await?;
    let files = forecast.branches.iter();
    Ok(files.flat_map(|one| render::names(&one.files)).collect())
}

/// What a merge has changed; nothing when that cannot be told, because a notice
/// to others holds up nothing.
pub(crate) async fn changed(context: &ThreadContext, merged: &CommitSha) -> Vec<String> {
    match context.agent.repo.files_of(merged, &context.cancel).await {
        Ok(files) => render::names(&files),
        Err(error) => {
            warn!(%error, %merged, "what the merge changed cannot be told to others");
            Vec::new()
        }
    }
}

/// After a push: the branches that cannot be merged together with this one. Their
/// threads are told, once each.
pub(crate) async fn conflicts(
    context: &ThreadContext,
    worktree: &Worktree,
    title: &str,
) -> Result<Vec<String>, AgentError> {
    let own = context.thread.short();
    let mut branches = open_branches(&context.agent, Some(&own), &context.cancel).await?;
    branches.push(worktree.branch.clone());
    let forecast = context
        .agent
        .repo
        .forecast(&branches, &context.cancel)
        .await?;
    let mine = |clash: &&butler_repo::Clash| {
        clash.one == worktree.branch || clash.other == worktree.branch
    };
    let plans = context.poster.control.plans().await?;
    let mut told = Vec::new();
    for clash in forecast.clashes.iter().filter(mine) {
        let other = if clash.one == worktree.branch {
            &clash.other
        } else {
            &clash.one
        };
        let files = render::as_code(&render::names(&clash.files));
        told.push(format!("conflicts with `{other}` in {files}"));
        let short = short_of(other).unwrap_or_default();
        let mut theirs = plans.iter().filter(|one| one.thread.short() == short);
        if let Some(plan) = theirs.next() {
            tell_of_clash(context, &plan.thread, title, &files).await;
        }
    }
    Ok(told)
}

/// A notice that cannot be posted holds up nothing.
async fn tell_of_clash(context: &ThreadContext, thread: &ThreadId, title: &str, files: &str) {
    let own = context.thread.short();
    let text = format!(
        "“{title}” (thread `{own}`) changes the same lines as this one, in {files}. Whichever is merged second is put on the other; what git cannot settle by itself goes to its Coder."
    );
    let idem = Idem::new(format!("{}-clash-{own}", thread.short()));
    let posted = context.poster.say(thread, idem, &text).await;
    if let Err(error) = posted {
        warn!(%error, %thread, "a thread could not be told of a conflict");
    }
}

/// After a merge: the threads whose files have changed under them are told. A
/// notice that cannot be posted holds up nothing.
pub(crate) async fn tell_others(context: &ThreadContext, what: &str, files: &[String]) {
    let Some(others) = others(context, files)
        .await
        .or_warn("overlapping threads could not be found")
    else {
        return;
    };
    for other in others {
        let Some(thread) = &other.thread else {
            continue;
        };
        let files = render::as_code(&other.files);
        let text = format!(
            "{what} was merged and changed {files}, which this thread touches too. The branch is put on the new default branch when work goes on; the checks then have to run again."
        );
        let idem = Idem::new(format!(
            "{}-rebase-{}",
            thread.short(),
            context.thread.short()
        ));
        let posted = context.poster.say(thread, idem, &text).await;
        if let Err(error) = posted {
            warn!(%error, %thread, "a thread could not be told to rebase");
        }
    }
}
