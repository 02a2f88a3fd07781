//! Pictures that a person accepted, changed or threw away. What is accepted goes into git
//! on the thread's knowledge branch, with a line that says where it comes from; nothing
//! else of it does.

use std::{fs, path::Path};

use butler_protocol::{ASSETS, Choice, PictureSubject, Sha256Hex, Subject, ToolOutcome};
use butler_turn::{Asked, Order};

use crate::{
    AgentError, ThreadContext,
    decide::{knowledge, surface::designs},
    thread::worker::attached,
};

/// Who made what, from which words, and who wanted it.
const INDEX: &str = "README.md";

/// Does what was decided. Change is a question to the person, like any other.
pub(crate) async fn decided(
    context: &ThreadContext,
    order: &Order,
    asked: &Asked,
    person: &str,
) -> Result<ToolOutcome, AgentError> {
    let Subject::Picture(picture) = &asked.subject else {
        return Ok(ToolOutcome::error("the card is not about a picture"));
    };
    if order.choice != Choice::Accept {
        return Ok(ToolOutcome::ok(format!(
            "{person} discarded `{}`; go on without it, or make another one if they say what is wrong",
            picture.name
        )));
    }
    let bytes = context.poster.web.file(&picture.file).await?;
    if Sha256Hex::of(&bytes) != picture.sha256 {
        return Ok(ToolOutcome::error(
            "the picture in the thread is not the one that was accepted; nothing was kept",
        ));
    }
    // Whoever builds needs it before it is merged.
    let folder = attached::folder_of(&context.agent, &context.thread.short());
    let copy = folder
        .keep(order.request.as_str(), &picture.name, &bytes)
        .map_err(|error| AgentError::Missing(format!("the picture's copy: {error}")))?;
    let line = provenance(picture, person, &context.agent.today().to_string());
    let (path, name) = (picture.path(), picture.name.clone());
    let write = move |root: &Path| write(root, &path, &bytes, &name, &line);
    designs::add(context, write).await?;
    Ok(ToolOutcome::ok(format!(
        "{person} accepted it: kept as `{}` and merged with this thread. Name that in the design, and {}, from where the Coder copies it until then.",
        picture.path(),
        copy.display()
    )))
}

fn write(root: &Path, path: &str, bytes: &[u8], name: &str, line: &str) -> Result<(), AgentError> {
    let index = format!("{ASSETS}/{INDEX}");
    let known = knowledge::read(root, &index);
    let known = known.unwrap_or_else(|| "# Pictures\n\n".to_owned());
    // A picture that replaces another one of its name replaces its line too.
    let other = |one: &&str| !one.starts_with(&format!("- `{name}`:"));
    let mut lines: Vec<&str> = known.lines().filter(other).collect();
    lines.push(line);
    knowledge::write(root, &index, &format!("{}\n", lines.join("\n")))?;
    // Checks that no link is on the way.
    knowledge::write(root, path, "")?;
    let failed = |error: std::io::Error| AgentError::Missing(format!("{path}: {error}"));
    fs::write(root.join(path), bytes).map_err(failed)
}

fn provenance(picture: &PictureSubject, person: &str, day: &str) -> String {
    let prompt = picture
        .prompt
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let from = match picture.made_from.as_slice() {
        [] => String::new(),
        names => format!(", from {}", names.join(", ")),
    };
    format!(
        "- `{}`: made by `{}`{from} on {day}, accepted by {person}. Asked for: {prompt}",
        picture.name, picture.model
    )
}
