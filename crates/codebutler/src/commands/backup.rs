//! `codebutler backup` and `codebutler restore`: the conversations and the logs of
//! a repo's threads in one file, taken while the team works, and put back here or
//! on another machine.

mod archive;
mod copy;
pub(crate) mod restore;
pub(crate) mod save;

use butler_config::Settings;

use crate::error::CliError;

/// The store is a file here. One in a database is saved by the database's own means: a
/// backup without the conversations must not look like one with them.
fn store_is_a_file(settings: &Settings) -> Result<(), CliError> {
    if settings.machine.hub.database.is_none() {
        return Ok(());
    }
    let error = CliError::user("the hub's store is in a database (hub.database), not in a file");
    Err(error.hint(
        "save and restore that with pg_dump and pg_restore, and .codebutler/threads by copying it",
    ))
}
