//! How many calls an hour may have. The hour slides: what counts is the last
//! sixty minutes, not the hour on the clock, so nothing is saved up for the turn
//! of the hour.

/// An hour.
pub const HOUR_MS: i64 = 60 * 60 * 1000;

/// When the next call may come, if that is not now. With a limit of n calls an
/// hour only the n-th newest call matters: it has to be an hour old.
pub fn free_at(nth_newest_ms: Option<i64>, now_ms: i64) -> Option<i64> {
    let free = nth_newest_ms?.saturating_add(HOUR_MS);
    (free > now_ms).then_some(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_newest_call_has_to_be_an_hour_old() {
        let now = 10 * HOUR_MS;
        assert_eq!(free_at(None, now), None, "fewer calls than the limit");
        assert_eq!(free_at(Some(now - HOUR_MS), now), None);
        assert_eq!(free_at(Some(now - 1), now), Some(now - 1 + HOUR_MS));
        assert_eq!(free_at(Some(i64::MAX), now), Some(i64::MAX));
    }
}
