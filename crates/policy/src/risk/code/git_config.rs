//! Settings of git: those that make it run something, and who sets them.

use super::*;

/// Whether a key makes git run something.
pub(in super::super) fn executes(key: &str) -> bool {
    let key = key.to_lowercase();
    let last = key.rsplit('.').next().unwrap_or_default();
    let first = key.split('.').next().unwrap_or_default();
    let table = table();
    table.has("git-keys", &key)
        || table.has("git-sections", first)
        || table.has("git-tool-keys", last) && table.has("git-tool-sections", first)
        || last == "update" && first == "submodule"
        || matches!(last, "vcs" | "uploadpack" | "receivepack") && first == "remote"
}

/// `git -c key=value`: harmless programs may be named.
pub(super) fn setting_runs(analyzer: &mut Analyzer<'_>, key: &str, value: &str, exact: bool) {
    if !executes(key) {
        return;
    }
    let lower = key.to_lowercase();
    if lower.starts_with("alias.") && !value.starts_with('!')
        || lower.starts_with("pager.") && matches!(value, "true" | "false")
        || lower.starts_with("safe.")
    {
        return;
    }
    let first = value.split_whitespace().next().unwrap_or_default();
    let harmless = (first.is_empty() || table().has("git-harmless", first))
        && !value.contains([';', '|', '&', '$', '`']);
    if !(harmless && exact) {
        analyzer.ask(format!("git's {key} decides what git runs"));
    }
}

/// `git config …`
pub(super) fn judge(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &State) {
    let operands = args.operands(&["-f", "--file", "--blob", "--type", "--default", "-t"]);
    let verb = operands.first().map_or("", |word| word.as_str());
    let alters = matches!(
        verb,
        "set" | "unset" | "edit" | "rename-section" | "remove-section"
    );
    let modern = alters || matches!(verb, "get" | "list");
    let key = operands.get(usize::from(modern));
    let value = operands.get(1 + usize::from(modern));
    let changes = args.any(table().list("config-changes")) || alters || !modern && value.is_some();
    if args.any(table().list("config-reads")) || !changes {
        return;
    }
    if args.long("--global") || args.long("--system") {
        analyzer.ask("it changes git's settings for the whole machine");
    }
    for file in args.values(&["-f", "--file"]) {
        analyzer.write(&file, state, "writes to");
    }
    let plain_alias = |key: &str| {
        key.to_lowercase().starts_with("alias.")
            && value.is_some_and(|value| value.exact && !value.text.starts_with('!'))
    };
    if let Some(key) = key.filter(|key| executes(&key.text) && !plain_alias(&key.text)) {
        analyzer.ask(format!("git's {} decides what git runs", key.text));
    }
}
