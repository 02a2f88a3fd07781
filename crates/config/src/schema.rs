//! The JSON Schemas of the four files, made from the types that read them. They
//! serve editors, the reference page, and our own check of a file.

use std::sync::OnceLock;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::{machine::Machine, mcp::McpFile, policy::RepoPolicy, repo::RepoConfig};

/// A file that people write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaName {
    /// `~/.codebutler/config.json`
    Machine,
    /// `<repo>/.codebutler/config.json`
    Repo,
    /// `<repo>/.codebutler/policy.json`
    Policy,
    /// `<repo>/.codebutler/mcp.json`
    Mcp,
}

butler_protocol::words! { SchemaName {
    Machine = "machine",
    Repo = "repo",
    Policy = "policy",
    Mcp = "mcp",
}}

impl SchemaName {
    /// Every file, in the order in which the reference shows them.
    pub const ALL: [SchemaName; 4] = [
        SchemaName::Machine,
        SchemaName::Repo,
        SchemaName::Policy,
        SchemaName::Mcp,
    ];

    /// Where people find the file.
    pub const fn file(self) -> &'static str {
        match self {
            SchemaName::Machine => "~/.codebutler/config.json",
            SchemaName::Repo => "<repo>/.codebutler/config.json",
            SchemaName::Policy => "<repo>/.codebutler/policy.json",
            SchemaName::Mcp => "<repo>/.codebutler/mcp.json",
        }
    }
}

/// The JSON Schema of a file; made once.
pub fn schema(name: SchemaName) -> &'static Value {
    static SCHEMAS: [OnceLock<Value>; 4] = [const { OnceLock::new() }; 4];
    SCHEMAS[name as usize].get_or_init(|| generate(name))
}

fn generate(name: SchemaName) -> Value {
    let mut schema = match name {
        SchemaName::Machine => of::<Machine>(),
        SchemaName::Repo => of::<RepoConfig>(),
        SchemaName::Policy => of::<RepoPolicy>(),
        SchemaName::Mcp => of::<McpFile>(),
    };
    // Lets a file name its schema for editors.
    schema["properties"]["$schema"] = json!({
        "description": "The schema of this file, for editors.",
        "type": "string",
    });
    schema
}

pub(crate) fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}
