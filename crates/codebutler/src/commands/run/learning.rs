//! The team's first look at the code: `init` leaves a note that a person wants it, and
//! whatever starts the team posts the words for it, once. The note is renamed before the
//! post and goes after it, so that a crash in between is seen: then the channel tells
//! whether the words are there.

use std::{fs, io, path::Path};

use butler_config::{FOLDER, Settings};

use crate::{CliError, Ui, hub_access, person::Person};

/// What a person would say.
const WORDS: &str = "learn this repo";
const WANTED: &str = "threads/learn.wanted";
const POSTING: &str = "threads/learn.posting";

/// Leaves the note.
pub(crate) fn want(root: &Path) -> io::Result<()> {
    let note = root.join(FOLDER).join(WANTED);
    if let Some(folder) = note.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(note, "")
}

/// Posts what a note asks for, in the name of the person who was asked. A team that is
/// up does not end because of it: what went wrong is told.
pub(crate) async fn post(settings: &Settings, hub: &str, ui: &Ui) {
    if let Err(error) = post_once(settings, hub, ui).await {
        ui.note(format_args!(
            "the team was not told to get to know the code ({}); say `{WORDS}` in its channel",
            error.plain()
        ));
    }
}

async fn post_once(settings: &Settings, hub: &str, ui: &Ui) -> Result<(), CliError> {
    let folder = settings.root.join(FOLDER);
    let (wanted, posting) = (folder.join(WANTED), folder.join(POSTING));
    let begun = posting.exists();
    if wanted.exists() {
        fs::rename(&wanted, &posting)?;
    } else if !begun {
        return Ok(());
    }
    if hub_access::relays(settings) {
        // In Slack people speak for themselves.
        ui.note(format_args!(
            "to let the team get to know the code, say `{WORDS}` in its channel"
        ));
        return Ok(fs::remove_file(&posting)?);
    }
    let person = Person::join(settings, hub)?;
    let roots = if begun {
        person.roots().await?
    } else {
        Vec::new()
    };
    let said = |root: &serde_json::Value| root["text"] == WORDS;
    if !roots.iter().any(said) {
        person.say(WORDS).await?;
        ui.note("the team gets to know the code; its maps come as a card in the channel");
    }
    Ok(fs::remove_file(&posting)?)
}
