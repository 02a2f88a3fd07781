//! The end of a story: what to do next is said in its thread and in the
//! terminal. The PM's name is borrowed for it, because the demo is no role of
//! the team; nobody is addressed, so nobody wakes up.

use std::{collections::BTreeMap, time::Duration};

use butler_config::Settings;
use butler_protocol::Role;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{CliError, Ui, hub_access, person::Person, wiring};

/// How often the board is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// After so many looks without a new message nobody has anything to add.
const QUIET: u32 = 4;

/// How the report of a merged thread begins.
pub(crate) const REPORT: &str = "*What it took*";

/// What comes after the demo.
pub(crate) const NEXT: &str = "Now your repo: `codebutler init` in it asks for a model, \
    `codebutler doctor` says what is missing, `codebutler up` starts the team.";

/// Says at the end of each story what comes next, until the demo ends.
pub(crate) async fn watch(
    settings: &Settings,
    url: &str,
    ui: &Ui,
    cancel: &CancellationToken,
) -> Result<(), CliError> {
    let person = Person::join(settings, url)?;
    let mut quiet: BTreeMap<String, (String, u32)> = BTreeMap::new();
    loop {
        tokio::select! {
            () = cancel.cancelled() => return Ok(()),
            () = tokio::time::sleep(LOOK) => {}
        }
        // A hub that is being started again has nothing new to tell.
        let Ok(board) = person.board().await else {
            continue;
        };
        for thread in board["threads"].as_array().into_iter().flatten() {
            let Some(end) = ended(thread) else { continue };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (root, latest) = (text(&thread["thread"]["root"]), text(&thread["latest"]));
            let (last, looks) = quiet.entry(root.clone()).or_default();
            // What is said after the farewell, and the farewell itself, begin nothing anew.
            if *looks < QUIET && *last != latest {
                (*last, *looks) = (latest, 0);
            } else {
                *looks = looks.saturating_add(1);
            }
            if *looks == QUIET {
                // A busy machine takes its time between the merge and the report.
                if end == "merged" && !reported(&person, &root).await {
                    *looks = 0;
                    continue;
                }
                ui.line(format_args!(
                    "“{}” is {end}. {NEXT}",
                    text(&thread["title"])
                ))?;
                say(settings, url, &root, end).await?;
            }
        }
    }
}

/// How a story ended; nothing while it goes on.
fn ended(thread: &Value) -> Option<&str> {
    let end = thread["pull"][1].as_str()?;
    let still = |one: &Value| one["working"].as_array().is_some_and(|all| !all.is_empty());
    (["merged", "closed"].contains(&end) && !still(thread)).then_some(end)
}

/// Whether the thread says what it took: the last that the team has to say.
async fn reported(person: &Person, root: &str) -> bool {
    let Ok(root) = root.parse() else { return true };
    let thread = person.thread(&root).await.unwrap_or_default();
    let messages = thread["messages"].as_array().into_iter().flatten();
    let texts = messages.filter_map(|message| message["text"].as_str());
    texts.into_iter().any(|text| text.starts_with(REPORT))
}

async fn say(settings: &Settings, url: &str, root: &str, end: &str) -> Result<(), CliError> {
    let tokens = hub_access::repo_tokens(settings)?;
    let Some(pm) = tokens.agents.get(&Role::Pm) else {
        return Ok(());
    };
    let story = match end {
        "merged" => "That was the whole way: asked, planned, built, reviewed, merged.",
        _ => "That was a story with another end: built, reviewed, and not merged.",
    };
    let message = json!({
        "channel": tokens.channel, "thread_ts": root, "username": Role::Pm.user_name(),
        "icon_emoji": Role::Pm.icon(),
        "text": format!("{story} The other stories are in the channel. {NEXT}"),
    });
    let posting = hub_access::client(&wiring::hub(settings)?)?
        .post(format!(
            "{}/api/chat.postMessage",
            url.trim_end_matches('/')
        ))
        .bearer_auth(pm.bot.expose())
        .json(&message);
    posting.send().await.map_err(CliError::internal)?;
    Ok(())
}
