//! The tool session of one activation: the folder its tools work in, the tools
//! themselves, and what the person has allowed. Opened at the first tool call,
//! given back when the activation ends or sleeps.

use std::{path::PathBuf, sync::Arc};

use butler_policy::{
    Approval, Circumstances, Judgement, Overrides, Refusal, Right, Scope, default_tools, right,
    small_tools,
};
use butler_protocol::{
    Choice, CommitSha, DecisionKind, RequestId, Role, ThreadId, ToolCall, ToolSpec,
};
use butler_repo::{DiffOf, Repo, Undo, Worktree, WorktreeLock};
use butler_tools::{
    Cache, DiffMaker, Executor, Registry, Surroundings, ToolContext, TreeHasher, Watcher, Workplace,
};
use butler_turn::ThreadFold;

use crate::{
    Agent, AgentError, OrWarn, ThreadContext,
    decide::surface,
    develop::stacking::{self, Below},
    listen::shortcut,
    tell::joining,
    thread::{past::ThreadPast, prepare, seeing, worker::attached},
    tools,
};

/// What tool calls of one activation share.
pub(crate) struct ToolSession {
    /// The one way to run a tool.
    pub(crate) executor: Arc<Executor>,
    role: Role,
    thread: ThreadId,
    /// What calls may use.
    pub(crate) tool_context: ToolContext,
    sandboxed: bool,
    plan_approved: bool,
    overrides: Overrides,
    /// Hosts of the web that people of the thread named.
    named_hosts: Vec<String>,
    /// Tools of MCP servers that the role may call.
    outside_tools: Vec<String>,
    /// Whether what was written here is kept beside the branch of code.
    pub(crate) keeps_designs: bool,
    /// Held as long as files may be changed.
    lock: Option<WorktreeLock>,
}

/// Which folder a role's tools work in.
enum Place {
    /// The thread's worktree, to be changed.
    Own(Box<Worktree>),
    /// The head of the pull request, to be checked.
    Review(PathBuf),
    /// Somewhere to look: the worktree, the default branch.
    Look(PathBuf),
    /// Where designs are kept until there is a branch of code.
    Designs(PathBuf),
}

