//! `codebutler roadmap --watch`: a run over the roadmap, drawn again whenever
//! something moves, until it is over.

use butler_protocol::{ItemState, RunState, RunView};

use crate::{CliError, Exit, Paint, Ui, commands::settings_here, person::Person, process, wiring};

pub(super) fn run(ui: &Ui) -> Result<Exit, CliError> {
    let settings = settings_here()?;
    let url = wiring::hub_url(&settings)?;
    process::run(async move |cancel| {
        let person = Person::join(&settings, url.as_str())?;
        let mut news = person.news();
        let mut shown = None;
        loop {
            let runs = person.runs().await?;
            let own = runs
                .into_iter()
                .find(|run| run.thread.channel == *person.channel());
            let Some(run) = own else {
                ui.note("nothing runs; say \"start all\" in the channel to build the roadmap");
                return Ok(Exit::Done);
            };
            let text = drawn(&run);
            if shown.as_ref() != Some(&text) {
                ui.redrawn(&text)?;
                shown = Some(text);
            }
            if matches!(run.state, RunState::Stopped | RunState::Done) {
                return Ok(Exit::Done);
            }
            tokio::select! {
                () = cancel.cancelled() => return Ok(Exit::Done),
                () = news.wait() => {}
            }
        }
    })
}

/// The run in a few lines: where it stands, then its items, what moves first.
fn drawn(run: &RunView) -> String {
    let done = run.count(ItemState::Merged);
    let mut lines = vec![format!(
        "{}: {done} of {} done, {} of {} spent",
        run.state.title().bold(),
        run.subject.items.len(),
        run.spent,
        run.subject.budget
    )];
    for state in [
        ItemState::Asks,
        ItemState::Blocked,
        ItemState::Working,
        ItemState::Waiting,
        ItemState::Merged,
        ItemState::GivenUp,
    ] {
        for item in &run.subject.items {
            let report = run.report(item.number);
            if report.state != state {
                continue;
            }
            let mut line = format!("  {:<11} {:>3}. {}", state.title(), item.number, item.title);
            let begun = run.items.iter().find(|one| one.number == item.number);
            if let Some(begun) = begun {
                line.push_str(&format!("  {} {}", begun.thread.short(), begun.spent));
            }
            if !report.why.is_empty() {
                line.push_str(&format!(": {}", report.why));
            } else if state == ItemState::Waiting && !item.depends_on.is_empty() {
                let before: Vec<String> = item.depends_on.iter().map(ToString::to_string).collect();
                line.push_str(&format!("  after {}", before.join(", ")));
            }
            lines.push(match state {
                ItemState::Asks => line.yellow().to_string(),
                ItemState::Blocked | ItemState::GivenUp => line.red().to_string(),
                ItemState::Working => line,
                ItemState::Waiting => line.dimmed().to_string(),
                ItemState::Merged => line.green().to_string(),
            });
        }
    }
    lines.join("\n")
}
