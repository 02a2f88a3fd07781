//! `codebutler --role <role>`: one agent in the foreground, or below a service.

use std::{path::Path, time::Duration};

use butler_agent::{AgentConfig, RulesInForce};
use butler_config::{Settings, machine_folder};
use butler_protocol::Role;
use butler_slack::{Control, SharedEpoch};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::{
    CliError, Exit, Ui,
    commands::{environment, set_up_here},
    hub_access, log,
    process::{
        self, renewal,
        running::{self, KeptBy},
    },
    supervise::READY,
    wiring,
};

/// How long log lines are offered to a hub that does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn run(role: Role, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let home = machine_folder(&environment).unwrap_or_default();
    let repo = wiring::repo_name(&home, &root)?;
    let lines = log::start_process(role.as_str(), &home, &repo);
    let note = running::hold(&home, &repo, role.as_str());
    if let Err(error) = &note {
        warn!(%error, "`codebutler status` will not see this process");
    }
    let outcome = process::run(async move |cancel| {
        if KeptBy::this_process() == KeptBy::Service && !hub_comes(&root, &cancel).await? {
            return Ok(Exit::Done);
        }
        let (settings, config, rules) = wiring::agent_and_rules(&root, role).await?;
        log::know(rules.now().redactor.clone());
        let epoch = SharedEpoch::default();
        let control = Control::new(&config.hub, config.bot_token.clone(), epoch);
        let control = control.map_err(CliError::internal)?.with_patience(PATIENCE);
        let forwarding = tokio::spawn(log::forward(control, lines, cancel.child_token()));
        let ended = work(&settings, config, rules, cancel, ui).await;
        forwarding.abort();
        let _ = forwarding.await;
        ended
    });
    told(outcome)
}

/// Works until the process is told to end, or is to be started anew.
async fn work(
    settings: &Settings,
    config: AgentConfig,
    rules: RulesInForce,
    cancel: CancellationToken,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let (asked, hub) = (config.renewal.clone(), config.hub.clone());
    if !hub_access::hub_runs(settings)? {
        let (at, remedy) = (&hub.base, hub_access::STARTS_A_HUB);
        ui.note(format_args!("waiting for the hub at {at}; {remedy}"));
    }
    let ready = || {
        // Only the process that started us reads this.
        let _ = ui.line(READY);
    };
    // Without its hub an agent can finish nothing.
    let ending = cancel.child_token();
    let working = butler_agent::run(config, rules, ending.clone(), ready);
    let moved = async {
        tokio::select! {
            () = renewal::another_hub(settings, &hub), if renews() => ending.cancel(),
            () = async { renewal::another_binary().await; asked.cancel() } => {}
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = working => ended.map_err(CliError::internal)?,
        () = moved => {}
    }
    let comes_back = asked.is_cancelled() || ending.is_cancelled();
    Ok(if comes_back && !cancel.is_cancelled() {
        Exit::ComeBack
    } else {
        Exit::Done
    })
}

/// Whether somebody starts this process again.
fn renews() -> bool {
    KeptBy::this_process() != KeptBy::Nobody
}

/// Waits until a hub of this machine has said where it listens; false when the
/// process is to end before.
async fn hub_comes(root: &Path, cancel: &CancellationToken) -> Result<bool, CliError> {
    let settings = Settings::load(root, &environment)?;
    tokio::select! {
        () = renewal::first_hub(&settings) => Ok(true),
        () = cancel.cancelled() => Ok(false),
    }
}

/// Below a service nobody reads the error stream: `status` finds it in the log.
pub(crate) fn told(outcome: Result<Exit, CliError>) -> Result<Exit, CliError> {
    if let Err(error) = &outcome
        && KeptBy::this_process() == KeptBy::Service
    {
        error!("{}", error.plain());
    }
    outcome
}
