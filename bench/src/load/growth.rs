//! What a thread adds to the store: as many messages, and lines of agents' logs of the same
//! lengths, as a request that became a merged change left behind (`codebutler demo`).

use anyhow::Result;
use butler_protocol::{CallId, Entry, MessageTs, Record, RecordBatch, Role, ThreadId, ToolOutcome};
use butler_slack::{Control, SharedEpoch};

use super::{
    Figures,
    fan_out::Ears,
    workplace::{ROLES, Workplace},
};

/// The lengths of what was said.
const SAID: [usize; 12] = [60, 1_900, 40, 600, 900, 350, 700, 200, 500, 900, 300, 120];
/// How many lines each role's log got, and how long they are on average; one is the prompt.
const LINES: [usize; 3] = [25, 60, 25];
const LINE: usize = 450;
const PROMPT: usize = 18_000;
const ROLES_AT_WORK: [Role; 3] = [Role::Pm, Role::Coder, Role::Reviewer];
const REPO: usize = 0;

pub(super) async fn measure(
    place: &mut Workplace,
    stories: usize,
    figures: &mut Figures,
) -> Result<()> {
    place.stop();
    let before = place.bytes()?;
    place.start()?;
    let mut ears = Ears::new();
    ears.connect(place, ROLES).await?;
    for _ in 0..stories {
        let mut root = None;
        for length in SAID {
            let text = format!("{} {}", ears.sends(), words(length));
            let ts = place.say(REPO, &text, root.as_deref()).await?;
            root.get_or_insert(ts);
        }
        let root: MessageTs = root.unwrap_or_default().parse()?;
        let thread = ThreadId::new(place.repos[REPO].channel.clone(), root);
        for (role, lines) in ROLES_AT_WORK.into_iter().zip(LINES) {
            let token = place.repos[REPO].agents[&role].bot.clone();
            let control = Control::new(&place.base()?, token, SharedEpoch::default())?;
            let entries = (1..=lines).map(line).collect();
            let thread = thread.clone();
            control
                .records(&RecordBatch {
                    thread,
                    entries,
                    end: None,
                })
                .await?;
        }
        ears.hear(SAID.len() * ROLES).await?;
    }
    ears.leave().await;
    place.stop();
    let grown = place.bytes()?.saturating_sub(before);
    figures.row(
        "a thread adds to the store",
        format!("{:.0} KiB", grown as f64 / 1024.0 / stories as f64),
    );
    Ok(())
}

fn line(number: usize) -> Entry {
    let length = if number == 1 { PROMPT } else { LINE };
    Entry {
        seq: number as u64,
        epoch: 1,
        at_ms: 1_000,
        record: Record::ToolResult {
            call: CallId::new(format!("call{number}")),
            outcome: ToolOutcome::ok(words(length)),
        },
    }
}

/// So many letters of words that differ.
fn words(length: usize) -> String {
    let mut text = String::new();
    let mut number = length as u64;
    while text.len() < length {
        // A few thousand different words, as source text has.
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:x} ", (number >> 33) % 4_096));
    }
    text.truncate(length);
    text
}
