//! git: what leaves the machine, rewrites history, or makes git run things.

mod config;
mod forge;

use butler_protocol::Tier;

use super::super::{
    args::Args,
    place::resolve,
    simple::Call,
    state::{Feed, Output, State},
    text::Text,
    walk::Walk,
};

pub(in super::super) use config::executes;

const READS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "ls-files",
    "ls-tree",
    "ls-remote",
    "rev-parse",
    "rev-list",
    "describe",
    "shortlog",
    "grep",
    "cat-file",
    "merge-base",
    "name-rev",
    "for-each-ref",
    "show-ref",
    "show-branch",
    "whatchanged",
    "count-objects",
    "fsck",
    "verify-commit",
    "verify-tag",
    "var",
    "help",
    "version",
    "check-ignore",
    "check-attr",
    "diff-tree",
    "diff-files",
    "diff-index",
    "range-diff",
    "annotate",
    "cherry",
    "symbolic-ref",
    "interpret-trailers",
    "merge-tree",
    "patch-id",
    "check-ref-format",
    "column",
    "stripspace",
    "get-tar-commit-id",
    "fmt-merge-msg",
    "hash-object",
    "bugreport",
    "diagnose",
];

/// Flags before the subcommand that take the next word.
const GLOBAL: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

pub(super) fn judge(walk: &mut Walk<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    if call.name == "gh" || call.name == "hub" || call.name == "glab" {
        if super::verbs::asks_for_help(call) {
            return Some(Output::Unknown);
        }
        return Some(forge::judge(walk, call.args));
    }
    if call.name == "git-lfs" || call.name == "bfg" || call.name == "git-filter-repo" {
        if call.name != "git-lfs" {
            walk.ask("it rewrites history", false);
        }
        return Some(Output::Unknown);
    }
    if call.name != "git" {
        return None;
    }
    let args = call.args;
    let mut own = state.clone();
    let mut elsewhere = None;
    let Some((name, rest)) = args.subcommand(&GLOBAL) else {
        return Some(Output::Unknown);
    };
    let globals = Args(&args.0[..args.0.len() - rest.0.len() - 1]);
    for folder in globals.values(&["-C", "--git-dir", "--work-tree"]) {
        own.cwd = folder.placed.then(|| resolve(&folder.text, &own)).flatten();
        let inside = own.cwd.as_deref().is_some_and(|cwd| walk.is_inside(cwd));
        if !inside {
            elsewhere = Some(folder.text.clone());
        }
    }
    for name in ["GIT_DIR", "GIT_WORK_TREE"] {
        let set = state.variables.get(name).and_then(|texts| texts.first());
        let Some(folder) = set else { continue };
        let full = folder.placed.then(|| resolve(&folder.text, &own)).flatten();
        if !full.is_some_and(|full| walk.is_inside(&full)) {
            elsewhere = Some(folder.text.clone());
        }
    }
    let mut alias = None;
    for setting in globals.values(&["--config-env"]) {
        let key = setting.text.split('=').next().unwrap_or_default();
        if config::executes(key) {
            walk.ask(format!("git's {key} decides what git runs"), false);
        }
    }
    if globals
        .iter()
        .any(|word| word.text.starts_with("--exec-path="))
    {
        walk.ask("git runs programs of another folder", false);
    }
    for setting in globals.values(&["-c"]) {
        let (key, value) = setting
            .text
            .split_once('=')
            .unwrap_or((&setting.text, "true"));
        if let Some(body) = key.to_lowercase().strip_prefix("alias.") {
            alias = (body == name.to_lowercase())
                .then(|| value.to_owned())
                .or(alias);
        }
        config::setting_runs(walk, key, value, setting.exact);
    }
    if let Some(alias) = alias {
        let text = match alias.strip_prefix('!') {
            Some(command) => command.to_owned(),
            None => format!("git {alias}"),
        };
        return Some(walk.script(&text, &mut own, call.feed));
    }
    let output = subcommand(walk, name, rest, &mut own);
    if let Some(folder) = elsewhere
        && !READS.contains(&name)
    {
        walk.ask(
            format!("git works in {folder}, outside the worktree"),
            false,
        );
    }
    Some(output)
}

