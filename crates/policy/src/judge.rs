//! The one function that every call passes.
//!
//! In order: the role's right, the plan gate, how far the call reaches, whether
//! a person must click, and whether one did. The worst of all findings counts;
//! nothing that allows ends the search early.
//!
//! **Plan gate.** Until a plan is approved the Coder may read, think and talk:
//! locked are the tools that change the worktree or run its code (Write, Edit,
//! Bash, RunChecks, Screenshot), and tools of MCP servers that are not marked as read-only. Bash is locked as a whole: there are reading tools for reading.
//!
//! **Taint.** With text from outside in its context an activation stays in its
//! own thread and branch: what others see elsewhere, what the team will remember,
//! and a host of the web that nobody named, ask first.

use butler_protocol::{Call, Role, Script, Tier, ToolCall, among};

use crate::{
    Circumstances, Judgement, McpApproval, Permit, Question, Refusal, Right, RiskContext, Scope,
    assess, host_of, right, web_hosts::host_named,
};

/// Coder tools that wait for an approved plan.
const BEHIND_THE_PLAN: [&str; 5] = ["Write", "Edit", "Bash", "RunChecks", "Screenshot"];

/// Visible, but within the activation's own thread and branch.
const AT_HOME: &str = "GenerateImage EditImage SendMessage AskUser HandOver Research Start ProposePlan \
    ProposeLearnings ProposeMerge ChangeRoadmap Develop LearnRepo SaveMap Checklist";

/// Looks among descriptions that are on this machine already.
const FIND_TOOLS: &str = "FindTools";
/// Asks the engine that a person chose for this machine.
const WEB_SEARCH: &str = "WebSearch";

/// Decides about one call.
///
/// `base_tier` is what the tool declares; Bash is assessed by its command
/// instead. `scripts` finds the repo files that the command names, with the
/// hashes of their content: they are part of what an approval binds, and looked
/// for only when a person has to be asked.
pub fn judge(
    call: &ToolCall,
    base_tier: Tier,
    scripts: impl FnOnce() -> Vec<(String, butler_protocol::Sha256Hex)>,
    c: &Circumstances<'_>,
) -> Judgement {
    let weighed = || {
        let scope = permitted_scope(call, base_tier, c)?;
        let weight = confined(scope, weigh(call, base_tier, c)?)?;
        match weight.pushes && c.sandboxed {
            true => Err(no_push()),
            false => Ok((scope, weight)),
        }
    };
    match weighed() {
        Err(refusal) => Judgement::Refuse(refusal),
        Ok((scope, weight)) => decide(call, scope, weight, scripts, c),
    }
}

/// How heavy a call is.
struct Weight {
    tier: Tier,
    /// Whether it is a command of the role's own.
    command: bool,
    /// Why a person is asked, if one is.
    ask: Option<String>,
    part: Option<String>,
    /// Whether an approval opens the network.
    network: bool,
    /// Whether it pushes from the worktree.
    pushes: bool,
    /// Whether it runs only when the files were saved.
    must_save: bool,
    /// The hosts that a fetch stays on.
    hosts: Option<Vec<String>>,
}

/// Right of the role, then the plan gate.
fn permitted_scope(
    call: &ToolCall,
    base_tier: Tier,
    c: &Circumstances<'_>,
) -> Result<Option<Scope>, Refusal> {
    if let Some(problem) = &call.problem {
        return Err(refusal(problem, "send the call again with valid arguments"));
    }
    let outside = c.outside_tools.contains(&call.name);
    let scope = match right(c.role, &call.name) {
        Right::No if outside => None,
        Right::No => {
            return Err(refusal(
                format!("{} may not use {}", c.role.title(), call.name),
                "use one of the tools you were offered, or hand over to the role that may",
            ));
        }
        Right::Yes => None,
        Right::Scoped(scope) => Some(scope),
    };
    let locked =
        BEHIND_THE_PLAN.contains(&call.name.as_str()) || (outside && base_tier > Tier::Read);
    if c.role == Role::Coder && locked && !c.plan_approved {
        return Err(refusal(
            format!("{} waits until a person has approved the plan", call.name),
            "read and ask until then; the PM proposes the plan",
        ));
    }
    Ok(scope)
}

