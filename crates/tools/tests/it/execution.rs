//! The way of a call through the executor.

use std::{sync::Arc, time::Duration};

use butler_policy::{Judgement, Permit};
use butler_protocol::{CrashClass, Role, Tier, ToolOutcome, ToolSpec};
use butler_tools::{
    Executor, Registry, Tool, ToolContext,
    tools::{Step, StepState},
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, call};

fn refusal(fixture: &Fixture, tool: &str, arguments: Value) -> String {
    match fixture.judge(Role::Coder, &call(tool, arguments)) {
        Judgement::Refuse(refusal) => refusal.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn unknown_tools_and_bad_input_are_refused_with_a_way_on() {
    let fixture = Fixture::new();
    assert_eq!(
        refusal(&fixture, "ReadFile", json!({})),
        "refused: there is no tool `ReadFile`; did you mean Read?"
    );
    assert_eq!(
        refusal(&fixture, "Read", json!({"offset": 3})),
        "refused: bad input for Read: `path` is missing: The file, from the root; the fields are `path`, `offset` (optional), `limit` (optional); as in {\"path\": \"src/main.rs\", \"offset\": 120, \"limit\": 80}"
    );
    assert!(
        refusal(&fixture, "Grep", json!({"patterns": ["x"]})).contains(", not `patterns`; as in {"),
        "what was sent instead is named"
    );
    assert!(refusal(&fixture, "Teleport", json!({})).contains("tools you were offered"));
    let mut unreadable = call("Read", json!({}));
    unreadable.problem = Some("the arguments were cut off".into());
    let Judgement::Refuse(refusal) = fixture.judge(Role::Coder, &unreadable) else {
        panic!("an unreadable call was taken");
    };
    assert!(refusal.to_string().contains("cut off"));
}

#[tokio::test]
async fn a_field_that_a_tool_does_not_have_is_not_ignored_in_silence() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let asked = json!({"path": "a.txt", "from": "05e4bc85", "description": "to see it"});
    let read = fixture.call("Read", asked).await;
    assert!(read.ok, "{}", read.text);
    let last = read.text.lines().last().unwrap();
    assert!(
        last.starts_with("ignored: `from`; the fields are `path`"),
        "{last}"
    );
    assert!(!last.contains("description"));
}

#[tokio::test]
async fn usual_aliases_are_taken_silently() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let edited = fixture
        .call(
            "Edit",
            json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
        )
        .await;
    assert!(edited.ok, "{}", edited.text);
    assert!(
        fixture
            .call("Read", json!({"filename": "a.txt", "limit": "5"}))
            .await
            .ok
    );
    assert_eq!(fixture.read("a.txt"), "two\n");
    let todo = json!({"todos": [{"content": "one", "status": "done"}]});
    assert!(fixture.call("Checklist", todo).await.ok);
}

#[test]
fn roles_and_plan_gate_are_asked_before_the_tool() {
    let fixture = Fixture::new();
    let write = call("Write", json!({"path": "a", "content": "b"}));
    for role in Role::ALL {
        let runs = matches!(fixture.judge(role, &write), Judgement::Run(_));
        let may = matches!(role, Role::Coder | Role::Artist | Role::Lead);
        assert_eq!(runs, may, "{role}");
    }
}

#[tokio::test]
async fn a_permit_is_for_one_call_only() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let read = call("Read", json!({"path": "a.txt"}));
    let write = call("Write", json!({"path": "a.txt", "content": "x"}));
    let outcome = fixture
        .executor
        .run(&write, fixture.permit(Role::Coder, &read), &fixture.context)
        .await;
    assert!(!outcome.ok && outcome.text.contains("permit is for another call"));
    let mut other = read.clone();
    other.id = butler_protocol::CallId::new("other");
    let outcome = fixture
        .executor
        .run(&other, fixture.permit(Role::Coder, &read), &fixture.context)
        .await;
    assert!(!outcome.ok);
    assert_eq!(fixture.read("a.txt"), "one\n");
}

