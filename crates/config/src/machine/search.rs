//! The search engine of this machine. Address and key live together, here and in no
//! repository, so that nobody can have the key sent elsewhere.

use butler_protocol::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::{
    document::{Document, Kind},
    problem::Problem,
};

/// Where the web is searched.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineSearch {
    /// Which engine. Unset: nobody searches.
    pub engine: Option<SearchEngineKind>,
    /// The address of your SearXNG; its settings must permit the format `json`. For the others
    /// only when it is not the usual one.
    #[schemars(extend("format" = "uri"))]
    pub url: Option<String>,
    /// The key for Brave or Tavily; it is sent to that address only.
    #[schemars(with = "Option<String>", extend("x-secret" = true))]
    pub api_key: Option<Secret>,
    /// With `mcp`: the accepted MCP server that searches.
    pub server: Option<String>,
    /// With `mcp`: its tool.
    pub tool: Option<String>,
}

/// The engines that we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchEngineKind {
    /// Your own SearXNG.
    SearXng,
    /// Brave's search API.
    Brave,
    /// Tavily's search API.
    Tavily,
    /// A tool of an MCP server.
    Mcp,
}

/// What each engine needs.
pub(crate) fn problems(document: &Document) -> Vec<Problem> {
    let Some(search) = document.root.get("search") else {
        return Vec::new();
    };
    let engine = search.value.get("engine");
    let engine = engine.and_then(|field| match &field.value.kind {
        Kind::Text(text) => Some((field.line, text.as_str())),
        _ => None,
    });
    let Some((line, engine)) = engine else {
        return Vec::new();
    };
    let needed: &[(&str, &str)] = match engine {
        "searxng" => &[("url", "its address, as in http://127.0.0.1:8888")],
        "brave" | "tavily" => &[("apiKey", "the key that you got from it")],
        "mcp" => &[
            ("server", "the name of an MCP server"),
            ("tool", "the tool of that server which searches"),
        ],
        _ => &[],
    };
    let missing = needed
        .iter()
        .filter(|(key, _)| search.value.get(key).is_none());
    let problem = |(key, what): &(&str, &str)| {
        let (needs, add) = (
            format!("`{engine}` needs it"),
            format!("Add \"{key}\": {what}"),
        );
        Problem::with_file(&document.file, needs, add).at(line, format!("search.{key}"))
    };
    missing.map(problem).collect()
}
