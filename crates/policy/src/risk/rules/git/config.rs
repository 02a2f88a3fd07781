//! Settings of git: those that make it run something, and who sets them.

use super::super::super::{analyzer::Analyzer, args::Args, state::State};

/// Keys that make git run something.
pub(in super::super::super) fn executes(key: &str) -> bool {
    let key = key.to_lowercase();
    let last = key.rsplit('.').next().unwrap_or_default();
    let first = key.split('.').next().unwrap_or_default();
    matches!(
        key.as_str(),
        "core.hookspath"
            | "core.fsmonitor"
            | "core.pager"
            | "core.editor"
            | "core.sshcommand"
            | "core.askpass"
            | "core.gitproxy"
            | "core.attributesfile"
            | "core.worktree"
            | "sequence.editor"
            | "diff.external"
            | "init.templatedir"
            | "gpg.program"
            | "web.browser"
            | "instaweb.httpd"
            | "sendemail.smtpserver"
            | "interactive.difffilter"
            | "uploadpack.packobjectshook"
            | "ssh.variant"
            | "protocol.ext.allow"
            | "safe.directory"
            | "core.alternaterefscommand"
            | "receive.procreceiverefs"
    ) || matches!(
        first,
        "alias" | "include" | "includeif" | "filter" | "credential" | "pager" | "url"
    ) || matches!(
        last,
        "textconv"
            | "driver"
            | "helper"
            | "cmd"
            | "command"
            | "smudge"
            | "clean"
            | "process"
            | "program"
            | "path"
    ) && matches!(
        first,
        "diff"
            | "merge"
            | "mergetool"
            | "difftool"
            | "filter"
            | "gpg"
            | "browser"
            | "man"
            | "trailer"
            | "credential"
            | "submodule"
            | "remote"
    ) || last == "update" && first == "submodule"
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
    {
        return;
    }
    let first = value.split_whitespace().next().unwrap_or_default();
    let harmless = matches!(
        first,
        "" | "cat"
            | "less"
            | "more"
            | "true"
            | "false"
            | ":"
            | "head"
            | "delta"
            | "bat"
            | "vi"
            | "vim"
            | "nano"
            | "/dev/null"
            | "never"
    ) && !value.contains([';', '|', '&', '$', '`']);
    if harmless && exact {
        return;
    }
    if lower.starts_with("safe.") {
        return;
    }
    analyzer.ask(format!("git's {key} decides what git runs"), false);
}

pub(super) fn judge(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &State) {
    let with_value = ["-f", "--file", "--blob", "--type", "--default", "-t"];
    let operands = args.operands(&with_value);
    let verb = operands.first().map_or("", |word| word.as_str());
    let modern = matches!(
        verb,
        "set" | "unset" | "get" | "list" | "edit" | "rename-section" | "remove-section"
    );
    let key = if modern {
        operands.get(1)
    } else {
        operands.first()
    };
    let value = if modern {
        operands.get(2)
    } else {
        operands.get(1)
    };
    let reads = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--list",
        "-l",
        "--show-origin",
        "--get-urlmatch",
        "--name-only",
        "--show-scope",
    ];
    let removes = [
        "--unset",
        "--unset-all",
        "--remove-section",
        "--rename-section",
    ];
    let changes = args.iter().any(|word| removes.contains(&word.as_str()))
        || matches!(
            verb,
            "set" | "unset" | "edit" | "rename-section" | "remove-section"
        )
        || args.has("-e")
        || args.has("--edit")
        || args.has("--add")
        || args.has("--replace-all")
        || !modern && value.is_some();
    let looks = args.iter().any(|word| reads.contains(&word.as_str())) || !changes;
    if looks {
        return;
    }
    if args.long("--global") || args.long("--system") {
        analyzer.ask("it changes git's settings for the whole machine", false);
    }
    for file in args.values(&["-f", "--file"]) {
        analyzer.write(&file, state, "writes to");
    }
    if let Some(key) = key
        && executes(&key.text)
        && !(key.text.to_lowercase().starts_with("alias.")
            && value.is_some_and(|value| value.exact && !value.text.starts_with('!')))
    {
        analyzer.ask(format!("git's {} decides what git runs", key.text), false);
    }
}
