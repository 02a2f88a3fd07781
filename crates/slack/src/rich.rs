//! Slack's `rich_text`: text as structure, so that nothing in it is ever taken
//! for markup. The decision cards are made of it, and this is their plain form:
//! labels stand at the margin, everything below a label is indented, so that
//! words cannot pass for a label.

use serde_json::{Value, json};

const INDENT: &str = "    ";

/// A piece of text, shown as it is.
pub fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The same in bold.
pub fn bold(text: &str) -> Value {
    json!({"type": "text", "text": text, "style": {"bold": true}})
}

/// The same as code.
pub fn code(text: &str) -> Value {
    json!({"type": "text", "text": text, "style": {"code": true}})
}

/// A paragraph.
pub fn section(elements: &[Value]) -> Value {
    json!({"type": "rich_text_section", "elements": elements})
}

/// A block of code.
pub fn preformatted(code: &str) -> Value {
    json!({"type": "rich_text_preformatted", "elements": [text(code)]})
}

/// A list of paragraphs.
pub fn list(ordered: bool, items: &[Vec<Value>]) -> Value {
    let style = if ordered { "ordered" } else { "bullet" };
    let items: Vec<Value> = items.iter().map(|item| section(item)).collect();
    json!({"type": "rich_text_list", "style": style, "elements": items})
}

/// The words of a `rich_text` block for a terminal or a file.
pub fn plain(block: &Value) -> String {
    let mut out = String::new();
    for element in elements(block) {
        match element["type"].as_str().unwrap_or_default() {
            "rich_text_section" => paragraph(&mut out, element),
            "rich_text_list" => items(&mut out, element),
            _ => indented(&mut out, INDENT, &words(element)),
        }
    }
    out
}

fn elements(block: &Value) -> &[Value] {
    block["elements"].as_array().map_or(&[][..], Vec::as_slice)
}

fn is(element: &Value, style: &str) -> bool {
    element["style"][style] == true
}

/// All text of an element, styles left out.
fn words(block: &Value) -> String {
    let texts = elements(block).iter();
    texts.filter_map(|one| one["text"].as_str()).collect()
}

/// A label with what follows it on its line, or words below one.
fn paragraph(out: &mut String, section: &Value) {
    let Some((label, rest)) = elements(section).split_first() else {
        return;
    };
    if !is(label, "bold") {
        return indented(out, INDENT, &words(section));
    }
    out.push_str(label["text"].as_str().unwrap_or_default());
    if rest.is_empty() {
        out.push_str(":\n");
        return;
    }
    let rest: String = rest.iter().filter_map(|one| one["text"].as_str()).collect();
    out.push_str(&rest.replace('\n', &format!("\n{INDENT}")));
    out.push('\n');
}

/// Items with a sign of their own; code in an item has a line for itself.
fn items(out: &mut String, list: &Value) {
    let ordered = list["style"] == "ordered";
    for (number, item) in (1..).zip(elements(list)) {
        let sign = if ordered {
            format!("{number}. ")
        } else {
            "- ".to_owned()
        };
        let texts = elements(item).iter().filter(|one| !is(one, "code"));
        let said: String = texts.filter_map(|one| one["text"].as_str()).collect();
        let below = format!("\n{INDENT}{INDENT}");
        let said = said.trim_end().replace('\n', &below);
        out.push_str(&format!("{INDENT}{sign}{said}\n"));
        for one in elements(item).iter().filter(|one| is(one, "code")) {
            let code = one["text"].as_str().unwrap_or_default();
            out.push_str(&format!("{INDENT}at: {}\n", code.replace('\n', &below)));
        }
    }
}

fn indented(out: &mut String, indent: &str, text: &str) {
    for line in text.split('\n') {
        out.push_str(&format!("{indent}{line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cannot_pass_for_a_label() {
        let block = json!({"type": "rich_text", "elements": [
            section(&[bold("Command")]),
            preformatted("ls\nNetwork: no"),
            section(&[bold("Network: "), text("yes")]),
            section(&[bold("Steps")]),
            list(true, &[vec![text("Parse\nNetwork: no"), text(" "), code("a.rs:1")],
                vec![text("Test")]]),
        ]});
        assert_eq!(
            plain(&block),
            "Command:\n    ls\n    Network: no\nNetwork: yes\nSteps:\n    1. Parse\n        \
             Network: no\n    at: a.rs:1\n    2. Test\n"
        );
    }
}
