//! A scratch folder with a tool context in it, and a way to call tools as a role.

use std::{path::PathBuf, sync::Arc};

use butler_policy::{Approval, Circumstances, Judgement, Overrides, Permit};
use butler_protocol::{CallId, RequestId, Role, ThreadId, ToolCall, ToolOutcome, UserId};
use butler_tools::{Check, Executor, Registry, Surroundings, ToolContext, Workplace};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A root inside a scratch folder, so that there is an outside that is ours.
pub(crate) struct Fixture {
    pub scratch: TempDir,
    pub root: PathBuf,
    pub executor: Executor,
    /// Whether the sandbox is whole.
    pub sandboxed: bool,
    /// Tools that are not native and that everybody may call.
    pub outside_tools: Vec<String>,
    pub context: ToolContext,
}

pub(crate) fn thread() -> ThreadId {
    "C1/1700000000.000100".parse().unwrap()
}

pub(crate) fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: CallId::new(format!("call-{tool}")),
        name: tool.to_owned(),
        arguments,
        problem: None,
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with_checks(Vec::new())
    }

    pub(crate) fn with_checks(checks: Vec<Check>) -> Self {
        Self::made(checks, |_| ())
    }

    /// With other surroundings than the usual.
    pub(crate) fn surrounded(change: impl FnOnce(&mut Surroundings)) -> Self {
        Self::made(Vec::new(), change)
    }

    fn made(checks: Vec<Check>, change: impl FnOnce(&mut Surroundings)) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let mut surroundings = Surroundings {
            home: scratch.path().join("person"),
            ..Surroundings::default()
        };
        change(&mut surroundings);
        let place = Workplace::open(&root, checks, surroundings).unwrap();
        Self {
            root: place.root().to_owned(),
            context: ToolContext::new(Arc::new(place), CancellationToken::new()),
            executor: Executor::new(Registry::native()),
            sandboxed: true,
            outside_tools: Vec::new(),
            scratch,
        }
    }

    /// With the real sandbox of this machine.
    pub(crate) fn with_sandbox(checks: Vec<Check>) -> Self {
        let mut fixture = Self::with_checks(checks);
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_butler-tools-sandbox"));
        let sandbox = butler_sandbox::Sandbox::new(helper).unwrap();
        fixture.context = fixture.context.with_sandbox(Arc::new(sandbox));
        fixture
    }

    /// The same with other surroundings than the usual.
    pub(crate) fn sandboxed_with(change: impl FnOnce(&mut Surroundings)) -> Self {
        let mut fixture = Self::surrounded(change);
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_butler-tools-sandbox"));
        let sandbox = butler_sandbox::Sandbox::new(helper).unwrap();
        fixture.context = fixture.context.with_sandbox(Arc::new(sandbox));
        fixture
    }

    /// As on a kernel with less to confine with.
    pub(crate) fn with_weaker_sandbox(
        weaken: impl FnOnce(butler_sandbox::Sandbox) -> butler_sandbox::Sandbox,
    ) -> Self {
        let mut fixture = Self::with_checks(Vec::new());
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_butler-tools-sandbox"));
        let sandbox = weaken(butler_sandbox::Sandbox::new(helper).unwrap());
        fixture.sandboxed = sandbox.strength().is_whole();
        fixture.context = fixture.context.with_sandbox(Arc::new(sandbox));
        fixture
    }

    /// In a folder that is there already, with git in the sandbox.
    pub(crate) fn at(root: &std::path::Path) -> Self {
        butler_repo::confine_with(env!("CARGO_BIN_EXE_butler-tools-sandbox").into());
        let place = Workplace::open(root, Vec::new(), Surroundings::default()).unwrap();
        Self {
            root: place.root().to_owned(),
            context: ToolContext::new(Arc::new(place), CancellationToken::new()),
            executor: Executor::new(Registry::native()),
            sandboxed: true,
            outside_tools: Vec::new(),
            scratch: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// A file next to the root.
    pub(crate) fn outside(&self, name: &str, content: &str) -> PathBuf {
        let path = self.scratch.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn judge(&self, role: Role, call: &ToolCall) -> Judgement {
        self.judge_with(role, call, &[])
    }

    fn judge_with(&self, role: Role, call: &ToolCall, approvals: &[Approval]) -> Judgement {
        let overrides = Overrides::default();
        let thread = thread();
        self.executor.judge(
            call,
            &Circumstances {
                role,
                thread: &thread,
                plan_approved: true,
                now_ms: 0,
                approvals,
                overrides: &overrides,
                root: self.root.to_str().unwrap(),
                home: "/home/you",
                tainted: false,
                known_hosts: &[],
                outside_tools: &self.outside_tools,
                sandboxed: self.sandboxed,
            },
        )
    }

    /// The judgement when a person approves whatever asks.
    fn approved(&self, role: Role, call: &ToolCall) -> Judgement {
        match self.judge(role, call) {
            Judgement::Ask(question) => {
                let click = Approval {
                    request: RequestId::new("abc123"),
                    sha256: question.subject.sha256(),
                    thread: thread(),
                    person: UserId::new("you"),
                    clicked_at_ms: 0,
                };
                self.judge_with(role, call, &[click])
            }
            judgement => judgement,
        }
    }

    pub(crate) fn permit(&self, role: Role, call: &ToolCall) -> Permit {
        match self.approved(role, call) {
            Judgement::Run(permit) => permit,
            other => panic!("{} was not permitted: {other:?}", call.name),
        }
    }

    /// Judges and runs, as the driver does, with a person who approves.
    pub(crate) async fn call_as(&self, role: Role, tool: &str, arguments: Value) -> ToolOutcome {
        let call = call(tool, arguments);
        match self.approved(role, &call) {
            Judgement::Run(permit) => self.executor.run(&call, permit, &self.context).await,
            Judgement::Refuse(refusal) => ToolOutcome::error(refusal.to_string()),
            Judgement::Ask(question) => panic!("{tool} asks twice: {}", question.reason),
        }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutcome {
        self.call_as(Role::Coder, tool, arguments).await
    }
}
