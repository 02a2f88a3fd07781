//! `codebutler slack check`: everything that setup does, looked at again, and the team
//! that runs. One line each, with what to do about it.

use butler_config::{Settings, machine_folder, set_up_root};
use butler_slack::Workspace;
use serde_json::{Value, json};

use crate::{
    CliError, Exit, Paint, Ui,
    commands::environment,
    hub_access,
    person::Person,
    process,
    slack_check::{self, AppTokens, Caller},
    wiring,
};

/// What is said, and whether it is well.
type Line = Result<String, String>;

pub(super) fn run(ui: &Ui) -> Result<Exit, CliError> {
    let (machine, _) = Settings::machine(&environment)?;
    let Some(tokens) = slack_check::tokens(&machine)? else {
        return Err(CliError::user("no Slack tokens are configured")
            .hint("`codebutler slack setup` asks for them"));
    };
    let home = machine_folder(&environment);
    let root = set_up_root(&std::env::current_dir()?, home.as_deref());
    let settings = match root {
        Some(root) => Some(Settings::load(&root, &environment)?),
        None => None,
    };
    let mut well = true;
    for line in lines(&tokens, settings.as_ref()) {
        match line {
            Ok(said) => ui.line(format_args!("{} {said}", "✓".green()))?,
            Err(said) => {
                well = false;
                ui.line(format_args!("{} {said}", "✗".red()))?;
            }
        }
    }
    Ok(if well { Exit::Done } else { Exit::Findings })
}

fn lines(tokens: &AppTokens, settings: Option<&Settings>) -> Vec<Line> {
    let workspace = Workspace::with_file(tokens.base.clone(), tokens.ca_file.clone());
    let mut lines = Vec::new();
    match slack_check::bot(&workspace, &tokens.bot) {
        Ok(status) => {
            lines.push(Ok(format!("the app is installed in {}", status.team)));
            lines.push(match status.missing.as_slice() {
                [] => Ok("it has every scope".to_owned()),
                missing => Err(format!(
                    "missing scopes: {}; add them under \"OAuth & Permissions\" and install the app again",
                    missing.join(", ")
                )),
            });
            if let Some(settings) = settings {
                lines.push(channel(&workspace, tokens, settings));
            }
        }
        Err(fault) => lines.push(Err(fault.to_string())),
    }
    lines.push(match slack_check::app(&workspace, &tokens.app) {
        Ok(()) => Ok("Slack is heard over its socket".to_owned()),
        Err(fault) => Err(fault.to_string()),
    });
    if let Some(settings) = settings {
        lines.push(team(settings));
    }
    lines
}

/// The repo's channel, as Slack has it.
fn channel(workspace: &Workspace, tokens: &AppTokens, settings: &Settings) -> Line {
    let wanted = hub_access::repo_channel(settings).map_err(|error| error.plain())?;
    let caller = Caller::new(workspace, &tokens.bot).map_err(|fault| fault.to_string())?;
    let found = match &wanted.id {
        Some(id) => caller
            .call("conversations.info", json!({"channel": id}))
            .map(|answer| Some(answer["channel"].clone())),
        None => {
            let args = json!({"limit": 500, "types": "public_channel,private_channel"});
            let all = caller.all("conversations.list", "channels", args);
            all.map(|all| {
                all.into_iter()
                    .find(|one| one["name"] == json!(wanted.name))
            })
        }
    };
    let remedy = "type `/invite @codebutler` there, or pick another with `codebutler slack setup`";
    let found = found.map_err(|error| {
        format!(
            "the channel #{} cannot be seen: {}; {remedy}",
            wanted.name,
            error.whole()
        )
    })?;
    let Some(found) = found else {
        return Ok(format!("#{} is made when the team starts", wanted.name));
    };
    let name = found["name"].as_str().unwrap_or(&wanted.name);
    if found["is_archived"] == json!(true) {
        return Err(format!(
            "#{name} is archived; unarchive it, or pick another with `codebutler slack setup`"
        ));
    }
    match found["is_member"] == json!(true) {
        true => Ok(format!("the app is in #{name}")),
        false => Err(format!("the app is not in #{name}; {remedy}")),
    }
}

/// What the hub that runs says.
fn team(settings: &Settings) -> Line {
    match running(settings) {
        Ok(None) => Ok("no team runs; `codebutler up` starts it".to_owned()),
        Ok(Some(Value::Null)) => {
            Err("the hub that runs was started without Slack; `codebutler restart`".to_owned())
        }
        Ok(Some(status)) => match troubles(&status).as_slice() {
            [] => Ok("the team that runs hears Slack".to_owned()),
            troubles => Err(troubles.join("; ")),
        },
        Err(error) => Err(format!("the hub does not answer: {}", error.plain())),
    }
}

/// How it stands with Slack by the words of the hub that runs, if one does.
pub(crate) fn running(settings: &Settings) -> Result<Option<Value>, CliError> {
    let url = match hub_access::hub_runs(settings)? {
        true => wiring::remembered_hub(settings),
        false => None,
    };
    let Some(url) = url else {
        return Ok(None);
    };
    process::run_on_one_thread(async move |_cancel| {
        let person = Person::join(settings, url.base.as_str())?;
        Ok(Some(person.slack().await?))
    })
}

/// Everything that is wrong by a hub's own words.
pub(crate) fn troubles(status: &Value) -> Vec<String> {
    let channels = status["channels"].as_array().into_iter().flatten();
    let all = std::iter::once(&status["trouble"]).chain(channels.map(|one| &one["trouble"]));
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}
