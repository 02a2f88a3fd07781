//! The words that models bring from other tools, and ours: names of fields,
//! choices, and the wrappings around arguments. What is missing stays missing.

use butler_protocol::ToolCall;
use serde_json::{Map, Value};

/// What models write, and what we call it.
const ALIASES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filepath", "path"),
    ("filename", "path"),
    ("file", "path"),
    ("notebook_path", "path"),
    ("old_string", "old"),
    ("old_str", "old"),
    ("old_text", "old"),
    ("new_string", "new"),
    ("new_str", "new"),
    ("new_text", "new"),
    ("replace_all", "all"),
    ("cmd", "command"),
    ("file_text", "content"),
    ("contents", "content"),
    ("text", "content"),
    ("regex", "pattern"),
    ("run_in_background", "background"),
    ("timeout", "timeout_seconds"),
    ("head_limit", "limit"),
    ("output_mode", "mode"),
    ("todos", "steps"),
    ("content", "text"),
    ("title", "text"),
    ("status", "state"),
    ("href", "url"),
    ("q", "query"),
    ("start_line", "offset"),
    ("line", "offset"),
    ("glob", "pattern"),
    ("glob_pattern", "pattern"),
    ("query", "pattern"),
    ("search", "pattern"),
    ("include", "glob"),
    ("file_pattern", "glob"),
    ("context_lines", "context"),
    ("_c", "context"),
    ("directory", "path"),
    ("dir", "path"),
    ("folder", "path"),
    ("max_results", "limit"),
    ("search", "old"),
    ("find", "old"),
    ("replace", "new"),
    ("replacement", "new"),
    ("changes", "edits"),
    ("body", "content"),
    ("data", "content"),
    ("findings", "content"),
    ("script", "command"),
    ("bash", "command"),
    ("command_line", "command"),
    ("shell_command", "command"),
    ("check", "name"),
    ("skill", "name"),
    ("workflow", "name"),
    ("arguments", "values"),
    ("args", "values"),
    ("params", "values"),
    ("options", "choices"),
    ("sha", "commit"),
    ("ref", "base"),
    ("stat", "summary"),
    ("link", "url"),
    ("address", "url"),
    ("items", "steps"),
    ("tasks", "steps"),
    ("plan", "steps"),
    ("task", "text"),
    ("step", "text"),
    ("message", "text"),
    ("body", "text"),
    ("summary", "text"),
    ("description", "text"),
    ("comment", "text"),
    ("question", "text"),
    ("text", "message"),
    ("content", "message"),
    ("body", "message"),
    ("msg", "message"),
    ("wait", "wait_for_reply"),
    ("questions", "question"),
    ("text", "question"),
    ("message", "question"),
    ("prompt", "question"),
    ("query", "question"),
    ("q", "question"),
    ("topic", "question"),
    ("urls", "sources"),
    ("links", "sources"),
    ("acceptance_criteria", "criteria"),
    ("files_to_change", "files"),
    ("description", "summary"),
    ("body", "description"),
    ("summary", "description"),
    ("text", "description"),
    ("name", "title"),
    ("went_well", "well"),
    ("type", "kind"),
    ("category", "kind"),
    ("handover_type", "kind"),
    ("recipient", "to"),
    ("target", "to"),
    ("role", "to"),
    ("verdict", "approved"),
    ("approve", "approved"),
    ("issues", "findings"),
    ("issue", "problem"),
    ("evidence", "problem"),
    ("message", "problem"),
    ("description", "problem"),
    ("suggestion", "fix"),
    ("recommendation", "fix"),
    ("priority", "severity"),
    ("id", "number"),
    ("pr", "number"),
    ("pr_number", "number"),
    ("issue", "number"),
    ("command", "action"),
    ("path", "file"),
    ("path", "place"),
    ("location", "place"),
    ("reason", "why"),
];

/// Words of a choice that other tools use, and ours.
const WORDS: &[(&str, &str)] = &[
    ("todo", "open"),
    ("pending", "open"),
    ("not_started", "open"),
    ("in_progress", "doing"),
    ("completed", "done"),
    ("complete", "done"),
    ("cancelled", "dropped"),
    ("skipped", "dropped"),
    ("files_with_matches", "files"),
    ("content", "lines"),
    ("critical", "high"),
    ("blocker", "high"),
    ("major", "high"),
    ("moderate", "medium"),
    ("minor", "low"),
    ("nit", "low"),
    ("trivial", "low"),
    ("info", "low"),
    ("bug", "quality"),
    ("logic", "quality"),
    ("correctness", "quality"),
    ("performance", "quality"),
    ("style", "consistency"),
    ("convention", "consistency"),
    ("tests", "test"),
    ("testing", "test"),
    ("end_to_end", "e2e"),
    ("system", "e2e"),
    ("functional", "integration"),
    ("low", "simple"),
    ("small", "simple"),
    ("trivial", "simple"),
    ("easy", "simple"),
    ("moderate", "medium"),
    ("normal", "medium"),
    ("high", "complex"),
    ("large", "complex"),
    ("hard", "complex"),
    ("product_manager", "pm"),
    ("project_manager", "pm"),
    ("developer", "coder"),
    ("engineer", "coder"),
    ("designer", "artist"),
    ("tech_lead", "lead"),
    ("review", "verdict"),
    ("plan", "review_plan"),
    ("reply", "answer"),
    ("response", "answer"),
    ("ask", "question"),
    ("ready", "ready_for_review"),
];

