//! `codebutler configure`: shows what is configured and where it comes from, and
//! changes it: by flags, or by a menu where somebody can answer. What `init` can
//! write `init` writes; here is what it cannot: taking something out again, and
//! which agents run on this machine.

mod change;
mod menu;
mod show;

use butler_config::Settings;
use butler_protocol::Role;

use self::change::Removal;
use crate::{
    CliError, Exit, Ui, cli,
    commands::{environment, services::start, set_up_here, setup::init},
};

/// Show and change channel, chat, tokens, models, checks, and which agents run here
///
/// Without flags it asks what to change. Only what a flag names is changed.
// Its group would be called as that of the flags that `init` has.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Every value, with where it comes from; secrets are masked
    #[arg(long)]
    show: bool,

    /// With --show: as JSON, for scripts
    #[arg(long, requires = "show", hide_short_help = true)]
    json: bool,

    /// Which agents run on this machine as services, as in pm,coder
    #[arg(long, value_delimiter = ',', value_name = "ROLES", value_parser = cli::role(), ignore_case = true, hide_short_help = true)]
    roles: Vec<Role>,

    /// Use the built-in workspace; takes the tokens of Slack out
    #[arg(long, conflicts_with = "slack", hide_short_help = true)]
    built_in_chat: bool,

    /// Take a check out; may be repeated
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    remove_check: Vec<String>,

    #[command(flatten)]
    written: init::Args,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    if args.show {
        return show::run(&Settings::load(&root, &environment)?, args.json, ui);
    }
    let removals = removals(args);
    let nothing = removals.is_empty() && args.roles.is_empty() && !args.written.names_something();
    if nothing {
        if ui.can_ask() {
            return menu::run(&root, ui);
        }
        let error = CliError::user("nothing was named that is to change");
        return Err(error.hint(
            "`codebutler configure --help` lists the flags; --show shows what is configured",
        ));
    }
    change::remove(&root, &removals, ui)?;
    if args.written.names_something() {
        init::set_up(&args.written.asking(ui.can_ask()), ui)?;
    }
    if args.roles.is_empty() {
        ui.note("a running team takes up what is on the default branch by itself; the machine config after `codebutler restart`");
        return Ok(Exit::Done);
    }
    start::run(&start::Args::of(&args.roles), ui)
}

fn removals(args: &Args) -> Vec<Removal> {
    let mut removals: Vec<Removal> = Vec::new();
    if args.built_in_chat {
        removals.push(Removal::SlackTokens);
    }
    let checks = args.remove_check.iter().cloned();
    removals.extend(checks.map(Removal::Check));
    removals
}
