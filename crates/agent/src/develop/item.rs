//! One item of the roadmap in its own thread: what the PM is asked to build, and the
//! line in the file that says that it is done, which travels with the item's own pull
//! request. The same for an item of a run and for one that a person asked for.

use butler_playbook::{Playbook, Roadmap, Status};
use butler_policy::Duty;
use butler_protocol::{DevelopItem, EventKind, Record, fault};
use butler_repo::{OneFile, Worktree};
use tracing::warn;

use crate::{
    AgentError, OrWarn, ThreadContext,
    decide::{knowledge, roadmap},
};

/// Where the roadmap is in a worktree.
const PATH: &str = ".codebutler/roadmap.md";

/// What the PM is asked for.
pub(crate) fn request(item: &DevelopItem, roadmap: &Roadmap, below: Option<u32>) -> String {
    let mut text = format!("Build item {} of the roadmap: {}", item.number, item.title);
    if !item.criteria.is_empty() {
        text.push_str("\n\nIt is done when:");
    }
    for criterion in &item.criteria {
        text.push_str(&format!("\n- {criterion}"));
    }
    let before = item
        .depends_on
        .iter()
        .filter_map(|number| roadmap.item(*number));
    let before: Vec<String> = before
        .map(|item| format!("{}. {}", item.number, item.title))
        .collect();
    if !before.is_empty() {
        text.push_str(&format!("\n\nDone before it: {}", before.join("; ")));
    }
    if let Some(below) = below {
        text.push_str(&format!(
            "\n\nItem {below} is reviewed and not merged yet: this one begins on its branch, and the files that you see have its work."
        ));
    }
    text
}

/// The item that a person asked for in their own words, and what the PM is told about
/// it. Without a number nothing can be built, and the text says why.
pub(crate) fn asked(
    playbook: &Playbook,
    words: &str,
    roadmap: &Roadmap,
) -> Option<(Option<u32>, String)> {
    let wanted = playbook.item_asked(words)?;
    Some(told(wanted, roadmap))
}

/// The same for a number, or for the next one.
pub(crate) fn told(wanted: Option<u32>, roadmap: &Roadmap) -> (Option<u32>, String) {
    let Some(number) = wanted.or_else(|| roadmap.ready().first().map(|item| item.number)) else {
        let why =
            "No item of the roadmap is ready: pending, with everything done that it depends on.";
        return (None, why.to_owned());
    };
    let Some(item) = roadmap.item(number) else {
        return (None, format!("The roadmap has no item {number}."));
    };
    let words = roadmap.words_of(number).unwrap_or_default();
    let waits = roadmap.waiting_on(item);
    if item.status == Status::Done {
        return (None, format!("Item {number} is done already:\n\n{words}"));
    }
    let mut text = format!("The item, as the roadmap has it:\n\n{words}");
    if !waits.is_empty() {
        let names: Vec<String> = waits.iter().map(ToString::to_string).collect();
        text.push_str(&format!(
            "\n\nIt depends on {}, not done yet: say so before you plan.",
            names.join(", ")
        ));
    }
    (Some(number), text)
}

/// The item that a thread builds, if it builds one.
pub(crate) async fn of_thread(context: &ThreadContext) -> Result<Option<u32>, AgentError> {
    let control = &context.poster.control;
    let lines = control.logs(&context.thread, &["user"]).await?;
    let own = lines
        .iter()
        .filter(|line| Duty::Front.is_of(line.role))
        .rev();
    let mut events = own.filter_map(|line| match &line.entry.record {
        Record::User { event, .. } => event.as_ref()?.kind(),
        _ => None,
    });
    Ok(events.find_map(|kind| match kind {
        EventKind::Item(number) => Some(number),
        _ => None,
    }))
}

