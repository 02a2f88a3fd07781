//! `!restart`, and a binary that was replaced: the running turns end, the process
//! ends, whoever keeps it starts it anew, and the channel reads one line about it.
//! What was not begun the next process takes up from the logs.

use std::{fs, io, path::PathBuf, time::Duration};

use butler_policy::Duty;
use butler_protocol::{Idem, MessageTs, PostTag, ThreadId};
use butler_slack::{Message, Post};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use crate::{Agent, AgentError, OrWarn, listen::control_words};

/// How long running turns may take before they are cut off like at any other end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10 * 60);

const NOT_AN_APPROVER: &str = "Only the machine's approvers may restart the team. You are not among them, so nothing happened.";
const NOT_KEPT: &str = "I run in a terminal, where nobody would start me again. Restart me there; `codebutler start` installs services that come back by themselves.";
const RESTARTING: &str = "I restart as soon as the turns that run now are over. Nothing is lost.";

/// What the process leaves for the next one.
#[derive(Serialize, Deserialize)]
struct Left {
    version: String,
    at_ms: i64,
}

/// Somebody asks the team to restart. Every role obeys; the PM answers.
pub(crate) async fn asked(
    agent: &Agent,
    thread: &ThreadId,
    message: &Message,
) -> Result<(), AgentError> {
    if Duty::Front.is_of(agent.role()) {
        let words = answer_to(agent, message);
        control_words::answer(agent, thread, &message.ts, "restart", words).await?;
    }
    obey(agent, message);
    Ok(())
}

fn answer_to(agent: &Agent, message: &Message) -> &'static str {
    let approvers = &agent.config.approvers;
    let user = message.user.as_ref();
    let may = approvers.is_empty() || user.is_some_and(|user| approvers.contains(user));
    match (may, agent.config.is_kept) {
        (false, _) => NOT_AN_APPROVER,
        (true, false) => NOT_KEPT,
        (true, true) => RESTARTING,
    }
}

/// Ends this process for another one, if whoever asks may ask for that.
pub(crate) fn obey(agent: &Agent, message: &Message) {
    // One that comes again was obeyed by the process before this one.
    let again = milliseconds(&message.ts) <= agent.began_ms;
    if answer_to(agent, message) == RESTARTING && !again {
        agent.config.renewal.cancel();
    }
}

fn milliseconds(ts: &MessageTs) -> i64 {
    let micros = ts.as_str().split('.').nth(1).unwrap_or_default();
    let millis = micros.get(..3).and_then(|ms| ms.parse().ok()).unwrap_or(0);
    i64::try_from(ts.seconds()).unwrap_or(i64::MAX / 2_000) * 1_000 + millis
}

/// Returns when the patience with running turns is over.
pub(crate) async fn out_of_patience(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Leaves word that the process comes back, if it does.
pub(crate) fn note_leaving(agent: &Agent) {
    if !agent.is_leaving() || !Duty::Front.is_of(agent.role()) {
        return;
    }
    let left = Left {
        version: agent.config.version.clone(),
        at_ms: agent.now_ms(),
    };
    let write = || -> io::Result<()> {
        fs::create_dir_all(agent.threads())?;
        fs::write(file(agent), serde_json::to_vec(&left)?)
    };
    write().or_warn("the channel will not be told of the restart");
}

/// Tells the channel that the team is back, once per restart.
pub(crate) async fn say_back(agent: &Agent) {
    let text = match fs::read(file(agent)) {
        Ok(text) if Duty::Front.is_of(agent.role()) => text,
        _ => return,
    };
    let told = match serde_json::from_slice::<Left>(&text) {
        Ok(left) => post(agent, &left).await,
        // Nobody can say any more what it was about.
        Err(_) => true,
    };
    if told && let Err(error) = fs::remove_file(file(agent)) {
        warn!(%error, "the note of the restart stays");
    }
}

async fn post(agent: &Agent, left: &Left) -> bool {
    let role = agent.role();
    let version = &agent.config.version;
    let before = match left.version == *version {
        true => String::new(),
        false => format!(" (was {})", left.version),
    };
    // The time makes it one message, however often it is tried.
    let idem = Idem::new(format!("{role}-restart-{}", left.at_ms));
    let post = Post {
        channel: agent.config.channel.clone(),
        thread: None,
        text: format!("I am back, version {version}{before}. Work goes on where it was."),
        blocks: None,
        username: Some(role.user_name()),
        icon: Some(role.icon().to_owned()),
        tag: PostTag::message(idem, Vec::new()),
    };
    match agent.poster.web.post(&post).await {
        Ok(_) => true,
        Err(error) => {
            warn!(%error, "the channel could not be told of the restart");
            false
        }
    }
}

fn file(agent: &Agent) -> PathBuf {
    agent.threads().join("restarted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_time_to_the_millisecond() {
        let ts = MessageTs::from_parts(1_700_000_000, 123_456);
        assert_eq!(milliseconds(&ts), 1_700_000_000_123);
    }
}
