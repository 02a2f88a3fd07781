//! Who works on a thread. The answer is stamped on every event, so that all
//! agents decide alike whom a person's unaddressed message is for.

use butler_protocol::{Activity, ActivityState, Role, ThreadId};
use serde::Serialize;

use crate::{
    error::Result,
    store::{Db, Known, params},
    workspace::stops,
};

/// One role's last word about one thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Status {
    pub(crate) role: Role,
    pub(crate) state: ActivityState,
    pub(crate) step: Option<String>,
    /// When it took up this state.
    pub(crate) since_ms: i64,
    /// When it was last heard of.
    pub(crate) heard_ms: i64,
    /// How long it counts without a further word, while working.
    pub(crate) lease_ms: i64,
}

impl Status {
    /// Whether the role is at work: a role that stopped talking is not.
    pub(crate) fn works(&self, now_ms: i64) -> bool {
        self.state == ActivityState::Working
            && now_ms.saturating_sub(self.heard_ms) <= self.lease_ms
    }
}

/// The role that an unaddressed message belongs to: the last that took up work
/// and still works; else the last that parked, for it waits for an answer; else
/// nobody, which means the PM.
pub(crate) fn active_of(states: &[Status], now_ms: i64) -> Option<Role> {
    let latest = |wanted: &dyn Fn(&Status) -> bool| {
        states
            .iter()
            .filter(|status| wanted(status))
            .max_by_key(|status| status.since_ms)
            .map(|status| status.role)
    };
    latest(&|status| status.works(now_ms))
        .or_else(|| latest(&|status| status.state == ActivityState::Parked))
}

/// The role that a person stopped in a thread, until somebody has gone on there;
/// else [`active_of`]. What was begun before a stop may still report its work.
pub(crate) fn active(db: &Db, thread: &ThreadId, now_ms: i64) -> Result<Option<Role>> {
    match stops::stopped(db, thread)? {
        None => Ok(active_of(&states(db, thread)?, now_ms)),
        stopped => Ok(stopped),
    }
}

/// The roles that work or sleep in a thread, the last that took it up first.
pub(crate) fn busy(db: &Db, thread: &ThreadId, now_ms: i64) -> Result<Vec<Role>> {
    let mut busy = states(db, thread)?;
    busy.retain(|status| status.works(now_ms) || status.state == ActivityState::Parked);
    busy.sort_by_key(|status| std::cmp::Reverse(status.since_ms));
    Ok(busy.into_iter().map(|status| status.role).collect())
}

/// Nobody is at work in the thread any more.
pub(crate) fn rest(db: &Db, thread: &ThreadId) -> Result<()> {
    db.run(
        "UPDATE activity SET state = 'idle', step = NULL WHERE channel = ?1 AND root = ?2",
        [thread],
    )
}

/// What every role last said about a thread.
pub(crate) fn states(db: &Db, thread: &ThreadId) -> Result<Vec<Status>> {
    type Row = (
        Known<Role>,
        Known<ActivityState>,
        Option<String>,
        i64,
        i64,
        i64,
    );
    let rows = db.rows::<Row>(
        "SELECT role, state, step, since_ms, heard_ms, lease_ms FROM activity
         WHERE channel = ?1 AND root = ?2",
        [thread],
    )?;
    let status = |(Known(role), Known(state), step, since_ms, heard_ms, lease_ms): Row| {
        Some(Status {
            role: role?,
            state: state?,
            step,
            since_ms,
            heard_ms,
            lease_ms,
        })
    };
    Ok(rows.into_iter().filter_map(status).collect())
}

/// Writes a role's word down; true when its state is a new one.
pub(crate) fn note(db: &Db, role: Role, activity: &Activity, now_ms: i64) -> Result<bool> {
    let thread = &activity.thread;
    let state = activity.state.as_str();
    let before: Option<String> = db.first(
        "SELECT state FROM activity WHERE channel = ?1 AND root = ?2 AND role = ?3",
        params![thread, role],
    )?;
    db.execute("INSERT INTO activity (channel, root, role, state, step, since_ms, heard_ms, lease_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)
         ON CONFLICT (channel, root, role) DO UPDATE SET
           since_ms = CASE WHEN activity.state = excluded.state THEN activity.since_ms ELSE excluded.since_ms END,
           state = excluded.state, step = excluded.step,
           heard_ms = excluded.heard_ms, lease_ms = excluded.lease_ms", params![thread, role, state, activity.step, now_ms, i64::from(activity.lease_seconds).saturating_mul(1000)])?;
    if activity.state == ActivityState::Working {
        stops::gone_on(db, thread)?;
    }
    Ok(before.as_deref() != Some(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(role: Role, state: ActivityState, since_ms: i64, heard_ms: i64) -> Status {
        Status {
            role,
            state,
            step: None,
            since_ms,
            heard_ms,
            lease_ms: 30_000,
        }
    }

    #[test]
    fn the_last_role_that_took_up_work_owns_the_message() {
        use ActivityState::{Idle, Parked, Working};
        let now = 100_000;
        let check = |states: &[Status], expected: Option<Role>| {
            assert_eq!(active_of(states, now), expected, "{states:?}");
        };
        check(&[], None);
        check(&[status(Role::Coder, Working, 1, now)], Some(Role::Coder));
        check(&[status(Role::Coder, Idle, 1, now)], None);
        check(
            &[
                status(Role::Pm, Working, 1, now),
                status(Role::Coder, Working, 2, now - 29_000),
            ],
            Some(Role::Coder),
        );
        // Silent for longer than its lease: the one before it, or nobody.
        check(
            &[
                status(Role::Pm, Working, 1, now),
                status(Role::Coder, Working, 2, now - 31_000),
            ],
            Some(Role::Pm),
        );
        check(&[status(Role::Coder, Working, 2, now - 31_000)], None);
        // Parked needs no heartbeat, and yields to whoever works.
        check(&[status(Role::Coder, Parked, 2, 3)], Some(Role::Coder));
        check(
            &[
                status(Role::Coder, Parked, 9, 9),
                status(Role::Pm, Working, 1, now),
            ],
            Some(Role::Pm),
        );
    }
}
