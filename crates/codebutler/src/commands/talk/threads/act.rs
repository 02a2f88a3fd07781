//! `codebutler threads archive` and `resume`: a person's word in a thread, said
//! from the command line.

use std::time::{Duration, Instant};

use butler_config::{FOLDER, Settings};
use butler_protocol::MessageTs;

use crate::commands::talk::{
    message::{people, words},
    which,
};
use crate::{
    commands::{environment, set_up_here},
    error::CliError,
    exit::Exit,
    person::Person,
    process,
    ui::Ui,
    wiring,
};

const ANSWER: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The thread: `last`, its number or id in `codebutler threads`, or a link
    thread: String,
}

/// Says the word in the thread and shows the first answer.
pub(crate) fn run(args: &Args, word: &'static str, ui: &Ui) -> Result<Exit, CliError> {
    let root = set_up_here()?;
    let thread = which::readable(&root.join(FOLDER).join("threads"), &args.thread)?;
    let settings = Settings::load(&root, &environment)?;
    let url = wiring::hub_url(&settings)?;
    process::run(async move |_cancel| {
        let person = Person::join(&settings, url.as_str())?;
        let said = person.reply(&thread.root, word).await?;
        let begun = Instant::now();
        while begun.elapsed() < ANSWER {
            let view = person.thread(&thread.root).await?;
            let mut messages = view["messages"].as_array().into_iter().flatten();
            let answer = messages.find(|message| {
                let ts = message["ts"].as_str().and_then(|ts| ts.parse().ok());
                ts.is_some_and(|ts: MessageTs| ts > said)
            });
            if let Some(answer) = answer {
                ui.line(words(answer, &people(&view)))?;
                return Ok(Exit::Done);
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(
            CliError::user("the word is in the thread, and nobody has answered yet")
                .hint("is the team running? `codebutler doctor` looks"),
        )
    })
}
