//! Gives up on a model that keeps failing, for a while.
//!
//! Closed: calls pass. Three failures in a row open it for 30 seconds; then one
//! probe may pass, and its result closes the breaker or opens it again. A probe
//! that never reports (its task was dropped) does not block the model for ever:
//! after another period the next caller becomes the probe.

use std::time::Duration;

use tokio::time::Instant;

/// What a breaker lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Every call.
    Closed,
    /// No call until then.
    Open {
        /// When the next probe may pass.
        until: Instant,
    },
    /// One call is out to see whether the model is back.
    Probing {
        /// When the probe counts as lost.
        until: Instant,
    },
}

/// The breaker of one model.
#[derive(Debug, Clone)]
pub struct Breaker {
    state: BreakerState,
    failures: u32,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            state: BreakerState::Closed,
            failures: 0,
        }
    }
}

impl Breaker {
    /// Failures in a row that open it.
    pub const THRESHOLD: u32 = 3;
    /// How long it stays open.
    pub const PAUSE: Duration = Duration::from_secs(30);

    /// What it lets through now.
    pub const fn state(&self) -> BreakerState {
        self.state
    }

    /// Asks to pass. Who gets `Ok` must report with [`Breaker::succeeded`],
    /// [`Breaker::failed`] or [`Breaker::abandoned`].
    /// Errors: the time to wait, when it is open or a probe is out.
    pub fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        match self.state {
            BreakerState::Closed => Ok(()),
            BreakerState::Open { until } | BreakerState::Probing { until } if now < until => {
                Err(until - now)
            }
            BreakerState::Open { .. } | BreakerState::Probing { .. } => {
                self.state = BreakerState::Probing {
                    until: now + Self::PAUSE,
                };
                Ok(())
            }
        }
    }

    /// The model answered.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// The model failed, after all retries.
    pub fn failed(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let probing = matches!(self.state, BreakerState::Probing { .. });
        if probing || self.failures >= Self::THRESHOLD {
            self.state = BreakerState::Open {
                until: now + Self::PAUSE,
            };
        }
    }

    /// The call ended without saying anything about the model: cancelled, or our own mistake.
    pub fn abandoned(&mut self, now: Instant) {
        if matches!(self.state, BreakerState::Probing { .. }) {
            self.state = BreakerState::Open { until: now };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(now: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..Breaker::THRESHOLD {
            assert_eq!(breaker.admit(now), Ok(()));
            breaker.failed(now);
        }
        breaker
    }

    #[tokio::test(start_paused = true)]
    async fn three_failures_in_a_row_open_it_and_a_success_between_does_not() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..5 {
            breaker.failed(now);
            breaker.failed(now);
            breaker.succeeded();
        }
        assert_eq!(breaker.admit(now), Ok(()));
        assert_eq!(open(now).admit(now), Err(Breaker::PAUSE));
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_pause_one_probe_passes_and_decides() {
        let mut breaker = open(Instant::now());
        tokio::time::advance(Breaker::PAUSE).await;
        let now = Instant::now();
        assert_eq!(breaker.admit(now), Ok(()));
        assert_eq!(breaker.admit(now), Err(Breaker::PAUSE), "one probe only");
        breaker.failed(now);
        assert_eq!(breaker.admit(now), Err(Breaker::PAUSE), "open again");

        tokio::time::advance(Breaker::PAUSE).await;
        assert_eq!(breaker.admit(Instant::now()), Ok(()));
        breaker.succeeded();
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_was_cancelled_or_lost_lets_the_next_one_through() {
        let mut breaker = open(Instant::now());
        tokio::time::advance(Breaker::PAUSE).await;
        assert_eq!(breaker.admit(Instant::now()), Ok(()));
        breaker.abandoned(Instant::now());
        assert_eq!(breaker.admit(Instant::now()), Ok(()), "cancelled");
        tokio::time::advance(Breaker::PAUSE).await;
        assert_eq!(breaker.admit(Instant::now()), Ok(()), "lost");
    }
}
