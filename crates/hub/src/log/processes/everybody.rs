//! `!pause`, `!resume` and `!restart` are for processes, not for a thread: they are told to
//! those, too, that do not have the thread in which they are said. Whether it is such a word,
//! and whether its author may say it, each process decides as for a message of its own.

use butler_policy::{Word, meanings};
use butler_protocol::{StampKind, ThreadId};
use serde_json::{Value, json};

use super::holders;
use crate::{
    error::Trouble,
    log::{
        self, Happening,
        notice::{AgentKey, Notice},
    },
    store::{db::Db, sql::params, tx::Tx},
};

/// The event that brings a message to a process that does not have its thread.
const TOLD: &str = "team_told";

/// Whether a message could be for the whole team; a mention may stand before the word.
pub(crate) fn concerns(text: &str) -> bool {
    let last = text.split_whitespace().next_back().unwrap_or_default();
    let team = [Word::Pause, Word::Resume, Word::Restart];
    meanings(last).iter().any(|word| team.contains(word))
}

/// Tells it to the processes that did not get it as event `seq`.
pub(crate) fn tell(
    tx: &mut Tx<'_>,
    seq: u64,
    thread: &ThreadId,
    message: &Value,
) -> Result<(), Trouble> {
    for (agent, process) in others(tx.db(), seq, thread)? {
        let queue = format!("process/{process}");
        holders::hold_aside(tx.db(), agent, &queue, &process)?;
        let told = Happening {
            stamp: StampKind::Message,
            only: Some(agent),
            queue: Some(queue),
            ..Happening::new(
                thread.clone(),
                None,
                json!({"type": TOLD, "message": message}),
            )
        };
        log::append(tx, told)?;
        tx.say(Notice::Shared { agent });
    }
    Ok(())
}

fn others(db: &Db, seq: u64, thread: &ThreadId) -> Result<Vec<(AgentKey, String)>, Trouble> {
    Ok(db.rows(
        "SELECT processes.agent, processes.process FROM processes
         JOIN deliveries ON deliveries.agent = processes.agent AND deliveries.seq = ?1
         WHERE NOT EXISTS (SELECT 1 FROM held_threads held
           WHERE held.agent = processes.agent AND held.thread = ?2
             AND held.process = processes.process)",
        params![seq, thread.to_string()],
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_the_whole_team_is_found_behind_a_mention_too() {
        for text in ["!pause", "<@U0BOT> !restart", "@codebutler !sigue"] {
            assert!(concerns(text), "{text}");
        }
        for text in ["", "pause", "!done", "stop", "!pause the tests"] {
            assert!(!concerns(text), "{text}");
        }
    }
}
