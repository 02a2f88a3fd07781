//! When a failed call is tried again, and how long to wait before.
//!
//! The rule is a table by class; the waiting is exponential with full jitter,
//! because six processes share one key. What the other side asked for
//! (`Retry-After`) is obeyed, with the jitter on top so that those who were
//! told the same number do not come back together. A wait that is longer than
//! we are willing to take ends the call at once: its fallback answers instead.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use butler_protocol::Usd;
use tokio_util::sync::CancellationToken;

use crate::{ErrorClass, ModelError};

/// A call is never sent more often than this, whatever mix of failures it meets.
const MOST_RETRIES: u32 = 5;

impl ErrorClass {
    /// How often a call that failed like this is tried again. No credit is
    /// retried only when the other side says how long to wait; a context that
    /// is too long is retried by the caller, after compaction.
    pub const fn retries(self) -> u32 {
        match self {
            ErrorClass::RateLimited | ErrorClass::Overloaded | ErrorClass::NoCredit => 5,
            ErrorClass::Malformed => 3,
            ErrorClass::Timeout => 1,
            ErrorClass::ContextTooLong
            | ErrorClass::Auth
            | ErrorClass::Forbidden
            | ErrorClass::Filtered
            | ErrorClass::Rejected
            | ErrorClass::Cancelled
            | ErrorClass::Setup => 0,
        }
    }
}

type Sleep = Arc<dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Where waiting and chance come from; tests bring their own.
#[derive(Clone)]
pub struct Pace {
    sleep: Sleep,
    roll: Arc<dyn Fn() -> f64 + Send + Sync>,
}

impl Pace {
    /// The runtime's clock and the system's randomness.
    pub fn real() -> Self {
        Self::new(tokio::time::sleep, random_fraction)
    }

    /// A given way to wait, and a given source of numbers from 0 (included) to 1 (excluded).
    pub fn new<F>(
        sleep: impl Fn(Duration) -> F + Send + Sync + 'static,
        roll: impl Fn() -> f64 + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self {
            sleep: Arc::new(move |wait| Box::pin(sleep(wait))),
            roll: Arc::new(roll),
        }
    }
}

/// The standard library seeds each `RandomState` anew: enough for jitter.
fn random_fraction() -> f64 {
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pace")
    }
}

/// How patiently a client tries again.
#[derive(Debug, Clone)]
pub struct RetryPolicy {
    /// The ceiling of the first wait; it doubles with every further one.
    pub base: Duration,
    /// The ceiling of all waits that the other side did not ask for.
    pub cap: Duration,
    /// A longer `Retry-After` ends the call.
    pub longest: Duration,
    /// Clock and chance.
    pub pace: Pace,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            base: Duration::from_secs(1),
            cap: Duration::from_secs(30),
            longest: Duration::from_secs(120),
            pace: Pace::real(),
        }
    }
}

/// Counts the failures of one call.
#[derive(Debug, Default)]
struct Tally {
    by_class: BTreeMap<ErrorClass, u32>,
    all: u32,
}

impl Tally {
    /// The wait before the next attempt, or nothing when there is none.
    /// `fraction` is the roll of the dice.
    fn next_wait(
        &mut self,
        policy: &RetryPolicy,
        error: &ModelError,
        fraction: f64,
    ) -> Option<Duration> {
        let class = error.class();
        let failures = self.by_class.entry(class).or_default();
        *failures += 1;
        self.all += 1;
        let asked = error.retry_after();
        let willing = error.retryable()
            && *failures <= class.retries()
            && self.all <= MOST_RETRIES
            && asked.is_none_or(|wait| wait <= policy.longest);
        willing.then(|| {
            let doubled = policy.base.saturating_mul(1 << (self.all - 1).min(16));
            // Who was told when to come should not come much later.
            let ceiling = asked.map_or(policy.cap, |wait| wait.max(policy.base).min(policy.cap));
            let jitter = doubled.min(ceiling).mul_f64(fraction.clamp(0.0, 1.0));
            asked.unwrap_or_default() + jitter
        })
    }
}

/// Runs attempts until one succeeds or the rules end it; with the result comes
/// what the failed attempts before it cost.
/// Errors: the last failure, or [`ModelError::Cancelled`] as soon as `cancel` fires.
pub async fn run<T, A, F>(
    policy: &RetryPolicy,
    cancel: &CancellationToken,
    mut attempt: A,
) -> Result<(T, Usd), ModelError>
where
    A: FnMut(u32) -> F,
    F: Future<Output = Result<T, ModelError>>,
{
    let mut tally = Tally::default();
    let mut wasted = Usd::ZERO;
    for number in 0.. {
        let error = match attempt(number).await {
            Ok(value) => return Ok((value, wasted)),
            Err(error) => error,
        };
        let Some(wait) = tally.next_wait(policy, &error, (policy.pace.roll)()) else {
            return Err(error.and_spent(wasted));
        };
        wasted += error.spent();
        tracing::warn!(
            attempt = number + 1,
            wait_ms = wait.as_millis() as u64,
            error = %error,
            "model call failed, trying again"
        );
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ModelError::Cancelled { spent: wasted }),
            () = (policy.pace.sleep)(wait) => {}
        }
    }
    unreachable!("the tally ends the loop")
}
