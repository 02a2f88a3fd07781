//! The tools by name, in the order in which they were added.

use std::sync::OnceLock;

use butler_protocol::ToolSpec;

use butler_protocol::nearest;

use crate::{Tool, Web, tools};

/// All tools of a process.
#[derive(Default)]
pub struct Registry {
    tools: Vec<Listed>,
}

/// A tool, and its spec once somebody asked for it: schemas are made from types,
/// which takes longer than a small call.
struct Listed {
    tool: Box<dyn Tool>,
    spec: OnceLock<ToolSpec>,
}

impl Registry {
    /// Without any tool.
    pub fn empty() -> Self {
        Self::default()
    }

    /// With the tools that need neither chat nor model.
    pub fn native() -> Self {
        let mut registry = Self::empty();
        for tool in tools::native() {
            registry.add(tool);
        }
        registry
    }

    /// The native tools with another way to the web.
    pub fn native_with(web: Web) -> Self {
        let mut registry = Self::empty();
        registry.add(Box::new(tools::WebFetch::new(web)));
        for tool in tools::native() {
            if registry.get(tool.name()).is_none() {
                registry.add(tool);
            }
        }
        registry
    }

    /// Adds a tool. One that is there already wins, so that nothing can stand
    /// in for a native tool.
    pub fn add(&mut self, tool: Box<dyn Tool>) {
        if self.get(tool.name()).is_some() {
            tracing::warn!(tool = tool.name(), "a tool of this name exists already");
            return;
        }
        self.tools.push(Listed {
            tool,
            spec: OnceLock::new(),
        });
    }

    /// What a model is offered: the named tools that exist, in the given order.
    pub fn offered(&self, names: &[&str]) -> Vec<ToolSpec> {
        names
            .iter()
            .filter_map(|name| self.spec(name))
            .cloned()
            .collect()
    }

    /// What a model is told about a tool.
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        let listed = self.listed(name)?;
        Some(listed.spec.get_or_init(|| listed.tool.spec()))
    }

    /// A tool by its exact name.
    pub fn get(&self, name: &str) -> Option<&dyn Tool> {
        self.listed(name).map(|listed| listed.tool.as_ref())
    }

    fn listed(&self, name: &str) -> Option<&Listed> {
        self.tools.iter().find(|listed| listed.tool.name() == name)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|listed| listed.tool.name())
    }

    /// Names that look like one that does not exist.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(name, self.names(), 3)
    }
}
