//! The tools that need chat, git hosting or a person: one file each. They are
//! registered here because `tools` never holds a token.

pub(crate) mod arguments;

mod ask_user;
mod chat;
mod github;
mod hand_over;
mod images;
mod look_around;
mod memory;
mod propose_merge;
mod propose_plan;
mod read_thread;
mod research;
mod roadmap;
mod send_message;
pub(crate) mod small;
mod start;

use butler_protocol::{Role, Then, ToolOutcome, ToolSpec, Waiting};
use butler_tools::Tool;

use chat::{Answer, CallContext, Chat, ChatTool, OrFailed, SLOW, failed, refuse, spec};
pub(crate) use github::issue::whole as issue_text;
pub(crate) use hand_over::findings;
pub(crate) use propose_merge::research;

use crate::{
    ThreadContext,
    decide::cards::{self, NewCard},
};

/// One of the chat tools: in a thread, and as the model of a role is told of it, or with
/// all that any role may say.
struct Kind {
    in_thread: fn(&ThreadContext) -> Box<dyn Tool>,
    told: fn(Option<Role>) -> ToolSpec,
}

const fn of<T: ChatTool>() -> Kind {
    Kind {
        in_thread: |context| Box::new(Chat::<T>::new(context)),
        told: |role| role.map_or_else(T::told, T::told_to),
    }
}

/// Every chat tool, in a fixed order. Who may use which is `policy`'s business.
const ALL: [Kind; 22] = [
    of::<send_message::SendMessage>(),
    of::<ask_user::AskUser>(),
    of::<propose_plan::ProposePlan>(),
    of::<hand_over::HandOverTool>(),
    of::<roadmap::change::ChangeRoadmap>(),
    of::<roadmap::develop::Develop>(),
    of::<memory::learn_repo::LearnRepo>(),
    of::<memory::save_map::SaveMap>(),
    of::<propose_merge::ProposeMerge>(),
    of::<memory::propose_learnings::ProposeLearnings>(),
    of::<read_thread::ReadThread>(),
    of::<look_around::ListThreads>(),
    of::<look_around::ReadMemory>(),
    of::<research::Research>(),
    of::<research::save::SaveResearch>(),
    of::<github::pull::GhStatus>(),
    of::<github::pull::GhComment>(),
    of::<github::issue::GhIssue>(),
    of::<github::release::GhRelease>(),
    of::<start::Start>(),
    of::<images::GenerateImage>(),
    of::<images::EditImage>(),
];

pub(crate) fn chat_tools(context: &ThreadContext) -> Vec<Box<dyn Tool>> {
    ALL.iter().map(|kind| (kind.in_thread)(context)).collect()
}

/// The chat tools without a thread to use them in.
#[must_use]
pub fn chat_specs(role: Option<Role>) -> Vec<ToolSpec> {
    ALL.iter().map(|kind| (kind.told)(role)).collect()
}

/// Puts a card before a person and sleeps until it is decided.
async fn decide(context: &CallContext<'_>, card: NewCard, said: &str) -> Answer {
    let request = card.request.clone();
    let posted = cards::post(context, context.idem(context.id()), card).await;
    context.write(posted.or_failed("the card was not posted")?);
    Ok(ToolOutcome::ok(said).then(Then::Park {
        waiting: Waiting::Decision { request },
    }))
}

#[cfg(test)]
#[path = "untidy_tests.rs"]
mod tests;
