//! `codebutler people`: who is in the workspace, what they may do, where they are
//! logged in.

use butler_hub::{PersonEntry, SessionEntry};
use butler_protocol::{Standing, count_of};
use serde_json::json;

use super::{only_without_slack, refused, standing, store};
use crate::{CliError, Exit, Ui, hub_access};

/// List people and their sessions, change what somebody may do, send somebody away
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Change what somebody may do
    Role {
        /// Their name
        name: String,
        /// guest, approver, maintainer or admin
        #[arg(value_parser = standing(), hide_possible_values = true)]
        role: Standing,
    },
    /// Send somebody away: their sessions, tokens and links stop working
    Remove {
        /// Their name
        name: String,
    },
    /// Forget somebody: what they said, sent and wrote, and their name
    ///
    /// Decisions stay with an id that is a hash, and the audit keeps its chain. Logs of
    /// threads in the repositories keep what was said.
    Erase {
        /// Their name, or their id in Slack
        name: String,
    },
    /// End a session
    End {
        /// Its id, as `codebutler people` lists it
        session: String,
    },
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let (settings, mut tokens) = store()?;
    match &args.what {
        None => {
            let people = tokens.people().map_err(refused)?;
            let sessions = tokens.sessions().map_err(refused)?;
            if args.json {
                ui.json(json!({"people": people, "sessions": sessions}))?;
            } else {
                show(&people, &sessions, ui)?;
            }
        }
        Some(What::Role { name, role }) => {
            only_without_slack(&settings)?;
            tokens.give(name, *role).map_err(refused)?;
            ui.line(format_args!("{name} {}", role.in_words()))?;
        }
        Some(What::Remove { name }) => {
            only_without_slack(&settings)?;
            tokens.send_away(name).map_err(refused)?;
            ui.line(format_args!("{name} was sent away"))?;
        }
        Some(What::Erase { name }) => {
            let database = settings.machine.hub.database.is_some();
            if !database && hub_access::hub_runs(&settings)? {
                let error = CliError::user("a hub runs on this machine, and has the store open");
                return Err(error.hint("end it first: `codebutler stop`, or Ctrl-C in `up`"));
            }
            let erased = tokens.erase(name).map_err(refused)?;
            let [messages, files, lines] = [
                (erased.messages, "message"),
                (erased.files, "file"),
                (erased.records, "line"),
            ]
            .map(|(count, what)| count_of(count, what));
            ui.line(format_args!(
                "forgotten: {messages}, {files}, {lines} of agents' logs, name, sessions, tokens"
            ))?;
            if database {
                ui.note("the database's own log (WAL) and backups of it hold the words until they are replaced");
            }
        }
        Some(What::End { session }) => {
            tokens.end_session(session).map_err(|_| {
                CliError::user(format!("there is no session {session}"))
                    .hint("`codebutler people` lists them")
            })?;
            ui.line(format_args!("the session {session} ended"))?;
        }
    }
    Ok(Exit::Done)
}

fn show(people: &[PersonEntry], sessions: &[SessionEntry], ui: &Ui) -> Result<(), CliError> {
    let width = people.iter().map(|one| one.name.chars().count()).max();
    let width = width.unwrap_or(0);
    for one in people {
        let may = one
            .standing
            .map_or("as the configuration says", Standing::in_words);
        let open = if one.invited {
            "; an invitation is open"
        } else {
            ""
        };
        ui.line(format_args!("{:width$}  {may}{open}", one.name))?;
    }
    for one in sessions {
        let browser = if one.browser.is_empty() {
            "a browser"
        } else {
            &one.browser
        };
        ui.line(format_args!(
            "session {}  {} in {browser}",
            one.id, one.name
        ))?;
    }
    Ok(())
}