impl ToolSession {
    /// Opens the tool session. Waits for the worktree when another activation holds it.
    pub(crate) async fn open(context: &ThreadContext) -> Result<Self, AgentError> {
        let agent = &context.agent;
        let place = place(context).await?;
        let keeps_designs = matches!(place, Place::Designs(_));
        let reviewed = match &place {
            Place::Review(folder) => {
                let ready = context.facts().review.ready.clone();
                ready.map(|ready| (folder.clone(), ready.head))
            }
            _ => None,
        };
        let (folder, own, prepared) = match place {
            Place::Own(worktree) => {
                let folder = worktree.path.clone();
                (folder, Some(*worktree), Some(prepare::Place::Worktree))
            }
            Place::Review(folder) => (folder, None, Some(prepare::Place::Review)),
            Place::Look(folder) | Place::Designs(folder) => (folder, None, None),
        };
        let lock = match &own {
            Some(worktree) => {
                let lock = worktree.lock().await?;
                catch_up(context, worktree).await;
                Some(lock)
            }
            None => None,
        };
        let past = match right(context.role(), "ProposePlan") {
            Right::No => Vec::new(),
            _ => context.poster.control.plans().await?,
        };
        let thread = &context.thread;
        let ready = match prepared {
            Some(prepare::Place::Review) => {
                let place = prepare::Place::Review;
                Some(prepare::when_needed(agent, thread, &folder, place))
            }
            Some(place) => prepare::begin(agent, thread, &folder, place),
            None => None,
        };
        let checks = agent.rules().checks.clone();
        let around = Surroundings {
            attached: Some(
                attached::folder_of(agent, &thread.short())
                    .folder()
                    .to_owned(),
            ),
            ..surroundings(agent)
        };
        let workplace = Workplace::open(&folder, checks, around)?;
        let mut tool_context = ToolContext::new(Arc::new(workplace), context.cancel.clone())
            .with_sandbox(Arc::clone(&agent.sandbox))
            .with_watcher(Arc::clone(&context.live) as Arc<dyn Watcher>)
            .with_pages(context.pages.clone());
        if context.is_small() {
            tool_context = tool_context.with_result_bytes(tools::small::RESULT_BYTES);
        }
        if let Some(eyes) = seeing::eyes(context) {
            tool_context = tool_context.with_eyes(eyes);
        }
        if let Some(ready) = ready {
            tool_context = tool_context.with_ready(ready);
        }
        if let Some((folder, head)) = reviewed {
            let repo = &agent.repo;
            tool_context = tool_context
                .with_tree(tree_in(repo.clone(), folder))
                .with_diff(change_at(repo.clone(), thread.clone(), head));
        }
        if let Some(worktree) = own {
            if let Some(undo) = Undo::of(&worktree.path, worktree.short()) {
                tool_context = tool_context.with_undo(Arc::new(undo));
            }
            let diff = diff_of(worktree.clone());
            context.live.opened(Arc::clone(&diff));
            tool_context = tool_context
                .with_tree(tree_of(worktree.clone()))
                .with_diff(diff);
            if let Some(past) = ThreadPast::of(agent, worktree) {
                tool_context = tool_context.with_past(Arc::new(past));
            }
        }
        Ok(Self {
            executor: Arc::new(Executor::new(registry(&context.with_past(past)))),
            role: context.role(),
            thread: context.thread.clone(),
            tool_context,
            sandboxed: agent.sandbox.strength().is_whole(),
            plan_approved: plan_approved(context).await?,
            overrides: overrides(context),
            named_hosts: named_hosts(context).await?,
            outside_tools: agent.rules().outside.names(),
            keeps_designs,
            lock,
        })
    }

    /// A session whose tools work in a folder in place: the person's command is the
    /// approval, and there is nobody who could give another one.
    pub(crate) fn in_place(
        (role, thread): (Role, ThreadId),
        executor: Arc<Executor>,
        tool_context: ToolContext,
        sandboxed: bool,
        overrides: Overrides,
        outside_tools: Vec<String>,
    ) -> Self {
        Self {
            executor,
            role,
            thread,
            tool_context,
            sandboxed,
            plan_approved: true,
            overrides,
            named_hosts: Vec::new(),
            outside_tools,
            keeps_designs: false,
            lock: None,
        }
    }

    /// Whether its files are the thread's own branch.
    pub(crate) const fn builds(&self) -> bool {
        self.lock.is_some()
    }

    /// May this call run in its thread?
    pub(crate) fn judge_here(
        &self,
        context: &ThreadContext,
        call: &ToolCall,
        approvals: &[Approval],
    ) -> Judgement {
        match uncommitted(self.role, &call.name) {
            Some(refusal) => Judgement::Refuse(refusal),
            None => self.judge(&context.facts(), call, approvals, context.now_ms()),
        }
    }

    /// May this call run, after what `facts` says was read?
    pub(crate) fn judge(
        &self,
        facts: &ThreadFold,
        call: &ToolCall,
        approvals: &[Approval],
        now_ms: i64,
    ) -> Judgement {
        let outside = &facts.outside;
        let known = [&outside.read_hosts, &outside.found_hosts, &self.named_hosts];
        let known_hosts: Vec<String> = known.into_iter().flatten().cloned().collect();
        let circumstances = Circumstances {
            role: self.role,
            thread: &self.thread,
            plan_approved: self.plan_approved,
            now_ms,
            approvals,
            overrides: &self.overrides,
            root: &self.tool_context.workplace().root().display().to_string(),
            home: butler_sandbox::HOME,
            tainted: facts.outside.taint.is_some(),
            known_hosts: &known_hosts,
            outside_tools: &self.outside_tools,
            sandboxed: self.sandboxed,
        };
        self.executor.judge(call, &circumstances)
    }

