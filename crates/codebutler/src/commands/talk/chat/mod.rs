//! `codebutler chat`: talk to a thread from the terminal, as a person.

mod talk;

use std::io::{IsTerminal, Read};

use butler_config::Settings;
use butler_protocol::MessageTs;

use crate::commands::talk::chat::talk::Talk;
use crate::commands::talk::message::words;
use crate::{
    commands::{environment, set_up_here},
    error::CliError,
    exit::Exit,
    person::Person,
    process,
    ui::Ui,
    wiring,
};

/// Talk to a thread from the terminal
///
/// Without a thread the first message begins one. At a terminal, messages are
/// shown as they come and each line you type is posted; the number of a button
/// presses it; Ctrl-D leaves. A hub that goes away is waited for. Otherwise one message is read from the input, and
/// answers are written until the team is done.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The thread, as `chat --list` shows it, or `last`
    thread: Option<String>,

    /// List the threads of the channel, the newest last
    #[arg(long, conflicts_with_all = ["thread", "message"])]
    list: bool,

    /// Post this, show the answers, and leave
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,

    /// Seconds to wait until the team is done
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    wait: u64,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let settings = Settings::load(&set_up_here()?, &environment)?;
    let url = wiring::hub_url(&settings)?;
    process::run(async move |cancel| {
        let person = Person::join(&settings, url.as_str())?;
        if args.list {
            return list(&person, ui).await;
        }
        let thread = thread(&person, args.thread.as_deref()).await?;
        let mut talk = Talk::new(person, thread, &settings, ui);
        let said = match &args.message {
            Some(text) => Some(text.clone()),
            None if std::io::stdin().is_terminal() => None,
            None => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text)?;
                Some(text)
            }
        };
        match said {
            None => talk.converse(&cancel).await,
            Some(text) if text.trim().is_empty() => Err(CliError::user("there is no message")),
            Some(text) => talk.once(text.trim(), args.wait, &cancel).await,
        }
    })
}

async fn list(person: &Person, ui: &Ui) -> Result<Exit, CliError> {
    let mut roots = person.roots().await?;
    roots.reverse();
    for root in &roots {
        let replies = root["reply_count"].as_u64().unwrap_or(0);
        let text = words(root);
        let first: String = text
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(72)
            .collect();
        let ts = root["ts"].as_str().unwrap_or_default();
        ui.line(format_args!("{ts}  {replies:>3}  {first}"))?;
    }
    if roots.is_empty() {
        ui.note("no threads yet; the first message begins one");
    }
    Ok(Exit::Done)
}

/// The thread that was meant.
async fn thread(person: &Person, wanted: Option<&str>) -> Result<Option<MessageTs>, CliError> {
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    let roots = person.roots().await?;
    let found = roots
        .iter()
        .filter_map(|root| root["ts"].as_str())
        .find(|ts| wanted == "last" || *ts == wanted);
    match found.map(str::parse) {
        Some(Ok(ts)) => Ok(Some(ts)),
        _ => Err(CliError::user(format!("there is no thread `{wanted}`"))
            .hint("`codebutler chat --list` shows them")),
    }
}
