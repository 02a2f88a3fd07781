//! `codebutler validate`: everything that is wrong with what people wrote, at once.

use butler_settings::Settings;

use crate::{
    commands::{environment, set_up_here},
    error::{CliError, show_problems},
    exit::Exit,
    ui::Ui,
};

/// Check the configuration, and say what to correct
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let settings = Settings::load(&root, &environment)?;
    show_problems(&settings.notices, ui);
    ui.line(format_args!(
        "the configuration of {} is sound",
        root.display()
    ))?;
    Ok(Exit::Done)
}
