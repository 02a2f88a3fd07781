//! The mailbox: a person answers through files and through the script.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use butler_model::{ClientConfig, Endpoint, EndpointKind, ModelClient};
use butler_protocol::ModelReply;
use butler_rehearsal::{ManualModel, manual_model};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::kit::{called, request, result, user};

async fn open(dir: &Path) -> (ManualModel, ModelClient) {
    let listen = "127.0.0.1:0".parse().unwrap();
    let mailbox = manual_model(dir, listen, CancellationToken::new())
        .await
        .unwrap();
    let url = mailbox.base_url().parse().unwrap();
    let config = ClientConfig::new(Endpoint::new(EndpointKind::Generic, url));
    (mailbox, ModelClient::new(config).unwrap())
}

fn waiting(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir.join("waiting")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"))
        .collect()
}

fn script(dir: &Path, words: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mailbox.sh");
    let run = Command::new("sh")
        .arg(script)
        .arg(dir)
        .args(words)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    String::from_utf8(run.stdout).unwrap()
}

/// Asks, and lets `answer` act as soon as the request is parked.
async fn ask(
    client: &ModelClient,
    dir: &Path,
    question: &butler_model::ModelRequest,
    answer: impl FnOnce(&Path),
) -> ModelReply {
    let cancel = CancellationToken::new();
    let asking = client.complete(question, &cancel, None);
    let answering = async {
        let page = loop {
            match waiting(dir).first() {
                Some(page) => break page.clone(),
                None => tokio::task::yield_now().await,
            }
        };
        answer(&page);
    };
    let (reply, ()) = tokio::join!(asking, answering);
    reply.unwrap()
}

#[tokio::test]
async fn a_person_plays_the_model_through_files() {
    let dir = tempfile::tempdir().unwrap();
    let (mailbox, client) = open(dir.path()).await;
    let mut question = request("coder", vec![user("please fix the door")]);
    question.model = "mailbox/coder".into();
    for stream in [true, false] {
        question.stream = stream;
        let reply = ask(&client, dir.path(), &question, |page| {
            let text = std::fs::read_to_string(page).unwrap();
            for part in [
                "mailbox/coder",
                "please fix the door",
                "**Read**",
                "answers/coder-",
            ] {
                assert!(text.contains(part), "{part} in {text}");
            }
            let name = page.file_stem().unwrap().to_str().unwrap();
            let answer = dir.path().join(format!("answers/{name}.yaml"));
            std::fs::write(
                answer,
                "say: Looking.\ncall: [{ tool: Read, with: { path: door } }]",
            )
            .unwrap();
        })
        .await;
        assert_eq!(reply.text.as_deref(), Some("Looking."));
        assert_eq!(reply.calls[0].arguments, json!({"path": "door"}));
        assert!(
            waiting(dir.path()).is_empty(),
            "an answered request is gone"
        );
        std::fs::remove_dir_all(dir.path().join("answers")).unwrap();
        std::fs::create_dir(dir.path().join("answers")).unwrap();
    }
    mailbox.close().await;
}

#[tokio::test]
async fn the_script_lists_shows_and_answers() {
    let dir = tempfile::tempdir().unwrap();
    let (_mailbox, client) = open(dir.path()).await;
    let first = request("pm", vec![user("hello")]);
    let reply = ask(&client, dir.path(), &first, |_| {
        assert!(script(dir.path(), &[]).starts_with("pm-"));
        assert!(script(dir.path(), &["show"]).contains("hello"));
        script(
            dir.path(),
            &["call", "pm", "Grep", r#"{"pattern": "a: b"}"#],
        );
    })
    .await;
    assert_eq!(reply.calls[0].arguments, json!({"pattern": "a: b"}));
    let history = vec![
        user("hello"),
        called("c", "Grep", json!({"pattern": "a: b"})),
        result("c", "x"),
    ];
    let second = request("pm", history);
    let reply = ask(&client, dir.path(), &second, |_| {
        script(dir.path(), &["say", "pm-", "It is: done", "# really"]);
    })
    .await;
    assert_eq!(
        reply.text.as_deref().map(str::trim),
        Some("It is: done # really")
    );
}

#[tokio::test]
async fn a_wrong_answer_is_reported_and_can_be_corrected() {
    let dir = tempfile::tempdir().unwrap();
    let (_mailbox, client) = open(dir.path()).await;
    let cancel = CancellationToken::new();
    let question = request("pm", vec![user("hello")]);
    let answers = dir.path().join("answers");
    let asking = client.complete(&question, &cancel, None);
    let answering = async {
        while waiting(dir.path()).is_empty() {
            tokio::task::yield_now().await;
        }
        let name = waiting(dir.path())[0]
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        std::fs::write(answers.join(format!("{name}.yaml")), "call: [{ tol: x }]").unwrap();
        let problem = answers.join(format!("{name}.problem"));
        // The answer may be read half-written; what counts is the last word on it.
        let named = || std::fs::read_to_string(&problem).is_ok_and(|text| text.contains("tol"));
        while !named() {
            tokio::task::yield_now().await;
        }
        std::fs::write(answers.join(format!("{name}.yaml")), "better now").unwrap();
    };
    let (reply, ()) = tokio::join!(asking, answering);
    assert_eq!(reply.unwrap().text.as_deref(), Some("better now"));
    assert_eq!(
        std::fs::read_dir(&answers).unwrap().count(),
        1,
        "the problem is gone"
    );

    let again = client.complete(&question, &cancel, None).await.unwrap();
    assert_eq!(
        again.text.as_deref(),
        Some("better now"),
        "who asks again gets the same answer"
    );
}

#[tokio::test]
async fn a_request_that_is_given_up_does_not_wait_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let (_mailbox, client) = open(dir.path()).await;
    let cancel = CancellationToken::new();
    let question = request("pm", vec![user("hello")]);
    let asking = client.complete(&question, &cancel, None);
    let stopping = async {
        while waiting(dir.path()).is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (reply, ()) = tokio::join!(asking, stopping);
    assert!(reply.is_err());
    while !waiting(dir.path()).is_empty() {
        tokio::task::yield_now().await;
    }
}
