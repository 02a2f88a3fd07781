//! `codebutler threads archive` and `resume`: a person's word in a thread, said
//! from the command line.

use std::time::Duration;

use butler_config::{FOLDER, Settings};
use serde_json::Value;

use crate::commands::talk::{
    message::{after, people, words},
    which,
};
use crate::{
    CliError, Exit, Ui,
    commands::{environment, set_up_here},
    person::Person,
    process, wiring,
};

const ANSWER: Duration = Duration::from_secs(120);

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
        let answer = |view: &Value| Some(words(after(view, &said).next()?, &people(view)));
        let answer = person.seen_in(&thread.root, ANSWER, answer).await?;
        ui.done(answer.ok_or_else(|| {
            CliError::user("the word is in the thread, and nobody has answered yet")
                .hint("is the team running? `codebutler doctor` looks")
        })?)
    })
}
