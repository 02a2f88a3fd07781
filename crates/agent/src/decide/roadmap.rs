//! The roadmap on the default branch: read as it is now, and changed by what a person
//! approved, in one commit.

use butler_playbook::Roadmap;
use butler_protocol::{Subject, Then, ToolOutcome};
use butler_repo::OneFile;
use butler_turn::{Asked, Order};
use tokio_util::sync::CancellationToken;

use crate::{Agent, AgentError, ThreadContext, tell::render};

/// Its name below `.codebutler/`.
pub(crate) const FILE: &str = "roadmap.md";

/// What a repository without a roadmap begins with.
const NEW: &str = "# Roadmap\n";

/// The roadmap as the default branch has it.
pub(crate) async fn now(context: &ThreadContext) -> Result<Roadmap, AgentError> {
    of(&context.agent, &context.cancel).await
}

/// The same without a thread.
pub(crate) async fn of(agent: &Agent, cancel: &CancellationToken) -> Result<Roadmap, AgentError> {
    let text = agent.repo.memory_file(FILE, cancel).await?;
    Ok(Roadmap::parse(text.unwrap_or_else(|| NEW.to_owned())))
}

/// Whether the default branch has one.
pub(crate) async fn is_there(context: &ThreadContext) -> Result<bool, AgentError> {
    let text = context
        .agent
        .repo
        .memory_file(FILE, &context.cancel)
        .await?;
    Ok(text.is_some())
}

/// The most of it that comes with the steps of a workflow.
const BROUGHT: usize = 12_000;

/// The text of the roadmap, for a workflow whose steps change or build it.
pub(crate) async fn brought(
    context: &ThreadContext,
    steps: &str,
) -> Result<Option<String>, AgentError> {
    if !["`ChangeRoadmap", "`Develop"]
        .iter()
        .any(|tool| steps.contains(tool))
    {
        return Ok(None);
    }
    let text = context
        .agent
        .repo
        .memory_file(FILE, &context.cancel)
        .await?;
    Ok(Some(match text {
        None => "There is no roadmap yet: the first item is 1.".to_owned(),
        Some(text) => match text.char_indices().nth(BROUGHT) {
            None => format!("The roadmap as it is:\n\n{text}"),
            Some((end, _)) => format!(
                "The roadmap as it is, cut here; the whole is in .codebutler/{FILE}:\n\n{}…",
                &text[..end]
            ),
        },
    }))
}

/// Writes what was approved. The changes are applied to the file as it is by then;
/// what does not fit any more is told, and nothing is written.
pub(crate) async fn approved(
    context: &ThreadContext,
    order: &Order,
    asked: &Asked,
) -> Result<ToolOutcome, AgentError> {
    let Subject::Roadmap(subject) = &asked.subject else {
        return Ok(ToolOutcome::error("the card is not about the roadmap"));
    };
    let list: Vec<String> = subject.changes.iter().map(ToString::to_string).collect();
    let message = match list.as_slice() {
        [one] => format!("roadmap: {one}"),
        several => format!(
            "roadmap: {} changes\n\n- {}",
            several.len(),
            several.join("\n- ")
        ),
    };
    let file = OneFile {
        name: FILE,
        message: &context.agent.clean(&message),
        key: order.request.as_str(),
        role: context.role(),
    };
    let change = |before: Option<&str>| {
        let roadmap = Roadmap::parse(before.unwrap_or(NEW));
        let changed = roadmap.apply(&subject.changes).ok()?;
        Some(changed.text().to_owned())
    };
    let landed = context
        .agent
        .repo
        .change_memory_file(file, change, &context.cancel)
        .await;
    let text = match landed {
        Ok(Some(commit)) => format!(
            "The roadmap is changed, as `{}` on the default branch:\n- {}",
            render::short_sha(commit.as_str()),
            list.join("\n- ")
        ),
        Ok(None) => {
            let text = "Approved, and not written: the roadmap has changed since, and this does not fit it any more. Nothing was changed; it has to be proposed again.";
            say(context, order, text).await?;
            return Ok(ToolOutcome::error(text));
        }
        Err(error) => {
            let text = format!("Approved, and not written: {error}");
            say(context, order, &text).await?;
            return Ok(ToolOutcome::error(text));
        }
    };
    say(context, order, &text).await?;
    Ok(ToolOutcome::ok(text).then(Then::End))
}

async fn say(context: &ThreadContext, order: &Order, text: &str) -> Result<(), AgentError> {
    let text = context.agent.clean(text);
    context.say_of(&order.request, "roadmap", &text).await?;
    Ok(())
}