/// Stands in for Read and never finishes, or panics.
struct Stubborn {
    listens: bool,
    panics: bool,
}

impl Tool for Stubborn {
    fn name(&self) -> &'static str {
        "Read"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Read".into(),
            description: String::new(),
            parameters: json!({"type": "object", "properties": {}}),
        }
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    fn crash(&self) -> CrashClass {
        CrashClass::Opaque
    }

    fn deadline(&self, _: &Value) -> Duration {
        Duration::from_secs(7)
    }

    fn run<'a>(
        &'a self,
        _: &'a Permit,
        _: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            assert!(!self.panics, "on purpose");
            if self.listens {
                context.cancel().cancelled().await;
                return ToolOutcome::ok("came this far");
            }
            std::future::pending().await
        })
    }
}

fn stubborn(listens: bool, panics: bool) -> (Fixture, Executor) {
    let mut registry = Registry::empty();
    registry.add(Box::new(Stubborn { listens, panics }));
    (Fixture::new(), Executor::new(registry))
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_call_and_keeps_its_last_words() {
    for (listens, expected) in [(true, "came this far"), (false, "")] {
        let (fixture, executor) = stubborn(listens, false);
        let read = call("Read", json!({"path": "a"}));
        let outcome = executor
            .run(&read, fixture.permit(Role::Coder, &read), &fixture.context)
            .await;
        assert!(!outcome.ok);
        assert!(
            outcome
                .text
                .starts_with("timed out: Read did not finish within 7 s")
        );
        assert!(
            outcome.text.ends_with(expected) || !listens,
            "{}",
            outcome.text
        );
        assert!(
            !fixture.context.cancel().is_cancelled(),
            "only the call is cancelled"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_the_context_ends_the_call() {
    for (listens, expected) in [
        (true, "came this far"),
        (false, "stopped: Read was stopped"),
    ] {
        let (mut fixture, executor) = stubborn(listens, false);
        let stop = CancellationToken::new();
        fixture.context = ToolContext::new(Arc::clone(fixture.context.workplace()), stop.clone());
        let read = call("Read", json!({"path": "a"}));
        let run = executor.run(&read, fixture.permit(Role::Coder, &read), &fixture.context);
        let (outcome, ()) = tokio::join!(run, async { stop.cancel() });
        assert!(outcome.text.starts_with(expected), "{}", outcome.text);
    }
}

#[tokio::test]
async fn a_panic_in_a_tool_is_an_answer() {
    let (fixture, executor) = stubborn(false, true);
    let read = call("Read", json!({"path": "a"}));
    let outcome = executor
        .run(&read, fixture.permit(Role::Coder, &read), &fixture.context)
        .await;
    assert!(
        !outcome.ok && outcome.text.contains("fault of the runtime"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn recovery_repeats_what_is_pure_and_never_what_is_opaque() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let read = call("Read", json!({"path": "a.txt"}));
    let again = fixture
        .executor
        .recover(
            &read,
            fixture.permit(Role::Coder, &read),
            None,
            &fixture.context,
        )
        .await;
    assert!(again.ok && again.text.contains("one"));
    let (fixture, executor) = stubborn(true, false);
    let told = executor
        .recover(
            &read,
            fixture.permit(Role::Coder, &read),
            None,
            &fixture.context,
        )
        .await;
    assert!(
        !told.ok && told.text.contains("was not repeated"),
        "{}",
        told.text
    );
}

#[test]
fn a_native_tool_cannot_be_replaced() {
    let mut registry = Registry::native();
    registry.add(Box::new(Stubborn {
        listens: false,
        panics: true,
    }));
    assert_eq!(registry.names().filter(|name| *name == "Read").count(), 1);
    assert!(
        registry
            .get("Read")
            .unwrap()
            .spec()
            .description
            .contains("line numbers")
    );
}

#[tokio::test]
async fn the_checklist_is_kept_in_the_context() {
    let fixture = Fixture::new();
    let shown = fixture
        .call("Checklist", json!({"steps": [
            {"text": "add the flag", "state": "done"}, {"text": "test it", "state": "doing"}, {"text": "tell"}
        ]}))
        .await;
    assert_eq!(
        shown.text,
        "1 of 3 steps done\n[x] add the flag\n[>] test it\n[ ] tell"
    );
    assert_eq!(
        fixture.context.checklist()[1],
        Step {
            text: "test it".into(),
            state: StepState::Doing
        }
    );
    let twice = fixture
        .call(
            "Checklist",
            json!({"steps": [{"text": "a", "state": "doing"}, {"text": "b", "state": "doing"}]}),
        )
        .await;
    assert!(
        !twice.ok && twice.text.contains("one step"),
        "{}",
        twice.text
    );
    let bad = fixture
        .call(
            "Checklist",
            json!({"steps": [{"text": "a", "state": "half"}]}),
        )
        .await;
    assert!(
        bad.text.contains("`steps[0].state` must be one of"),
        "{}",
        bad.text
    );
    let seen = fixture.call("Checklist", json!({"steps": []})).await;
    assert!(
        seen.text.starts_with("1 of 3"),
        "an empty list only shows: {}",
        seen.text
    );
}

/// Stands in for a reader that waits until another call of its batch runs.
struct Meets(Arc<tokio::sync::Barrier>);

impl Tool for Meets {
    fn name(&self) -> &'static str {
        "Grep"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Grep".into(),
            description: String::new(),
            parameters: json!({"type": "object", "properties": {
                "path": {"type": "string"}, "pattern": {"type": "string"}}}),
        }
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    fn crash(&self) -> CrashClass {
        CrashClass::Pure
    }

    fn run<'a>(
        &'a self,
        _: &'a Permit,
        input: &'a Value,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            self.0.wait().await;
            ToolOutcome::ok(input["path"].as_str().unwrap())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_runs_at_once_and_answers_in_order() {
    let fixture = Fixture::new();
    let mut registry = Registry::empty();
    registry.add(Box::new(Meets(Arc::new(tokio::sync::Barrier::new(3)))));
    let executor = Executor::new(registry);
    let calls: Vec<_> = ["c", "a", "b"]
        .map(|name| {
            let mut call = call("Grep", json!({"pattern": "x", "path": name}));
            call.id = butler_protocol::CallId::new(name);
            call
        })
        .to_vec();
    assert_eq!(butler_tools::batches(&calls), [[0, 1, 2]]);
    let permitted = calls
        .iter()
        .map(|call| (call, fixture.permit(Role::Coder, call)));
    let outcomes = executor.run_batch(permitted, &fixture.context).await;
    let texts: Vec<&str> = outcomes
        .iter()
        .map(|outcome| outcome.text.as_str())
        .collect();
    assert_eq!(
        texts,
        ["c", "a", "b"],
        "alone each would wait until its deadline"
    );
}

#[tokio::test]
async fn a_small_model_gets_small_results() {
    let mut fixture = Fixture::new();
    fixture.context = fixture.context.clone().with_result_bytes(8 * 1024);
    fixture.write("long.txt", "some words on a line\n".repeat(1500));
    let shown = fixture.call("Read", json!({"path": "long.txt"})).await;
    assert!(
        shown.ok && shown.text.len() < 9 * 1024,
        "{}",
        shown.text.len()
    );
    // Cut by the tool itself, which knows how to go on.
    assert!(!shown.text.contains("left out"), "{}", shown.text);
    let last = shown.text.lines().rev().nth(1).unwrap();
    let last: u32 = last.trim().split('\t').next().unwrap().parse().unwrap();
    let next = format!("[{} more lines: offset={}]", 1500 - last, last + 1);
    assert!(shown.text.ends_with(&next), "{next}");
    let found = fixture.call("Grep", json!({"pattern": "words", "limit": 1500}));
    let found = found.await.text;
    assert!(found.len() < 9 * 1024 && !found.contains("left out"));
    assert!(found.contains("more matching lines: narrow"), "{found}");
}