    /// Looks for hosts that people named since the tool session was opened.
    pub(crate) async fn look_for_named_hosts(
        &mut self,
        context: &ThreadContext,
    ) -> Result<(), AgentError> {
        self.named_hosts = named_hosts(context).await?;
        Ok(())
    }
}

/// What commands see besides their folder: no keys, no logs.
pub(crate) fn surroundings(agent: &Agent) -> Surroundings {
    Surroundings {
        home: agent.config.person_home.clone(),
        hidden: vec![agent.config.home.clone(), agent.threads()],
        readable: agent.repo.git().common_dir().into_iter().collect(),
        cache: Some(Cache::at(
            agent.config.repo.join(".codebutler/cache"),
            agent.config.client.ca_file.clone(),
        )),
        ca_file: agent.config.client.ca_file.clone(),
        redactor: Some(Arc::new(agent.rules().redactor.clone())),
        ..Surroundings::default()
    }
}

/// The native tools, those that need chat, and those of MCP servers.
fn registry(context: &ThreadContext) -> Registry {
    let mut registry = Registry::native();
    let outside = context.agent.rules().outside.tools();
    for tool in tools::chat_tools(context).into_iter().chain(outside) {
        registry.add(tool);
    }
    registry
}

/// What a role's model is offered.
pub(crate) fn offered(context: &ThreadContext) -> Vec<ToolSpec> {
    offered_for(context, "")
}

/// The same with the tools that a skill names and the role may use: who needs
/// them once need not carry them always.
pub(crate) fn offered_for(context: &ThreadContext, skill: &str) -> Vec<ToolSpec> {
    let registry = registry(context);
    let asked = registry.names().filter(|name| {
        let may = right(context.role(), name) != Right::No;
        may && names(skill, name)
    });
    let small = context.is_small();
    let more: Vec<&str> = asked.chain(also(context, small)).collect();
    let outside = context.agent.rules().outside.offered(small);
    offer(&registry, (context.role(), small), &more, &outside)
}

/// What a role has anyway, more, and what servers have, as its model is told of it.
pub(crate) fn offer(
    registry: &Registry,
    (role, small): (Role, bool),
    more: &[&str],
    outside: &[String],
) -> Vec<ToolSpec> {
    let usual = if small {
        small_tools(role)
    } else {
        default_tools(role)
    };
    let more = more.iter().filter(|name| !usual.contains(name));
    let outside = outside.iter().map(String::as_str);
    let all = usual.iter().chain(more).copied().chain(outside);
    let specs = registry.offered(&all.collect::<Vec<_>>()).into_iter();
    if small {
        return specs.map(tools::small::small_spec).collect();
    }
    specs.collect()
}

/// Tools that only some threads are worth: pictures where people see what changes, and
/// drawing where the repository has chosen somebody who draws.
fn also(context: &ThreadContext, small: bool) -> Vec<&'static str> {
    let rules = context.agent.rules();
    let mut also = Vec::new();
    if surface::is_visible(&context.facts().surface) && !small {
        also.push("Screenshot");
    }
    if rules.models.images.is_some() {
        also.extend(["GenerateImage", "EditImage"]);
    }
    also.retain(|tool| right(context.role(), tool) != Right::No);
    also
}

/// Whether a text names a tool, as in `GHIssue` or `GHIssue(action: view)`.
fn names(text: &str, tool: &str) -> bool {
    let starts = [format!("`{tool}`"), format!("`{tool}(")];
    starts.iter().any(|start| text.contains(start))
}

