//! An engine that is a tool of an MCP server. What it answers has no shape that all
//! share: JSON with addresses is read as such, and of a text every line with one.

use std::{sync::Arc, time::Duration};

use butler_mcp::{Server, ToolInfo};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::{Found, Hit, Looking, SearchEngine};

/// Names that tools give to the words that are searched.
const QUERY: [&str; 6] = [
    "query",
    "q",
    "search_query",
    "searchTerm",
    "keywords",
    "text",
];

/// A tool of a server.
pub struct ServerEngine {
    server: Arc<Server>,
    tool: String,
    argument: String,
}

impl ServerEngine {
    /// The tool, as it was accepted.
    pub fn new(server: Arc<Server>, tool: &ToolInfo) -> Self {
        Self {
            argument: argument_of(&tool.input_schema),
            tool: tool.name.clone(),
            server,
        }
    }
}

/// The argument that takes the words: one of the usual names, else the first text
/// that is required.
fn argument_of(schema: &Value) -> String {
    let properties = &schema["properties"];
    let usual = QUERY
        .into_iter()
        .find(|name| properties.get(name).is_some());
    let required = schema["required"].as_array().into_iter().flatten();
    let mut required = required.filter_map(Value::as_str);
    let text = required.find(|name| properties[*name]["type"] == "string");
    usual.or(text).unwrap_or(QUERY[0]).to_owned()
}

impl SearchEngine for ServerEngine {
    fn name(&self) -> &str {
        self.server.name()
    }

    /// Its program may have to be downloaded.
    fn patience(&self) -> Duration {
        self.server.patience()
    }

    fn search<'a>(
        &'a self,
        query: &'a str,
        looking: &'a Looking<'a>,
    ) -> BoxFuture<'a, Result<Found, String>> {
        Box::pin(async move {
            let arguments = Map::from_iter([(self.argument.clone(), Value::from(query))]);
            let (sandbox, cancel) = (looking.sandbox, looking.cancel);
            let answer = self
                .server
                .call(&self.tool, arguments, sandbox, cancel, None);
            let answer = answer.await.map_err(|error| error.to_string())?;
            match answer.ok {
                true => Ok(found_in(&answer.text)),
                false => Err(answer.text),
            }
        })
    }
}

fn found_in(text: &str) -> Found {
    let mut hits = Vec::new();
    match serde_json::from_str::<Value>(text) {
        Ok(answer) => in_json(&answer, 0, &mut hits),
        Err(_) => in_text(text, &mut hits),
    }
    Found {
        hits,
        remarks: Vec::new(),
    }
}

/// Every object with an address, wherever it is.
fn in_json(value: &Value, depth: usize, hits: &mut Vec<Hit>) {
    /// Answers are a list in an object or two.
    const DEEPEST: usize = 6;
    let word = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| value[*name].as_str());
        found.next().map(|text| text.trim().to_owned())
    };
    if let Some(url) = word(&["url", "link", "href"]) {
        hits.push(Hit {
            title: word(&["title", "name"]).unwrap_or_default(),
            url,
            date: word(&["publishedDate", "published_date", "page_age", "date", "age"]),
            source: None,
            text: word(&["snippet", "description", "content", "text", "summary"])
                .unwrap_or_default(),
        });
        return;
    }
    if depth == DEEPEST {
        return;
    }
    match value {
        Value::Array(all) => all.iter().for_each(|one| in_json(one, depth + 1, hits)),
        Value::Object(all) => all.values().for_each(|one| in_json(one, depth + 1, hits)),
        _ => {}
    }
}

/// Each address, with the line before it as its title and the one after it as its words.
fn in_text(text: &str, hits: &mut Vec<Hit>) {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let plain = |at: Option<usize>| {
        let line = at
            .and_then(|at| lines.get(at))
            .filter(|line| !line.contains("://"));
        line.map(|line| (*line).to_owned()).unwrap_or_default()
    };
    for (at, line) in lines.iter().enumerate() {
        let begin = line.find("https://").or_else(|| line.find("http://"));
        let Some(begin) = begin else { continue };
        let ends = |c: char| c.is_whitespace() || "()<>[]\"'`".contains(c);
        let url = line[begin..].split(ends).next().unwrap_or_default();
        hits.push(Hit {
            title: plain(at.checked_sub(1)),
            url: url.trim_end_matches(['.', ',', ';']).to_owned(),
            text: plain(Some(at + 1)),
            ..Hit::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_argument_for_the_words_is_found_in_the_schema() {
        let schema = json!({"properties": {"count": {"type": "integer"}, "q": {"type": "string"}}});
        assert_eq!(argument_of(&schema), "q");
        let odd = json!({"properties": {"n": {"type": "integer"}, "suche": {"type": "string"}},
            "required": ["n", "suche"]});
        assert_eq!(argument_of(&odd), "suche");
        assert_eq!(argument_of(&Value::Null), "query");
    }

    #[test]
    fn pages_are_found_in_json_and_in_text() {
        let answer = json!({"data": {"items": [
            {"title": "One", "link": "https://a.example/1", "snippet": "first", "date": "2026-01-02"},
            {"name": "no address"}]}});
        let found = found_in(&answer.to_string());
        assert_eq!(found.hits.len(), 1);
        assert_eq!(found.hits[0].date.as_deref(), Some("2026-01-02"));
        let text =
            "Title: One\nURL: https://a.example/1.\nfirst words\n\n[Two](https://b.example/2)";
        let urls: Vec<_> = found_in(text)
            .hits
            .into_iter()
            .map(|hit| (hit.title, hit.url))
            .collect();
        assert_eq!(
            urls,
            [
                ("Title: One".to_owned(), "https://a.example/1".to_owned()),
                ("first words".to_owned(), "https://b.example/2".to_owned()),
            ]
        );
    }
}