fn weigh(call: &ToolCall, base_tier: Tier, c: &Circumstances<'_>) -> Result<Weight, Refusal> {
    if call.name == "Bash" {
        return weigh_bash(call, c);
    }
    if call.name == "Screenshot"
        && let Some(serve) = command_of(call)
    {
        return weigh_server(serve, c);
    }
    let hosts = hosts(call, c);
    let name = call.name.as_str();
    let runs = matches!(name, "RunChecks" | "Screenshot");
    let ask = destination(call, c)
        .or_else(|| of_a_server(call, base_tier, c))
        .or_else(|| taint(call, base_tier, c))
        .or_else(|| new_host(call, hosts.as_deref()?))
        .or_else(|| weak_sandbox(c).filter(|_| runs))
        .or_else(|| (base_tier == Tier::Destructive).then(|| format!("{name} is destructive")));
    Ok(Weight {
        tier: base_tier,
        command: false,
        ask,
        part: None,
        network: false,
        pushes: false,
        must_save: false,
        hosts: hosts.map(|mut hosts| {
            hosts.extend(host_in(call));
            hosts
        }),
    })
}

/// The shell command that a call runs, if it runs one of its own.
pub fn command_of(call: &ToolCall) -> Option<&str> {
    let field = match call.name.as_str() {
        "Bash" => "command",
        "Screenshot" => "serve",
        _ => return None,
    };
    let command = call.arguments.get(field)?.as_str()?;
    (call.name == "Bash" || !command.trim().is_empty()).then_some(command)
}

/// What serves a page is a command like any other, and never has the network.
fn weigh_server(command: &str, c: &Circumstances<'_>) -> Result<Weight, Refusal> {
    if right(c.role, "Bash") == Right::No {
        return Err(refusal(
            format!("{} runs no commands", c.role.title()),
            "take a picture of a page that is a file, or look at the Coder's",
        ));
    }
    let weight = weigh_command(command, c);
    if weight.network {
        return Err(refusal(
            "what serves a page for a picture has no network",
            "install what it needs with Bash first",
        ));
    }
    Ok(weight)
}

fn weigh_bash(call: &ToolCall, c: &Circumstances<'_>) -> Result<Weight, Refusal> {
    let wrong = || {
        refusal(
            "Bash needs `command`, a string",
            "send the call again with it",
        )
    };
    let command = command_of(call).ok_or_else(wrong)?;
    Ok(weigh_command(command, c))
}

fn weigh_command(command: &str, c: &Circumstances<'_>) -> Weight {
    let context = RiskContext {
        cwd: c.root,
        root: c.root,
        home: c.home,
        overrides: c.overrides,
    };
    let assessment = assess(command, &context);
    let must_save = assessment.undoable && c.overrides.undoable && c.sandboxed;
    let mut part = assessment.part;
    let ask = if assessment.tier == Tier::Destructive && !must_save {
        Some(assessment.reason)
    } else if let Some(reason) = weak_sandbox(c) {
        Some(reason)
    } else if c.tainted && assessment.tier == Tier::WriteVisible {
        let reason = assessment.reason;
        Some(format!("{reason}, and text from outside is in the context"))
    } else if assessment.network && c.sandboxed {
        // Without it the command could only fail.
        part = assessment.network_part;
        Some("it needs the network, which commands have only with a click".to_owned())
    } else {
        None
    };
    Weight {
        tier: assessment.tier,
        command: true,
        ask,
        part,
        network: assessment.network,
        pushes: assessment.pushes,
        must_save,
        hosts: None,
    }
}

/// A person asked about a push would be asked in vain: the sandbox holds no
/// credentials, and git's own folder is read-only there.
fn no_push() -> Refusal {
    refusal(
        "commands cannot commit or push: they see git's own folder read-only, and no credentials",
        "leave your changes as files: the hand-over, or the person who started you, commits and pushes them",
    )
}

/// Whoever reviews tries things out in a checkout of their own, which is put right
/// afterwards: what would need a person's word is not for that, and nothing has to
/// be saved.
fn confined(scope: Option<Scope>, weight: Weight) -> Result<Weight, Refusal> {
    if scope != Some(Scope::PullRequestHead) || !weight.command {
        return Ok(weight);
    }
    match weight.ask {
        Some(reason) => Err(refusal(
            format!("in a review no command asks a person: {reason}"),
            "try what needs neither the network nor a click, or ask for it in a finding",
        )),
        None => Ok(Weight {
            must_save: false,
            ..weight
        }),
    }
}

/// Without the whole sandbox every command asks, unless a person on this machine agreed
/// to do without.
fn weak_sandbox(c: &Circumstances<'_>) -> Option<String> {
    (!c.sandboxed && !c.overrides.accept_weaker)
        .then(|| "this machine cannot confine commands fully, so each one asks".to_owned())
}

