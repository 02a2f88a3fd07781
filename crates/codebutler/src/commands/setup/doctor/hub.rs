//! The hub on another machine, where this repository has joined one; else whether one can
//! run here: its store, and the port that it listens on.

use std::net::{SocketAddr, TcpListener};

use butler_config::Settings;

use crate::{
    commands::setup::doctor::{Finding, Place},
    hub_access::{self, joining},
    process, roles, wiring,
};

const NAME: &str = "hub";

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let Some(settings) = &place.settings else {
        return Vec::new();
    };
    let Some(joined) = settings.joined() else {
        let port = port(settings);
        return store(settings).into_iter().chain(port).collect();
    };
    let asked = process::run_on_one_thread(async |_| {
        joining::greet(&wiring::hub(settings)?).await?;
        Ok(joining::was_sent_away(settings).await)
    });
    let url = &joined.url;
    vec![match asked {
        Ok(false) => Finding::ok(
            NAME,
            format!(
                "{url} knows this machine as {}",
                roles::words(&joined.roles())
            ),
        ),
        Ok(true) => Finding::failed(
            NAME,
            format!("{url} sent this machine away"),
            "`codebutler hub invite`, beside the hub, prints a link; `codebutler init --join LINK` takes it",
        ),
        Err(error) => {
            let fix = "`codebutler worker` goes on as soon as it answers";
            Finding::failed(NAME, error.plain(), fix)
        }
    }]
}

/// Nothing is made by looking: where no hub ever ran there is nothing to say.
fn store(settings: &Settings) -> Option<Finding> {
    const NAME: &str = "store";
    let files = ["hub.sqlite3", "hub.sqlite3.moved"];
    let folder = wiring::hub_folder(settings);
    let in_database = settings.machine.hub.database.is_some();
    if !in_database && !files.iter().any(|file| folder.join(file).exists()) {
        return None;
    }
    Some(match hub_access::store(settings) {
        Ok(_) => Finding::ok(NAME, "can be opened"),
        Err(error) => {
            let fix = error
                .remedy()
                .unwrap_or("docs/operations.md, StoreNotWriting");
            Finding::failed(NAME, error.plain(), fix)
        }
    })
}

/// Whether somebody else has the port; while a hub runs it is its own.
fn port(settings: &Settings) -> Option<Finding> {
    let listen: SocketAddr = settings.machine.hub.listen;
    if hub_access::hub_runs(settings).unwrap_or(true) {
        return None;
    }
    let taken = TcpListener::bind(listen).err()?;
    Some(Finding::warning(
        "port",
        format!("{listen} cannot be listened on: {taken}"),
        "end what listens there, or name another address in `hub.listen`; `codebutler up` takes the next free port",
    ))
}
