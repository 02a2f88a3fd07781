//! Every way a call can go.

use butler_protocol::{CallId, RequestId, Sha256Hex, ThreadId, UserId};
use serde_json::json;

use super::*;
use crate::{Approval, Overrides, permit::APPROVAL_MINUTES};

const NOW: i64 = 1_700_000_000_000;

/// With the scripts found already.
fn judge(
    call: &ToolCall,
    tier: Tier,
    scripts: &[(String, Sha256Hex)],
    c: &Circumstances<'_>,
) -> Judgement {
    super::judge(call, tier, || scripts.to_vec(), c)
}

struct Setting {
    thread: ThreadId,
    overrides: Overrides,
    approvals: Vec<Approval>,
}

impl Setting {
    fn new() -> Self {
        Self {
            thread: "C1/1700000000.000100".parse().unwrap(),
            overrides: Overrides::default(),
            approvals: Vec::new(),
        }
    }

    fn circumstances(&self, role: Role) -> Circumstances<'_> {
        Circumstances {
            role,
            thread: &self.thread,
            plan_approved: true,
            now_ms: NOW,
            approvals: &self.approvals,
            overrides: &self.overrides,
            root: "/work/repo",
            home: "/home/you",
            tainted: false,
            known_hosts: &[],
            outside_tools: &[],
            sandboxed: true,
        }
    }

    fn approve(&mut self, question: &Question) {
        self.approvals.push(Approval {
            request: RequestId::new("k3m9qa"),
            sha256: question.subject.sha256(),
            thread: self.thread.clone(),
            person: UserId::new("U1"),
            clicked_at_ms: NOW,
        });
    }
}

fn call(name: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall {
        id: CallId::new("abcdefghi"),
        name: name.to_owned(),
        arguments,
        problem: None,
    }
}

fn bash(command: &str) -> ToolCall {
    call("Bash", json!({"command": command}))
}

fn asked(judgement: Judgement) -> Question {
    match judgement {
        Judgement::Ask(question) => question,
        other => panic!("{other:?}"),
    }
}

