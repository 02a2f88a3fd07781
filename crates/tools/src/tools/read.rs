//! Read: lines of a file, numbered; a picture as a picture, a notebook or a PDF
//! as text.

use std::fmt::Write as _;

use butler_policy::Permit;
use butler_protocol::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Told, blocking, reading};
use crate::{
    PlaceError, Tool, ToolContext,
    content::{clip, notebook, pdf, picture, text},
    place::holds_secrets,
};

/// A larger file is read in parts by other means.
const FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Lines shown unless asked otherwise.
const DEFAULT_LIMIT: u32 = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The file, from the root.
    path: String,
    /// First line, from 1.
    #[schemars(range(min = 1))]
    offset: Option<u32>,
    /// How many lines (default 1000).
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// The tool.
pub struct Read;

const DESCRIPTION: &str = "
Shows a text file with line numbers; number and tab are not part of the file. To find where
something is use Grep, to list files Glob. Long files come in parts: the last line names the next
offset. Notebooks, PDFs and pictures are shown too; values in .env files are hidden.
Example: {\"path\": \"src/main.rs\", \"offset\": 120, \"limit\": 80}";

impl Tool for Read {
    crate::tools::introduce!("Read", Read, Pure);
}

impl Read {
    async fn work(&self, permit: &Permit, input: Input, context: &ToolContext) -> Told {
        let (scope, room) = (permit.scope(), context.room());
        let context = context.clone();
        blocking(move || Ok(show(reading(&context, scope, &input.path)?, &input, room)?)).await
    }
}

fn show(opened: crate::Opened, input: &Input, room: usize) -> Result<ToolOutcome, PlaceError> {
    let path = opened.real.clone();
    let name = path
        .split()
        .map_or(String::new(), |(_, name)| name.to_owned());
    let bytes = opened.read(FILE_BYTES, "use Grep, or `sed -n` with Bash")?;
    match picture::look(&bytes) {
        Some(Ok(picture)) => {
            let text = format!(
                "{} is {}; you see it below the results",
                path.shown(),
                picture.line()
            );
            return Ok(ToolOutcome::ok(text).showing(picture.image(&bytes)));
        }
        Some(Err(problem)) => {
            let text = format!("failed: `{}` is {problem}", path.shown());
            return Ok(ToolOutcome::error(text));
        }
        None => {}
    }
    if bytes.starts_with(b"%PDF-") {
        return Ok(document(path.shown(), bytes, input, room));
    }
    if let Some(kind) = text::binary_kind(&bytes) {
        return Ok(ToolOutcome::error(format!(
            "failed: `{}` is {kind}, {} bytes: it is not shown as text",
            path.shown(),
            bytes.len()
        )));
    }
    let mut content = text::decode(&bytes);
    if holds_secrets(&name) {
        content = text::hide_values(&content);
    }
    if name.ends_with(".ipynb")
        && let Some(cells) = notebook::read(&content)
    {
        let title = format!(
            "{} (a notebook as text; the file itself is JSON)",
            path.shown()
        );
        return Ok(numbered(&title, &cells, input, room));
    }
    Ok(numbered(path.shown(), &content, input, room))
}

/// A PDF as text. What it says is data like any other file.
fn document(path: &str, bytes: Vec<u8>, input: &Input, room: usize) -> ToolOutcome {
    let size = bytes.len();
    match pdf::read(bytes) {
        Ok(pages) => {
            let title = format!("{path} (a PDF of {} pages as text)", pages.count);
            numbered(&title, &pages.text, input, room)
        }
        Err(problem) => ToolOutcome::error(format!(
            "failed: `{path}` is a PDF document, {size} bytes, and its text cannot be shown: {problem}"
        )),
    }
}

fn numbered(path: &str, content: &str, input: &Input, room: usize) -> ToolOutcome {
    let total = content.lines().count();
    if total == 0 {
        return ToolOutcome::ok(format!("`{path}` is empty"));
    }
    let first = input.offset.unwrap_or(1) as usize;
    if first > total {
        return ToolOutcome::error(format!(
            "failed: `{path}` has {total} lines; offset {first} is behind its end"
        ));
    }
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT) as usize;
    let mut body = String::new();
    let mut last = first - 1;
    for (index, line) in content.lines().enumerate().skip(first - 1).take(limit) {
        let line = clip::line(line);
        if body.len() + line.len() + 8 > room && last >= first {
            break;
        }
        let _ = writeln!(body, "{:>6}\t{line}", index + 1);
        last = index + 1;
    }
    let mut text = format!("{path}, lines {first}-{last} of {total}\n{body}");
    if last < total {
        let _ = write!(text, "[{} more lines: offset={}]", total - last, last + 1);
    }
    ToolOutcome::ok(text)
}
