//! From a person's message to the subscribers that get it, at full speed and at a steady pace.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use butler_protocol::Role;
use butler_slack::Socket;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::{
    sync::mpsc,
    time::{sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Figures, Size,
    workplace::{ROLES, Workplace},
};
use crate::idle::memory;

/// People who post at the same time.
const SPEAKERS: usize = 64;
/// Messages of a thread at full speed.
const THREAD: usize = 5;
/// At which pace the time of a delivery is taken, per second.
const PACE: usize = 20;
/// Deliveries that take longer than this are no conversation any more.
const KNEE: Duration = Duration::from_millis(250);
/// No rate above this is tried.
const FASTEST: usize = 6_400;
/// Whatever takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(120);

/// When each message was sent, and who heard which when.
pub(super) struct Ears {
    sent: Arc<Mutex<Vec<Instant>>>,
    heard: mpsc::UnboundedReceiver<(usize, Instant)>,
    telling: mpsc::UnboundedSender<(usize, Instant)>,
    cancel: CancellationToken,
    count: usize,
}

impl Ears {
    pub(super) fn new() -> Self {
        let (telling, heard) = mpsc::unbounded_channel();
        Self {
            sent: Arc::default(),
            heard,
            telling,
            cancel: CancellationToken::new(),
            count: 0,
        }
    }

    /// Connects more subscribers, until there are so many.
    pub(super) async fn connect(&mut self, place: &Workplace, count: usize) -> Result<()> {
        let base = place.base()?;
        let tokens = (self.count..count).map(|number| {
            let role = Role::ALL[number % ROLES];
            place.repos[number / ROLES].agents[&role].app.clone()
        });
        let opening = stream::iter(tokens).map(|token| {
            let (base, cancel) = (base.clone(), self.cancel.clone());
            async move { Socket::open(&base, token, cancel).await }
        });
        let sockets: Vec<Socket> = opening.buffer_unordered(16).try_collect().await?;
        for mut socket in sockets {
            let telling = self.telling.clone();
            tokio::spawn(async move {
                while let Some(envelope) = socket.next().await {
                    let now = Instant::now();
                    let text = envelope.payload["event"]["text"].as_str();
                    let number = text.and_then(|text| text.split(' ').next()?.parse().ok());
                    if let Some(number) = number {
                        let _ = telling.send((number, now));
                    }
                    if socket.ack(&envelope.id).await.is_err() {
                        return;
                    }
                }
            });
        }
        self.count = count;
        Ok(())
    }

    /// The number of the next message, from now on.
    pub(super) fn sends(&self) -> usize {
        let mut sent = self
            .sent
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        sent.push(Instant::now());
        sent.len() - 1
    }

    /// How long so many deliveries took, sorted, and when the last one came.
    pub(super) async fn hear(&mut self, count: usize) -> Result<(Vec<Duration>, Instant)> {
        let (mut times, mut last) = (Vec::with_capacity(count), Instant::now());
        while times.len() < count {
            let heard = timeout(PATIENCE, self.heard.recv()).await;
            let (number, at) = heard
                .with_context(|| format!("{} of {count} deliveries came", times.len()))?
                .context("nobody listens")?;
            let Some(sent) = self.sent_at(number) else {
                continue;
            };
            times.push(at - sent);
            last = at;
        }
        while let Ok((number, _)) = self.heard.try_recv() {
            ensure!(self.sent_at(number).is_none(), "something came twice");
        }
        times.sort();
        Ok((times, last))
    }

    /// Nothing for what was sent before these subscribers came: when the hub was given more than
    /// it can carry, the last acknowledgements were cut off, and what they were for comes again.
    fn sent_at(&self, number: usize) -> Option<Instant> {
        let sent = self.sent.lock();
        let sent = sent.unwrap_or_else(|poison| poison.into_inner());
        sent.get(number).copied()
    }

    /// Disconnects everybody, after the last acknowledgement.
    pub(super) async fn leave(self) {
        sleep(Duration::from_secs(1)).await;
        self.cancel.cancel();
    }

    fn repos(&self) -> usize {
        self.count / ROLES
    }
}

fn text(number: usize) -> String {
    format!(
        "{number} please look at `src/main.rs`: the *second* argument is read twice, see https://example.org/{number}"
    )
}

pub(super) async fn measure(
    place: &mut Workplace,
    size: &Size,
    figures: &mut Figures,
) -> Result<()> {
    let mut ears = Ears::new();
    let mut held = Vec::new();
    for &count in size.subscribers {
        ears.connect(place, count).await?;
        sleep(Duration::from_secs(1)).await;
        let before = place.used()?;
        sleep(size.look()).await;
        let after = place.used()?;
        held.push((
            count,
            memory(&place.hub_pid()?)?.0,
            [0, 1].map(|at| after[at] - before[at]),
        ));
        stage(place, size, &mut ears, figures).await?;
    }
    per_hundred_repos(&held, size.look(), figures);
    knee(place, &mut ears, size.look(), figures).await?;
    ears.leave().await;
    Ok(())
}

async fn stage(
    place: &Workplace,
    size: &Size,
    ears: &mut Ears,
    figures: &mut Figures,
) -> Result<()> {
    let count = ears.count;
    let (begun, used) = (Instant::now(), place.used()?);
    let repos = ears.repos();
    let threads = stream::iter(0..size.burst / THREAD).map(|thread| {
        let ears: &Ears = ears;
        async move {
            let repo = thread % repos;
            let root = place.say(repo, &text(ears.sends()), None).await?;
            for _ in 1..THREAD {
                place.say(repo, &text(ears.sends()), Some(&root)).await?;
            }
            Ok::<_, anyhow::Error>(())
        }
    });
    let posted: Result<Vec<()>> = threads.buffer_unordered(SPEAKERS).try_collect().await;
    posted?;
    let deliveries = size.burst / THREAD * THREAD * ROLES;
    let (_, last) = ears.hear(deliveries).await?;
    let after = place.used()?;
    let [hub, database] = [0, 1].map(|at| (after[at] - used[at]).as_secs_f64());
    let seconds = (last - begun).as_secs_f64();
    let each = |share: f64| share * 1e6 / deliveries as f64;
    figures.row(
        format!("{count} subscribers: messages a second"),
        format!("{:.0}", size.burst as f64 / seconds),
    );
    figures.row(
        format!("{count} subscribers: CPU of a delivery, hub and database"),
        format!("{:.0} and {:.0} µs", each(hub), each(database)),
    );
    if count == size.subscribers[1] {
        figures.delivery[0] = each(hub + database);
    }
    figures.delivery[1] = each(hub + database);
    let (times, _) = paced(place, ears, PACE, size.look()).await?;
    figures.row(
        format!("{count} subscribers: delivery at {PACE} messages a second, p50 and p99"),
        format!("{} and {}", ms(at(&times, 50)), ms(at(&times, 99))),
    );
    Ok(())
}

/// Sends at a steady pace, whether or not the hub keeps up; deliveries and how long the
/// slowest answer to a speaker took.
async fn paced(
    place: &Workplace,
    ears: &mut Ears,
    pace: usize,
    length: Duration,
) -> Result<(Vec<Duration>, Instant)> {
    let begun = tokio::time::Instant::now();
    let count = (pace as f64 * length.as_secs_f64()) as usize;
    let repos = ears.repos();
    let posts = (0..count).map(|number| {
        let ears: &Ears = ears;
        async move {
            sleep_until(begun + length * number as u32 / count as u32).await;
            place.say(number % repos, &text(ears.sends()), None).await
        }
    });
    let posted: Result<Vec<String>> = stream::iter(posts)
        .buffer_unordered(count)
        .try_collect()
        .await;
    posted?;
    ears.hear(count * ROLES).await
}

/// Doubles the pace until deliveries take too long.
async fn knee(
    place: &Workplace,
    ears: &mut Ears,
    length: Duration,
    figures: &mut Figures,
) -> Result<()> {
    let (mut pace, mut good) = (2 * PACE, None);
    let name = format!("{} subscribers: the knee", ears.count);
    while pace <= FASTEST {
        let (begun, used) = (Instant::now(), place.used()?);
        let (times, last) = paced(place, ears, pace, length).await?;
        let (after, took) = (place.used()?, last - begun);
        let p99 = at(&times, 99);
        let cores = [0, 1].map(|at| (after[at] - used[at]).as_secs_f64() / took.as_secs_f64());
        if p99 > KNEE {
            let before = good.map_or_else(
                || "already at ".to_owned(),
                |(pace, p99): (usize, Duration)| format!("{pace} a second p99 {}, ", ms(p99)),
            );
            figures.row(
                name,
                format!(
                    "{before}{pace} a second p99 {} (hub {:.2}, database {:.2} cores)",
                    ms(p99),
                    cores[0],
                    cores[1]
                ),
            );
            return Ok(());
        }
        good = Some((pace, p99));
        pace *= 2;
    }
    figures.row(name, format!("none up to {FASTEST} a second"));
    Ok(())
}

fn per_hundred_repos(held: &[(usize, u64, [Duration; 2])], rest: Duration, figures: &mut Figures) {
    let (Some(first), Some(last)) = (held.first(), held.last()) else {
        return;
    };
    let repos = (last.0 - first.0) as f64 / ROLES as f64;
    let memory = (last.1 as f64 - first.1 as f64) / 1024.0 / repos * 100.0;
    let share = |at: usize| {
        let more = last.2[at].as_secs_f64() - first.2[at].as_secs_f64();
        more.max(0.0) / rest.as_secs_f64() / repos * 100.0 * 100.0
    };
    figures.row(
        "100 repositories with six agents connected: memory of the hub (PSS)",
        format!("{memory:.1} MiB"),
    );
    figures.row(
        "the same at rest: CPU of hub and database",
        format!("{:.2} and {:.2} % of a core", share(0), share(1)),
    );
}

fn at(sorted: &[Duration], share: usize) -> Duration {
    sorted[(sorted.len() - 1) * share / 100]
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
