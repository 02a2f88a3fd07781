//! What hubs that share a store keep there for each other: the last timestamp given, what
//! was said after a commit, which agents are connected where, and who of them does what
//! only one may do. Times are the database's own, so that no hub's clock counts.
//!
//! A store in a file has one hub, and none of this.

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    error::{Result, Trouble},
    identity::{self, Agent},
    log::{AgentKey, Notice},
    store::{Db, params},
};

/// How long a hub counts as up, and holds what it holds, after its last beat.
pub(crate) const LEASE_SECONDS: i64 = 6;
/// What was said longer ago than this is not kept for anybody.
const WAKES_MINUTES: i64 = 10;

/// The last message timestamp that any hub gave; nothing where there is only one hub.
pub(super) fn last_stamp(db: &Db) -> Result<Option<u64>> {
    if db.shared().is_none() {
        return Ok(None);
    }
    let micros: i64 = db.one("SELECT micros FROM last_stamp", [])?;
    Ok(Some(micros.unsigned_abs()))
}

/// Before a commit: keeps the last timestamp, and tells the other hubs what is said.
/// Gives the number of that, if anything was.
pub(super) fn tell(db: &Db, hub: &str, stamp: u64, said: &[Notice]) -> Result<Option<i64>> {
    let Some(pg) = db.shared() else {
        return Ok(None);
    };
    db.execute(
        "UPDATE last_stamp SET micros = ?1 WHERE micros < ?1",
        [stamp.cast_signed()],
    )?;
    let notices: Vec<Value> = said.iter().filter_map(Notice::for_others).collect();
    if notices.is_empty() {
        return Ok(None);
    }
    let number = db.one(
        "INSERT INTO wakes (hub, notices) VALUES (?1, ?2) RETURNING seq",
        params![hub, Value::from(notices).to_string()],
    )?;
    pg.ring()?;
    Ok(Some(number))
}

/// The number of the last thing that was said.
pub(crate) fn newest_wake(db: &Db) -> Result<i64> {
    let sql = "SELECT coalesce(max(seq), 0) FROM wakes";
    Ok(db.one(sql, [])?)
}

/// What hubs said after `seen`, and up to which number that is: also what this hub itself
/// said in a commit whose end it did not hear of. Who comes so late that some of it is
/// gone finds [`Notice::Missed`] first.
pub(super) fn heard(db: &Db, seen: i64) -> Result<(Vec<Notice>, i64)> {
    let rows = db.rows::<(i64, String, i64)>(
        "SELECT seq, notices, (SELECT min(seq) FROM wakes) FROM wakes
         WHERE seq > ?1 ORDER BY seq LIMIT 1000",
        [seen],
    )?;
    let (mut found, mut newest) = (Vec::new(), seen);
    for (seq, notices, oldest) in rows {
        if newest == seen && oldest > seen + 1 {
            found.push(Notice::Missed);
        }
        newest = seq;
        for notice in serde_json::from_str::<Vec<Value>>(&notices)? {
            found.extend(Notice::from_others(db, &notice)?);
        }
    }
    Ok((found, newest))
}

/// What a hub learns with a beat.
#[derive(Debug)]
pub(crate) struct Beat {
    /// Agents that are connected to other hubs.
    pub(crate) elsewhere: HashSet<AgentKey>,
    /// The number of the lease, where this hub has it.
    pub(crate) owner: Option<i64>,
}

