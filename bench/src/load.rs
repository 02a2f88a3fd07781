//! What the hub carries, side by side for a store in a file and one in PostgreSQL: messages a
//! second to 6, 60, 600 and 1,200 subscribers and how long they take, what the connected
//! repositories hold and use at rest, the rate at which it breaks down, pages of a channel with
//! 100,000 messages, and what a thread adds to the store.
//!
//! The hub is the built binary; subscribers, people and the database share the machine with it.

mod fan_out;
mod growth;
mod views;
mod workplace;

use std::{path::Path, time::Duration};

use anyhow::{Context, Result};
use butler_testkit::Postgres;

use self::workplace::Workplace;
use crate::table::Report;

/// How much is done.
pub(crate) struct Size {
    /// Subscribers at each stage; six of a repository.
    subscribers: &'static [usize],
    /// Messages at full speed in each stage.
    burst: usize,
    /// Messages in one channel when its pages are looked at, few and many.
    messages: [usize; 2],
    /// Threads from which the growth of the store is taken.
    stories: usize,
    /// How long each look takes: at rest, at a steady pace, at each rate.
    seconds: u32,
}

const FULL: Size = Size {
    subscribers: &[6, 60, 600, 1_200],
    burst: 2_000,
    messages: [1_000, 100_000],
    stories: 100,
    seconds: 5,
};
const QUICK: Size = Size {
    subscribers: &[6, 60, 600, 1_200],
    burst: 300,
    messages: [300, 3_000],
    stories: 10,
    seconds: 2,
};

impl Size {
    fn look(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }
}

/// What was found out about one engine: figures by name, in the same order for both.
#[derive(Default)]
struct Figures {
    engine: &'static str,
    rows: Vec<(String, String)>,
    /// Processor time of hub and database per delivery, with few and with all subscribers.
    delivery: [f64; 2],
    /// The slowest page with many messages, as a multiple of the same with few.
    page: f64,
}

impl Figures {
    fn new(engine: &'static str) -> Self {
        Self {
            engine,
            ..Self::default()
        }
    }

    /// A figure, told at once: the whole takes minutes.
    fn row(&mut self, what: impl Into<String>, figure: String) {
        let what = what.into();
        println!("{}: {what}: {figure}", self.engine);
        self.rows.push((what, figure));
    }
}

pub(crate) fn measure(binary: &Path, quick: bool) -> Result<Report> {
    let size = if quick { &QUICK } else { &FULL };
    workplace::allow_many_files()?;
    let server = Postgres::start_durable().context("PostgreSQL is not installed")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut both = Vec::new();
    let mut filled = None;
    for server in [None, Some(&server)] {
        let mut figures = Figures::new(if server.is_some() {
            "PostgreSQL"
        } else {
            "SQLite"
        });
        let mut place = Workplace::new(binary, size.subscribers, server)?;
        place.start()?;
        runtime.block_on(fan_out::measure(&mut place, size, &mut figures))?;
        let few = runtime.block_on(views::measure(&place, size.messages[0]))?;
        runtime.block_on(growth::measure(&mut place, size.stories, &mut figures))?;
        // Filled once; the database gets the same by moving it there.
        match filled.take() {
            None => {
                place.start()?;
                runtime.block_on(views::fill(&place, size.messages[1]))?;
            }
            Some(other) => place.take_over(&other, &mut figures)?,
        }
        let many = runtime.block_on(views::measure(&place, size.messages[1]))?;
        place.stop();
        views::compare(size.messages, &few, &many, &mut figures);
        both.push(figures);
        filled = Some(place);
    }
    Ok(report(size, &both))
}

fn report(size: &Size, both: &[Figures]) -> Report {
    let title = "What the hub carries, in a file and in PostgreSQL";
    let mut report = Report::new(title, &["what", "SQLite", "PostgreSQL"]);
    for (what, _) in &both[1].rows {
        let of = |figures: &Figures| {
            let found = figures.rows.iter().find(|(name, _)| name == what);
            found.map_or(String::new(), |(_, figure)| figure.clone())
        };
        report.row(vec![what.clone(), of(&both[0]), of(&both[1])]);
    }
    let (few, all) = (size.subscribers[1], size.subscribers.last().unwrap_or(&0));
    for figures in both {
        let engine = figures.engine;
        report.bar(
            &format!("{engine}: a delivery among {all} subscribers against {few}"),
            figures.delivery[1] / figures.delivery[0],
            2.0,
            " times the CPU",
        );
        report.bar(
            &format!(
                "{engine}: the page that {} messages slow down most",
                size.messages[1]
            ),
            figures.page,
            3.0,
            " times the CPU",
        );
    }
    report
}
