//! `codebutler exec`: one agent, one task, this folder, no hub.

mod again;
mod config;
mod tell;
mod typed;

use std::{
    env,
    io::{IsTerminal, Read},
    sync::Arc,
};

use butler_agent::exec::{self, ExecEnding, ExecTask, Outcome, Session, SessionError, Sessions};
use butler_protocol::{Ending, Role};

use crate::commands::run::exec::{config::Plan, tell::Teller};
use crate::{CliError, Exit, Ui, cli, process};

/// For a model of which nobody says better.
const WINDOW: u64 = 128_000;

/// Give one agent one task, in this folder, without a hub
///
/// The agent works on the files of this folder in place, with the tools, the
/// sandbox and the policy of a team's activation. Giving the task is the
/// approval of its plan; commands that would need a click are refused unless
/// --allow names them. Progress goes to the error stream, the final text to the
/// output; the exit code says how it ended.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to do; read from the standard input when left out or `-`
    task: Option<String>,

    /// Who works; a session that is resumed keeps its role
    #[arg(long, default_value = "coder", value_parser = cli::role(), ignore_case = true)]
    role: Role,

    /// A chat-completions endpoint, up to and including /v1
    #[arg(long, value_name = "URL")]
    model_url: Option<String>,

    /// The model to ask
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// The environment variable that holds the endpoint's key
    #[arg(long, value_name = "VARIABLE", requires = "model_url")]
    key_env: Option<String>,

    /// What a million tokens in and out cost, in dollars, as in 0.5/2 [default: free on this machine, else high]
    #[arg(long, value_name = "IN/OUT")]
    price: Option<typed::TypedPrice>,

    /// The model's context window, in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = WINDOW, value_parser = typed::window)]
    window: u64,

    /// What the session may cost at most, in dollars
    #[arg(long, value_name = "USD", value_parser = typed::cap)]
    cap: Option<f64>,

    /// How many times the model may be asked
    #[arg(long, value_name = "N", value_parser = typed::turns)]
    max_turns: Option<u32>,

    /// A command that may run without a click, word for word; a last word `*` allows more words
    #[arg(long, value_name = "COMMAND")]
    allow: Vec<String>,

    /// Go on with a session: the newest unfinished one here, or the one named
    #[arg(long, value_name = "SESSION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    resume: Option<String>,

    /// Write one JSON object per event to the output instead of the final text
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    process::start_log("exec");
    let folder = env::current_dir()?.canonicalize()?;
    let task = task(args)?;
    let exit = process::run_on_one_thread(async move |cancel| {
        let plan = Plan::of(args, &folder, ui)?;
        let sessions = Sessions::of(&plan.state, &folder, process::system_clock());
        let known = known(args, &sessions, task.as_ref())?;
        let role = known.as_ref().map_or(args.role, |session| session.role);
        // Before a new session is written down: without it there is nothing to resume.
        let config = plan.into_config(role, args)?;
        let (session, task) = begin(args, &sessions, known, task)?;
        let mut teller = Teller::new(args.json, config.redactor);
        let mut tell = |said| teller.hear(said, ui);
        let outcome = exec::run(Arc::clone(&config.exec), &session, task, cancel, &mut tell).await;
        let outcome = outcome.map_err(|error| {
            CliError::internal(error).hint(format!("the log is {}", session.log().display()))
        })?;
        let exit = exit(&outcome.ending);
        let again = args.again(&session.id(), exit, config.exec.cap, |text| {
            teller.clean(text)
        });
        teller.end(&outcome, &session, exit, &again, ui)?;
        Ok(exit)
    });
    butler_sandbox::end_helpers();
    exit
}

/// The session to go on with; none for a new one, which needs a task.
fn known(
    args: &Args,
    sessions: &Sessions,
    task: Option<&String>,
) -> Result<Option<Session>, CliError> {
    match args.resume.as_deref() {
        None if task.is_none() => Err(no_task()),
        None => Ok(None),
        Some("") => sessions.newest_open().map(Some).map_err(trouble),
        Some(id) => sessions.find(id).map(Some).map_err(trouble),
    }
}

/// A new session with its task, or an old one with what is new.
fn begin(
    args: &Args,
    sessions: &Sessions,
    known: Option<Session>,
    task: Option<String>,
) -> Result<(Session, ExecTask), CliError> {
    let person = env::var("USER").unwrap_or_else(|_| "you".to_owned());
    let session = match known {
        Some(session) => session,
        None => {
            let words = task.clone().ok_or_else(no_task)?;
            sessions.begin(args.role, &words).map_err(trouble)?
        }
    };
    let task = match task {
        Some(task) => Some(task),
        None => sessions.missing_word(&session).map_err(trouble)?,
    };
    Ok((session, ExecTask { task, person }))
}

fn trouble(error: SessionError) -> CliError {
    match error {
        SessionError::Journal(error) => CliError::internal(error).hint(
            "sessions are kept in exec/ below ~/.codebutler; CODEBUTLER_HOME names another place",
        ),
        other => CliError::user(other)
            .hint("`codebutler exec \"…\"` begins one; its id is on the first line of its output"),
    }
}

fn no_task() -> CliError {
    CliError::user("there is no task").hint(r#"as in: codebutler exec "make the tests pass""#)
}

/// The task from the command line or, where somebody pipes it, from the input.
fn task(args: &Args) -> Result<Option<String>, CliError> {
    let text = match args.task.as_deref() {
        Some("-") => std::io::read_to_string(std::io::stdin())?,
        Some(text) => text.to_owned(),
        None if args.resume.is_some() || std::io::stdin().is_terminal() => return Ok(None),
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(no_task());
    }
    Ok(Some(text.to_owned()))
}

fn exit(ending: &ExecEnding) -> Exit {
    match ending {
        ExecEnding::Over(Ending::Stopped) | ExecEnding::Interrupted => Exit::Interrupted,
        ExecEnding::OutOfMoney => Exit::OutOfMoney,
        ExecEnding::Over(ending) => Exit::of(ending),
    }
}

/// One word for scripts.
fn word(outcome: &Outcome) -> &'static str {
    match exit(&outcome.ending) {
        Exit::Done => "done",
        Exit::TurnsUsed => "turn_limit",
        Exit::OutOfMoney => "out_of_money",
        Exit::Stuck => "stuck",
        Exit::Interrupted => "interrupted",
        _ => "failed",
    }
}
