//! `codebutler --role <role>`: one agent in the foreground.

use butler_vocab::Role;

use crate::{
    commands::set_up_here, error::CliError, exit::Exit, process, roster, supervise::READY, ui::Ui,
    wiring,
};

pub fn run(role: Role, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    process::start_log(role.as_str());
    process::run(async move |cancel| {
        let settings = wiring::settings_in_force(&root).await?;
        let mut config = wiring::agent_config(&settings, role)?;
        roster::fit(&settings, &mut config).await;
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
