//! A Jupyter notebook as text: cells in order, each with its source and what it
//! printed. Pictures and other rich output are named, not shown.

use std::fmt::Write as _;

use serde_json::Value;

/// Output shown of one cell; more than this is data, not reading matter.
const OUTPUT_LINES: usize = 40;

/// The notebook in `text`, or nothing when it is none.
pub(crate) fn read(text: &str) -> Option<String> {
    let json: Value = serde_json::from_str(text).ok()?;
    json["nbformat"].as_u64()?;
    let cells = json["cells"].as_array()?;
    let language = json["metadata"]["kernelspec"]["language"]
        .as_str()
        .or(json["metadata"]["language_info"]["name"].as_str())
        .unwrap_or("code");
    let mut shown = String::new();
    for (index, cell) in cells.iter().enumerate() {
        let kind = match cell["cell_type"].as_str() {
            Some("code") => language,
            Some(kind) => kind,
            None => "cell",
        };
        let _ = writeln!(shown, "--- cell {} ({kind}) ---", index + 1);
        let source = lines(&cell["source"]);
        let _ = writeln!(shown, "{}", source.trim_end());
        for output in cell["outputs"].as_array().into_iter().flatten() {
            show(output, &mut shown);
        }
    }
    Some(shown)
}

fn show(output: &Value, shown: &mut String) {
    let data = &output["data"];
    let text = match output["output_type"].as_str() {
        Some("stream") => lines(&output["text"]),
        Some("error") => format!(
            "{}: {}",
            output["ename"].as_str().unwrap_or("error"),
            output["evalue"].as_str().unwrap_or_default()
        ),
        _ => lines(&data["text/plain"]),
    };
    let count = text.lines().count();
    for line in text.lines().take(OUTPUT_LINES) {
        let _ = writeln!(shown, "> {line}");
    }
    if count > OUTPUT_LINES {
        let _ = writeln!(shown, "> [{} more lines of output]", count - OUTPUT_LINES);
    }
    for kind in data.as_object().into_iter().flat_map(|data| data.keys()) {
        if kind != "text/plain" {
            let _ = writeln!(shown, "> [{kind}, not shown]");
        }
    }
}

/// Notebooks keep a text as one string or as a list of lines.
fn lines(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_outputs_and_pictures_become_text() {
        let notebook = serde_json::json!({
            "nbformat": 4,
            "metadata": { "kernelspec": { "language": "python" } },
            "cells": [
                { "cell_type": "markdown", "source": ["# Title\n", "words"] },
                { "cell_type": "code", "source": "plot(x)\n", "outputs": [
                    { "output_type": "stream", "text": ["one\n", "two\n"] },
                    { "output_type": "display_data",
                      "data": { "image/png": "iVBOR…", "text/plain": "<Figure>" } },
                    { "output_type": "error", "ename": "ValueError", "evalue": "no" },
                ] },
            ],
        });
        let shown = read(&notebook.to_string()).unwrap();
        assert_eq!(
            shown,
            "--- cell 1 (markdown) ---\n# Title\nwords\n--- cell 2 (python) ---\nplot(x)\n\
             > one\n> two\n> <Figure>\n> [image/png, not shown]\n> ValueError: no\n"
        );
    }

    #[test]
    fn long_output_is_cut_and_other_json_is_no_notebook() {
        let long: String = (0..100).map(|line| format!("{line}\n")).collect();
        let notebook = serde_json::json!({
            "nbformat": 4,
            "cells": [{ "cell_type": "code", "source": "", "outputs": [
                { "output_type": "stream", "text": long }] }],
        });
        let shown = read(&notebook.to_string()).unwrap();
        assert!(
            shown.ends_with("> 39\n> [60 more lines of output]\n"),
            "{shown}"
        );
        for other in ["{}", "[]", "{\"cells\": []}", "no json"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
