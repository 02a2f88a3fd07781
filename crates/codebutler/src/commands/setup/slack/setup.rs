//! `codebutler slack setup`: the guide, and its result in the two files.

use std::{fs, path::Path};

use butler_config::{Change, FOLDER, RepoFiles, Settings, edit};
use serde_json::{Value, json};

use super::guide::{Guided, guide};
use crate::{
    commands::{
        environment, settings_here,
        setup::init::{Access, Staged},
    },
    error::CliError,
    exit::Exit,
    hub_access,
    ui::{Ui, paint::Paint},
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
    ui.line(format_args!(
        "Commit and push {FOLDER}/config.json: it names the channel. A running team takes the tokens up after `codebutler restart`."
    ))?;
    Ok(Exit::Done)
}

fn write(root: &Path, home: &Path, guided: &Guided, ui: &Ui) -> Result<(), CliError> {
    let mut staged = Staged::new();
    let machine = home.join("config.json");
    let tokens = [
        (["slack", "botToken"], json!(guided.tokens.bot.expose())),
        (["slack", "appToken"], json!(guided.tokens.app.expose())),
    ];
    let text = with(&machine, &tokens)?;
    Settings::check_machine(&machine, &text, &environment)?;
    staged.replace(&machine, &text, Access::Private)?;
    if let Some(channel) = &guided.channel {
        let repo = root.join(FOLDER).join("config.json");
        let keys = [
            (["slack", "channelName"], json!(channel.name)),
            (["slack", "channelID"], json!(channel.id)),
        ];
        let text = with(&repo, &keys)?;
        let files = RepoFiles {
            config: Some(text.clone()),
            ..RepoFiles::on_disk(root)?
        };
        Settings::load_from(root, &files, &environment)?;
        staged.replace(&repo, &text, Access::Shared)?;
    }
    for path in staged.persist()?.made {
        ui.line(format_args!("wrote    {}", path.display()))?;
    }
    Ok(())
}

/// The file's text with these keys set; a file that is not there begins empty.
fn with(file: &Path, keys: &[([&str; 2], Value)]) -> Result<String, CliError> {
    let mut text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "{}\n".to_owned(),
        Err(error) => {
            return Err(CliError::user(format!(
                "cannot read {}: {error}",
                file.display()
            )));
        }
    };
    for (path, value) in keys {
        text = edit(&text, path, &Change::Set(value.clone())).map_err(|error| {
            CliError::user(format!("{}: {error}", file.display()))
                .hint("nothing was changed; correct the file and run the command again")
        })?;
    }
    Ok(text)
}
