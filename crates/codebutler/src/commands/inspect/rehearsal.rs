//! `codebutler rehearsal`: a model that plays a scenario, or a mailbox in which
//! a person plays the model.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use butler_protocol::ToolSpec;
use butler_rehearsal::{Rehearsal, Scenario, ScenarioError, manual_model};
use butler_tools::Registry;

use crate::{CliError, Exit, Ui, process, supervise::READY};

/// Check a scenario, play it as a model, or play the model yourself
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Say what is wrong with a scenario file
    Check { file: PathBuf },
    /// Play a scenario as a model endpoint until Ctrl-C
    Serve {
        file: PathBuf,
        /// Where to listen; port 0 takes a free one
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
        listen: SocketAddr,
        /// Refuse requests that are off the script, with what was expected
        #[arg(long)]
        strict: bool,
    },
    /// Park each request as a file and wait for an answer file, until Ctrl-C
    Mailbox {
        dir: PathBuf,
        /// Where to listen; port 0 takes a free one
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
        listen: SocketAddr,
    },
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    match &args.verb {
        Verb::Check { file } => check(file, ui),
        Verb::Serve {
            file,
            listen,
            strict,
        } => serve(file, *listen, *strict, ui),
        Verb::Mailbox { dir, listen } => post(dir, *listen, ui),
    }
}

fn check(file: &Path, ui: &Ui) -> Result<Exit, CliError> {
    let problems = match Scenario::parse(&read(file)?) {
        Err(problem) => vec![problem],
        Ok(scenario) => {
            let problems = scenario.check(&all_tools());
            if problems.is_empty() {
                let roles = scenario.roles().filter(|(_, steps)| *steps > 0);
                let roles: Vec<_> = roles
                    .map(|(role, steps)| format!("{role} {steps}"))
                    .collect();
                let title = scenario.title();
                ui.line(format_args!("{title}: sound; steps: {}", roles.join(", ")))?;
                return Ok(Exit::Done);
            }
            problems
        }
    };
    for problem in &problems {
        ui.line(place(file, problem))?;
    }
    Ok(Exit::Findings)
}

fn serve(file: &Path, listen: SocketAddr, strict: bool, ui: &Ui) -> Result<Exit, CliError> {
    let scenario = Scenario::parse(&read(file)?).map_err(|problem| {
        CliError::user(place(file, &problem))
            .hint("`codebutler rehearsal check` lists all problems")
    })?;
    process::start_log("rehearsal");
    process::run(async move |cancel| {
        let model = Rehearsal::start(listen, scenario, strict, cancel.clone())
            .await
            .map_err(CliError::internal)?;
        ui.line(format_args!("{READY} {}", model.base_url()))?;
        cancel.cancelled().await;
        for step in model.left_over() {
            ui.note(format_args!("never given: {step}"));
        }
        model.stop().await;
        Ok(Exit::Done)
    })
}

fn post(dir: &Path, listen: SocketAddr, ui: &Ui) -> Result<Exit, CliError> {
    process::start_log("mailbox");
    process::run(async move |cancel| {
        let open = manual_model(dir, listen, cancel.clone())
            .await
            .map_err(CliError::internal)?;
        ui.line(format_args!("{READY} {}", open.base_url()))?;
        ui.note(format_args!(
            "requests come to {}, answers are taken from {}",
            dir.join("waiting").display(),
            dir.join("answers").display()
        ));
        cancel.cancelled().await;
        open.close().await;
        Ok(Exit::Done)
    })
}

/// The tools that roles can call.
fn all_tools() -> Vec<ToolSpec> {
    let registry = Registry::native();
    let names: Vec<_> = registry.names().collect();
    let mut tools = registry.offered(&names);
    tools.extend(butler_agent::chat_specs(None));
    tools
}

fn read(file: &Path) -> Result<String, CliError> {
    fs::read_to_string(file)
        .map_err(|error| CliError::user(format!("scenario {}: {error}", file.display())))
}

fn place(file: &Path, problem: &ScenarioError) -> String {
    match problem.line {
        0 => format!("{}: {}", file.display(), problem.problem),
        line => format!("{}:{line}: {}", file.display(), problem.problem),
    }
}
