//! Traces of threads for an OpenTelemetry collector, where the machine names one
//! (`hub.traces`): the hub has the logs of all roles, so it alone sends them.
//!
//! Sending never holds up the work: what a collector does not take in time is dropped,
//! with a word in the log.

mod spans;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use butler_protocol::{Entry, Role, ThreadId};
use butler_slack::{Called, Webhook};
use tokio::{sync::mpsc, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use self::spans::{Begun, Span, Whose};
use crate::{
    error::Result,
    store::{Db, params},
};

/// Spans that wait to be sent, and of one request.
const WAITING: usize = 4_096;
const AT_ONCE: usize = 512;
/// Several come at once; one request is enough for them.
const GATHER: Duration = Duration::from_secs(1);
/// How often a request is tried, and the first pause, which doubles.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);
/// What a collector still gets of a hub that ends; it may be hanging.
const LAST: Duration = Duration::from_secs(1);
/// Logs that something is begun in.
const LOGS: usize = 10_000;

type Log = (ThreadId, Role);

/// Where spans go; nowhere, where nobody wants them.
#[derive(Default)]
pub(crate) struct Traces {
    sender: Option<mpsc::Sender<Span>>,
    begun: Mutex<HashMap<Log, Begun>>,
}

impl Traces {
    /// Those that are wanted, and what comes out to be sent.
    pub(crate) fn wanted() -> (Self, mpsc::Receiver<Span>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let begun = Mutex::default();
        let sender = Some(sender);
        (Self { sender, begun }, receiver)
    }

    /// Whether the lines of a log before these are needed: something in it may have begun
    /// before this hub did, or been told to another one.
    pub(crate) fn misses(&self, thread: &ThreadId, role: Role, entries: &[Entry]) -> bool {
        let known = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let upto = known.get(&(thread.clone(), role)).map(|begun| begun.upto);
        let follows = |first: &Entry| upto.is_some_and(|upto| upto + 1 == first.seq);
        self.sender.is_some()
            && entries
                .first()
                .is_some_and(|first| first.seq > 1 && !follows(first))
    }

    /// Takes lines of a log in; those of `earlier` have been sent by an earlier hub.
    pub(crate) fn records(
        &self,
        thread: &ThreadId,
        (repo, role): (&str, Role),
        earlier: &[Entry],
        entries: &[Entry],
    ) {
        let Some(sender) = &self.sender else { return };
        let whose = Whose {
            thread,
            repo,
            role: role.as_str(),
        };
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if begun.len() >= LOGS {
            // Lines that come later are read from the store again.
            begun.clear();
        }
        let own = begun.entry((thread.clone(), role)).or_default();
        if !earlier.is_empty() {
            *own = Begun::default();
        }
        for entry in earlier {
            own.take(whose, entry);
        }
        for span in entries.iter().filter_map(|entry| own.take(whose, entry)) {
            send(sender, span);
        }
    }

    /// A pull request of the thread was merged.
    pub(crate) fn merged(&self, thread: &ThreadId, repo: &str, number: u64, at_ms: i64) {
        if let Some(sender) = &self.sender {
            send(sender, spans::merge(thread, repo, number, at_ms));
        }
    }
}

fn send(sender: &mpsc::Sender<Span>, span: Span) {
    if sender.try_send(span).is_err() {
        debug!("a span is dropped: the collector does not keep up");
    }
}

/// The lines of a log before this one.
pub(crate) fn earlier(db: &Db, thread: &ThreadId, role: Role, before: u64) -> Result<Vec<Entry>> {
    let before = i64::try_from(before).unwrap_or(i64::MAX);
    let keys = params![thread, role, before];

    let lines: Vec<String> = db.rows(
        "SELECT entry FROM records WHERE channel = ?1 AND root = ?2 AND role = ?3 AND seq < ?4
         ORDER BY seq",
        keys,
    )?;
    // A line that this build does not know begins nothing that it could end.
    let known = lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(known.collect())
}

/// Sends until the hub stops, and then what is left, once.
pub(crate) async fn keep_sending(
    mut spans: mpsc::Receiver<Span>,
    collector: Webhook,
    version: String,
    cancel: CancellationToken,
) {
    loop {
        let first = tokio::select! {
            () = cancel.cancelled() => None,
            span = spans.recv() => span,
        };
        let over = first.is_none();
        let mut batch: Vec<Span> = first.into_iter().collect();
        if !over {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = sleep(GATHER) => {}
            }
        }
        while batch.len() < AT_ONCE
            && let Ok(span) = spans.try_recv()
        {
            batch.push(span);
        }
        if !batch.is_empty() {
            deliver(&collector, &version, &batch, &cancel).await;
        }
        if over {
            return;
        }
    }
}

