//! The roadmap on the default branch: read as it is now, and changed by what a person
//! approved, in one commit.

use butler_playbook::Roadmap;
use butler_protocol::{Subject, Then, ToolOutcome};
use butler_repo::OneFile;
use butler_turn::{Asked, Order};
use tokio_util::sync::CancellationToken;

use crate::{AgentError, agent::Agent, tell::render, thread::context::ThreadContext};

/// Its name below `.codebutler/`.
pub(crate) const FILE: &str = "roadmap.md";

/// What a repository without a roadmap begins with.
const NEW: &str = "# Roadmap\n";

/// The roadmap as the default branch has it.
pub(crate) async fn now(
    context: &ThreadContext,
    cancel: &CancellationToken,
) -> Result<Roadmap, AgentError> {
    of(&context.agent, cancel).await
}

/// The same without a thread.
pub(crate) async fn of(agent: &Agent, cancel: &CancellationToken) -> Result<Roadmap, AgentError> {
    let text = agent.repo.memory_file(FILE, cancel).await?;
    Ok(Roadmap::parse(text.unwrap_or_else(|| NEW.to_owned())))
}

/// Writes what was approved. The changes are applied to the file as it is by then;
/// what does not fit any more is told, and nothing is written.
pub(crate) async fn approved(
    context: &ThreadContext,
    order: &Order,
    asked: &Asked,
    cancel: &CancellationToken,
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
        .change_memory_file(file, change, cancel)
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
    let idem = context.idem_for(&order.request, "roadmap");
    context
        .poster
        .say(
            &context.thread,
            idem,
            &context.agent.clean(text),
            Vec::new(),
        )
        .await?;
    Ok(())
}