async fn place(context: &ThreadContext) -> Result<Place, AgentError> {
    let repo = &context.agent.repo;
    let role = context.role();
    if right(role, "RunChecks") == Right::Scoped(Scope::PullRequestHead) {
        let ready = context.facts().review.ready.clone();
        if let Some(ready) = ready {
            let folder = repo
                .review_checkout(&context.thread, &ready.head, &context.cancel)
                .await?;
            return Ok(Place::Review(folder));
        }
    }
    match repo.find(&context.thread).await? {
        Some(worktree) if changes_files(role) => Ok(Place::Own(Box::new(worktree))),
        Some(worktree) => Ok(Place::Look(worktree.path)),
        // The checkout of the default branch is put right at every look.
        None if right(role, "Write") == Right::Scoped(Scope::Artist) => {
            let kept = repo.knowledge(&context.thread, &context.cancel).await?;
            Ok(Place::Designs(kept.path))
        }
        // What is planned on top of another thread's work is planned with it in sight.
        None => match repo.begun_on(&context.thread).await? {
            Some(below) => {
                let shown = repo.review_checkout(&context.thread, &below.at, &context.cancel);
                Ok(Place::Look(shown.await?))
            }
            None => Ok(Place::Look(repo.base(&context.cancel).await?)),
        },
    }
}

/// Takes over what others pushed to the branch, puts a clean one on the newest default
/// branch, or lays out the conflict
/// that this role is to settle. What does not go through
/// (a conflict, uncommitted files, no network) stays as it was.
async fn catch_up(context: &ThreadContext, worktree: &Worktree) {
    let repo = &context.agent.repo;
    let taken_over = async || {
        repo.fetch(&context.cancel).await?;
        worktree.take_over(&context.cancel).await
    };
    match taken_over().await {
        Ok(true) => tracing::info!("what others pushed to the branch is taken over"),
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "what others pushed is not taken over yet"),
    }
    match stacking::below(&context.agent, worktree, &context.cancel).await {
        Ok(Below::Nothing | Below::Merged) => {}
        Ok(_) => return,
        Err(error) => return tracing::warn!(%error, "what the branch stands on is not known"),
    }
    if context.facts().pulls.conflict {
        worktree
            .merge_default(&context.cancel)
            .await
            .or_warn("the default branch could not be merged in");
        return;
    }
    let behind = async || {
        let default = repo.default_ref();
        let call = worktree
            .git()
            .call(["merge-base", "--is-ancestor", &default, "HEAD"]);
        let inside = call.accept(&[0, 1]).run(&context.cancel).await?;
        let clean = worktree.status(&context.cancel).await?.is_clean();
        Ok::<_, butler_repo::Error>(inside.code == 1 && clean)
    };
    match behind().await {
        Ok(false) => {}
        Ok(true) => {
            worktree
                .rebase_on_default(&context.cancel)
                .await
                .or_warn("the branch stays where it is");
        }
        Err(error) => tracing::warn!(%error, "the default branch could not be looked at"),
    }
}

/// The team's memory is written by the runtime, from what a person accepted:
/// whatever a role wrote itself would lie in a checkout that nobody commits.
fn uncommitted(role: Role, tool: &str) -> Option<Refusal> {
    let memory = right(role, tool) == Right::Scoped(Scope::Memory);
    memory.then(|| Refusal {
        rule: format!("nothing commits what {tool} would write here"),
        instead: "propose the text with ProposeLearnings, as a change of its file; what a person \
                  accepts is committed"
            .to_owned(),
    })
}

fn changes_files(role: Role) -> bool {
    right(role, "Write") == Right::Scoped(Scope::Worktree)
}

fn tree_of(worktree: Worktree) -> TreeHasher {
    Arc::new(move |_cancel| {
        let worktree = worktree.clone();
        Box::pin(async move { worktree.tree().await.map_err(|error| error.to_string()) })
    })
}

/// The files of a checkout as they are, so that a receipt of files that a command
/// changed is none of the commit under review.
fn tree_in(repo: Repo, folder: PathBuf) -> TreeHasher {
    Arc::new(move |cancel| {
        let (repo, folder) = (repo.clone(), folder.clone());
        Box::pin(async move {
            let tree = repo.tree_in(&folder, &cancel).await;
            tree.map_err(|error| error.to_string())
        })
    })
}

