//! Tells a thread, once, what the repo's files ask for and nobody on this machine
//! has agreed to: the person who waits for it should not have to guess.

use butler_journal::ThreadDir;
use butler_protocol::{Idem, Sha256Hex, ThreadId};
use tracing::warn;

use crate::{Agent, tell::render};

/// More of one ask is for `codebutler policy` to show.
const LONGEST: usize = 300;

/// Says it unless it was said. Nothing depends on it.
pub(crate) async fn tell(agent: &Agent, thread: &ThreadId) {
    let rules = agent.rules();
    let asks = &rules.unagreed;
    if asks.is_empty() {
        return;
    }
    let hash = Sha256Hex::of(asks.join("\n"));
    let told = ThreadDir::new(&agent.threads(), thread)
        .root()
        .join("consent-told");
    if std::fs::read_to_string(&told).is_ok_and(|old| old == hash.as_str()) {
        return;
    }
    let poster = &agent.poster;
    let key = hash.as_str().get(..12).unwrap_or_default();
    let idem = Idem::new(format!("{}-{}-consent-{key}", thread.short(), poster.role));
    let said = poster.say(thread, idem, &words(asks)).await;
    let kept = said.map_err(|error| error.to_string()).and_then(|_| {
        butler_journal::write_whole(&told, hash.as_str().as_bytes())
            .map_err(|error| error.to_string())
    });
    if let Err(error) = kept {
        warn!(error, "the thread could not be told what waits for consent");
    }
}

fn words(asks: &[String]) -> String {
    let mut text = "This repository's files ask for things that nobody on this machine has agreed to, so they have no effect here:\n".to_owned();
    for ask in asks {
        text.push_str(&format!("\n- {}", render::cut(ask, LONGEST)));
    }
    text.push_str("\n\nIn the repository's folder `codebutler policy` shows them whole, and `codebutler policy accept` agrees.");
    text
}
