//! `codebutler mcp serve`: the team as a server for other agents and editors. It acts
//! as the person at this machine does with `codebutler chat`, through the same API of
//! the hub, and can do no more. One JSON message per line, in and out.

mod calls;
mod offer;
mod speech;
mod told;

use std::{collections::HashMap, sync::Arc, time::Duration};

use butler_config::Settings;
use futures_util::{StreamExt, future::LocalBoxFuture, stream::FuturesUnordered};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::{
    calls::{Calls, Progress},
    speech::{Call, Heard, heard, refused},
};
use crate::{
    CliError, Exit, Ui,
    process::{self, stdin_lines},
};

/// Calls at the same time; some of them wait for minutes.
const AT_ONCE: usize = 32;
/// How long calls may go on when nobody asks anything more.
const AFTER_THE_END: Duration = Duration::from_secs(10);
const BUSY: i64 = -32000;

/// Serves until the input ends. Without `cards` it decides nothing.
pub(super) fn serve(settings: Settings, cards: bool, ui: &Ui) -> Result<Exit, CliError> {
    process::run(async move |cancel| {
        let (said, mut written) = mpsc::channel(64);
        let mut serving = Serving {
            team: Arc::new(Calls::new(settings)?),
            tools: offer::tools(cards),
            said,
            under_way: FuturesUnordered::new(),
            calls: HashMap::new(),
        };
        let mut lines = stdin_lines();
        loop {
            tokio::select! {
                // What is said goes out before more is heard.
                biased;
                () = cancel.cancelled() => return Ok(Exit::Done),
                Some(message) = written.recv() => ui.json(message)?,
                Some(id) = serving.under_way.next() => drop(serving.calls.remove(&id)),
                line = lines.recv() => match line {
                    Some(line) => serving.hear(&line?),
                    None => break,
                },
            }
        }
        // What was asked before the end is still answered.
        let rest = async {
            while !(serving.under_way.is_empty() && written.is_empty()) {
                tokio::select! {
                    biased;
                    Some(message) = written.recv() => ui.json(message)?,
                    Some(_) = serving.under_way.next() => {}
                }
            }
            Ok(())
        };
        match tokio::time::timeout(AFTER_THE_END, rest).await {
            Ok(done) => done.map(|()| Exit::Done),
            Err(_) => Ok(Exit::Done),
        }
    })
}

/// What is served and what is under way.
struct Serving {
    team: Arc<Calls>,
    tools: Vec<Value>,
    said: mpsc::Sender<Value>,
    /// Each ends with the name of its request.
    under_way: FuturesUnordered<LocalBoxFuture<'static, String>>,
    calls: HashMap<String, CancellationToken>,
}

impl Serving {
    fn hear(&mut self, line: &[u8]) {
        match heard(line, &self.tools) {
            Heard::Nothing => {}
            Heard::Answer(answer) => self.say(answer),
            Heard::Cancelled(id) => {
                if let Some(call) = self.calls.remove(&id.to_string()) {
                    call.cancel();
                }
            }
            Heard::Call(call) if self.under_way.len() >= AT_ONCE => {
                let why = format!("{AT_ONCE} calls are under way; wait for one of them");
                if let Heard::Answer(answer) = refused(&call.id, BUSY, &why) {
                    self.say(answer);
                }
            }
            Heard::Call(call) => self.begin(call),
        }
    }

    /// There is room: the loop that reads is the one that writes.
    fn say(&self, message: Value) {
        let said = self.said.clone();
        if said.try_send(message).is_err() {
            tracing::warn!("an answer is lost: too many wait to be written");
        }
    }

    fn begin(&mut self, call: Call) {
        let (team, said) = (Arc::clone(&self.team), self.said.clone());
        let cancel = CancellationToken::new();
        let id = call.id.to_string();
        self.calls.insert(id.clone(), cancel.clone());
        self.under_way.push(Box::pin(async move {
            let progress = Progress::new(&call, &said);
            let done = tokio::select! {
                done = team.call(&call.tool, call.arguments.clone(), &progress) => done,
                // Nobody waits for an answer.
                () = cancel.cancelled() => return id,
            };
            let done = done.map_err(|error| error.plain_with_hints());
            let _ = said.send(call.answer(done)).await;
            id
        }));
    }
}
