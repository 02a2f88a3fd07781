//! A rehearsal, a client that does not really wait, and short ways to write messages.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use butler_model::{
    ClientConfig, Endpoint, EndpointKind, ModelClient, ModelError, ModelRequest, Pace, wire::Chat,
};
use butler_protocol::{CallId, ModelMessage, ModelReply, Role, ToolCall, ToolSpec};
use butler_rehearsal::{OffScript, Played, Rehearsal, Scenario};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The waits that were asked for.
pub(crate) type Waits = Arc<Mutex<Vec<Duration>>>;

pub(crate) struct Stage {
    pub rehearsal: Rehearsal,
    pub client: ModelClient,
    pub waits: Waits,
    pub cancel: CancellationToken,
}

/// Plays a scenario strictly; the client's waits are noted and not waited.
pub(crate) async fn stage(yaml: &str) -> Stage {
    stage_with(yaml, true, |_| {}).await
}

pub(crate) async fn stage_with(
    yaml: &str,
    strict: bool,
    adjust: impl FnOnce(&mut ClientConfig),
) -> Stage {
    let cancel = CancellationToken::new();
    let scenario = Scenario::parse(yaml).unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let rehearsal = Rehearsal::start(listen, scenario, strict, cancel.clone())
        .await
        .unwrap();
    let url = rehearsal.base_url().parse().unwrap();
    let mut config = ClientConfig::new(Endpoint::new(EndpointKind::Openrouter, url));
    let waits = Waits::default();
    let noted = Arc::clone(&waits);
    config.retry.pace = Pace::new(
        move |wait| {
            noted.lock().unwrap().push(wait);
            std::future::ready(())
        },
        || 0.5,
    );
    adjust(&mut config);
    Stage {
        client: ModelClient::new(config).unwrap(),
        rehearsal,
        waits,
        cancel,
    }
}

impl Stage {
    pub(crate) async fn ask(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        self.client
            .complete(request, &CancellationToken::new(), None)
            .await
    }

    pub(crate) fn waits(&self) -> usize {
        self.waits.lock().unwrap().len()
    }
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    ["Read", "Grep", "Edit", "Bash", "RunChecks", "HandOver"]
        .map(|name| ToolSpec {
            name: name.into(),
            description: format!("{name} something"),
            parameters: json!({"type": "object", "properties": {}}),
        })
        .into()
}

pub(crate) fn request(role: &str, messages: Vec<ModelMessage>) -> ModelRequest {
    let mut request = ModelRequest::new(format!("rehearsal/{role}"), messages);
    request.tools = tools().into();
    request
}

pub(crate) fn user(text: &str) -> ModelMessage {
    ModelMessage::User {
        text: text.into(),
        images: Vec::new(),
    }
}

pub(crate) fn said(text: &str) -> ModelMessage {
    ModelMessage::Assistant {
        text: Some(text.into()),
        calls: Vec::new(),
        reasoning: None,
    }
}

pub(crate) fn called(id: &str, name: &str, arguments: Value) -> ModelMessage {
    ModelMessage::Assistant {
        text: None,
        calls: vec![ToolCall {
            id: CallId::new(id),
            name: name.into(),
            arguments,
            problem: None,
        }],
        reasoning: None,
    }
}

pub(crate) fn result(id: &str, text: &str) -> ModelMessage {
    ModelMessage::Tool {
        call: CallId::new(id),
        text: text.into(),
    }
}

pub(crate) fn chat(messages: Vec<ModelMessage>) -> Chat {
    Chat {
        model: "rehearsal/coder".into(),
        messages,
        tools: tools(),
        stream: true,
        include_usage: true,
        max_tokens: None,
    }
}

/// Plays the coder's answer to a history.
pub(crate) fn play(yaml: &str, messages: Vec<ModelMessage>) -> Result<Played, OffScript> {
    let scenario = Scenario::parse(yaml).unwrap();
    scenario.play(Role::Coder, &chat(messages), &|_| false)
}

/// What the coder answers, in short: its text, or its calls.
pub(crate) fn short(yaml: &str, messages: Vec<ModelMessage>) -> String {
    match play(yaml, messages) {
        Ok(played) if played.calls.is_empty() => played.say.unwrap_or_default(),
        Ok(played) => {
            let calls = played.calls.iter();
            calls
                .map(|call| format!("{}{}", call.tool, call.arguments))
                .collect()
        }
        Err(off) => format!("off: {off}"),
    }
}
