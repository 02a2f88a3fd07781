//! What a server has to read: a list of texts, and each of them by its address.

use std::sync::Arc;

use butler_sandbox::Sandbox;
use rmcp::model::{
    ClientRequest, ListResourcesRequest, PaginatedRequestParams, ReadResourceRequest,
    ReadResourceRequestParams,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Answer, McpError, Server};

/// Pages and entries of one list.
const PAGES: usize = 20;
const ENTRIES: usize = 500;

impl Server {
    /// What there is to read, one per line: address, name, what it is.
    /// Fails when it cannot be started or does not say.
    pub async fn resources(
        &self,
        sandbox: Option<&Arc<Sandbox>>,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, McpError> {
        let (mut lines, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let request = ClientRequest::ListResourcesRequest(ListResourcesRequest {
                params: Some(params),
                ..ListResourcesRequest::default()
            });
            let page = self.ask(request, sandbox, cancel).await?;
            let entries = page["resources"].as_array().into_iter().flatten();
            lines.extend(entries.filter_map(line));
            let next = page["nextCursor"].as_str().map(str::to_owned);
            if next.is_none() || next == cursor || lines.len() > ENTRIES {
                break;
            }
            cursor = next;
        }
        lines.truncate(ENTRIES);
        Ok(lines)
    }

    /// One of them.
    /// Fails when it cannot be started, or has no such text.
    pub async fn read(
        &self,
        uri: &str,
        sandbox: Option<&Arc<Sandbox>>,
        cancel: &CancellationToken,
    ) -> Result<Answer, McpError> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        let read = self.ask(request, sandbox, cancel).await?;
        let contents = read["contents"].as_array().into_iter().flatten();
        let blocks: Vec<Value> = contents.map(block).collect();
        Ok(Answer::of(&json!({ "content": blocks })))
    }
}

fn line(entry: &Value) -> Option<String> {
    let word = |key: &str| entry[key].as_str().unwrap_or_default();
    let uri = entry["uri"].as_str()?;
    let about = [word("name"), word("mimeType"), word("description")];
    let about: Vec<&str> = about.into_iter().filter(|text| !text.is_empty()).collect();
    let line = format!("{uri} {}", about.join(", "));
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// As a block of an answer: a picture as one, everything else as a file.
fn block(content: &Value) -> Value {
    let kind = content["mimeType"].as_str().unwrap_or_default();
    match content["blob"].as_str() {
        Some(data) if kind.starts_with("image/") => {
            json!({"type": "image", "mimeType": kind, "data": data})
        }
        _ => json!({"type": "resource", "resource": content}),
    }
}
