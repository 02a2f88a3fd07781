//! One tool of a server.

use std::{sync::Arc, time::Duration};

use butler_mcp::{Answer, McpError, Server, ToolInfo, offered_name};
use butler_policy::Permit;
use butler_protocol::{CrashClass, Tier, ToolOutcome, ToolSpec, visible};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::{
    Tool, ToolContext,
    content::{clip, outside},
    tools::leaks,
};

/// Room for the marks around an answer.
const MARKS: usize = 512;

/// A tool with the server that has it.
pub(crate) struct ServerTool {
    server: Arc<Server>,
    /// As the server calls it.
    own_name: String,
    spec: ToolSpec,
    read_only: bool,
    goes_out: bool,
    described: usize,
}

impl ServerTool {
    pub(crate) fn new(server: &Arc<Server>, info: &ToolInfo, goes_out: bool) -> Self {
        Self {
            server: Arc::clone(server),
            own_name: info.name.clone(),
            spec: ToolSpec {
                name: offered_name(server.name(), &info.name),
                description: info.told(),
                parameters: info.parameters(),
            },
            read_only: info.read_only,
            goes_out,
            described: info.described(),
        }
    }

    pub(crate) fn told(&self) -> &ToolSpec {
        &self.spec
    }

    pub(crate) fn is_of(&self, server: &Arc<Server>) -> bool {
        Arc::ptr_eq(&self.server, server)
    }

    /// How much the server says about it. Much of a long description is cut before a model
    /// reads it: it is looked for instead.
    pub(crate) fn described(&self) -> usize {
        self.described.max(self.bytes())
    }

    /// What it costs in every request.
    pub(crate) fn bytes(&self) -> usize {
        let parameters = self.spec.parameters.to_string();
        self.spec.name.len() + self.spec.description.len() + parameters.len()
    }

    async fn work(&self, permit: &Permit, input: &Value, context: &ToolContext) -> ToolOutcome {
        if self.goes_out && leaks(&input.to_string(), context) {
            return ToolOutcome::error(
                "refused: these arguments carry what looks like a secret, and the server would \
                 get it; call it without",
            );
        }
        let arguments = input.as_object().cloned().unwrap_or_default();
        let answer = self.answer(arguments, context).await;
        told(&self.server, answer, permit, context)
    }

    /// Asks, and tells how far it is.
    async fn answer(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Answer, McpError> {
        let name = self.server.name();
        context.progress(format!("asking {name}: {}", clip::line(&self.own_name)));
        let (lines, mut told) = mpsc::channel(8);
        let (sandbox, cancel) = (context.sandbox.as_ref(), context.cancel());
        let call = self
            .server
            .call(&self.own_name, arguments, sandbox, cancel, Some(lines));
        let mut call = std::pin::pin!(call);
        loop {
            tokio::select! {
                answer = &mut call => return answer,
                Some(line) = told.recv() => {
                    context.progress(format!("{name}: {}", visible(&clip::line(&line))));
                }
            }
        }
    }
}

/// What a server answered, for the model: cleaned, capped, between marks.
pub(crate) fn told(
    server: &Server,
    answer: Result<Answer, McpError>,
    permit: &Permit,
    context: &ToolContext,
) -> ToolOutcome {
    let origin = format!("the MCP server {}", server.name());
    let fence = |text: &str| {
        let text = clip::plain(text.as_bytes());
        let room = context.room().saturating_sub(MARKS);
        let text = clip::head_and_tail(&visible(&text), room, "ask for less at once");
        outside::fenced(permit.call(), &origin, &text)
    };
    match answer {
        Ok(answer) if answer.text.is_empty() && answer.images.is_empty() && answer.ok => {
            ToolOutcome::ok("done; the server had nothing to say")
        }
        Ok(answer) => ToolOutcome {
            images: answer.images,
            ok: answer.ok,
            ..ToolOutcome::ok(if answer.ok {
                fence(&answer.text)
            } else {
                format!("the tool says that it failed:\n{}", fence(&answer.text))
            })
        },
        Err(McpError::Stopped) => ToolOutcome::error("stopped"),
        // It may hold words of the server.
        Err(error) => ToolOutcome::error(format!("failed:\n{}", fence(&error.to_string()))),
    }
}

impl Tool for Arc<ServerTool> {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn tier(&self) -> Tier {
        if self.read_only {
            Tier::Read
        } else {
            Tier::WriteVisible
        }
    }

    fn crash(&self) -> CrashClass {
        CrashClass::Opaque
    }

    fn deadline(&self, _input: &Value) -> Duration {
        self.server.patience()
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        input: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(self.work(permit, input, context))
    }
}
