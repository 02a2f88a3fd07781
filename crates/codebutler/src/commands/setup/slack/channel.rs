//! The channel: picked from a list, made or joined. Whoever sets it up is invited to
//! one that was made, a greeting proves that the app can speak there, and its link is
//! printed.

use butler_protocol::Refusal;
use butler_slack::SlackError;
use serde_json::{Value, json};

use crate::{CliError, Paint, Ui, commands::setup::init::ask, slack_check::Caller};

/// A channel that the app is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picked {
    pub id: String,
    pub name: String,
    made: bool,
}

/// Another question, or no answer at all.
pub(super) enum Wrong {
    /// Said; ask again.
    Again(String),
    Stopped(CliError),
}

impl From<SlackError> for Wrong {
    fn from(error: SlackError) -> Self {
        Wrong::Again(error.whole())
    }
}

/// Asks until a channel can be used.
pub(super) fn ask_for(caller: &Caller, wished: &str, ui: &Ui) -> Result<Picked, CliError> {
    loop {
        match pick(caller, wished) {
            Ok(picked) => return Ok(picked),
            Err(Wrong::Stopped(error)) => return Err(error),
            Err(Wrong::Again(why)) => ui.note(format_args!("{} {why}", "✗".red())),
        }
    }
}

fn pick(caller: &Caller, wished: &str) -> Result<Picked, Wrong> {
    let all = living(caller)?;
    let wanted = all.iter().find(|one| one["name"] == json!(wished));
    let mut others: Vec<&Value> = all
        .iter()
        .filter(|one| one["name"] != json!(wished))
        .collect();
    others.sort_by_key(|one| one["name"].as_str().unwrap_or_default());
    let first = match wanted {
        Some(_) => format!("#{wished}"),
        None => format!("#{wished}, a new channel"),
    };
    let label = |one: &&Value| {
        let lock = match one["is_private"] == json!(true) {
            true => " (private)",
            false => "",
        };
        format!("#{}{lock}", one["name"].as_str().unwrap_or_default())
    };
    let mut choices = vec![first];
    choices.extend(others.iter().map(label));
    choices.push("another channel, private or new".to_owned());
    let help = "type to search; a private channel is listed once the app was invited to it";
    let chosen = ask::one_of("Which channel?", help, &choices, 0).map_err(Wrong::Stopped)?;
    match chosen {
        0 => match wanted {
            Some(channel) => join(caller, channel),
            None => make(caller, wished),
        },
        number if number == choices.len() - 1 => named(caller),
        number => join(caller, others[number - 1]),
    }
}

/// By name: there, or made; a private one needs an invitation, which is said.
fn named(caller: &Caller) -> Result<Picked, Wrong> {
    let name = ask::line("Name of the channel:", "").map_err(Wrong::Stopped)?;
    let name = name.trim_start_matches('#').to_owned();
    if name.is_empty() {
        return Err(Wrong::Again("no name was given".to_owned()));
    }
    use_named(caller, &name)
}

/// The channel of this name, made when there is none.
pub(super) fn use_named(caller: &Caller, name: &str) -> Result<Picked, Wrong> {
    let all = living(caller)?;
    match all.iter().find(|one| one["name"] == json!(name)) {
        Some(channel) => join(caller, channel),
        None => make(caller, name),
    }
}

fn living(caller: &Caller) -> Result<Vec<Value>, SlackError> {
    let args = json!({"limit": 500, "exclude_archived": true,
        "types": "public_channel,private_channel"});
    caller.all("conversations.list", "channels", args)
}

fn make(caller: &Caller, name: &str) -> Result<Picked, Wrong> {
    match caller.call("conversations.create", json!({"name": name})) {
        Ok(made) => Ok(Picked {
            made: true,
            ..picked(&made["channel"])
        }),
        Err(error) if error.refusal() == Some(Refusal::NameTaken) => Err(Wrong::Again(format!(
            "#{name} is taken: by a private channel (type `/invite @codebutler` there and pick it) \
             or by an archived one (unarchive it, or take another name)"
        ))),
        Err(error) => Err(Wrong::Again(format!(
            "#{name} cannot be made: {}",
            error.whole()
        ))),
    }
}

fn join(caller: &Caller, channel: &Value) -> Result<Picked, Wrong> {
    if channel["is_member"] != json!(true) {
        caller.call("conversations.join", json!({"channel": channel["id"]}))?;
    }
    Ok(picked(channel))
}

