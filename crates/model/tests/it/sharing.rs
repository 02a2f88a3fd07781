//! Six clients share one limited endpoint, in simulated time.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use butler_model::{ErrorClass, ModelError, Pace, RetryPolicy, Trouble, run};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Allows so many requests per window, and tells the others when the next begins.
struct Endpoint {
    per_window: u32,
    window: Duration,
    seen: Mutex<(Option<Instant>, u32)>,
    /// When each request came, in milliseconds.
    arrivals: Mutex<Vec<u64>>,
    start: Instant,
}

impl Endpoint {
    fn request(&self) -> Result<(), ModelError> {
        let now = Instant::now();
        let at = now.duration_since(self.start).as_millis() as u64;
        self.arrivals.lock().unwrap().push(at);
        let mut seen = self.seen.lock().unwrap();
        let began = match seen.0 {
            Some(began) if now < began + self.window => began,
            _ => {
                *seen = (Some(now), 0);
                now
            }
        };
        if seen.1 < self.per_window {
            seen.1 += 1;
            return Ok(());
        }
        let mut trouble = Trouble::new("m", "slow down");
        trouble.retry_after = Some(began + self.window - now);
        Err(ErrorClass::RateLimited.with(trouble))
    }
}

/// A small generator, so that the run is the same every time.
fn dice(seed: u64) -> impl Fn() -> f64 + Send + Sync {
    let state = AtomicU64::new(seed);
    move || {
        let next = state
            .load(Ordering::Relaxed)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state.store(next, Ordering::Relaxed);
        (next >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Six clients make ten calls each; returns how many failed, and when requests came.
async fn season(seed: u64, per_window: u32, jitter: f64) -> (u32, Vec<u64>) {
    let endpoint = Arc::new(Endpoint {
        per_window,
        window: Duration::from_secs(4),
        seen: Mutex::default(),
        arrivals: Mutex::default(),
        start: Instant::now(),
    });
    let clients = (0..6_u64).map(|number| {
        let endpoint = Arc::clone(&endpoint);
        tokio::spawn(async move {
            let roll = dice(seed * 6 + number);
            let policy = RetryPolicy {
                pace: Pace::new(tokio::time::sleep, move || roll() * jitter),
                ..RetryPolicy::default()
            };
            let latency = dice(!(seed * 6 + number));
            let mut failed = 0;
            for _ in 0..10 {
                let thinking = Duration::from_secs_f64(3.0 + 4.0 * latency());
                let attempt = |_| async {
                    endpoint.request()?;
                    tokio::time::sleep(thinking).await;
                    Ok(())
                };
                failed += u32::from(
                    run(&policy, &CancellationToken::new(), attempt)
                        .await
                        .is_err(),
                );
            }
            failed
        })
    });
    let mut failed = 0;
    for client in clients.collect::<Vec<_>>() {
        failed += client.await.unwrap();
    }
    let arrivals = endpoint.arrivals.lock().unwrap().clone();
    (failed, arrivals)
}

/// The most requests within 50 ms, after the first second in which all begin together.
fn worst_crowd(arrivals: &[u64]) -> usize {
    let crowd = |at: u64| {
        arrivals
            .iter()
            .filter(|other| **other / 50 == at / 50)
            .count()
    };
    let later = arrivals.iter().filter(|at| **at > 1000);
    later.map(|at| crowd(*at)).max().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn six_clients_that_ask_for_all_there_is_finish() {
    let mut requests = 0;
    for seed in 1..=20 {
        let (failed, arrivals) = season(seed, 5, 1.0).await;
        assert_eq!(failed, 0, "seed {seed}");
        requests += arrivals.len();
    }
    assert!(
        requests < 20 * 60 * 2,
        "{requests} requests for {} calls",
        20 * 60
    );
}

/// Five of six are refused and told the same moment.
#[tokio::test(start_paused = true)]
async fn there_is_no_thundering_herd() {
    let (mut spread, mut herd) = (0, 0);
    for seed in 1..=20 {
        spread += worst_crowd(&season(seed, 1, 1.0).await.1);
        herd += worst_crowd(&season(seed, 1, 0.0).await.1);
    }
    // By chance two or three meet at the worst moment of a season, not all five.
    assert!(spread <= 20 * 3, "{spread} in 20 seasons");
    assert!(
        herd >= 20 * 5,
        "the measure cannot see a herd: {herd} in 20 seasons"
    );
}
