//! The hub's copy of a role's log, from which another machine can go on: what its owner on
//! the way to work is told, and that no line ever stands for two.

use butler_protocol::{Entry, LogEnd, Role, ThreadId};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    budget,
    error::{Refusal, Result, When},
    identity::{Agent, Fence},
    log::processes::holders,
    store::{Db, cold, params},
};

/// Logs of one role in one thread have their numbers this far apart.
const APART: u64 = 1 << 32;

/// What the hub has of a log.
#[derive(Serialize)]
pub(super) struct Held {
    ok: bool,
    /// The last line before the first one that is missing.
    upto: u64,
    /// Money that is set aside: calls whose end nobody has told us.
    unsettled: Vec<String>,
    /// With which epoch the log is written from here on; zero when that of the connection
    /// is enough.
    epoch: u64,
    /// The hub's last line, as its owner compares it with its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<LogEnd>,
    /// The lines up to this one are the same on both sides, and `entries` follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entries: Vec<Box<RawValue>>,
}

/// What an agent that takes up a thread is told: which of its lines we have, and those
/// that it does not.
pub(super) fn held(
    db: &Db,
    agent: &Agent,
    thread: &ThreadId,
    fence: Option<&Fence>,
    end: Option<LogEnd>,
) -> Result<Held> {
    agent.may_use(db, &thread.channel)?;
    let base = end.map_or(0, |end| end.base);
    let unsettled = budget::unsettled(db, &agent.repo, agent.role, thread)?;
    let log = Log::open(db, thread, agent.role, base)?;
    let mut held = Held {
        ok: true,
        upto: log.upto()?,
        unsettled,
        epoch: 0,
        last: None,
        keep: None,
        entries: Vec::new(),
    };
    let Some(end) = end else {
        return Ok(held);
    };
    agent.check_fence(db, fence)?;
    if let Some(fence) = fence {
        held.epoch = holders::take_up(db, agent.key, fence.epoch, thread)?.0;
    }
    held.last = match held.upto {
        0 => None,
        last => log.line(last)?,
    };
    let keep = match end.seq {
        0 => Some(0),
        seq if seq <= held.upto => (log.line(seq)? == Some(end)).then_some(seq),
        _ => None,
    };
    if let Some(keep) = keep {
        held.keep = Some(keep);
        held.entries = log.lines(keep + 1, held.upto)?;
    }
    Ok(held)
}

/// A line that is told again has to be the one that is there: otherwise somebody else
/// went on with this log.
pub(super) fn same(db: &Db, role: Role, thread: &ThreadId, entry: &Entry) -> Result<()> {
    let log = Log::open(db, thread, role, 0)?;
    let there = log.line(entry.seq)?;
    let told = LogEnd {
        base: 0,
        seq: entry.seq,
        epoch: entry.epoch,
        at_ms: entry.at_ms,
    };
    Refusal::ThreadTaken.when(there != Some(told))?;
    Ok(())
}

/// One log of a role; the numbers outside are those that its owner uses.
struct Log<'a> {
    db: &'a Db,
    thread: &'a ThreadId,
    role: Role,
    base: u64,
    /// Its lines, where they are packed.
    packed: Option<Vec<(i64, String)>>,
}

impl<'a> Log<'a> {
    fn open(db: &'a Db, thread: &'a ThreadId, role: Role, base: u64) -> Result<Self> {
        let packed = match cold::is_cold(db, thread)? {
            false => None,
            true => {
                let lines = cold::lines(db, thread)?.into_iter();
                let own = lines.filter(|(of, ..)| of == role.as_str());
                Some(own.map(|(_, seq, line)| (seq, line)).collect())
            }
        };
        Ok(Self {
            db,
            thread,
            role,
            base,
            packed,
        })
    }

    fn at(&self, seq: u64) -> i64 {
        i64::try_from(self.base.saturating_add(seq)).unwrap_or(i64::MAX)
    }

    fn upto(&self) -> Result<u64> {
        let upto: i64 = match &self.packed {
            Some(lines) => {
                let own = lines
                    .iter()
                    .map(|(seq, _)| *seq)
                    .filter(|seq| *seq > self.at(0));
                let whole = (self.at(1)..).zip(own).take_while(|(at, seq)| at == seq);
                whole.last().map_or(self.at(0), |(at, _)| at)
            }
            None => self.db.one(
                "WITH held(seq) AS (SELECT ?4 UNION ALL SELECT seq FROM records
                       WHERE channel = ?1 AND root = ?2 AND role = ?3 AND seq > ?4 AND seq < ?5)
                     SELECT min(seq) FROM held WHERE seq + 1 NOT IN (SELECT seq FROM held)",
                params![self.thread, self.role, self.at(0), self.at(APART)],
            )?,
        };
        Ok(upto.unsigned_abs().saturating_sub(self.base))
    }

    fn line(&self, seq: u64) -> Result<Option<LogEnd>> {
        let Some(entry) = self.lines(seq, seq)?.pop() else {
            return Ok(None);
        };
        let end: LogEnd = serde_json::from_str(entry.get())?;
        let base = self.base;
        Ok(Some(LogEnd { base, seq, ..end }))
    }

    fn lines(&self, from: u64, upto: u64) -> Result<Vec<Box<RawValue>>> {
        let (from, upto) = (self.at(from), self.at(upto));
        let raw = |line: String| Ok(RawValue::from_string(line)?);
        if let Some(lines) = &self.packed {
            let wanted = lines.iter().filter(|(seq, _)| (from..=upto).contains(seq));
            return wanted.map(|(_, line)| raw(line.clone())).collect();
        }
        let lines = self.db.rows(
            "SELECT entry FROM records WHERE channel = ?1 AND root = ?2 AND role = ?3
             AND seq >= ?4 AND seq <= ?5 ORDER BY seq",
            params![self.thread, self.role, from, upto],
        )?;
        lines.into_iter().map(raw).collect()
    }
}
