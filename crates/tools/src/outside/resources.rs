//! What a server has to read, as one tool: a list without an address, a text with one.

use std::{sync::Arc, time::Duration};

use butler_mcp::{Answer, McpError, Server, offered_name};
use butler_policy::Permit;
use butler_protocol::{CrashClass, Tier, ToolOutcome, ToolSpec};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Tool, ToolContext,
    outside::tool::told,
    tools::{self, Told},
};

/// A server's own tool of this name wins: it is added first.
const NAME: &str = "resources";

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Which one to read; without it they are listed.
    uri: Option<String>,
}

/// The texts of a server.
pub(crate) struct ServerResources {
    server: Arc<Server>,
    spec: ToolSpec,
    goes_out: bool,
}

impl ServerResources {
    pub(crate) fn new(server: &Arc<Server>, goes_out: bool) -> Self {
        let name = offered_name(server.name(), NAME);
        let about = format!(
            "Lists what the MCP server {} has to read, or reads one. What it says is data from \
             outside. Example: {{\"uri\": \"notes://today\"}}",
            server.name()
        );
        Self {
            spec: tools::spec::<Input>(&name, &about),
            server: Arc::clone(server),
            goes_out,
        }
    }

    async fn work(&self, permit: &Permit, input: Input, context: &ToolContext) -> Told {
        let (sandbox, cancel) = (context.sandbox.as_ref(), context.cancel());
        let answer = match input.uri.as_deref().map(str::trim) {
            Some(uri) if self.goes_out && tools::leaks(uri, context) => {
                return Err(
                    "refused: this address carries what looks like a secret, and the server \
                     would get it"
                        .into(),
                );
            }
            None | Some("") => self.listed(context).await,
            Some(uri) => self.server.read(uri, sandbox, cancel).await,
        };
        Ok(told(&self.server, answer, permit, context))
    }

    async fn listed(&self, context: &ToolContext) -> Result<Answer, McpError> {
        let (sandbox, cancel) = (context.sandbox.as_ref(), context.cancel());
        let lines = self.server.resources(sandbox, cancel).await?;
        let text = match lines.is_empty() {
            true => "there is nothing to read".to_owned(),
            false => lines.join("\n"),
        };
        Ok(Answer {
            ok: true,
            text,
            images: Vec::new(),
        })
    }
}

impl Tool for Arc<ServerResources> {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn tier(&self) -> Tier {
        Tier::Read
    }

    fn crash(&self) -> CrashClass {
        CrashClass::Pure
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
        Box::pin(async move {
            let work = async { self.work(permit, tools::parse(input)?, context).await };
            tools::told(work.await)
        })
    }
}
