//! Acknowledgements of our own agents. Those that come while the store is busy are written
//! together: each event has six of them, and a statement for each would be most of what the
//! store does.

use butler_protocol::{Epoch, fault};
use serde::Serialize;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Refusal, Result, Trouble},
    log::AgentKey,
    store::{Db, Store},
};

/// How many are written at once; as many wait before their callers have to.
const MOST: usize = 1_024;

/// An agent has an event.
#[derive(Debug, Clone, Serialize)]
struct Ack {
    agent: AgentKey,
    epoch: Epoch,
    process: Option<String>,
    seq: u64,
}

type Waiting = (Ack, oneshot::Sender<Result<()>>);

/// Where acknowledgements go.
pub(crate) struct Acks(mpsc::Sender<Waiting>);

/// What [`keep_writing`] works on.
pub(crate) struct AckQueue(mpsc::Receiver<Waiting>);

impl Acks {
    pub(crate) fn new() -> (Self, AckQueue) {
        let (sender, receiver) = mpsc::channel(MOST);
        (Self(sender), AckQueue(receiver))
    }

    /// Forgets a delivery; answers after that is durable.
    pub(crate) async fn write(
        &self,
        agent: AgentKey,
        epoch: Epoch,
        process: Option<String>,
        seq: u64,
    ) -> Result<()> {
        let (answer, waiting) = oneshot::channel();
        let ack = Ack {
            agent,
            epoch,
            process,
            seq,
        };
        let queued = self.0.send((ack, answer)).await;
        queued.map_err(|_| Trouble::Closed)?;
        waiting.await.map_err(|_| Trouble::Closed)?
    }
}

/// Writes down acknowledgements until the hub stops; what is not written by then was not
/// acknowledged, and is delivered again.
pub(crate) async fn keep_writing(store: Store, mut queue: AckQueue, cancel: CancellationToken) {
    let mut waiting: Vec<Waiting> = Vec::new();
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            _ = queue.0.recv_many(&mut waiting, MOST) => {}
        }
        if waiting.is_empty() {
            return;
        }
        let acks: Vec<Ack> = waiting.iter().map(|(ack, _)| ack.clone()).collect();
        let stale = store.write(move |tx| forget(tx.db(), &acks)).await;
        for (ack, answer) in waiting.drain(..) {
            let outcome = match &stale {
                Ok(stale) if stale.contains(&(ack.agent, ack.epoch)) => {
                    Err(Trouble::Refused(Refusal::StaleEpoch))
                }
                Ok(_) => Ok(()),
                Err(_) => Err(Trouble::Closed),
            };
            // Who is gone finds out at the next connection.
            let _ = answer.send(outcome);
        }
    }
}

/// What was said, and whether it counts: by a process that is known, or, where none has a
/// name, by the newest connection.
const SAID: &str = "
    told AS (SELECT CAST(json_extract(value, '$.agent') AS BIGINT) AS agent,
        CAST(json_extract(value, '$.epoch') AS BIGINT) AS epoch,
        CAST(json_extract(value, '$.seq') AS BIGINT) AS seq,
        json_extract(value, '$.process') AS process
      FROM json_each(?1, '$.acks')),
    said AS (SELECT told.*, CASE
        WHEN EXISTS (SELECT 1 FROM processes WHERE processes.agent = told.agent)
        THEN EXISTS (SELECT 1 FROM processes
          WHERE processes.agent = told.agent AND processes.epoch = told.epoch)
        ELSE EXISTS (SELECT 1 FROM agents
          WHERE agents.id = told.agent AND agents.epoch <= told.epoch) END AS counts
      FROM told)";

/// Forgets deliveries; gives the connections that do not count any more, of which nothing
/// is forgotten.
fn forget(db: &Db, acks: &[Ack]) -> Result<Vec<(AgentKey, Epoch)>> {
    let listed = json!({"acks": acks}).to_string();
    fault("hub.before-ack");
    let sql = format!("WITH {SAID} SELECT DISTINCT agent, epoch FROM said WHERE NOT counts");
    let stale = db.rows(&sql, [&listed])?;
    db.execute(
        &format!(
            "WITH {SAID} DELETE FROM deliveries WHERE (agent, seq) IN (
               SELECT said.agent, said.seq FROM said JOIN deliveries queued
                 ON queued.agent = said.agent AND queued.seq = said.seq
               WHERE counts AND (process IS NULL OR EXISTS (SELECT 1 FROM held_threads held
                 WHERE held.agent = said.agent AND held.thread = queued.thread
                   AND held.process = said.process)))"
        ),
        [&listed],
    )?;
    fault("hub.after-ack");
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{log, store::sql::params};

    #[test]
    fn what_an_older_connection_acknowledges_is_not_forgotten() {
        let db = Db::in_memory();
        db.execute(
            "INSERT INTO channels (id, name, repo, created_ms)
             VALUES ('C', 'app', 'app', 0)",
            [],
        )
        .unwrap();
        for agent in [1, 2] {
            let sql = "INSERT INTO agents (id, repo, role, epoch) VALUES (?1, 'app', ?2, 5)";
            db.execute(sql, params![agent, format!("role {agent}")])
                .unwrap();
        }
        for seq in 1..=3 {
            let sql = "INSERT INTO events (seq, channel, root, kind, frame, at_ms)
                VALUES (?1, 'C', 'r', 'message', '{}', 0)";
            db.execute(sql, [seq]).unwrap();
            for agent in [1, 2] {
                let sql = "INSERT INTO deliveries (agent, seq, thread) VALUES (?1, ?2, 'C/r')";
                db.execute(sql, [agent, seq]).unwrap();
            }
        }
        let ack = |agent, epoch, seq| Ack {
            agent,
            epoch: Epoch(epoch),
            process: None,
            seq,
        };
        let acks = [ack(1, 5, 1), ack(1, 5, 3), ack(2, 4, 1), ack(2, 4, 2)];
        assert_eq!(forget(&db, &acks).unwrap(), [(2, Epoch(4))]);
        let left = |agent| -> Vec<u64> {
            let left = log::undelivered(&db, agent, None, 0, 9).unwrap();
            left.into_iter().map(|(seq, _)| seq).collect()
        };
        assert_eq!((left(1), left(2)), (vec![2], vec![1, 2, 3]));
    }
}
