//! `codebutler completions`: what a shell needs to complete our commands.

use clap_complete::{Shell, generate};

use crate::{CliError, Exit, Ui, cli};

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    generate(args.shell, &mut cli::command(), "codebutler", &mut script);
    ui.raw(&script)?;
    Ok(Exit::Done)
}
