//! `codebutler tool`: one tool by hand, with the checks of an activation.

mod lines;
mod session;

use std::env;

use butler_protocol::Role;
use serde_json::Value;

use crate::commands::inspect::tool::session::{HandCall, ToolSession};
use crate::{CliError, Exit, Ui, cli, process};

/// Run a tool as a role, in this folder
///
/// The same checks as when an agent calls it: the role's rights, the risk of a
/// command, the sandbox. Typing the command counts as the approval of a plan; what
/// would ask a person besides is refused with the reason.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tool, as in Read or Bash
    #[arg(required_unless_present = "jsonl")]
    name: Option<String>,

    /// Its input, a JSON object
    #[arg(default_value = "{}")]
    input: String,

    /// The role that calls
    #[arg(long, default_value = "coder", value_parser = cli::role(), ignore_case = true)]
    role: Role,

    /// Read {"id", "root", "role", "tool", "input"} and write {"id", "ok", "output"}, one object per line
    #[arg(long, conflicts_with_all = ["name", "input"])]
    jsonl: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    process::start_log("tool");
    process::run(async move |cancel| {
        let mut session = ToolSession::open(cancel.clone()).await?;
        let outcome = match &args.name {
            None => lines::answer(&mut session, args.role, &cancel, ui).await,
            Some(name) => once(&mut session, name, args, ui).await,
        };
        session.close().await;
        outcome
    })
}

async fn once(
    session: &mut ToolSession,
    name: &str,
    args: &Args,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let input: Value = serde_json::from_str(&args.input).map_err(|error| {
        CliError::user(format!("the input is not JSON: {error}"))
            .hint(r#"as in: codebutler tool Read '{"path": "README.md"}'"#)
    })?;
    let root = env::current_dir()?;
    let call = HandCall {
        role: args.role,
        tool: name.to_owned(),
        input,
    };
    let outcome = session.call(&root, call).await?;
    ui.line(outcome.text.trim_end_matches('\n'))?;
    Ok(if outcome.ok {
        Exit::Done
    } else {
        Exit::Findings
    })
}
