//! `codebutler pr merge` and `pr close`: the same decision as a press on the
//! thread's merge card. The card is put up if none is open, what it shows is
//! printed, and the hub writes down what the person says to exactly that.

use std::{io::IsTerminal, path::Path, time::Duration};

use butler_config::{FOLDER, Settings};
use butler_journal::ThreadDir;
use butler_protocol::{ActionId, Choice, MessageTs, PrNumber, RequestId, ThreadId};
use butler_repo::{Forge, PullState, short_of};
use inquire::Confirm;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::commands::talk::message::{People, after, people, words};
use crate::commands::talk::pr::{state_word, trouble};
use crate::{CliError, Exit, Ui, commands::environment, person::Person, wiring};

/// How long the team may take to put up the card, and to carry it out.
const CARD: Duration = Duration::from_secs(60);
const OUTCOME: Duration = Duration::from_secs(180);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its number, as `codebutler pr list` shows it
    number: u64,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(
    args: &Args,
    choice: Choice,
    root: &Path,
    forge: &Forge,
    cancel: &CancellationToken,
    ui: &Ui,
) -> Result<Exit, CliError> {
    let number = PrNumber(args.number);
    let thread = thread_of(number, root, forge, cancel).await?;
    let settings = Settings::load(root, &environment)?;
    let url = wiring::hub_url(&settings)?;
    let person = Person::join(&settings, url.as_str())?;
    let view = person.thread(&thread.root).await?;
    let people = people(&view);
    let card = match card(&view, number) {
        Some(card) => card,
        None => put_up(&person, &thread, number).await?,
    };
    ui.line(words(&card.message, &people))?;
    if !args.yes && !agreed(number, choice)? {
        ui.note("nothing was done");
        return Ok(Exit::User);
    }
    let action = ActionId {
        request: card.request,
        choice,
    };
    person.click(card.ts.as_str(), &action.to_string()).await?;
    let said = outcome(&person, &thread, number, &card.ts).await?;
    let done = match choice {
        Choice::Merge => said.starts_with("Merged"),
        _ => said.starts_with("Closed"),
    };
    ui.line(format_args!("\n{said}"))?;
    Ok(if done { Exit::Done } else { Exit::User })
}

/// The thread of an open pull request.
async fn thread_of(
    number: PrNumber,
    root: &Path,
    forge: &Forge,
    cancel: &CancellationToken,
) -> Result<ThreadId, CliError> {
    let pull = forge.view(number, cancel).await.map_err(trouble)?;
    if pull.state != PullState::Open {
        let state = state_word(&pull.state);
        return Err(CliError::user(format!("{number} is {state} already")));
    }
    let threads = ThreadDir::list(&root.join(FOLDER).join("threads"));
    let mut threads = threads.map_err(CliError::internal)?.into_iter();
    let short = short_of(&pull.branch);
    threads
        .find(|thread| short == Some(thread.short().as_str()))
        .ok_or_else(|| {
            CliError::user(format!("no thread of this clone made {number}"))
                .hint("it is decided where its team runs")
        })
}

/// An open merge card.
struct Card {
    request: RequestId,
    ts: MessageTs,
    message: Value,
}

fn card(thread: &Value, number: PrNumber) -> Option<Card> {
    let decisions = thread["decisions"].as_array()?.iter().rev();
    let mut open =
        decisions.filter(|one| one["decided"].is_null() && one["asked"]["kind"] == "merge");
    open.find_map(|one| {
        let ts: MessageTs = one["asked"]["message"].as_str()?.parse().ok()?;
        let mut messages = thread["messages"].as_array()?.iter();
        let message = messages.find(|message| message["ts"] == ts.as_str())?;
        let about = words(message, &People::new()).contains(&format!("\nPull request: {number}\n"));
        about.then(|| Card {
            request: RequestId::new(one["asked"]["request"].as_str().unwrap_or_default()),
            ts,
            message: message.clone(),
        })
    })
}

/// Has the team show the pull request as it is now.
async fn put_up(person: &Person, thread: &ThreadId, number: PrNumber) -> Result<Card, CliError> {
    person.reply(&thread.root, "merge").await?;
    let seen = person.seen_in(&thread.root, CARD, |view| card(view, number));
    seen.await?.ok_or_else(|| {
        CliError::user(format!("the team did not put {number} up for a decision"))
            .hint("is the Lead running? `codebutler doctor` looks")
    })
}

fn agreed(number: PrNumber, choice: Choice) -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() {
        return Err(CliError::user("nobody is here to ask")
            .hint("look at what is shown, then say it again with --yes"));
    }
    let question = match choice {
        Choice::Merge => format!("Merge {number}?"),
        _ => format!("Close {number} without merging?"),
    };
    let answer = Confirm::new(&question).with_default(false).prompt();
    answer.map_err(CliError::internal)
}

/// What the team says after the decision.
async fn outcome(
    person: &Person,
    thread: &ThreadId,
    number: PrNumber,
    card: &MessageTs,
) -> Result<String, CliError> {
    const WORDS: [&str; 4] = ["Merged", "Closed", "is not merged", "conflicts"];
    let number = number.to_string();
    let said = |view: &Value| {
        let people = people(view);
        let mut said = after(view, card).map(|message| words(message, &people));
        said.find(|text| text.contains(&number) && WORDS.iter().any(|word| text.contains(word)))
    };
    let said = person.seen_in(&thread.root, OUTCOME, said).await?;
    said.ok_or_else(|| {
        CliError::user("the decision is written down, and not carried out yet")
            .hint("the thread says what it waits for")
    })
}
