//! Project maps that a person accepted: one commit on the default branch. Looked at
//! one by one, each becomes a card of its own.

use butler_playbook::{builtin_file, with_map};
use butler_protocol::{Change, Choice, MapChange, Proposal, Subject, Then, ToolOutcome, count_of};
use butler_repo::{Error, MemoryCommit};
use butler_turn::{Asked, Order};

use crate::{
    AgentError, ThreadContext,
    decide::{cards::NewCard, merge},
    tell::render,
    thread::context::request_nth,
};

/// Does what was decided about the maps.
pub(crate) async fn decided(
    context: &ThreadContext,
    order: &Order,
    asked: &Asked,
) -> Result<ToolOutcome, AgentError> {
    let Subject::Maps(subject) = &asked.subject else {
        return Ok(ToolOutcome::error("the card is not about project maps"));
    };
    let text = match order.choice {
        Choice::Accept => write(context, order, &subject.files).await?,
        Choice::Each => {
            one_by_one(context, order, &subject.files).await?;
            "Each map has a card of its own now.".to_owned()
        }
        _ => "The project maps stay as they were.".to_owned(),
    };
    let text = context.agent.clean(&text);
    context.say_of(&order.request, "maps", &text).await?;
    Ok(ToolOutcome::ok(text).then(Then::End))
}

async fn write(
    context: &ThreadContext,
    order: &Order,
    files: &[MapChange],
) -> Result<String, AgentError> {
    let names: Vec<&str> = files.iter().map(|one| one.file.as_str()).collect();
    let change = |before: &[Option<String>]| {
        let pairs = files.iter().zip(before);
        let texts = pairs.map(|(one, before)| {
            let shipped = || builtin_file(&one.file).map_or("", |file| file.text);
            let before = before.as_deref().unwrap_or_else(shipped);
            with_map(before, &one.before(), &one.after())
        });
        texts.collect()
    };
    let new = MemoryCommit {
        message: "knowledge: project maps",
        key: order.request.as_str(),
        role: context.role(),
    };
    let repo = &context.agent.repo;
    let landed = repo
        .change_memory_files(new, &names, change, &context.cancel)
        .await;
    Ok(match landed {
        Ok(Some(commit)) => format!(
            "Kept as `{}` on the default branch: {} ({}).",
            render::short_sha(commit.as_str()),
            count_of(files.len(), "project map"),
            names.join(", ")
        ),
        Ok(None) => "Accepted, and not written: somebody changed one of these maps meanwhile. \
            Nothing was changed; `re-learn` makes them again."
            .to_owned(),
        // A default branch that takes no push takes a pull request.
        Err(Error::Refused { .. }) => {
            let all: Vec<Proposal> = files.iter().map(proposal).collect();
            merge::offer(context, order, &all).await?;
            "The default branch takes no direct push, so the maps are in a pull request.".to_owned()
        }
        Err(error) => return Err(error.into()),
    })
}

/// A map as a card of its own has it.
fn proposal(map: &MapChange) -> Proposal {
    Proposal {
        file: map.file.clone(),
        change: Change::Passage {
            old: map.before(),
            new: map.after(),
            why: "its project map".to_owned(),
        },
    }
}

async fn one_by_one(
    context: &ThreadContext,
    order: &Order,
    files: &[MapChange],
) -> Result<(), AgentError> {
    let call = butler_protocol::CallId::new(order.request.as_str());
    for (number, map) in (1..).zip(files) {
        let request = request_nth(&call, number);
        let idem = context.idem_for(&request, "learning");
        let card = NewCard::new(request, Subject::Learning(Box::new(proposal(map))));
        context.put_up(idem, card).await?;
    }
    Ok(())
}
