//! Commands about the people of the built-in workspace: who is in it, what they may do,
//! and what they did. They work on the hub's store; the hub need not run.

pub(crate) mod audit;
pub(crate) mod everybody;
pub(crate) mod invite;

use butler_config::Settings;
use butler_hub::{HubError, Tokens};
use butler_protocol::Standing;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::{CliError, commands::settings_here, hub_access};

/// The settings here, and the store of their hub.
fn store() -> Result<(Settings, Tokens), CliError> {
    let settings = settings_here()?;
    let tokens = hub_access::store(&settings)?;
    Ok((settings, tokens))
}

/// People of Slack are Slack's.
fn only_without_slack(settings: &Settings) -> Result<(), CliError> {
    if hub_access::relays(settings) {
        let error = CliError::user("Slack is behind this hub, so its people are Slack's");
        return Err(error.hint(
            "`people` in the machine config gives them rights, by user id or group: \
             {\"people\": {\"U024BE7LH\": \"maintainer\", \"*\": \"guest\"}}",
        ));
    }
    Ok(())
}

/// What the store refused, in words.
pub(crate) fn refused(error: HubError) -> CliError {
    match error {
        HubError::Step(trouble) => match trouble.refused() {
            Some(refusal) => CliError::user(refusal.sentence()),
            None => CliError::internal(HubError::Step(trouble)),
        },
        other => CliError::internal(other),
    }
}

/// Reads what somebody may do, and lets shells complete it.
fn standing() -> impl TypedValueParser<Value = Standing> {
    PossibleValuesParser::new(Standing::ALL.map(Standing::as_str)).try_map(|word| word.parse())
}
