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

use butler_protocol::{CallId, PlanSummary, Role, Then, ToolOutcome, ToolSpec, Waiting};
use butler_tools::Tool;
use schemars::JsonSchema;

use chat::{Chat, ChatTool, SLOW};
pub(crate) use github::issue::whole as issue_text;
use hand_over::HandOverTool;
pub(crate) use hand_over::findings;
pub(crate) use propose_merge::research;

use crate::{
    decide::cards::{self, NewCard},
    thread::context::ThreadContext,
};

/// Every chat tool, in a fixed order. Who may use which is `policy`'s business.
pub(crate) fn chat_tools(context: &ThreadContext, past: Vec<PlanSummary>) -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(Chat(send_message::SendMessage(context.clone()))),
        Box::new(Chat(ask_user::AskUser(context.clone()))),
        Box::new(propose_plan::ProposePlan::new(context.clone(), past)),
        Box::new(Chat(HandOverTool(context.clone()))),
        Box::new(Chat(roadmap::change::ChangeRoadmap(context.clone()))),
        Box::new(Chat(roadmap::develop::Develop(context.clone()))),
        Box::new(Chat(memory::learn_repo::LearnRepo(context.clone()))),
        Box::new(Chat(memory::save_map::SaveMap(context.clone()))),
        Box::new(Chat(propose_merge::ProposeMerge(context.clone()))),
        Box::new(Chat(memory::propose_learnings::ProposeLearnings(
            context.clone(),
        ))),
        Box::new(Chat(read_thread::ReadThread(context.clone()))),
        Box::new(Chat(look_around::ListThreads(context.clone()))),
        Box::new(Chat(look_around::ReadMemory(context.clone()))),
        Box::new(Chat(research::Research(context.clone()))),
        Box::new(Chat(research::save::SaveResearch(context.clone()))),
        Box::new(Chat(github::pull::GhStatus(context.clone()))),
        Box::new(Chat(github::pull::GhComment(context.clone()))),
        Box::new(Chat(github::issue::GhIssue(context.clone()))),
        Box::new(Chat(github::release::GhRelease(context.clone()))),
        Box::new(Chat(start::Start(context.clone()))),
        Box::new(Chat(images::GenerateImage(context.clone()))),
        Box::new(Chat(images::EditImage(context.clone()))),
    ]
}

/// The chat tools without a thread to use them in: as the model of one role sees
/// them, or with all that any role may say.
#[must_use]
pub fn chat_specs(role: Option<Role>) -> Vec<ToolSpec> {
    vec![
        role.map_or_else(
            send_message::SendMessage::told,
            send_message::SendMessage::told_to,
        ),
        ask_user::AskUser::told(),
        propose_plan::told(),
        role.map_or_else(HandOverTool::told, HandOverTool::told_to),
        roadmap::change::ChangeRoadmap::told(),
        roadmap::develop::Develop::told(),
        memory::learn_repo::LearnRepo::told(),
        memory::save_map::SaveMap::told(),
        propose_merge::ProposeMerge::told(),
        memory::propose_learnings::ProposeLearnings::told(),
        read_thread::ReadThread::told(),
        look_around::ListThreads::told(),
        look_around::ReadMemory::told(),
        research::Research::told(),
        research::save::SaveResearch::told(),
        github::pull::GhStatus::told(),
        github::pull::GhComment::told(),
        github::issue::GhIssue::told(),
        github::release::GhRelease::told(),
        start::Start::told(),
        images::GenerateImage::told(),
        images::EditImage::told(),
    ]
}

fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        parameters: butler_tools::flat_schema::<T>(),
    }
}

/// Puts a card before a person and sleeps until it is decided.
async fn decide(context: &ThreadContext, call: &CallId, card: NewCard, said: &str) -> ToolOutcome {
    let request = card.request.clone();
    match cards::post(context, context.idem(call), card).await {
        Err(error) => failed("the card was not posted", &error),
        Ok(record) => {
            context.write(record);
            ToolOutcome::ok(said).then(Then::Park {
                waiting: Waiting::Decision { request },
            })
        }
    }
}

/// Something outside did not work; the model may try again.
fn failed(what: &str, error: &dyn std::error::Error) -> ToolOutcome {
    let mut text = format!("failed: {what}: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    ToolOutcome::error(text)
}

#[cfg(test)]
#[path = "untidy_tests.rs"]
mod tests;
