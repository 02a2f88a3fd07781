//! `codebutler policy`: what a repo's rules loosen, a person's consent to it, and
//! what the rules say about a command (`explain`).
//!
//! Consent is given by somebody at a terminal, or by naming the exact hash that
//! was shown before. There is no way to agree to whatever the file says by then.

mod explain;

use butler_settings::{Agreement, McpOffer, Settings, agree};
use butler_vocab::Sha256Hex;
use clap::Subcommand;
use inquire::Confirm;

use crate::{
    commands::{environment, set_up_here},
    error::CliError,
    exit::Exit,
    ui::Ui,
};

/// Show what the repo's policy asks for, agree to it, and try commands against it
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Agree to the loosening parts of this repo's policy, or to an MCP server
    Accept(Accept),
    /// Say how far a shell command reaches, and why
    Explain(explain::Explain),
    /// Judge commands line by line, for scripts
    Check(explain::Check),
}

#[derive(Debug, clap::Args)]
struct Accept {
    /// Agree to this MCP server of .codebutler/mcp.json instead
    #[arg(long, value_name = "SERVER")]
    mcp: Option<String>,
    /// The hash that `codebutler policy` showed, instead of answering a question
    #[arg(long, value_name = "SHA256")]
    hash: Option<String>,
}

pub fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    match &args.verb {
        None => show(&here()?, ui),
        Some(Verb::Accept(accept)) => match &accept.mcp {
            Some(server) => accept_server(&here()?, server, accept.hash.as_deref(), ui),
            None => accept_policy(&here()?, accept.hash.as_deref(), ui),
        },
        Some(Verb::Explain(explain)) => explain::explain(explain, ui),
        Some(Verb::Check(check)) => explain::check(check, ui),
    }
}

fn here() -> Result<Settings, CliError> {
    Ok(Settings::load(&set_up_here()?, &environment)?)
}

fn show(settings: &Settings, ui: &Ui) -> Result<Exit, CliError> {
    match &settings.loosening {
        None => ui.line("the policy of this repo loosens nothing")?,
        Some(loosening) => {
            let state = state(loosening.agreed);
            ui.line(format_args!("policy, {state}, {}", loosening.sha256))?;
            for part in &loosening.parts {
                ui.line(format_args!("  {part}"))?;
            }
        }
    }
    for name in settings.mcp.all().into_keys() {
        let state = state(settings.mcp_agreed(name));
        if let Some(McpOffer { sha256, shown }) = settings.mcp_offer(name) {
            ui.line(format_args!("mcp server {name}, {state}, {sha256}"))?;
            ui.line(format_args!("  {shown}"))?;
        }
    }
    Ok(Exit::Done)
}

fn state(agreed: bool) -> &'static str {
    if agreed { "agreed to" } else { "not agreed to" }
}

fn accept_policy(settings: &Settings, hash: Option<&str>, ui: &Ui) -> Result<Exit, CliError> {
    let Some(loosening) = &settings.loosening else {
        ui.line("the policy of this repo loosens nothing; there is nothing to agree to")?;
        return Ok(Exit::Done);
    };
    for part in &loosening.parts {
        ui.note(format_args!("  {part}"));
    }
    settle(
        settings,
        Agreement::Policy,
        &loosening.sha256,
        loosening.agreed,
        hash,
        ui,
    )
}

fn accept_server(
    settings: &Settings,
    name: &str,
    hash: Option<&str>,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let servers = settings.mcp.all();
    let offer = settings.mcp_offer(name);
    let Some(offer) = offer.filter(|_| servers.contains_key(name)) else {
        let names: Vec<_> = servers.into_keys().collect();
        return Err(CliError::user(format!("there is no MCP server {name}"))
            .hint(format!("the servers are: {}", names.join(", "))));
    };
    ui.note(format_args!("  {}", offer.shown));
    let agreed = settings.mcp_agreed(name);
    settle(settings, Agreement::Mcp, &offer.sha256, agreed, hash, ui)
}

fn settle(
    settings: &Settings,
    what: Agreement,
    sha256: &Sha256Hex,
    agreed: bool,
    hash: Option<&str>,
    ui: &Ui,
) -> Result<Exit, CliError> {
    if agreed {
        ui.line("already agreed to on this machine")?;
        return Ok(Exit::Done);
    }
    if !consents(sha256, hash, ui)? {
        ui.line("not agreed to; it stays without effect")?;
        return Ok(Exit::Done);
    }
    agree(&settings.home, what, &settings.root, sha256).map_err(CliError::internal)?;
    ui.line("agreed; it has effect on this machine until the file changes")?;
    Ok(Exit::Done)
}

fn consents(sha256: &Sha256Hex, hash: Option<&str>, ui: &Ui) -> Result<bool, CliError> {
    match hash {
        Some(hash) if hash == sha256.as_str() => Ok(true),
        Some(_) => Err(CliError::user(format!(
            "that is not the hash of what is there now, which is {sha256}"
        ))
        .hint("look at it again with `codebutler policy`")),
        None if ui.can_ask() => Confirm::new("Agree to this on this machine?")
            .with_default(false)
            .prompt()
            .map_err(CliError::internal),
        None => Err(
            CliError::user("there is no terminal to ask on").hint(format!(
                "after reading it, run `codebutler policy accept --hash {sha256}`"
            )),
        ),
    }
}
