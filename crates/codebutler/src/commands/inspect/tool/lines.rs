//! The long-lived form: calls as lines, answered in order.

use std::path::PathBuf;

use butler_protocol::{Role, ToolOutcome};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::commands::inspect::jsonl::{self, BadLine};
use crate::commands::inspect::tool::session::{HandCall, ToolSession};
use crate::{CliError, Exit, Ui, process::stdin_lines};

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    id: Value,
    /// The folder; the current one when left out.
    root: Option<PathBuf>,
    role: Option<Role>,
    tool: String,
    #[serde(default)]
    input: Option<Value>,
}

/// Answers lines until they end or the process is told to.
pub(crate) async fn answer(
    session: &mut ToolSession,
    role: Role,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let here = std::env::current_dir()?;
    let mut lines = stdin_lines();
    loop {
        let line = tokio::select! {
            () = cancel.cancelled() => return Ok(Exit::Done),
            line = lines.recv() => line,
        };
        let Some(line) = line else {
            return Ok(Exit::Done);
        };
        let (id, outcome) = match jsonl::read::<Question>(&line?) {
            None => continue,
            Some(Err(BadLine { id, problem })) => (id, ToolOutcome::error(problem)),
            Some(Ok(question)) => {
                let call = HandCall {
                    role: question.role.unwrap_or(role),
                    tool: question.tool,
                    input: question.input.unwrap_or_else(|| json!({})),
                };
                let root = here.join(question.root.unwrap_or_default());
                let outcome = session.call(&root, call).await;
                let outcome = outcome.unwrap_or_else(|error| ToolOutcome::error(error.plain()));
                (question.id, outcome)
            }
        };
        let answer = json!({"id": id, "ok": outcome.ok, "output": outcome.text});
        ui.json(answer)?;
    }
}