/// Calls that ask by where they go, whatever their tier.
fn destination(call: &ToolCall, c: &Circumstances<'_>) -> Option<String> {
    let kind = call.arguments.get("kind").and_then(|kind| kind.as_str());
    match call.name.as_str() {
        "GHRelease" => Some("a release needs a person's word".to_owned()),
        // The runtime opens the pull request when its first review begins.
        "HandOver" if kind == Some("ready_for_review") && c.overrides.asks_for_pull() => Some(
            format!("a pull request to `{}` needs approval", c.overrides.base),
        ),
        _ => None,
    }
}

/// What the policy says about tools of MCP servers.
fn of_a_server(call: &ToolCall, base_tier: Tier, c: &Circumstances<'_>) -> Option<String> {
    let asks = match c.overrides.mcp {
        McpApproval::Never => false,
        McpApproval::Writes => base_tier > Tier::Read,
        McpApproval::Always => true,
    };
    let free = [FIND_TOOLS, WEB_SEARCH].contains(&call.name.as_str());
    let asks = asks && c.outside_tools.contains(&call.name) && !free;
    asks.then(|| "the policy wants tools of MCP servers approved".to_owned())
}

fn taint(call: &ToolCall, base_tier: Tier, c: &Circumstances<'_>) -> Option<String> {
    if !c.tainted {
        return None;
    }
    let name = call.name.as_str();
    // Text from outside must not get unseen into what the team remembers.
    let writes_memory = matches!(name, "ProposeLearnings" | "ChangeRoadmap" | "SaveMap")
        || (matches!(name, "Write" | "Edit")
            && right(c.role, name) == Right::Scoped(Scope::Memory));
    let abroad = base_tier >= Tier::WriteVisible && !among(AT_HOME, name);
    (writes_memory || abroad)
        .then(|| format!("text from outside is in the context, so {name} asks"))
}

/// The hosts that a fetch may read without a click, once text from outside could
/// have chosen the address; `None` where it could not.
fn hosts(call: &ToolCall, c: &Circumstances<'_>) -> Option<Vec<String>> {
    let limited = c.tainted && call.name == "WebFetch";
    let agreed = c.overrides.web_hosts.iter();
    let agreed = agreed.filter_map(|name| host_named(name));
    limited.then(|| agreed.chain(c.known_hosts.iter().cloned()).collect())
}

fn host_in(call: &ToolCall) -> Option<String> {
    host_of(call.arguments.get("url")?.as_str()?)
}

/// An address without a host is the tool's to refuse.
fn new_host(call: &ToolCall, known: &[String]) -> Option<String> {
    let host = host_in(call).filter(|host| !known.contains(host))?;
    Some(format!(
        "text from outside is in the context, and nobody named the host `{host}`"
    ))
}

fn decide(
    call: &ToolCall,
    scope: Option<Scope>,
    weight: Weight,
    scripts: impl FnOnce() -> Vec<(String, butler_protocol::Sha256Hex)>,
    c: &Circumstances<'_>,
) -> Judgement {
    let permit = |approval, network| {
        Judgement::Run(Permit {
            tool: call.name.clone(),
            call: call.id.clone(),
            tier: weight.tier,
            scope,
            network,
            // Whoever is asked is told so; see `weak_sandbox`.
            unconfined: !c.sandboxed,
            must_save: weight.must_save,
            hosts: weight.hosts.clone(),
            approval,
        })
    };
    let Some(reason) = weight.ask else {
        return permit(None, false);
    };
    let script = |(path, sha256)| Script { path, sha256 };
    let subject = Call {
        arguments: call.arguments.clone(),
        network: weight.network,
        role: c.role,
        root: c.root.to_owned(),
        scripts: scripts().into_iter().map(script).collect(),
        thread: c.thread.clone(),
        tool: call.name.clone(),
    }
    .in_order();
    let sha256 = subject.sha256();
    let mut clicks = c.approvals.iter();
    match clicks.find(|click| click.covers(&sha256, c.thread, c.now_ms)) {
        Some(click) => permit(Some(click.request.clone()), weight.network),
        None => Judgement::Ask(Question {
            tier: weight.tier,
            reason,
            part: weight.part,
            subject,
        }),
    }
}

fn refusal(rule: impl Into<String>, instead: &str) -> Refusal {
    let (rule, instead) = (rule.into(), instead.to_owned());
    Refusal { rule, instead }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