/// Says that a hub is up and who is connected to it, and takes the lease, or keeps it,
/// where nobody else has it.
pub(crate) fn beat(db: &Db, hub: &str, here: &[AgentKey]) -> Result<Beat> {
    db.execute(
        "INSERT INTO hubs (hub, agents, beat) VALUES (?1, ?2, clock_timestamp())
         ON CONFLICT (hub) DO UPDATE SET agents = excluded.agents, beat = excluded.beat",
        params![hub, serde_json::to_string(here)?],
    )?;
    db.execute(
        "DELETE FROM hubs WHERE beat < clock_timestamp() - ?1 * interval '1 second'",
        [LEASE_SECONDS],
    )?;
    db.execute(
        "DELETE FROM wakes WHERE at < clock_timestamp() - ?1 * interval '1 minute'",
        [WAKES_MINUTES],
    )?;
    // Whoever asked has given up by then, and asks again.
    db.execute(
        "DELETE FROM slack_calls WHERE at < clock_timestamp() - interval '1 minute'",
        [],
    )?;
    let mut elsewhere = HashSet::new();
    for agents in db.rows::<String>("SELECT agents FROM hubs WHERE hub <> ?1", [hub])? {
        elsewhere.extend(serde_json::from_str::<Vec<AgentKey>>(&agents)?);
    }
    let owner = db.first(
        "INSERT INTO leases (name, hub, epoch, until)
             VALUES ('owner', ?1, 1, clock_timestamp() + ?2 * interval '1 second')
             ON CONFLICT (name) DO UPDATE SET hub = excluded.hub, until = excluded.until,
               epoch = leases.epoch + CASE WHEN leases.hub = excluded.hub THEN 0 ELSE 1 END
             WHERE leases.hub = excluded.hub OR leases.until < clock_timestamp()
             RETURNING epoch",
        params![hub, LEASE_SECONDS],
    )?;
    Ok(Beat { elsewhere, owner })
}

/// Whether what a hub writes as the owner still counts. In the transaction that writes it:
/// who follows takes the lease in one of its own, before this one or after it.
pub(crate) fn check_owner(db: &Db, hub: &str, number: i64) -> Result<()> {
    if db.shared().is_none() {
        return Ok(());
    }
    let sql = "SELECT 1 FROM leases WHERE name = 'owner' AND hub = ?1 AND epoch = ?2";
    let counts: Option<i64> = db.first(sql, params![hub, number])?;
    counts.map(drop).ok_or(Trouble::NotOwner)
}

/// A hub that stops leaves at once what it would lose by falling silent.
pub(crate) fn leave(db: &Db, hub: &str) -> Result<()> {
    db.execute("DELETE FROM hubs WHERE hub = ?1", [hub])?;
    db.run(
        "UPDATE leases SET until = clock_timestamp() WHERE hub = ?1",
        [hub],
    )
}

/// Keeps a ticket for a socket where every hub finds it.
pub(crate) fn keep_ticket(db: &Db, ticket: &str, agent: &Agent) -> Result<()> {
    db.execute("DELETE FROM tickets WHERE until < clock_timestamp()", [])?;
    db.run(
        "INSERT INTO tickets (ticket, agent, machine, until)
         VALUES (?1, ?2, ?3, clock_timestamp() + interval '60 seconds')",
        params![ticket, agent.key, agent.machine],
    )
}

/// Uses a ticket up; whose it was.
pub(crate) fn take_ticket(db: &Db, ticket: &str) -> Result<Option<Agent>> {
    let found: Option<(AgentKey, Option<String>)> = db
        .first("DELETE FROM tickets WHERE ticket = ?1 AND until > clock_timestamp() RETURNING agent, machine", [ticket])?;
    let Some((key, machine)) = found else {
        return Ok(None);
    };
    let agent = identity::agent_by_key(db, key)?;
    Ok(Some(Agent { machine, ..agent }))
}

/// Leaves a call to Slack to the owner; gives its number.
pub(crate) fn ask_owner(db: &Db, call: &str) -> Result<i64> {
    let sql = "INSERT INTO slack_calls (call) VALUES (?1) RETURNING id";
    Ok(db.one(sql, [call])?)
}

/// The calls above `after` that nobody has answered, oldest first.
pub(crate) fn unanswered(db: &Db, after: i64) -> Result<Vec<(i64, String)>> {
    Ok(db.rows(
        "SELECT id, call FROM slack_calls WHERE answer IS NULL AND id > ?1 ORDER BY id LIMIT 64",
        [after],
    )?)
}

