//! `codebutler validate`: everything that is wrong with what people wrote, at once.

use butler_config::Settings;

use crate::{
    CliError, Exit, Ui,
    commands::{environment, playbook, set_up_here},
    error::show_problems,
};

/// Check configuration, skills, workflows, learnings and roadmap, and say what to correct
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    // Both are looked at before either is told: nobody wants to run it twice.
    let settings = Settings::load(&root, &environment);
    let problems = playbook::on_disk(&root)?.problems();
    if !problems.is_empty() {
        let count = problems.len();
        let plural = if count == 1 { "" } else { "s" };
        ui.note(format_args!("{count} problem{plural} in the playbook"));
        playbook::show_problems(&problems, ui);
    }
    show_problems(&settings?.notices, ui);
    if !problems.is_empty() {
        return Ok(Exit::Findings);
    }
    ui.done(format_args!(
        "the configuration and the playbook of {} are sound",
        root.display()
    ))
}
