//! `codebutler --role <role>`: one agent in the foreground.

use std::time::Duration;

use butler_config::machine_folder;
use butler_protocol::Role;
use butler_slack::{Control, SharedEpoch};

use crate::{
    commands::{environment, set_up_here},
    error::CliError,
    exit::Exit,
    hub_access, log, process,
    supervise::READY,
    ui::Ui,
    wiring,
};

/// How long log lines are offered to a hub that does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn run(role: Role, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let home = machine_folder(&environment).unwrap_or_default();
    let repo = wiring::repo_name(&home, &root)?;
    let lines = log::start_process(role.as_str(), &home, &repo);
    process::run(async move |cancel| {
        let (settings, config, rules) = wiring::agent_and_rules(&root, role).await?;
        log::know(rules.now().redactor.clone());
        let epoch = SharedEpoch::default();
        let control = Control::new(&config.hub, config.bot_token.clone(), epoch);
        let control = control.map_err(CliError::internal)?.with_patience(PATIENCE);
        let forwarding = tokio::spawn(log::forward(control, lines, cancel.child_token()));
        if !hub_access::hub_runs(&settings)? {
            let (hub, remedy) = (&config.hub, hub_access::STARTS_A_HUB);
            ui.note(format_args!("waiting for the hub at {hub}; {remedy}"));
        }
        let ready = || {
            // Only the process that started us reads this.
            let _ = ui.line(READY);
        };
        let ended = butler_agent::run(config, rules, cancel, ready).await;
        forwarding.abort();
        let _ = forwarding.await;
        ended.map_err(CliError::internal)?;
        Ok(Exit::Done)
    })
}
