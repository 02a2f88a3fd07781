//! Where a driver ends: everybody whom the machine does not know. Each function
//! is one thing that differs between a thread of the hub and a terminal.

use std::{future::Future, sync::Arc};

use butler_policy::{Judgement, Question};
use butler_protocol::{Entry, ModelReply, Record, ToolCall, ToolOutcome, ToolSpec};
use butler_turn::{Effect, ThreadFold};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::Driver;
use crate::{
    AgentError,
    thread::{live_work::LiveBoard, tool_session::ToolSession},
};

/// How a call comes to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// A crash interrupted it.
    pub(crate) recovers: bool,
    /// It waited for a person, who approved it.
    pub(crate) approved: bool,
}

/// Whom a role talks to, who pays, and where its tools work.
pub(crate) trait Edge: Sized + Send {
    /// What can come of something long that the machine does not hear of.
    type Beside: Send + 'static;

    /// Whether this effect stays in the process: then the lines before it may
    /// become durable after it.
    fn is_inside(effect: &Effect) -> bool;

    /// Money, posts, decisions, the end: what the driver has no hands for.
    fn carry_out(
        driver: &mut Driver<Self>,
        effect: Effect,
    ) -> impl Future<Output = Result<(), AgentError>> + Send;

    /// Takes up what came of something beside the machine.
    fn on_beside(
        driver: &mut Driver<Self>,
        beside: Self::Beside,
    ) -> impl Future<Output = Result<(), AgentError>> + Send;

    /// Opens the folder of the tools.
    fn open_tools(
        &self,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<ToolSession, AgentError>>;

    /// May this call run, after what the log says?
    fn judge(
        &mut self,
        thread: &ThreadFold,
        tools: &mut ToolSession,
        call: &ToolCall,
        beginning: Beginning,
    ) -> impl Future<Output = Result<Judgement, AgentError>> + Send;

    /// A person would have to allow this call; what the model is told meanwhile.
    fn ask(
        driver: &mut Driver<Self>,
        call: &ToolCall,
        question: Question,
    ) -> impl Future<Output = Result<ToolOutcome, AgentError>> + Send;

    /// A person allowed a call that cannot be run any more; they are told.
    fn in_vain(
        _driver: &mut Driver<Self>,
        _call: &ToolCall,
    ) -> impl Future<Output = Result<(), AgentError>> + Send {
        std::future::ready(Ok(()))
    }

    /// These lines are durable.
    fn wrote(driver: &mut Driver<Self>, entries: Vec<Entry>) -> impl Future<Output = ()> + Send;

    /// Until what is in the log is also where another process would look for it.
    fn mirrored(&self) -> impl Future<Output = Result<(), AgentError>> + Send {
        std::future::ready(Ok(()))
    }

    /// What has to happen to the files after a call, before its result counts.
    fn keep_files(
        &self,
        _tools: &ToolSession,
        _only_reads: bool,
    ) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// Records that something long has left, to be written before its result is fed.
    fn left_to_write(&self) -> Vec<Record> {
        Vec::new()
    }

    /// The tools of the next requests, where a call has changed them.
    fn brought_tools(&self) -> Option<Vec<ToolSpec>> {
        None
    }

    /// The log has grown.
    fn learned(&mut self, _thread: &ThreadFold) {}

    /// Where the words of the model are heard while they come.
    fn listener(&self) -> Option<Arc<LiveBoard>> {
        None
    }

    /// The model has answered.
    fn replied(&mut self, _turn: u32, _reply: &ModelReply) {}

    /// A call is about to be judged.
    fn begins(&mut self, _call: &ToolCall) {}

    /// A call is over.
    fn ended(&mut self, _call: &ToolCall, _outcome: &ToolOutcome) {}
}
