//! Tools of MCP servers, as an agent uses them.
//!
//! What a person accepted of each server is all that a model is told about it, so
//! nothing is started to offer its tools. Where that is more than a prompt should
//! carry, the model gets [`FindTools`] and [`CallTool`] instead of the list.
//!
//! What a server answers is text from outside: cleaned, capped, between marks.

mod call;
mod find;
mod place;
mod resources;
mod tool;

use std::{fmt, sync::Arc};

use butler_mcp::{Server, ToolInfo};
use butler_protocol::ServerStatus;

pub use place::ServerPlace;

use crate::{
    SearchEngine, Tool,
    outside::{call::CallTool, find::FindTools, resources::ServerResources, tool::ServerTool},
    tools::WebSearch,
};

const WEB_SEARCH: &str = "WebSearch";
/// Bytes of a description that make a token, roughly.
const BYTES_PER_TOKEN: usize = 4;
/// What descriptions of servers' tools may cost in every request, in bytes.
const BUDGET: usize = 16 << 10;

/// A server with those of its tools that a role may use.
pub struct OutsideServer {
    /// The server, shared by everybody who calls it.
    pub server: Arc<Server>,
    /// Its tools, as they were accepted.
    pub tools: Vec<ToolInfo>,
    /// Whether it can tell others what it is told.
    pub goes_out: bool,
    /// Whether it has texts to read.
    pub resources: bool,
}

/// All tools of servers that a role may use. Cheap to clone.
#[derive(Clone, Default)]
pub struct OutsideTools {
    tools: Arc<[Arc<ServerTool>]>,
    servers: Arc<[Arc<Server>]>,
    resources: Arc<[Arc<ServerResources>]>,
    search: Option<Arc<dyn SearchEngine>>,
}

impl OutsideTools {
    /// The tools of these servers.
    pub fn new(servers: &[OutsideServer]) -> Self {
        let tools = servers.iter().flat_map(|one| {
            let tool = |info: &ToolInfo| Arc::new(ServerTool::new(&one.server, info, one.goes_out));
            one.tools.iter().map(tool)
        });
        let resources = servers.iter().filter(|one| one.resources);
        let resources =
            resources.map(|one| Arc::new(ServerResources::new(&one.server, one.goes_out)));
        Self {
            tools: tools.collect(),
            servers: servers.iter().map(|one| Arc::clone(&one.server)).collect(),
            resources: resources.collect(),
            search: None,
        }
    }

    /// The same, with an engine that searches the web.
    #[must_use]
    pub fn with_search(mut self, search: Option<Arc<dyn SearchEngine>>) -> Self {
        self.search = search;
        self
    }

    /// The names of what is no tool of a server: few, and always offered.
    fn beside(&self) -> impl Iterator<Item = String> {
        let texts = self.resources.iter().map(|one| one.name().to_owned());
        texts.chain(self.search.as_ref().map(|_| WEB_SEARCH.to_owned()))
    }

    /// Every name that a role with these tools may call.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.tools.iter().map(|tool| tool.name().into()).collect();
        if !names.is_empty() {
            names.extend([find::FIND.to_owned(), call::CALL.to_owned()]);
        }
        names.extend(self.beside());
        names
    }

    /// The names that a model is offered: all, or the two that lead to them.
    pub fn offered(&self, small_model: bool) -> Vec<String> {
        let budget = if small_model { BUDGET / 4 } else { BUDGET };
        let bytes: usize = self.tools.iter().map(|tool| tool.described()).sum();
        let mut offered: Vec<String> = match bytes {
            0 => Vec::new(),
            bytes if bytes <= budget => self.tools.iter().map(|tool| tool.name().into()).collect(),
            _ => vec![find::FIND.to_owned(), call::CALL.to_owned()],
        };
        offered.extend(self.beside());
        offered
    }

    /// For a registry.
    pub fn tools(&self) -> Vec<Box<dyn Tool>> {
        let search = self.search.iter().cloned();
        let search = search.map(|engine| Box::new(WebSearch(engine)) as Box<dyn Tool>);
        let texts = self.resources.iter().cloned();
        let texts = texts.map(|one| Box::new(one) as Box<dyn Tool>);
        let beside = texts.chain(search);
        if self.tools.is_empty() {
            return beside.collect();
        }
        let each = self.tools.iter();
        let each = each.map(|tool| Box::new(Arc::clone(tool)) as Box<dyn Tool>);
        let find: [Box<dyn Tool>; 2] = [
            Box::new(FindTools(self.clone())),
            Box::new(CallTool(self.clone())),
        ];
        each.chain(find).chain(beside).collect()
    }

    /// How the servers stand, for people.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        let listed = !self.offered(false).contains(&find::FIND.to_owned());
        let status = |server: &Arc<Server>| {
            let own = self.tools.iter().filter(|tool| tool.is_of(server));
            let bytes: Vec<usize> = own.map(|tool| tool.bytes()).collect();
            let (state, error) = server.standing();
            ServerStatus {
                name: server.name().to_owned(),
                state,
                tools: bytes.len(),
                tokens: bytes.iter().sum::<usize>() / BYTES_PER_TOKEN,
                listed,
                error,
            }
        };
        self.servers.iter().map(status).collect()
    }

    /// Ends the servers that run.
    pub async fn end(&self) {
        let ends = self.servers.iter().map(|server| server.end());
        futures_util::future::join_all(ends).await;
    }
}

impl fmt::Debug for OutsideTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