/// What the thread changed, as it was handed over.
fn change_at(repo: Repo, thread: ThreadId, head: CommitSha) -> DiffMaker {
    Arc::new(move |cancel| {
        let (repo, thread, head) = (repo.clone(), thread.clone(), head.clone());
        Box::pin(async move {
            let changes = repo.changes_of(&thread, &head, &cancel).await;
            let changes = changes.map_err(|error| error.to_string())?;
            Ok(changes.diff)
        })
    })
}

/// What the thread changed, for receipts that show weakened tests.
fn diff_of(worktree: Worktree) -> DiffMaker {
    Arc::new(move |cancel| {
        let worktree = worktree.clone();
        Box::pin(async move {
            let diff = worktree.diff(DiffOf::Thread, &cancel).await;
            diff.map_err(|error| error.to_string())
        })
    })
}

/// The policy in force as this thread meets it. Its pull request is opened once, so
/// a later round of review does not ask for that again.
fn overrides(context: &ThreadContext) -> Overrides {
    let mut overrides = context.agent.rules().overrides.clone();
    overrides.base = context.agent.repo.default_branch().to_string();
    if context.facts().review.rounds > 0 {
        overrides.require_approval.create_pr_to.clear();
    }
    overrides
}

/// The hub's own record decides, and it must be about exactly the plan that
/// this role was given. A person's exact words for a skill that declares that it
/// changes code count as one.
pub(crate) async fn plan_approved(context: &ThreadContext) -> Result<bool, AgentError> {
    if !context.agent.rules().plan_gate {
        return Ok(true);
    }
    let facts = context.facts();
    let Some((request, plan)) = facts.plan() else {
        return Ok(false);
    };
    if let Some(by_words) = shortcut::covers(context, request, plan).await? {
        return Ok(by_words);
    }
    let view = context.poster.control.decision(request).await?;
    Ok(view.decided.is_some_and(|decision| {
        decision.kind == DecisionKind::Plan
            && decision.choice == Choice::Approve
            && decision.thread == context.thread
            && decision.sha256 == plan.sha256()
    }))
}

/// The hosts whose addresses people wrote into the thread, for a role that reads the web.
async fn named_hosts(context: &ThreadContext) -> Result<Vec<String>, AgentError> {
    if right(context.role(), "WebFetch") == Right::No {
        return Ok(Vec::new());
    }
    let messages = context.poster.web.replies(&context.thread).await?;
    Ok(joining::hosts_named(&messages))
}

/// The hub's own record of the click on a card, when it approves.
pub(crate) async fn approval(
    context: &ThreadContext,
    request: &RequestId,
) -> Result<Option<Approval>, AgentError> {
    let view = context.poster.control.decision(request).await?;
    let decision = view.decided;
    let decision = decision.filter(|decision| decision.choice == Choice::Approve);
    Ok(decision.map(|decision| Approval {
        request: request.clone(),
        sha256: decision.sha256,
        thread: decision.thread,
        person: decision.person,
        clicked_at_ms: decision.at_ms,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_asked_for_by_its_name_in_code() {
        assert!(names("Read it with `GHIssue(action: view)`.", "GHIssue"));
        assert!(names("`GHRelease` publishes", "GHRelease"));
        for text in ["GHIssue", "`GHIssues`", "a `Read` of GHIssue"] {
            assert!(!names(text, "GHIssue"), "{text}");
        }
    }

    #[test]
    fn memory_is_never_written_where_nothing_commits_it() {
        let refused = uncommitted(Role::Lead, "Edit").unwrap().to_string();
        assert!(refused.contains("ProposeLearnings"), "{refused}");
        assert!(uncommitted(Role::Lead, "Write").is_some());
        for role in Role::ALL {
            for tool in default_tools(role) {
                assert_eq!(uncommitted(role, tool), None, "{role} is offered {tool}");
            }
        }
    }
}