/// Writes into the worktree that the item is done, on top of what the default branch
/// says of the others: what neighbours wrote meanwhile is the same on both sides. What
/// an interrupted attempt wrote stays.
pub(crate) async fn mark_done(
    context: &ThreadContext,
    worktree: &Worktree,
    number: u32,
) -> Result<(), AgentError> {
    let here = knowledge::read(&worktree.path, PATH).map(Roadmap::parse);
    if here.is_some_and(|here| is_done(&here, number)) {
        return Ok(());
    }
    let now = roadmap::now(context).await?;
    match now.finish(number, worktree.branch.as_str(), &today(context)) {
        Ok(done) => knowledge::write(&worktree.path, PATH, done.text()),
        // A person took it off the roadmap meanwhile, or the file cannot be read.
        Err(error) => {
            warn!(number, %error, "the roadmap is left as it is");
            Ok(())
        }
    }
}

/// Takes the line back where it does not go together with the default branch; it is
/// written there after the merge.
pub(crate) async fn unmark(context: &ThreadContext, worktree: &Worktree) -> Result<(), AgentError> {
    let base = worktree.base_commit(&context.cancel).await?;
    let repo = &context.agent.repo;
    if let Some(text) = repo
        .memory_file_at(&base, roadmap::FILE, &context.cancel)
        .await?
    {
        knowledge::write(&worktree.path, PATH, &text)?;
    }
    Ok(())
}

/// After the merge the default branch says that the item is done, whatever way it got
/// there. What cannot be written is told by the log; the merge stands.
pub(crate) async fn see_done(context: &ThreadContext, number: u32, (branch, key): (&str, &str)) {
    let Some(now) = roadmap::now(context)
        .await
        .or_warn("the roadmap could not be looked at")
    else {
        return;
    };
    if now.item(number).is_none() || is_done(&now, number) {
        return;
    }
    let message = format!("roadmap: item {number} is done");
    let key = format!("{key}-item-{number}");
    let file = OneFile {
        name: roadmap::FILE,
        message: &message,
        key: &key,
        role: context.role(),
    };
    let date = today(context);
    let change = |before: Option<&str>| {
        let done = Roadmap::parse(before?).finish(number, branch, &date).ok()?;
        Some(done.text().to_owned())
    };
    fault("agent.before-done");
    let landed = context
        .agent
        .repo
        .change_memory_file(file, change, &context.cancel)
        .await;
    fault("agent.after-done");
    if let Err(error) = landed {
        warn!(number, %error, "the roadmap still has the item as not done");
    }
}

/// Whether the only files in conflict are the roadmap.
pub(crate) fn only_roadmap(files: &[std::path::PathBuf]) -> bool {
    !files.is_empty() && files.iter().all(|file| file.as_os_str() == PATH)
}

fn is_done(roadmap: &Roadmap, number: u32) -> bool {
    roadmap
        .item(number)
        .is_some_and(|item| item.status == Status::Done)
}

fn today(context: &ThreadContext) -> String {
    context.agent.today().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "## 1. Auth\n- Status: done\n\n## 2. Search\n- Depends on: 1\n- Acceptance criteria:\n  - finds a word\n\n## 3. Mail\n- Depends on: 2\n";

    #[test]
    fn the_words_of_a_person_name_an_item() {
        let (playbook, roadmap) = (Playbook::new([]), Roadmap::parse(FILE));
        for (words, number, part) in [
            ("start next", Some(2), "finds a word"),
            ("implement item 3", Some(3), "not done yet"),
            ("implement item 1", None, "done already"),
            ("start item 9", None, "no item 9"),
        ] {
            let (found, text) = asked(&playbook, words, &roadmap).unwrap();
            assert_eq!(found, number, "{words}");
            assert!(text.contains(part), "{words}: {text}");
        }
        assert_eq!(asked(&playbook, "what is item 3?", &roadmap), None);
        let (found, text) = told(None, &Roadmap::parse("## 1. A\n- Status: done\n"));
        assert!(found.is_none() && text.contains("No item"), "{text}");
    }
}
