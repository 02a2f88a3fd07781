//! A real model on a real server: llama.cpp's own, with a model small enough
//! for any machine. Not run by default; `cargo xtask test --real-model` installs
//! both and runs these. An endpoint of your own is asked instead with
//!
//! ```text
//! CODEBUTLER_REAL_MODEL_URL=http://127.0.0.1:8080/v1 CODEBUTLER_REAL_MODEL=any \
//!     cargo test -p butler-model --test it -- --ignored real::
//! ```

use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::LazyLock,
    time::Duration,
};

use butler_model::{
    ClientConfig, Endpoint, EndpointKind, ModelClient, ModelRequest, PriceBook, Resolved, resolve,
};
use butler_protocol::{ModelMessage, ToolSpec, Usd};
use serde_json::json;

use crate::kit::{ask, assistant, call, result, system, user};

/// Where the model answers, and the server when it is ours. Its standard input
/// closes with this process, and it ends with that.
static SERVER: LazyLock<(String, Option<Child>)> = LazyLock::new(|| {
    if let Ok(url) = env::var("CODEBUTLER_REAL_MODEL_URL") {
        return (url, None);
    }
    let python = env::var("CODEBUTLER_REAL_MODEL_PYTHON")
        .expect("run `cargo xtask test --real-model`, or name an endpoint");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/serve.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("ready ").expect("the server");
    (format!("{address}/v1"), Some(child))
});

fn client() -> (ModelClient, String) {
    let url = SERVER.0.parse().unwrap();
    let model = env::var("CODEBUTLER_REAL_MODEL").unwrap_or_else(|_| "any".to_owned());
    let mut config = ClientConfig::new(Endpoint::new(EndpointKind::Generic, url));
    // A busy machine is twenty times slower than a quiet one.
    config.idle = Duration::from_secs(600);
    config.first_byte = Duration::from_secs(600);
    config.prices = PriceBook::free();
    (ModelClient::new(config).unwrap(), model)
}

#[tokio::test]
#[ignore = "needs a model server"]
async fn a_real_model_answers_streamed_and_not() {
    let (client, model) = client();
    for stream in [true, false] {
        let mut request = ModelRequest::new(&model, vec![system("Be brief."), user("Say hello.")]);
        request.stream = stream;
        request.max_tokens = 32;
        let reply = ask(&client, &request).await.unwrap();
        let said = reply.text.as_ref().is_some_and(|text| !text.is_empty());
        assert!(said || reply.cut, "{reply:?}");
        assert!(reply.usage.input > 0 && reply.usage.output > 0, "{reply:?}");
        assert_eq!(reply.cost, Usd::ZERO);
    }
}

#[tokio::test]
#[ignore = "needs a model server"]
async fn a_real_list_has_the_window_and_no_price() {
    let (client, _) = client();
    let models = client.models().await.unwrap();
    assert!(
        models[0].context.is_some_and(|tokens| tokens > 0),
        "{models:?}"
    );
    assert!(matches!(
        resolve(&models, &models[0].id),
        Resolved::Exact(_)
    ));
}

fn tool(name: &str, description: &str, field: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters: json!({"type": "object", "properties": {field: {"type": "string"}},
            "required": [field]}),
    }
}

/// Two turns that show how it is done: a small model copies what it sees.
fn shown() -> Vec<ModelMessage> {
    let mut messages = vec![system("Call the tool note with the word.")];
    for (id, word) in [("call00001", "tree"), ("call00002", "house")] {
        messages.push(user(&format!("Note the word {word}.")));
        messages.push(assistant(
            None,
            vec![call(id, "note", json!({"word": word}))],
            None,
        ));
        messages.push(result(id, "noted"));
        messages.push(assistant(Some("Done."), Vec::new(), None));
    }
    messages.push(user("Note the word river."));
    messages
}

#[tokio::test]
#[ignore = "needs a model server"]
async fn a_real_model_calls_a_tool_streamed_and_not() {
    let (client, model) = client();
    for stream in [true, false] {
        let mut request = ModelRequest::new(&model, shown());
        request.stream = stream;
        request.max_tokens = 64;
        request.tools = [
            tool("note", "Writes a word down.", "word"),
            tool("read_file", "Reads a file.", "path"),
        ]
        .into();
        let reply = ask(&client, &request).await.unwrap();
        let first = reply.calls.first();
        assert!(first.is_some_and(|call| call.name == "note"), "{reply:?}");
        assert!(
            first.is_some_and(|call| call.arguments.is_object()),
            "{reply:?}"
        );

        // Its call and a result go back to it, and it answers again.
        let made = &reply.calls[0];
        let sent = call("call00003", &made.name, made.arguments.clone());
        request
            .messages
            .push(assistant(None, vec![sent], None).into());
        request.messages.push(result("call00003", "noted").into());
        request
            .messages
            .push(assistant(Some("Done."), Vec::new(), None).into());
        request.messages.push(user("Note the word cloud.").into());
        let again = ask(&client, &request).await.unwrap();
        assert!(again.usage.input > reply.usage.input, "{again:?}");
    }
}
