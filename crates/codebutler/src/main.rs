//! The one binary: reads the command line, runs the command, and turns what
//! went wrong into words and a documented exit code.
//!
//! Nothing heavy happens before a command is chosen, so `--version` and shell
//! completions take a few milliseconds.

mod address;
mod browser;
mod cli;
mod commands;
mod error;
mod exit;
mod faults;
mod hub_access;
mod log;
mod model_check;
mod names;
mod person;
mod process;
mod roster;
mod slack_check;
mod supervise;
mod ui;
mod wiring;

use std::process::ExitCode;

// What every command has in common.
pub(crate) use crate::{
    error::CliError,
    exit::Exit,
    ui::{Ui, paint::Paint, roles},
};

fn main() -> ExitCode {
    // The helper that confines a command: it restricts itself and never returns.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "__sandbox")
    {
        butler_sandbox::helper_main();
    }
    faults::install();
    // Git that looks at files is confined by this same binary, whatever command runs.
    if let Ok(helper) = std::env::current_exe() {
        butler_repo::confine_with(helper);
    }
    // The HTTP client panics without a provider, so this comes before every
    // command. The only error is that one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let ui = Ui::new();
    let outcome = match cli::parse() {
        Ok(cli) => {
            log::choose(cli.log_format);
            cli.run(&ui)
        }
        Err(answer) => return cli::answer(&answer),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            error.show(&ui);
            Exit::from(error.kind()).into()
        }
    }
}
