//! MCP servers of a repo, `<repo>/.codebutler/mcp.json`. A server that came with
//! the repo starts only after a person on this machine has agreed to it.

use std::collections::BTreeMap;

use butler_vocab::{Role, Secret};
use schemars::JsonSchema;
use serde::Deserialize;

/// The MCP servers that a repo brings.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct McpConfig {
    /// Servers by name; their tools are offered as `mcp__<name>__<tool>`.
    pub servers: BTreeMap<String, McpServer>,
    /// The same under the name that other tools use.
    pub mcp_servers: BTreeMap<String, McpServer>,
}

/// One server: a command to run, or an address to call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServer {
    /// The program to run.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beside a scrubbed one.
    #[schemars(with = "BTreeMap<String, String>", extend("x-secret" = true))]
    pub env: BTreeMap<String, Secret>,
    /// The address of a streamable HTTP server, instead of a command.
    #[schemars(extend("format" = "uri"))]
    pub url: Option<String>,
    /// Headers of every request to `url`.
    #[schemars(with = "BTreeMap<String, String>", extend("x-secret" = true))]
    pub headers: BTreeMap<String, Secret>,
    /// Accepted from other tools' files; `command` or `url` decides.
    #[serde(rename = "type")]
    pub transport: Option<String>,
    /// The roles that get its tools. Empty: all.
    pub roles: Vec<Role>,
    /// Seconds until a call is given up.
    #[schemars(range(min = 1))]
    pub timeout: u32,
    /// The tools that are offered. Empty: all.
    pub tools: Vec<String>,
    /// Accepted from other tools' files: a server that is switched off.
    pub disabled: bool,
}

impl Default for McpServer {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            url: None,
            headers: BTreeMap::new(),
            transport: None,
            roles: Vec::new(),
            timeout: 30,
            tools: Vec::new(),
            disabled: false,
        }
    }
}

impl McpConfig {
    /// All servers that are not switched off; `servers` wins over `mcpServers`.
    #[must_use]
    pub fn all(&self) -> BTreeMap<&str, &McpServer> {
        let both = self.mcp_servers.iter().chain(&self.servers);
        both.filter(|(_, server)| !server.disabled)
            .map(|(name, server)| (name.as_str(), server))
            .collect()
    }

    /// The servers whose tools a role gets.
    #[must_use]
    pub fn of(&self, role: Role) -> BTreeMap<&str, &McpServer> {
        let mut servers = self.all();
        servers.retain(|_, server| server.roles.is_empty() || server.roles.contains(&role));
        servers
    }
}