/// Fields that some models add to every call, to say why they make it.
const ASIDES: [&str; 5] = [
    "description",
    "explanation",
    "reason",
    "reasoning",
    "thought",
];

/// The call with aliases of the usual fields resolved, whatever its tool.
pub(crate) fn aliases(call: &ToolCall) -> ToolCall {
    let mut call = call.clone();
    if let Value::Object(map) = &mut call.arguments {
        for (alias, name) in ALIASES.iter().filter(|(_, name)| *name == "path") {
            rename(map, alias, name);
        }
    }
    call
}

/// The fields of a call that its tool does not have. Left out in silence they
/// would answer another question than the model asked.
pub(crate) fn strangers(schema: &Value, arguments: &Value) -> Vec<String> {
    let (Value::Object(given), Some(fields)) = (arguments, schema["properties"].as_object()) else {
        return Vec::new();
    };
    if fields.is_empty() {
        // A tool without a schema takes whatever comes.
        return Vec::new();
    }
    let given = renamed(fields, given);
    let known = |name: &str| fields.contains_key(name) || ASIDES.contains(&name);
    given
        .into_iter()
        .filter(|(name, value)| !known(name) && !value.is_null())
        .map(|(name, _)| name)
        .collect()
}

/// What some models put around the arguments.
const WRAPPINGS: [&str; 5] = ["arguments", "input", "parameters", "args", "plan"];

/// The fields by the names that the schema has for them.
pub(super) fn renamed(
    fields: &Map<String, Value>,
    given: &Map<String, Value>,
) -> Map<String, Value> {
    let mut given = unwrapped(fields, given).clone();
    // Most are right, and then there is nothing to look up.
    if given.keys().all(|name| fields.contains_key(name)) {
        return given;
    }
    let spelt: Vec<String> = given
        .keys()
        .filter(|name| !fields.contains_key(*name))
        .cloned()
        .collect();
    for name in spelt {
        let plain = snake_case(&name);
        if plain != name {
            rename(&mut given, &name, &plain);
        }
    }
    for (alias, name) in ALIASES {
        if fields.contains_key(*name) && !fields.contains_key(*alias) {
            rename(&mut given, alias, name);
        }
    }
    given
}

fn unwrapped<'a>(
    fields: &Map<String, Value>,
    given: &'a Map<String, Value>,
) -> &'a Map<String, Value> {
    let mut entries = given.iter();
    match (entries.next(), entries.next()) {
        (Some((name, Value::Object(inner))), None)
            if WRAPPINGS.contains(&name.as_str()) && !fields.contains_key(name) =>
        {
            inner
        }
        _ => given,
    }
}

/// `filePath`, `file-path` and `File_Path` are one name.
fn snake_case(name: &str) -> String {
    let mut plain = String::new();
    let mut before = '_';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
            plain.push('_');
        }
        plain.push(if letter == '-' || letter == ' ' {
            '_'
        } else {
            letter.to_ascii_lowercase()
        });
        before = letter;
    }
    plain
}

/// The choice that a word stands for: ours in another spelling, or the word
/// that other tools have for it.
pub(super) fn our_word<'a>(word: &str, choices: &'a [Value]) -> Option<&'a str> {
    let plain = snake_case(word.trim());
    // Roles are mentioned as in the thread.
    let plain = plain
        .trim_start_matches('@')
        .trim_start_matches("codebutler.");
    let known = |wanted: &str| {
        let mut names = choices.iter().filter_map(Value::as_str);
        names.find(|choice| *choice == wanted)
    };
    let theirs = || WORDS.iter().filter(|(theirs, _)| *theirs == plain);
    known(word)
        .or_else(|| known(plain))
        .or_else(|| theirs().find_map(|(_, ours)| known(ours)))
}

/// The field's own name wins when both are there.
fn rename(map: &mut Map<String, Value>, alias: &str, name: &str) {
    if let Some(value) = map.remove(alias)
        && !map.contains_key(name)
    {
        map.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_a_tool_does_not_have_are_named() {
        let schema = json!({"properties": {"path": {}, "limit": {}}});
        let call = json!({"file_path": "a", "from": "x", "description": "why", "limit": null});
        assert_eq!(strangers(&schema, &call), ["from"]);
        assert!(strangers(&schema, &json!({"input": {"filePath": "a"}})).is_empty());
    }

    #[test]
    fn a_choice_is_taken_in_any_spelling() {
        let choices = [json!("ready_for_review"), json!("doing")];
        for word in [
            "ready_for_review",
            "Ready for review",
            "readyForReview",
            "READY-FOR-REVIEW",
        ] {
            assert_eq!(our_word(word, &choices), Some("ready_for_review"), "{word}");
        }
        assert_eq!(our_word("in_progress", &choices), Some("doing"));
        assert_eq!(our_word("files", &choices), None);
    }
}