fn subcommand(walk: &mut Walk<'_>, name: &str, args: Args<'_>, state: &mut State) -> Output {
    let command = |word: &Text| word.text.starts_with("ext::") || word.text.contains("=ext::");
    if !matches!(name, "grep" | "log" | "commit") && args.iter().any(command) {
        walk.ask("the remote is a command", true);
    }
    if READS.contains(&name) {
        return read(walk, name, args, state);
    }
    walk.find(Tier::WriteLocal, "it changes the local repository", false);
    match name {
        "push" => push(walk, args),
        "clean" => {
            let dry = args.short('n') || args.long("--dry-run");
            if !dry && !args.short('h') {
                walk.ask("it removes files that git does not know", false);
            }
        }
        "config" => config::judge(walk, args, state),
        "filter-branch" | "filter-repo" | "replace" | "prune" => {
            walk.ask("it rewrites or drops history", false);
        }
        "reflog" if args.any(&["expire", "delete"]) => {
            walk.ask("it drops the reflog", false);
        }
        "gc" if (args.iter().any(|word| word.text.starts_with("--prune="))
            || args.has("--aggressive") && args.long("--prune")) =>
        {
            walk.ask("it drops unreachable history", false);
        }
        "update-ref" if (args.short('d') || args.has("--stdin")) => {
            walk.ask("it deletes or moves refs", false);
        }
        "branch" if (args.short('D') || args.short('d') || args.long("--delete")) => {
            walk.ask("it deletes a branch", false);
        }
        "tag" if (args.short('d') || args.long("--delete")) => {
            walk.ask("it deletes a tag", false);
        }
        "stash" if args.any(&["drop", "clear"]) => {
            walk.ask("it drops stashed work", false);
        }
        "worktree" => worktree(walk, args, state),
        "rm" if args.short('r') && !args.has("--cached") && !args.short('n') => {
            walk.ask("it removes recursively", false);
        }
        "rebase" => {
            for text in args.values(&["-x", "--exec"]) {
                walk.inner(&text.text, text.exact, &mut state.clone(), &Feed::None);
            }
        }
        "bisect" if args.get(0) == Some("run") => {
            walk.nested(&args.0[1..], &mut state.clone(), &Feed::None);
        }
        "submodule" => submodule(walk, args, state),
        "difftool" | "mergetool" => {
            for text in args.values(&["-x", "--extcmd"]) {
                walk.inner(&text.text, text.exact, &mut state.clone(), &Feed::None);
            }
        }
        "clone" | "init" => place(walk, name, args, state),
        "fetch" | "pull" => {
            for text in args.values(&["--upload-pack"]) {
                walk.ask(format!("git runs `{}`", text.text), true);
            }
            if name == "fetch" && args.iter().any(|word| word.text.starts_with("ext::")) {
                walk.ask("the remote is a command", true);
            }
        }
        "credential" | "credential-store" | "credential-cache" if !args.any(&["fill", "get"]) => {
            walk.ask("it changes stored credentials", false);
        }
        "archive" | "format-patch" | "bundle" => {
            let targets = args.values(&["-o", "--output", "--output-directory"]);
            for target in &targets {
                walk.write(target, state, "writes to");
            }
            for text in args.values(&["--exec"]) {
                walk.ask(format!("git runs `{}`", text.text), false);
            }
        }
        "send-email" | "imap-send" | "request-pull" => {
            walk.find(Tier::WriteVisible, "it sends mail", true);
        }
        "remote" => {
            if args.any(&["remove", "rm", "prune"]) {
                walk.find(Tier::WriteLocal, "it changes remotes", false);
            }
            if args.iter().any(|word| word.text.starts_with("ext::")) {
                walk.ask("the remote is a command", true);
            }
        }
        "daemon" | "http-backend" | "upload-pack" | "receive-pack" | "shell" => {
            walk.ask("it serves the repository", true);
        }
        "lfs" if args.any(&["push"]) => {
            walk.find(Tier::WriteVisible, "it pushes", true);
        }
        "svn" | "p4" if args.any(&["dcommit", "submit"]) => {
            walk.find(Tier::WriteVisible, "it pushes", true);
        }
        "checkout-index" => {
            for prefix in args.values(&["--prefix"]) {
                walk.write(&prefix, state, "writes to");
            }
        }
        _ => {}
    }
    Output::Unknown
}

fn read(walk: &mut Walk<'_>, name: &str, args: Args<'_>, state: &State) -> Output {
    for path in args.values(&["--output"]) {
        walk.find(Tier::WriteLocal, "it writes a file", false);
        walk.write(&path, state, "writes to");
    }
    if name == "grep" {
        for pager in args.values(&["-O", "--open-files-in-pager"]) {
            walk.pager(&pager, state);
        }
    }
    if name == "symbolic-ref" {
        if args.short('d') || args.long("--delete") {
            walk.ask("it deletes a ref", false);
        } else if args.operands(&["-m"]).len() > 1 {
            walk.find(Tier::WriteLocal, "it moves a ref", false);
        }
    }
    if name == "ls-remote" {
        for text in args.values(&["--upload-pack", "--exec"]) {
            walk.ask(format!("git runs `{}`", text.text), true);
        }
    }
    match (name, args.get(0)) {
        ("rev-parse", Some("--show-toplevel")) => Output::Text(walk.ctx.root.to_owned()),
        ("rev-parse" | "rev-list" | "describe" | "symbolic-ref" | "merge-base", _)
            if !args.any(&[
                "--git-dir",
                "--git-common-dir",
                "--git-path",
                "--absolute-git-dir",
            ]) =>
        {
            Output::Placed("0".to_owned())
        }
        _ => Output::Unknown,
    }
}

