//! The way to tools that are too many for a prompt: look for one, then call it (`call`).

use std::sync::Arc;

use butler_policy::Permit;
use butler_protocol::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    OutsideTools, Tool, ToolContext,
    outside::tool::ServerTool,
    tools::{self, Told},
};

pub(crate) const FIND: &str = "FindTools";

/// Tools of one answer.
const MOST: usize = 8;

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// Words for what the tool should do; a name of a tool or server works too.
    query: String,
}

const DESCRIPTION: &str = "
Looks for tools of the connected MCP servers, which are too many to list here. Shows names, what they
do and the schema of their arguments. Use it when no other tool fits; then call what you found with CallTool.
Example: {\"query\": \"open issues of a project\"}";

/// Looks for a tool.
pub(crate) struct FindTools(pub(crate) OutsideTools);

impl FindTools {
    async fn work(&self, _permit: &Permit, input: Input, _context: &ToolContext) -> Told {
        Ok(ToolOutcome::ok(self.found(&input.query)))
    }

    fn found(&self, query: &str) -> String {
        let words: Vec<String> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 1)
            .map(str::to_lowercase)
            .collect();
        let mut ranked: Vec<(usize, &Arc<ServerTool>)> = self
            .0
            .tools
            .iter()
            .map(|tool| (fitness(tool, &words), tool))
            .filter(|(fitness, _)| *fitness > 0)
            .collect();
        ranked.sort_by_key(|(fitness, _)| std::cmp::Reverse(*fitness));
        if ranked.is_empty() {
            let names: Vec<&str> = self.0.servers.iter().map(|server| server.name()).collect();
            return format!(
                "nothing fits; the servers are {}. Try other words, or the name of a server",
                names.join(", ")
            );
        }
        let shown: Vec<String> = ranked
            .iter()
            .take(MOST)
            .map(|(_, tool)| {
                let spec = tool.told();
                format!(
                    "{}\n{}\narguments: {}",
                    spec.name, spec.description, spec.parameters
                )
            })
            .collect();
        let left = ranked.len().saturating_sub(MOST);
        let left = (left > 0).then(|| format!("\n\n[{left} more; ask for less]"));
        format!("{}{}", shown.join("\n\n"), left.unwrap_or_default())
    }
}

/// A word in the name counts more than one in the description.
fn fitness(tool: &ServerTool, words: &[String]) -> usize {
    let spec = tool.told();
    let (name, text) = (spec.name.to_lowercase(), spec.description.to_lowercase());
    let weight = |word: &String| {
        let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2);
        let stem = stem.unwrap_or(word);
        3 * usize::from(name.contains(stem)) + usize::from(text.contains(stem))
    };
    words.iter().map(weight).sum()
}

impl Tool for FindTools {
    tools::introduce!(FIND, Read, Pure);
}
