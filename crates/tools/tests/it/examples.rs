//! The example that a tool's description shows is tried as it stands: a model
//! that copies it gets a result, not an error.

use butler_policy::{Right, right};
use butler_protocol::Role;
use butler_tools::{Check, has_browser};
use serde_json::Value;

use crate::fixture::Fixture;

/// They leave the machine; their own tests answer from 127.0.0.1.
const OUTSIDE: [&str; 1] = ["WebFetch"];

/// A repository in which every example makes sense.
fn fixture() -> Fixture {
    let check = Check {
        name: "test".to_owned(),
        command: "true".to_owned(),
    };
    let fixture = Fixture::with_sandbox(vec![check]);
    fixture.write("src/lib.rs", "let limit = 10;\n");
    fixture.write("src/parser.rs", "fn parse_unicode() {}\n");
    fixture.write("src/main.rs", "// a line\n".repeat(300));
    fixture.write("internal/deep/a_test.go", "package deep\n");
    fixture.write("site/index.html", "<p>Notes</p>\n");
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "."],
        &["commit", "--quiet", "--message", "Teach the parser unicode"],
    ] {
        butler_testkit::git(&fixture.root, args);
    }
    fixture.write("src/parser.rs", "fn parse_unicode() { todo!() }\n");
    fixture
}

#[tokio::test]
async fn the_example_of_every_native_tool_runs_in_a_scratch_repo() {
    let fixture = fixture();
    let registry = fixture.executor.registry();
    let names: Vec<String> = registry.names().map(str::to_owned).collect();
    assert!(names.len() >= 11, "{names:?}");
    for name in names
        .iter()
        .filter(|name| !OUTSIDE.contains(&name.as_str()))
        .filter(|name| *name != "Screenshot" || has_browser())
    {
        let description = registry.get(name).unwrap().spec().description;
        let example = description.split("Example: ").nth(1).unwrap();
        let input: Value = serde_json::from_str(example).unwrap();
        let role = Role::ALL
            .into_iter()
            .find(|role| right(*role, name) != Right::No)
            .unwrap();
        let outcome = fixture.call_as(role, name, input).await;
        // The command of the example may fail here; that it ran is what counts.
        let ran = outcome.ok || (name == "Bash" && outcome.text.contains("exit"));
        assert!(ran, "{name} {example}: {}", outcome.text);
    }
}