fn ran(judgement: Judgement) -> Permit {
    match judgement {
        Judgement::Run(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn refused(judgement: Judgement) -> Refusal {
    match judgement {
        Judgement::Refuse(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_permit_names_what_it_is_for() {
    let setting = Setting::new();
    let c = setting.circumstances(Role::Coder);
    let looks = || -> Vec<_> { panic!("nobody is asked, so nobody needs the scripts") };
    let permit = ran(super::judge(
        &bash("cargo test"),
        Tier::WriteLocal,
        looks,
        &c,
    ));
    assert_eq!(
        (permit.tool(), permit.call().as_str()),
        ("Bash", "abcdefghi")
    );
    assert_eq!(permit.tier(), Tier::WriteLocal);
    assert_eq!(permit.scope(), Some(Scope::Worktree));
    assert!(!permit.network() && permit.approval().is_none());
}

#[test]
fn a_role_without_the_right_is_told_so() {
    let setting = Setting::new();
    for (role, tool) in [
        (Role::Pm, "Bash"),
        (Role::Reviewer, "Write"),
        (Role::Researcher, "Bash"),
        (Role::Coder, "GHRelease"),
        (Role::Coder, "NoSuchTool"),
        (Role::Coder, "mcp__files__read"),
    ] {
        let c = setting.circumstances(role);
        let line = refused(judge(&call(tool, json!({})), Tier::Read, &[], &c)).to_string();
        assert!(line.contains(tool) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn before_the_plan_the_coder_reads_and_talks() {
    let setting = Setting::new();
    let mut c = setting.circumstances(Role::Coder);
    c.plan_approved = false;
    for tool in BEHIND_THE_PLAN {
        let call = call(tool, json!({"command": "ls"}));
        let refusal = refused(judge(&call, Tier::WriteLocal, &[], &c));
        assert!(refusal.rule.contains("plan"), "{tool}: {refusal}");
    }
    for tool in ["Read", "Grep", "Glob", "GitLog"] {
        ran(judge(&call(tool, json!({})), Tier::Read, &[], &c));
    }
    for tool in ["SendMessage", "AskUser", "HandOver", "Research"] {
        ran(judge(&call(tool, json!({})), Tier::WriteVisible, &[], &c));
    }
    let mut lead = setting.circumstances(Role::Lead);
    lead.plan_approved = false;
    ran(judge(
        &call("Edit", json!({})),
        Tier::WriteLocal,
        &[],
        &lead,
    ));
}

#[test]
fn a_destructive_command_runs_once_a_person_has_clicked() {
    let mut setting = Setting::new();
    let command = bash("npm install left-pad");
    let question = asked(judge(
        &command,
        Tier::WriteLocal,
        &[],
        &setting.circumstances(Role::Coder),
    ));
    assert_eq!(question.tier, Tier::Destructive);
    assert_eq!(question.part.as_deref(), Some("npm install left-pad"));
    assert_eq!(
        question.subject.arguments["command"],
        "npm install left-pad"
    );
    setting.approve(&question);
    let permit = ran(judge(
        &command,
        Tier::WriteLocal,
        &[],
        &setting.circumstances(Role::Coder),
    ));
    assert_eq!(permit.approval(), Some(&RequestId::new("k3m9qa")));
    assert!(permit.network());
    assert_eq!(permit.tier(), Tier::Destructive);
}

#[test]
fn an_approval_of_a_removal_does_not_open_the_network() {
    let mut setting = Setting::new();
    let command = bash("rm -rf src");
    let question = asked(judge(
        &command,
        Tier::WriteLocal,
        &[],
        &setting.circumstances(Role::Coder),
    ));
    assert!(!question.subject.network);
    setting.approve(&question);
    let permit = ran(judge(
        &command,
        Tier::WriteLocal,
        &[],
        &setting.circumstances(Role::Coder),
    ));
    assert!(!permit.network());
}

#[test]
fn what_needs_the_network_asks_for_it_whatever_its_tier() {
    let mut setting = Setting::new();
    let judged = |setting: &Setting, command: &str| {
        let c = setting.circumstances(Role::Coder);
        judge(&bash(command), Tier::WriteLocal, &[], &c)
    };
    for (command, part) in [
        ("kubectl get pods", "kubectl get pods"),
        (
            "cargo build && curl -s https://x.example/a",
            "curl -s https://x.example/a",
        ),
        ("gh pr view 1", "gh pr view 1"),
        ("git fetch origin", "git fetch origin"),
    ] {
        let question = asked(judged(&setting, command));
        assert!(question.tier < Tier::Destructive, "{command}");
        assert!(question.reason.contains("needs the network"), "{command}");
        assert_eq!(question.part.as_deref(), Some(part));
        assert!(question.subject.network);
        setting.approve(&question);
        assert!(ran(judged(&setting, command)).network(), "{command}");
    }
    for command in [
        "curl -s localhost:3000/health",
        "terraform fmt",
        "docker ps",
        "cargo test",
    ] {
        assert!(!ran(judged(&setting, command)).network(), "{command}");
    }
}

#[test]
fn nobody_is_asked_about_a_push_that_the_sandbox_cannot_do() {
    let setting = Setting::new();
    let c = setting.circumstances(Role::Coder);
    let judged =
        |command: &str, c: &Circumstances<'_>| judge(&bash(command), Tier::WriteLocal, &[], c);
    for command in [
        "git push",
        "git add -A && git commit -m 'fix' && git push -u origin HEAD",
        "git push --force",
        "(cd src && git push)",
    ] {
        let refusal = refused(judged(command, &c));
        assert!(refusal.rule.contains("cannot commit or push"), "{command}");
        assert!(refusal.instead.contains("leave your changes as files"));
    }
    // Somewhere else it is a command like any other.
    asked(judged("cd /tmp/scratch && git push", &c));
    ran(judged("git push --help", &c));
    // Without a sandbox an approved one runs as the person would run it.
    let bare = Circumstances {
        sandboxed: false,
        ..setting.circumstances(Role::Coder)
    };
    asked(judged("git push", &bare));
}

#[test]
fn an_approval_is_void_when_anything_changed() {
    let mut setting = Setting::new();
    let script = |text: &str| vec![("deploy.sh".to_owned(), Sha256Hex::of(text))];
    let command = bash("./deploy.sh");
    let question = asked(judge(
        &command,
        Tier::WriteLocal,
        &script("a"),
        &setting.circumstances(Role::Coder),
    ));
    setting.approve(&question);
    let c = setting.circumstances(Role::Coder);
    ran(judge(&command, Tier::WriteLocal, &script("a"), &c));
    asked(judge(
        &bash("./deploy.sh "),
        Tier::WriteLocal,
        &script("a"),
        &c,
    ));
    asked(judge(&command, Tier::WriteLocal, &script("b"), &c));
    asked(judge(&command, Tier::WriteLocal, &[], &c));
    let elsewhere: ThreadId = "C1/1700000009.000100".parse().unwrap();
    let mut moved = c;
    moved.thread = &elsewhere;
    asked(judge(&command, Tier::WriteLocal, &script("a"), &moved));
    let mut late = c;
    late.now_ms = NOW + APPROVAL_MINUTES * 60_000 + 1;
    asked(judge(&command, Tier::WriteLocal, &script("a"), &late));
    let mut back = c;
    back.now_ms = NOW - 3_600_000;
    asked(judge(&command, Tier::WriteLocal, &script("a"), &back));
}

/// After the click the model is told, and makes the same call again.
#[test]
fn an_approval_covers_the_same_call_made_again() {
    let mut setting = Setting::new();
    let question = asked(judge(
        &bash("rm -rf src"),
        Tier::WriteLocal,
        &[],
        &setting.circumstances(Role::Coder),
    ));
    setting.approve(&question);
    let again = ToolCall {
        id: CallId::new("zzzzzzzzz"),
        ..bash("rm -rf src")
    };
    let c = setting.circumstances(Role::Coder);
    let permit = ran(judge(&again, Tier::WriteLocal, &[], &c));
    assert_eq!(permit.call(), &again.id);
    assert!(permit.approval().is_some());
}

#[test]
fn the_order_of_arguments_does_not_matter_for_the_hash() {
    let setting = Setting::new();
    let c = setting.circumstances(Role::Pm);
    let one = call("GHRelease", json!({"tag": 1, "how": {"a": 1, "b": 2}}));
    let two = call("GHRelease", json!({"how": {"b": 2, "a": 1}, "tag": 1}));
    let hash = |call| {
        asked(judge(call, Tier::WriteVisible, &[], &c))
            .subject
            .sha256()
    };
    assert_eq!(hash(&one), hash(&two));
}

#[test]
fn without_a_sandbox_every_command_asks() {
    let setting = Setting::new();
    let mut c = setting.circumstances(Role::Coder);
    c.sandboxed = false;
    let question = asked(judge(&bash("ls"), Tier::WriteLocal, &[], &c));
    assert!(question.reason.contains("cannot confine"));
    let checks = ToolCall {
        name: "RunChecks".to_owned(),
        arguments: json!({}),
        ..bash("")
    };
    asked(judge(&checks, Tier::WriteLocal, &[], &c));
    // By somebody's word on this machine none asks, but for what asks anyway.
    let accepted = Overrides {
        accept_weaker: true,
        ..Overrides::default()
    };
    c.overrides = &accepted;
    for call in [bash("ls"), checks] {
        let Judgement::Run(permit) = judge(&call, Tier::WriteLocal, &[], &c) else {
            panic!("{call:?} asks");
        };
        assert!(permit.unconfined());
    }
    asked(judge(&bash("sudo ls"), Tier::WriteLocal, &[], &c));
}

#[test]
fn what_can_be_undone_needs_no_click_where_that_was_agreed_to() {
    let mut setting = Setting::new();
    let undoable = [
        "rm -rf src",
        "find . -name '*.rs' -delete",
        "shred -u notes.txt",
    ];
    let others = [
        "rm -rf ~/x",
        "rm -rf .git",
        "npm publish",
        "rm -rf src && sudo ls",
    ];
    for command in undoable.iter().chain(&others) {
        asked(judge(
            &bash(command),
            Tier::WriteLocal,
            &[],
            &setting.circumstances(Role::Coder),
        ));
    }
    setting.overrides.undoable = true;
    let c = setting.circumstances(Role::Coder);
    for command in undoable {
        let Judgement::Run(permit) = judge(&bash(command), Tier::WriteLocal, &[], &c) else {
            panic!("{command} asks");
        };
        assert!(permit.must_save() && !permit.network(), "{command}");
    }
    for command in others {
        asked(judge(&bash(command), Tier::WriteLocal, &[], &c));
    }
}

#[test]
fn text_from_outside_keeps_an_activation_at_home() {
    let setting = Setting::new();
    let tainted = |role| Circumstances {
        tainted: true,
        ..setting.circumstances(role)
    };
    for (role, tool, tier) in [
        (Role::Pm, "GHComment", Tier::WriteVisible),
        (Role::Lead, "Edit", Tier::WriteLocal),
        (Role::Lead, "GHIssue", Tier::WriteVisible),
        (Role::Lead, "ProposeLearnings", Tier::WriteVisible),
    ] {
        asked(judge(&call(tool, json!({})), tier, &[], &tainted(role)));
        ran(judge(
            &call(tool, json!({})),
            tier,
            &[],
            &setting.circumstances(role),
        ));
    }
    for (role, tool, tier) in [
        (Role::Coder, "Edit", Tier::WriteLocal),
        (Role::Coder, "HandOver", Tier::WriteVisible),
        (Role::Pm, "SendMessage", Tier::WriteVisible),
        (Role::Pm, "Start", Tier::WriteVisible),
        (Role::Researcher, "SaveResearch", Tier::WriteLocal),
    ] {
        ran(judge(&call(tool, json!({})), tier, &[], &tainted(role)));
    }
    asked(judge(
        &bash("gh issue comment 1 -b x"),
        Tier::WriteLocal,
        &[],
        &tainted(Role::Coder),
    ));
}

#[test]
fn after_text_from_outside_a_host_that_nobody_named_asks() {
    let mut setting = Setting::new();
    setting.overrides.web_hosts = vec!["Docs.rs".into()];
    let known = ["wiki.example".to_owned()];
    let fetch = |url: &str| call("WebFetch", json!({ "url": url }));
    let verdict = |setting: &Setting, url: &str, tainted| {
        let c = Circumstances {
            tainted,
            known_hosts: &known,
            outside_tools: &[],
            ..setting.circumstances(Role::Researcher)
        };
        judge(&fetch(url), Tier::Read, &[], &c)
    };
    for url in [
        "https://evil.example/?q=words",
        "https://wiki.example.evil.example/",
        "https://wiki.example@evil.example/",
        "https://evil.wiki.example/",
        "https://evil.example#https://wiki.example/",
        "https:\\\\evil.example\\@wiki.example/",
        "HTTPS://EVIL.example",
    ] {
        assert_eq!(ran(verdict(&setting, url, false)).hosts(), None, "{url}");
        let question = asked(verdict(&setting, url, true));
        assert!(question.reason.contains("evil."), "{}", question.reason);
    }
    for url in [
        "https://wiki.example/page",
        "http://WWW.wiki.example./page",
        "https://docs.rs/x",
    ] {
        let permit = ran(verdict(&setting, url, true));
        let hosts = permit.hosts().unwrap();
        assert!(
            hosts
                .iter()
                .all(|host| known.contains(host) || host == "docs.rs")
        );
    }
    // A click frees that host for that call, and no other.
    let url = "https://evil.example/a";
    let question = asked(verdict(&setting, url, true));
    setting.approve(&question);
    let permit = ran(verdict(&setting, url, true));
    assert!(permit.hosts().unwrap().contains(&"evil.example".to_owned()));
    asked(verdict(&setting, "https://evil.example/b", true));
}

#[test]
fn releases_and_pull_requests_to_named_branches_ask() {
    let mut setting = Setting::new();
    asked(judge(
        &call("GHRelease", json!({})),
        Tier::WriteVisible,
        &[],
        &setting.circumstances(Role::Pm),
    ));
    let opens = call(
        "HandOver",
        json!({"kind": "ready_for_review", "text": "done"}),
    );
    let asks = |setting: &Setting, call: &ToolCall| {
        let c = setting.circumstances(Role::Coder);
        match judge(call, Tier::WriteVisible, &[], &c) {
            Judgement::Run(_) => None,
            other => Some(asked(other)),
        }
    };
    setting.overrides.base = "main".into();
    assert!(asks(&setting, &opens).is_none());
    setting.overrides.require_approval.create_pr_to = vec!["release/*".into()];
    assert!(asks(&setting, &opens).is_none());
    setting.overrides.require_approval.create_pr_to = vec!["ma*".into()];
    let question = asks(&setting, &opens).unwrap();
    assert!(question.reason.contains("`main`"), "{}", question.reason);
    let other = call("HandOver", json!({"kind": "question", "text": "?"}));
    assert!(asks(&setting, &other).is_none());
    setting.approve(&question);
    assert!(asks(&setting, &opens).is_none());
}

#[test]
fn a_call_that_could_not_be_read_is_never_run() {
    let setting = Setting::new();
    let mut broken = bash("ls");
    broken.problem = Some("arguments are not JSON".into());
    let c = setting.circumstances(Role::Coder);
    assert!(
        refused(judge(&broken, Tier::WriteLocal, &[], &c))
            .rule
            .contains("JSON")
    );
    refused(judge(
        &call("Bash", json!({"cmd": "ls"})),
        Tier::WriteLocal,
        &[],
        &c,
    ));
}

/// Whoever reviews tries things out, and asks nobody for more.
#[test]
fn in_a_review_a_command_runs_confined_or_not_at_all() {
    let setting = Setting::new();
    let c = setting.circumstances(Role::Reviewer);
    let permit = ran(judge(&bash("sh tests/run.sh 3"), Tier::WriteLocal, &[], &c));
    assert_eq!(permit.scope, Some(Scope::PullRequestHead));
    assert!(!permit.network && !permit.must_save);
    for command in [
        "curl https://example.com",
        "npm install left-pad",
        "git push origin main",
        "rm -rf /",
    ] {
        let refusal = refused(judge(&bash(command), Tier::WriteLocal, &[], &c));
        assert!(
            refusal
                .rule
                .contains("in a review no command asks a person"),
            "{command}: {refusal}"
        );
    }
    // A machine that cannot confine it does not run it.
    let weak = Circumstances {
        sandboxed: false,
        ..setting.circumstances(Role::Reviewer)
    };
    refused(judge(&bash("ls"), Tier::WriteLocal, &[], &weak));
}

/// A call of a tool of a server, by somebody who was given it.
fn of_server(
    setting: &Setting,
    tier: Tier,
    change: impl FnOnce(&mut Circumstances<'_>),
) -> Judgement {
    let given = ["mcp__files__write".to_owned()];
    let mut c = setting.circumstances(Role::Coder);
    c.outside_tools = &given;
    change(&mut c);
    judge(&call("mcp__files__write", json!({})), tier, &[], &c)
}

#[test]
fn a_tool_of_a_server_is_for_whoever_was_given_it() {
    let setting = Setting::new();
    let run = of_server(&setting, Tier::WriteVisible, |_| {});
    assert!(matches!(run, Judgement::Run(_)), "{run:?}");
    let refused = of_server(&setting, Tier::WriteVisible, |c| c.outside_tools = &[]);
    assert!(matches!(refused, Judgement::Refuse(_)), "{refused:?}");
}

#[test]
fn a_tool_of_a_server_that_may_change_something_waits_for_the_plan_and_asks_after_taint() {
    let setting = Setting::new();
    let before = |tier| of_server(&setting, tier, |c| c.plan_approved = false);
    assert!(matches!(before(Tier::WriteVisible), Judgement::Refuse(_)));
    assert!(matches!(before(Tier::Read), Judgement::Run(_)));
    let after = |tier| of_server(&setting, tier, |c| c.tainted = true);
    assert!(
        asked(after(Tier::WriteVisible))
            .reason
            .contains("from outside")
    );
    assert!(matches!(after(Tier::Read), Judgement::Run(_)));
}

#[test]
fn the_policy_can_have_tools_of_servers_approved() {
    for (rule, write, read) in [
        (McpApproval::Never, false, false),
        (McpApproval::Writes, true, false),
        (McpApproval::Always, true, true),
    ] {
        let mut setting = Setting::new();
        setting.overrides.mcp = rule;
        for (tier, asks) in [(Tier::WriteVisible, write), (Tier::Read, read)] {
            let judged = of_server(&setting, tier, |_| {});
            assert_eq!(
                matches!(judged, Judgement::Ask(_)),
                asks,
                "{rule:?} {tier:?}"
            );
        }
    }
}
