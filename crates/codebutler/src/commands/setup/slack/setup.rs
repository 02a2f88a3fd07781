//! `codebutler slack setup`: the guide, and its result in the two files.

use std::path::{Path, PathBuf};

use butler_config::FOLDER;
use serde_json::json;

use super::guide::{Guided, guide};
use crate::{
    CliError, Exit, Paint, Ui,
    commands::{
        settings_here,
        setup::{
            config_file::{ConfigFile, NOTHING_CHANGED},
            init::Staged,
        },
    },
    hub_access,
};

pub(super) fn run(channel: Option<&str>, ui: &Ui) -> Result<Exit, CliError> {
    let settings = settings_here()?;
    let root = settings.root.clone();
    let wished = match channel {
        Some(name) => name.trim_start_matches('#').to_owned(),
        None => hub_access::repo_channel(&settings)?.name,
    };
    let guided = guide(&settings.machine, &wished, ui.can_ask(), ui)?;
    write(&root, &settings.home, &guided, ui)?;
    if let Some(link) = &guided.link {
        ui.line(format_args!("\nYour channel: {}", link.bold()))?;
    }
    ui.line(format_args!(
        "Next: {} starts the team; `codebutler slack check` looks at all of it again.",
        "codebutler up".bold()
    ))?;
    ui.done(format_args!(
        "Commit and push {FOLDER}/config.json: it names the channel. A running team takes the tokens up after `codebutler restart`."
    ))
}

fn write(root: &Path, home: &Path, guided: &Guided, ui: &Ui) -> Result<(), CliError> {
    let mut staged = Staged::new();
    let Guided {
        tokens, channel, ..
    } = guided;
    let tokens = [
        ("botToken", tokens.bot.expose()),
        ("appToken", tokens.app.expose()),
    ];
    with(home.join("config.json"), tokens)?.stage_for_machine(&mut staged)?;
    if let Some(channel) = channel {
        let keys = [("channelName", &*channel.name), ("channelID", &*channel.id)];
        with(root.join(FOLDER).join("config.json"), keys)?.stage_for_repo(root, &mut staged)?;
    }
    staged.write_out(ui)
}

/// The file with these keys set; one that is not there begins empty.
fn with(file: PathBuf, keys: [(&str, &str); 2]) -> Result<ConfigFile, CliError> {
    let mut file = ConfigFile::open(file, "{}\n")?;
    for (key, value) in keys {
        let set = file.set(&["slack", key], json!(value));
        set.map_err(|error| error.hint(NOTHING_CHANGED))?;
    }
    Ok(file)
}
