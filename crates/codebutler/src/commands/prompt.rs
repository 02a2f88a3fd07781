//! `codebutler prompt`: what a role is told, word for word.

use butler_playbook::{Profile, tokens};
use butler_vocab::Role;

use crate::{
    commands::{playbook, set_up_here},
    error::CliError,
    exit::Exit,
    ui::Ui,
};

/// Print the assembled prompt of a role, with its token count
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which role
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

pub fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let book = args.from.read(&set_up_here()?)?;
    let profile = match args.profile {
        ProfileName::Full => Profile::Full,
        ProfileName::Small => Profile::Small,
    };
    let text = book.prompt(args.role, profile, &args.task);
    ui.line(&text)?;
    ui.note(format_args!(
        "about {} tokens, {} bytes",
        tokens(&text),
        text.len()
    ));
    Ok(Exit::Done)
}
