//! SaveResearch: the Researcher's only way to write. One file with its sources
//! and date, and one line in the index; both on the thread's knowledge branch,
//! which becomes a small pull request. Free text never reaches `global.md`.

use std::{fs, path::Path};

use std::time::Duration;

use butler_playbook::{Research as Kept, ResearchNote, builtin_file};
use butler_policy::host_of;
use butler_protocol::{Tier, ToolOutcome};
use butler_repo::NewPull;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::{Answer, CallContext, ChatTool, OrFailed, SLOW, refuse};
use crate::{AgentError, decide::knowledge, upkeep::pull_news};

const FOLDER: &str = ".codebutler/research";
const GLOBAL: &str = ".codebutler/global.md";

pub(crate) struct SaveResearch;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What it is about, in a few words; it names the file.
    topic: String,
    /// One line for the index: the question it answers.
    title: String,
    /// The findings in Markdown, each with version and date.
    content: String,
    /// The addresses they come from.
    sources: Vec<String>,
}

impl ChatTool for SaveResearch {
    type Input = Input;

    const NAME: &'static str = "SaveResearch";
    const TIER: Tier = Tier::WriteLocal;
    const DEADLINE: Duration = SLOW;

    const TOLD: &'static str = "Keeps findings for later threads, in research/<topic>.md. Use it when the answer will be \
             needed again and rests on sources. \
             The same topic replaces the older file. Not for the answer itself, which goes to \
             whoever asked (HandOver). Example: {\"topic\": \"posix local\", \"title\": \"Is local \
             part of POSIX sh?\", \"content\": \"No. …\", \"sources\": [\"https://…\"]}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        if input.sources.iter().all(|source| source.trim().is_empty()) {
            return refuse(
                "`sources` is empty: what has no source is not kept; answer with it instead",
            );
        }
        let kept = keep(context, &input).await;
        Ok(ToolOutcome::ok(
            kept.or_failed("the findings were not kept")?,
        ))
    }
}

async fn keep(context: &CallContext<'_>, input: &Input) -> Result<String, AgentError> {
    let agent = &context.agent;
    let cancel = &context.cancel;
    let worktree = agent.repo.knowledge(&context.thread, cancel).await?;
    // Several requests of one thread share the branch.
    let _lock = worktree.lock().await?;
    let read = &context.facts().outside.read_hosts;
    let (sources, unread) = checked(&input.sources, read);
    let note = ResearchNote {
        title: agent.clean(&input.title),
        date: Some(agent.today()),
        text: agent.clean(&input.content),
        sources: sources.iter().map(|one| agent.clean(one)).collect(),
    };
    let kept = notes_in(&worktree.path);
    let keep = kept.keep_as(&note, &input.topic);
    let older = kept.notes().iter().find(|old| old.file == keep.file);
    let replaced = older.and_then(|old| old.note.date);
    let path = format!(".codebutler/{}", keep.file);
    knowledge::write(&worktree.path, &path, &keep.text)?;
    knowledge::write(&worktree.path, GLOBAL, &keep.global)?;
    let title = note.plain_title();
    let message = format!("research: {title}");
    let instead = replaced.map_or_else(String::new, |date| {
        format!(" instead of what was found on {date}")
    });
    if agent.rules().knowledge_direct {
        knowledge::land(context, &worktree, &message, context.id().as_str()).await?;
        return Ok(format!(
            "kept as {path}{instead} on the default branch{unread}"
        ));
    }
    let head = knowledge::publish(context, &worktree, &message, context.id().as_str()).await?;
    let new = NewPull {
        branch: worktree.branch.clone(),
        base: None,
        title: message,
        body: format!(
            "Findings from thread {}, with their sources.",
            context.thread
        ),
        draft: false,
    };
    let pull = agent.forge.create(&new, cancel).await?;
    pull_news::opened(context, &worktree, &pull, &head).await;
    Ok(format!(
        "kept as {path}{instead} in {}{unread}",
        pull.number
    ))
}

/// The sources, with a mark at those whose host nobody read for this question, and a
/// word about them.
fn checked(sources: &[String], read: &[String]) -> (Vec<String>, String) {
    let unread = |source: &&String| {
        let address = source.split_whitespace().find(|word| word.contains("://"));
        let host = address.and_then(host_of);
        host.is_some_and(|host| !read.contains(&host))
    };
    let marked = sources.iter().map(|source| match unread(&source) {
        true => format!("{} (not read)", source.trim()),
        false => source.clone(),
    });
    let word = match sources.iter().filter(unread).count() {
        0 => String::new(),
        count => format!(
            "; {count} of the sources were not read for this question and are marked so: read \
             them with WebFetch and save again, or say in your answer that you did not"
        ),
    };
    (marked.collect(), word)
}

/// What is kept in a worktree, with its index.
fn notes_in(root: &Path) -> Kept {
    let names = fs::read_dir(root.join(FOLDER)).into_iter().flatten();
    let files = names.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let text = knowledge::read(root, &format!("{FOLDER}/{name}"))?;
        name.ends_with(".md")
            .then(|| (format!("research/{name}"), text))
    });
    let global = knowledge::read(root, GLOBAL);
    let shipped = || builtin_file("global.md").map_or("", |file| file.text);
    Kept::new(files, global.as_deref().unwrap_or_else(shipped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_nobody_read_is_marked() {
        let source = |text: &str| text.to_owned();
        let sources = [
            source("https://docs.example/a (2026-01)"),
            source("https://other.example/b"),
            source("the maintainer, in person"),
        ];
        let (marked, word) = checked(&sources, &[source("docs.example")]);
        assert_eq!(marked[0], sources[0]);
        assert_eq!(marked[1], "https://other.example/b (not read)");
        assert_eq!(marked[2], sources[2]);
        assert!(word.starts_with("; 1 of the sources"), "{word}");
        assert_eq!(checked(&sources[..1], &[source("docs.example")]).1, "");
    }

    #[test]
    fn what_is_kept_is_read_from_the_branch_and_never_through_a_link() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(notes_in(root.path()).notes(), []);
        knowledge::write(root.path(), &format!("{FOLDER}/a.md"), "# A\n").unwrap();
        knowledge::write(root.path(), &format!("{FOLDER}/a.txt"), "# B\n").unwrap();
        std::os::unix::fs::symlink("a.md", root.path().join(FOLDER).join("c.md")).unwrap();
        let kept = notes_in(root.path());
        let files: Vec<_> = kept.notes().iter().map(|note| &note.file).collect();
        assert_eq!(files, ["research/a.md"]);
    }
}
