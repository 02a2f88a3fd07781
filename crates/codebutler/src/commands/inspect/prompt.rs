//! `codebutler prompt`: what a role is told, word for word.

use butler_playbook::{Profile, tokens};
use butler_policy::{Right, right};
use butler_protocol::Role;

use crate::{
    CliError, Exit, Ui, cli,
    commands::{playbook, set_up_here, settings_around},
    wiring,
};

/// Print the assembled prompt of a role, with its token count
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which role
    #[arg(value_parser = cli::role(), ignore_case = true)]
    role: Role,
    /// For which kind of model
    #[arg(long, value_enum, default_value_t)]
    profile: ProfileName,
    /// What a thread is about: decides which learnings are given whole
    #[arg(long, default_value = "")]
    task: String,
    #[command(flatten)]
    from: playbook::From,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum ProfileName {
    /// A hosted model of the usual size
    #[default]
    Full,
    /// A local model with a small window
    Small,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let book = args.from.read(&root)?;
    let profile = match args.profile {
        ProfileName::Full => Profile::Full,
        ProfileName::Small => Profile::Small,
    };
    let mut text = book.prompt(args.role, profile, &args.task, &[]);
    let settings = settings_around(&root)?;
    let language = settings.as_ref().and_then(wiring::language);
    text.extend(language.map(|line| format!("\n\n{line}")));
    let keeps = right(args.role, "SaveResearch") != Right::No;
    if let Some(settings) = settings.filter(|_| keeps) {
        let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        let days = settings.repo.research.max_age_days;
        let stale = book.research().to_refresh(today.date(), days);
        text.extend(stale.map(|stale| format!("\n{stale}")));
    }
    ui.line(&text)?;
    ui.note(format_args!(
        "about {} tokens, {} bytes",
        tokens(&text),
        text.len()
    ));
    Ok(Exit::Done)
}
