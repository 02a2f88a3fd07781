//! What time it is, asked of whoever made the clock: this crate reads none itself.

use std::{fmt, sync::Arc, time::Duration};

/// Tells the time since 1970. A process makes one from its machine's clock, a test
/// from a number of its own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl Clock {
    /// A clock that asks `since_1970`.
    pub fn new(since_1970: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(since_1970))
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        i64::try_from((self.0)().as_millis()).unwrap_or(i64::MAX)
    }

    /// Microseconds since 1970.
    pub fn now_micros(&self) -> u64 {
        u64::try_from((self.0)().as_micros()).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({} ms)", self.now_ms())
    }
}