/// The owner's answer to a call.
pub(crate) fn answer_call(db: &Db, id: i64, answer: &str) -> Result<()> {
    let sql = "UPDATE slack_calls SET answer = ?2 WHERE id = ?1";
    db.run(sql, params![id, answer])
}

/// What the owner has answered, once it has.
pub(crate) fn answer_of(db: &Db, id: i64) -> Result<Option<String>> {
    let sql = "SELECT answer FROM slack_calls WHERE id = ?1";
    Ok(db.first::<Option<String>>(sql, [id])?.flatten())
}

/// A call whose answer was read, or is not waited for any more.
pub(crate) fn forget_call(db: &Db, id: i64) -> Result<()> {
    db.run("DELETE FROM slack_calls WHERE id = ?1", [id])
}

#[cfg(test)]
mod tests {
    use std::thread;

    use butler_protocol::Secret;
    use butler_testkit::Postgres;

    use super::*;
    use crate::store::{db::system_clock, place::StorePlace};

    fn open(server: &Postgres, dir: &tempfile::TempDir) -> Db {
        let address = Some(Secret::new(server.address()));
        let place = StorePlace::new(dir.path().to_owned(), address);
        place.with_clock(system_clock()).unwrap().open().unwrap()
    }

    #[test]
    fn there_is_one_owner_and_each_that_follows_has_a_higher_number() {
        let Some(server) = Postgres::start() else {
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (open(&server, &dir), open(&server, &dir));
        assert_eq!(beat(&one, "one", &[7]).unwrap().owner, Some(1));
        let beaten = beat(&other, "other", &[]).unwrap();
        assert_eq!((beaten.owner, beaten.elsewhere), (None, [7].into()));
        assert_eq!(beat(&one, "one", &[]).unwrap().owner, Some(1));
        // Given back, and then run out.
        leave(&one, "one").unwrap();
        assert_eq!(beat(&other, "other", &[]).unwrap().owner, Some(2));
        assert_eq!(beat(&one, "one", &[]).unwrap().owner, None);
        let late = "UPDATE leases SET until = clock_timestamp() - interval '1 second'";
        one.execute(late, []).unwrap();
        assert_eq!(beat(&one, "one", &[]).unwrap().owner, Some(3));
        assert_eq!(beat(&other, "other", &[]).unwrap().owner, None);
        // All at once, again and again: one of them.
        for _ in 0..10 {
            one.execute(late, []).unwrap();
            let owners = thread::scope(|scope| {
                let beats = (0..6).map(|hub| {
                    let (server, dir) = (&server, &dir);
                    let db = move || open(server, dir);
                    scope.spawn(move || beat(&db(), &format!("hub {hub}"), &[]).unwrap().owner)
                });
                let beats: Vec<_> = beats.collect();
                let owners = beats.into_iter().map(|beat| beat.join().unwrap());
                owners.flatten().count()
            });
            assert_eq!(owners, 1);
        }
    }

    #[test]
    fn what_is_said_is_heard_by_the_others_once_and_who_comes_too_late_is_told() {
        let Some(server) = Postgres::start() else {
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let db = open(&server, &dir);
        let said = Notice::SessionEnded(butler_protocol::UserId::new("U1"));
        let mut own = None;
        for _ in 0..3 {
            own = tell(&db, "one", 5, std::slice::from_ref(&said)).unwrap();
        }
        assert_eq!(last_stamp(&db).unwrap(), Some(5));
        let (all, newest) = heard(&db, 0).unwrap();
        assert_eq!((all.len(), Some(newest)), (3, own));
        assert!(heard(&db, newest).unwrap().0.is_empty());
        db.execute("DELETE FROM wakes WHERE seq < ?1", [newest])
            .unwrap();
        let (found, _) = heard(&db, 1).unwrap();
        assert!(matches!(found[0], Notice::Missed), "{found:?}");
    }
}
