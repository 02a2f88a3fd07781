//! The binary.

use clap::Parser;

/// A software team that lives in a Slack channel
#[derive(Debug, Parser)]
#[command(name = "codebutler", version)]
struct Cli {}

fn main() {
    Cli::parse();
}
