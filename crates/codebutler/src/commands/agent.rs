//! `codebutler --role <role>`: one agent in the foreground.

use butler_settings::Settings;
use butler_vocab::Role;

use crate::{
    commands::{environment, set_up_here},
    error::CliError,
    exit::Exit,
    process,
    supervise::READY,
    ui::Ui,
    wiring,
};

pub fn run(role: Role, ui: &Ui) -> Result<Exit, CliError> {
    let settings = Settings::load(&set_up_here()?, &environment)?;
    let config = wiring::agent_config(&settings, role)?;
    process::start_log(role.as_str());
    process::run(async move |cancel| {
        let ready = || {
            // Only the process that started us reads this.
            let _ = ui.line(READY);
        };
        butler_team::run(config, cancel, ready)
            .await
            .map_err(CliError::internal)?;
        Ok(Exit::Done)
    })
}
