//! Pages of a workspace in which much was said.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Figures, workplace::Workplace};

/// Each page is asked for so often; the least processor time counts.
const ROUNDS: usize = 15;
/// Messages of a thread, and threads that are written at the same time.
const THREAD: usize = 20;
const SPEAKERS: usize = 64;
/// The repository in whose channel all is said.
const REPO: usize = 0;

/// A page: its name, processor time and time until it is there.
pub(super) struct Look {
    name: &'static str,
    cpu: Duration,
    time: Duration,
}

/// Says so much in one channel.
pub(super) async fn fill(place: &Workplace, messages: usize) -> Result<()> {
    let threads = stream::iter(0..messages / THREAD).map(|thread| async move {
        let root = place
            .say(REPO, &format!("request {thread}: the lists of the café"), None)
            .await?;
        for number in 1..THREAD {
            let text = format!(
                "answer {number} of request {thread}: *bold*, `code`\n```rust\nfn main() {{}} // {number}\n```"
            );
            place.say(REPO, &text, Some(&root)).await?;
        }
        Ok::<_, anyhow::Error>(())
    });
    let filled: Result<Vec<()>> = threads.buffer_unordered(SPEAKERS).try_collect().await;
    filled.map(drop)
}

/// Looks at board, channel, a thread and a search; fills the channel first where it is empty.
pub(super) async fn measure(place: &Workplace, messages: usize) -> Result<Vec<Look>> {
    let channel = place.repos[REPO].channel.to_string();
    let board = place.page("v1/search?q=request").await?;
    if board.contains("\"hits\":[]") {
        fill(place, messages).await?;
    }
    let newest = place
        .page(&format!("v1/channels/{channel}/messages"))
        .await?;
    let newest: serde_json::Value = serde_json::from_str(&newest)?;
    let root = newest["messages"][0]["ts"].as_str().context("no message")?;
    let pages = [
        ("board", "board".to_owned()),
        ("channel", format!("c/{channel}")),
        ("thread", format!("c/{channel}/{root}")),
        (
            "search, a word of one thread in 20 messages",
            "search?q=cafe".to_owned(),
        ),
        (
            "search, two words of one thread",
            "search?q=request+17".to_owned(),
        ),
        ("needs you", "".to_owned()),
    ];
    let mut looks = Vec::new();
    for (name, path) in pages {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let (begun, used) = (Instant::now(), place.used()?);
            place.page(&path).await?;
            let time = begun.elapsed();
            let after = place.used()?;
            times.push((after[0] + after[1] - used[0] - used[1], time));
        }
        let cpu = times.iter().map(|one| one.0).min().unwrap_or_default();
        let time = times.iter().map(|one| one.1).min().unwrap_or_default();
        looks.push(Look { name, cpu, time });
    }
    Ok(looks)
}

pub(super) fn compare(messages: [usize; 2], few: &[Look], many: &[Look], figures: &mut Figures) {
    for (few, many) in few.iter().zip(many) {
        figures.row(
            format!(
                "page with {} and {} messages: {}",
                messages[0], messages[1], few.name
            ),
            format!("{} and {}", shown(few), shown(many)),
        );
        // Below a millisecond it is the noise that is compared.
        let floor = Duration::from_millis(1);
        let times = many.cpu.as_secs_f64() / few.cpu.max(floor).as_secs_f64();
        figures.page = figures.page.max(times);
    }
}

fn shown(look: &Look) -> String {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    format!("{:.1} ms (CPU {:.1})", ms(look.time), ms(look.cpu))
}
