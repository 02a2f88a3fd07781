//! Commands wait until their folder is prepared; files do not.

use std::{sync::Arc, time::Duration};

use butler_tools::{Check, ReadyGate};
use serde_json::json;
use tokio::sync::watch;

use crate::fixture::Fixture;

/// The other side of a gate.
struct Keeper {
    opens: watch::Sender<Option<Option<String>>>,
    waiting: watch::Receiver<usize>,
}

fn fixture() -> (Fixture, Keeper) {
    let check = Check {
        name: "test".to_owned(),
        command: "cat installed".to_owned(),
    };
    let (opens, ended) = watch::channel(None);
    let (count, waiting) = watch::channel(0);
    let gate: ReadyGate = Arc::new(move || {
        let mut ended = ended.clone();
        count.send_modify(|count| *count += 1);
        Box::pin(async move {
            ended
                .wait_for(Option::is_some)
                .await
                .unwrap()
                .clone()
                .unwrap()
        })
    });
    let mut fixture = Fixture::with_sandbox(vec![check]);
    fixture.context = fixture.context.with_ready(gate);
    (fixture, Keeper { opens, waiting })
}

#[tokio::test]
async fn commands_and_checks_wait_for_the_preparation_and_files_do_not() {
    let (fixture, mut keeper) = fixture();
    let written = fixture.call("Write", json!({"path": "a.txt", "content": "a\n"}));
    assert!(written.await.ok);
    let look = json!({"command": "cat installed"});
    let (shown, checked, ()) = tokio::join!(
        fixture.call("Bash", look),
        fixture.call("RunChecks", json!({})),
        async {
            // Only when both are at the gate is there anything to find.
            let both = keeper.waiting.wait_for(|count| *count == 2);
            let both = tokio::time::timeout(Duration::from_secs(60), both).await;
            drop(both.unwrap().unwrap());
            fixture.write("installed", "yes\n");
            keeper.opens.send_replace(Some(None));
        }
    );
    assert!(shown.ok && shown.text.contains("yes"), "{}", shown.text);
    assert!(checked.text.starts_with("passed"), "{}", checked.text);
}

#[tokio::test]
async fn a_failed_preparation_is_named_under_what_fails_and_nowhere_else() {
    let (fixture, keeper) = fixture();
    let warning = "the preparation failed: `x`, exit 1".to_owned();
    keeper.opens.send_replace(Some(Some(warning)));
    for (tool, arguments) in [
        ("Bash", json!({"command": "cat installed"})),
        ("RunChecks", json!({})),
    ] {
        let failed = fixture.call(tool, arguments).await;
        assert!(
            !failed.ok && failed.text.contains("`x`, exit 1"),
            "{}",
            failed.text
        );
    }
    let fine = fixture.call("Bash", json!({"command": "echo fine"})).await;
    assert!(
        fine.ok && !fine.text.contains("preparation"),
        "{}",
        fine.text
    );
}

#[tokio::test]
async fn a_stop_ends_the_waiting() {
    let (fixture, mut keeper) = fixture();
    let (stopped, ()) = tokio::join!(
        fixture.call("Bash", json!({"command": "touch ran"})),
        async {
            let at_the_gate = keeper.waiting.wait_for(|count| *count == 1);
            let there = tokio::time::timeout(Duration::from_secs(60), at_the_gate).await;
            drop(there.unwrap().unwrap());
            fixture.context.cancel().cancel();
        }
    );
    assert!(!stopped.ok, "{}", stopped.text);
    assert!(!fixture.root.join("ran").exists());
}
