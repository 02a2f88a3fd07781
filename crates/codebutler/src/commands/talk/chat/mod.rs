//! `codebutler chat`: talk to a thread from the terminal, as a person.

mod buttons;
mod outcome;
mod talk;

use std::io::{IsTerminal, Read};

use butler_config::{FOLDER, Settings};
use butler_protocol::{MessageTs, ThreadId};
use serde_json::{Value, json};

use crate::commands::talk::{
    chat::talk::{Talk, Words},
    message::{People, words},
    threads::title,
    which::Threads,
};
use crate::{CliError, Exit, Ui, commands::settings_here, person::Person, process, wiring};

/// Talk to a thread from the terminal
///
/// Without a thread the first message begins one. At a terminal, messages are
/// shown as they come and each line you type is posted; the number of a button
/// presses it; Ctrl-D leaves. A hub that goes away is waited for. Otherwise one message is read from the input, and
/// answers are written until the team is done; when its work failed the exit code says so.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The thread: `last`, its number or id in `codebutler threads`, or a link
    thread: Option<String>,

    /// List the threads of the channel, the newest last
    #[arg(long, conflicts_with_all = ["thread", "message", "press", "read"])]
    list: bool,

    /// Show what was said in the thread, with its open buttons, and leave
    #[arg(long, requires = "thread", conflicts_with_all = ["message", "press"])]
    read: bool,

    /// Post this, show the answers, and leave
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,

    /// Press a button by its name or number, show the answers, and leave
    #[arg(
        long,
        value_name = "BUTTON",
        requires = "thread",
        conflicts_with = "message"
    )]
    press: Option<String>,

    /// Seconds to wait until the team is done
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    wait: u64,

    /// --list and --read as JSON, for scripts
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = settings_here()?;
    let url = wiring::hub_url(&settings)?;
    process::run(async move |cancel| {
        let person = Person::join(&settings, url.as_str())?;
        if args.list {
            return list(&person, args.json, ui).await;
        }
        let thread = match &args.thread {
            Some(name) => Some(thread(&person, &settings, name).await?),
            None => None,
        };
        let named = thread.is_some();
        let mut talk = Talk::new(person, thread, &settings, ui);
        let said = match (&args.message, &args.press) {
            (Some(text), _) => Words::Say(text.clone()),
            (None, Some(button)) => Words::Press(button.clone()),
            (None, None) if args.read => return talk.read(args.json).await,
            (None, None) if std::io::stdin().is_terminal() => return talk.converse(&cancel).await,
            (None, None) => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text)?;
                Words::Say(text)
            }
        };
        match said {
            // Nobody says anything, so they came to read.
            Words::Say(text) if text.trim().is_empty() && named => talk.read(args.json).await,
            Words::Say(text) if text.trim().is_empty() => {
                Err(CliError::user("there is no message"))
            }
            said => talk.once(said, args.wait, &cancel).await,
        }
    })
}

async fn list(person: &Person, as_json: bool, ui: &Ui) -> Result<Exit, CliError> {
    let mut roots = person.roots().await?;
    roots.reverse();
    let mut rows = Vec::new();
    for root in &roots {
        let Some(thread) = id(person, root) else {
            continue;
        };
        let replies = root["reply_count"].as_u64().unwrap_or(0);
        let text = title(&words(root, &People::new()));
        if as_json {
            rows.push(json!({"short": thread.short(), "thread": thread.dir_name(),
                "replies": replies, "title": text}));
        } else {
            ui.line(format_args!("{}  {replies:>3}  {text}", thread.short()))?;
        }
    }
    if as_json {
        ui.json(rows)?;
    } else if roots.is_empty() {
        ui.note("no threads yet; the first message begins one");
    }
    Ok(Exit::Done)
}

/// The thread that was meant, also one that nobody but the hub has heard of.
pub(crate) async fn thread(
    person: &Person,
    settings: &Settings,
    name: &str,
) -> Result<MessageTs, CliError> {
    let roots = person.roots().await?;
    let heard_of = roots.iter().filter_map(|root| id(person, root));
    let own = Threads::in_folder(&settings.root.join(FOLDER).join("threads"))?;
    Ok(own.and(heard_of).find(name)?.root.clone())
}

fn id(person: &Person, root: &Value) -> Option<ThreadId> {
    let ts = root["ts"].as_str()?.parse().ok()?;
    Some(ThreadId::new(person.channel().clone(), ts))
}