fn push(walk: &mut Walk<'_>, args: Args<'_>) {
    walk.find(Tier::WriteVisible, "it pushes", true);
    if args.long("--dry-run") || args.has("-n") {
        return;
    }
    let forced = args.short('f')
        || args.iter().any(|word| {
            word.text.starts_with("--force")
                || word.text.starts_with("--mirror")
                || word.text.starts_with("--prune")
        })
        || args.short('d')
        || args.has("--delete");
    if forced {
        walk.ask("it overwrites or deletes what is on the remote", true);
    }
    if let Some(program) = args.values(&["--receive-pack", "--exec"]).first() {
        walk.ask(format!("git runs `{}`", program.text), true);
    }
    let operands = args.operands(&["-o", "--push-option", "--repo", "--receive-pack", "--exec"]);
    let Some((remote, refs)) = operands.split_first() else {
        return;
    };
    let lower = remote.text.to_lowercase();
    let deploys = [
        "heroku",
        "dokku",
        "deploy",
        "production",
        "prod",
        "live",
        "staging",
        "piku",
        "clever",
        "gigalixir",
    ];
    if deploys.iter().any(|name| lower == *name)
        || lower.starts_with("ext::")
        || lower.contains("git.heroku.com")
        || lower.starts_with("dokku@")
    {
        walk.ask(format!("`{}` is a deployment", remote.text), true);
    }
    for reference in refs {
        let text = reference.text.as_str();
        let target = text.rsplit(':').next().unwrap_or(text);
        if text.starts_with('+') || text.starts_with(':') {
            walk.ask("it overwrites or deletes what is on the remote", true);
        } else if walk.ctx.overrides.is_protected(target) {
            walk.ask(format!("`{target}` is a protected branch"), true);
        }
    }
    if args.has("--all") {
        walk.ask("it pushes every branch, the protected ones too", true);
    }
}

fn worktree(walk: &mut Walk<'_>, args: Args<'_>, state: &State) {
    match args.get(0) {
        Some("add") => {
            let operands = Args(&args.0[1..]).operands(&["-b", "-B", "--reason"]);
            if let Some(path) = operands.first() {
                walk.write(path, state, "writes to");
            }
        }
        Some("remove") => walk.ask("it removes a worktree", false),
        Some("move") => {
            for path in Args(&args.0[1..]).operands(&[]) {
                walk.write(path, state, "moves");
            }
        }
        _ => {}
    }
}

fn submodule(walk: &mut Walk<'_>, args: Args<'_>, state: &mut State) {
    match args.subcommand(&[]) {
        Some(("foreach", rest)) => {
            let words = rest.operands(&[]);
            let start = words
                .first()
                .and_then(|first| rest.iter().position(|word| std::ptr::eq(word, *first)));
            let argv = &rest.0[start.unwrap_or(rest.0.len())..];
            if let [only] = argv {
                walk.inner(&only.text, only.exact, &mut state.clone(), &Feed::None);
            } else {
                walk.nested(argv, &mut state.clone(), &Feed::None);
            }
        }
        Some(("deinit", rest)) if rest.short('f') || rest.long("--force") => {
            walk.ask("it removes submodule folders", false);
        }
        _ => {}
    }
}

fn place(walk: &mut Walk<'_>, name: &str, args: Args<'_>, state: &State) {
    let with_value = [
        "-b",
        "--branch",
        "-c",
        "--config",
        "--depth",
        "-o",
        "--origin",
        "--template",
        "-u",
        "--upload-pack",
        "--reference",
        "-j",
        "--separate-git-dir",
        "--filter",
        "--initial-branch",
    ];
    let operands = args.operands(&with_value);
    for setting in args.values(&["-c", "--config"]) {
        let (key, value) = setting
            .text
            .split_once('=')
            .unwrap_or((&setting.text, "true"));
        config::setting_runs(walk, key, value, setting.exact);
    }
    if let Some(program) = args.values(&["-u", "--upload-pack"]).first() {
        walk.ask(format!("git runs `{}`", program.text), true);
    }
    if operands
        .first()
        .is_some_and(|url| url.text.starts_with("ext::"))
    {
        walk.ask("the remote is a command", true);
    }
    let target = operands.get(usize::from(name == "clone"));
    let here = Text::exact(".");
    walk.write(target.copied().unwrap_or(&here), state, "writes to");
}
