//! The words of a judgement: permit, question, refusal.
//!
//! A [`Permit`] has private fields and no public maker, so the compiler checks
//! that every call that runs was judged. It is used up by the run it allows and
//! cannot be copied.

use std::fmt;

use butler_protocol::{Call, CallId, RequestId, Role, Sha256Hex, ThreadId, Tier, UserId};

use crate::{Overrides, Scope};

/// How long a click counts.
pub(crate) const APPROVAL_MINUTES: i64 = 30;

/// How far the clocks of hub and agent may disagree before a click from the
/// future is ignored. A clock set back must not lengthen an approval.
const CLOCK_SKEW_MS: i64 = 60_000;

/// The right to run one call, once.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    pub(crate) tool: String,
    pub(crate) call: CallId,
    pub(crate) tier: Tier,
    pub(crate) scope: Option<Scope>,
    pub(crate) network: bool,
    pub(crate) unconfined: bool,
    pub(crate) must_save: bool,
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) approval: Option<RequestId>,
}

impl Permit {
    /// The tool it is for.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The call it is for.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// How far the call reaches.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The limits that the tool must apply, if the role has any.
    pub fn scope(&self) -> Option<Scope> {
        self.scope
    }

    /// Whether the sandbox opens the network for this call.
    pub fn network(&self) -> bool {
        self.network
    }

    /// Whether the call may run where nothing confines it: a person approved it
    /// knowing that, or agreed to it for all.
    pub fn unconfined(&self) -> bool {
        self.unconfined
    }

    /// Whether it holds only if the files are saved before: nobody was asked, because
    /// it can be undone.
    pub fn must_save(&self) -> bool {
        self.must_save
    }

    /// The hosts that a fetch stays on, redirects included, as [`host_of`] spells
    /// them; `None` is the whole web.
    ///
    /// [`host_of`]: crate::host_of
    pub fn hosts(&self) -> Option<&[String]> {
        self.hosts.as_deref()
    }

    /// The approval that this permit uses up. The caller records its use before
    /// the call starts and never offers it again.
    pub fn approval(&self) -> Option<&RequestId> {
        self.approval.as_ref()
    }
}

/// Everything besides the call that a judgement depends on.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    pub role: Role,
    pub thread: &'a ThreadId,
    /// Whether a person approved this thread's plan (or the plan gate is open
    /// for another reason of the design; the caller knows).
    pub plan_approved: bool,
    pub now_ms: i64,
    /// Approvals of this thread that were not used yet.
    pub approvals: &'a [Approval],
    /// What the policy in force changes.
    pub overrides: &'a Overrides,
    pub root: &'a str,
    /// The home directory that commands see.
    pub home: &'a str,
    /// Whether text from outside is in the activation's context.
    pub tainted: bool,
    /// Hosts that people of the thread named, or that were read here before, as
    /// [`host_of`](crate::host_of) spells them.
    pub known_hosts: &'a [String],
    /// The tools of MCP servers that a person accepted for this role, by the names
    /// that a model calls.
    pub outside_tools: &'a [String],
    /// Whether the kernel confines what runs, whole: the weaker confinement does not count.
    pub sandboxed: bool,
}

/// A person's click, from the hub's decision record. Valid once, for
/// [`APPROVAL_MINUTES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub request: RequestId,
    /// The hash of what was shown.
    pub sha256: Sha256Hex,
    pub thread: ThreadId,
    pub person: UserId,
    pub clicked_at_ms: i64,
}

impl Approval {
    /// Whether this click covers that subject, here and now.
    pub fn covers(&self, sha256: &Sha256Hex, thread: &ThreadId, now_ms: i64) -> bool {
        let age = now_ms.saturating_sub(self.clicked_at_ms);
        self.sha256 == *sha256
            && self.thread == *thread
            && (-CLOCK_SKEW_MS..=APPROVAL_MINUTES * 60_000).contains(&age)
    }
}

/// What happens with a call.
#[derive(Debug, PartialEq)]
pub enum Judgement {
    Run(Permit),
    /// A person is asked first.
    Ask(Question),
    /// It does not happen; the model is told.
    Refuse(Refusal),
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub tier: Tier,
    /// Why it asks, in a sentence.
    pub reason: String,
    /// The part of a command that caused it.
    pub part: Option<String>,
    /// Exactly what would happen; an approval must carry its hash.
    pub subject: Call,
}

/// Why a call does not happen. Displays as one line for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub rule: String,
    pub instead: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}; {}", self.rule, self.instead)
    }
}
