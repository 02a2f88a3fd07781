//! The one binary: reads the command line, runs the command, and turns what
//! went wrong into words and a documented exit code.
//!
//! Nothing heavy happens before a command is chosen, so `--version` and shell
//! completions take a few milliseconds.

mod cli;
mod commands;
mod error;
mod exit;
mod ui;

use std::process::ExitCode;

use crate::{exit::Exit, ui::Ui};

fn main() -> ExitCode {
    // The HTTP client panics without a provider, so this comes before everything
    // else. The only error is that one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();

    let ui = Ui::new();
    let outcome = match cli::parse() {
        Ok(command) => command.run(&ui),
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
