//! The address of a model server as somebody typed it.

use butler_config::address_problem;

use crate::CliError;

/// Refuses what is no address, in the name of the flag. An address that holds a
/// password is not repeated.
pub(crate) fn check(flag: &str, text: &str) -> Result<(), CliError> {
    match address_problem(text) {
        None => Ok(()),
        Some((what, remedy)) => {
            let shown = if text.contains('@') { "…" } else { text };
            Err(CliError::user(format!("{flag} {shown}: {what}")).hint(remedy))
        }
    }
}