async fn deliver(collector: &Webhook, version: &str, batch: &[Span], cancel: &CancellationToken) {
    let body = spans::request(version, batch);
    let mut pause = PAUSE;
    let mut why = String::new();
    for _ in 0..TRIES {
        let ending = async {
            cancel.cancelled().await;
            sleep(LAST).await;
        };
        let called = tokio::select! {
            called = collector.call(&body) => called,
            () = ending => Called::Never("it did not answer before the hub ended".to_owned()),
        };
        match called {
            Called::Taken => return,
            Called::Never(said) => {
                why = said;
                break;
            }
            Called::Later(said, _) => why = said,
        }
        if cancel.is_cancelled() {
            break;
        }
        tokio::select! {
            () = cancel.cancelled() => {}
            () = sleep(pause) => {}
        }
        pause *= 2;
    }
    let spans = batch.len();
    warn!(spans, why, "the collector of traces did not take them");
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Ending, Record, Secret};
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn what_begins_at_one_hub_and_ends_at_another_is_sent_whole() {
        let thread: ThreadId = "C0001/1700000000.000001".parse().unwrap();
        let works = |activation: u32| {
            let ending = Ending::Done;
            [
                Record::ActivationStarted { activation },
                Record::ActivationEnded { activation, ending },
            ]
        };
        let entries = (1..).zip((1..=3).flat_map(works));
        let log: Vec<Entry> = entries
            .map(|(seq, record)| Entry {
                seq,
                epoch: 1,
                at_ms: i64::try_from(seq).unwrap() * 1_000,
                record,
            })
            .collect();
        let mut hubs = [Traces::wanted(), Traces::wanted()];
        // A line at a time; the agent's calls go to one hub, to the other, and back.
        for (at, hub) in [0, 0, 1, 0, 0, 1].into_iter().enumerate() {
            let (traces, new) = (&hubs[hub].0, &log[at..=at]);
            let earlier = match traces.misses(&thread, Role::Coder, new) {
                true => &log[..at],
                false => &[],
            };
            traces.records(&thread, ("app", Role::Coder), earlier, new);
        }
        let mut sent = Vec::new();
        for (_, spans) in &mut hubs {
            while let Ok(span) = spans.try_recv() {
                sent.push(spans::request("1", &[span]).to_string());
            }
        }
        let lasted = |seconds: [u32; 2]| {
            let [from, to] = seconds.map(|second| format!("TimeUnixNano\":\"{second}000000000\""));
            sent.iter()
                .filter(|span| span.contains(&from) && span.contains(&to))
                .count()
        };
        assert_eq!(sent.len(), 3, "{sent:#?}");
        assert_eq!([[1, 2], [3, 4], [5, 6]].map(lasted), [1, 1, 1], "{sent:#?}");
    }

    #[tokio::test]
    async fn a_collector_that_hangs_does_not_keep_the_hub_from_ending() {
        // Takes connections, and never reads from one.
        let hangs = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/traces", hangs.local_addr().unwrap());
        let collector = Webhook::new(Secret::new(url), None).unwrap();
        let thread = "C0001/1700000000.000001".parse().unwrap();
        let (sender, receiver) = mpsc::channel(WAITING);
        send(&sender, spans::merge(&thread, "app", 1, 0));
        let cancel = CancellationToken::new();
        let another = collector.clone();
        let sending = keep_sending(receiver, collector, "1".to_owned(), cancel.clone());
        let sending = tokio::spawn(sending);
        let _taken = hangs.accept().await.unwrap();
        send(&sender, spans::merge(&thread, "app", 2, 0));
        cancel.cancel();
        let nothing = json!({});
        tokio::select! {
            ended = sending => ended.unwrap(),
            called = another.call(&nothing) => panic!("it waits for it: {called:?}"),
        }
    }
}