fn picked(channel: &Value) -> Picked {
    let text = |name: &str| channel[name].as_str().unwrap_or_default().to_owned();
    Picked {
        id: text("id"),
        name: text("name"),
        made: false,
    }
}

/// What the team says in a channel that it comes to.
const I_AM: &str = "I am CodeButler, the software team of this channel.";
const ASK_ME: &str = "Say what you need: `@codebutler.pm add a login page`, or just `help`.";

/// Whether the channel was greeted before: a set-up that is repeated says nothing twice.
fn is_greeted(caller: &Caller, picked: &Picked) -> bool {
    let page = json!({"channel": picked.id, "limit": 999});
    let Ok(page) = caller.call("conversations.history", page) else {
        return false;
    };
    let said = page["messages"].as_array().into_iter().flatten();
    said.filter(|one| one["bot_id"].is_string())
        .filter_map(|one| one["text"].as_str())
        .any(|text| text.starts_with(I_AM))
}

/// Invites whoever sets it up to a channel that was made, greets, and gives the link.
pub(super) fn greet(
    caller: &Caller,
    picked: &Picked,
    workspace: &str,
    ask: bool,
    ui: &Ui,
) -> Result<String, CliError> {
    if picked.made {
        invite(caller, picked, ask, ui)?;
    }
    let said = match !picked.made && is_greeted(caller, picked) {
        true => Ok("greeted before, in"),
        false => {
            let text = format!("{I_AM} {ASK_ME}");
            let words = json!({"channel": picked.id, "text": text, "unfurl_links": false});
            caller.call("chat.postMessage", words).map(|_| "greeted")
        }
    };
    match said {
        Ok(how) => ui.note(format_args!("{} {how} #{}", "✓".green(), picked.name)),
        Err(error) => ui.note(format_args!(
            "{} cannot speak in #{}: {}",
            "✗".red(),
            picked.name,
            error.whole()
        )),
    }
    let workspace = workspace.trim_end_matches('/');
    Ok(format!("{workspace}/archives/{}", picked.id))
}

/// Only the app is in a channel that it made.
fn invite(caller: &Caller, picked: &Picked, asks: bool, ui: &Ui) -> Result<(), CliError> {
    let people = match people(caller) {
        Ok(people) => people,
        Err(error) => {
            ui.note(format_args!(
                "join #{} yourself: {}",
                picked.name,
                error.whole()
            ));
            return Ok(());
        }
    };
    let who = match people.as_slice() {
        [] => None,
        [one] => Some(one),
        many if asks => {
            let names: Vec<String> = many.iter().map(|(_, name)| name.clone()).collect();
            let chosen = ask::one_of(
                "Who are you in Slack?",
                "you are invited to the channel",
                &names,
                0,
            )?;
            many.get(chosen)
        }
        _ => None,
    };
    let Some((id, name)) = who else {
        ui.note(format_args!(
            "join #{} in Slack to talk to the team",
            picked.name
        ));
        return Ok(());
    };
    match caller.call(
        "conversations.invite",
        json!({"channel": picked.id, "users": id}),
    ) {
        Ok(_) => ui.note(format_args!(
            "{} invited {name} to #{}",
            "✓".green(),
            picked.name
        )),
        Err(error) if error.code() == Some("already_in_channel") => {}
        Err(error) => ui.note(format_args!(
            "{name} could not be invited ({}); join #{} yourself",
            error.whole(),
            picked.name
        )),
    }
    Ok(())
}

/// People of the workspace: no bots, nobody who left.
fn people(caller: &Caller) -> Result<Vec<(String, String)>, SlackError> {
    let all = caller.all("users.list", "members", json!({"limit": 200}))?;
    let is_person = |one: &&Value| {
        one["is_bot"] != json!(true) && one["deleted"] != json!(true) && one["id"] != "USLACKBOT"
    };
    let named = |one: &Value| {
        let names = [
            &one["profile"]["display_name"],
            &one["real_name"],
            &one["name"],
        ];
        let name = names
            .into_iter()
            .filter_map(Value::as_str)
            .find(|name| !name.is_empty());
        let id = one["id"].as_str()?.to_owned();
        Some((id.clone(), name.unwrap_or(&id).to_owned()))
    };
    let mut found: Vec<_> = all.iter().filter(is_person).filter_map(named).collect();
    found.sort_by(|one, other| one.1.cmp(&other.1));
    Ok(found)
}
