//! git: what leaves the machine, rewrites history, or makes git run things.

mod config;
mod forge;

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    args::Args,
    place::resolve,
    simple::Call,
    state::{Output, State, Stdin},
    text::Text,
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

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    state: &mut State,
) -> Option<Output> {
    if call.name == "gh" || call.name == "hub" || call.name == "glab" {
        if super::verbs::asks_for_help(call) {
            return Some(Output::Unknown);
        }
        return Some(forge::judge(analyzer, call.args));
    }
    if call.name == "git-lfs" || call.name == "bfg" || call.name == "git-filter-repo" {
        if call.name != "git-lfs" {
            analyzer.ask("it rewrites history", false);
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
        let inside = own
            .cwd
            .as_deref()
            .is_some_and(|cwd| analyzer.is_inside(cwd));
        if !inside {
            elsewhere = Some(folder.text.clone());
        }
    }
    for name in ["GIT_DIR", "GIT_WORK_TREE"] {
        let set = state.variables.get(name).and_then(|texts| texts.first());
        let Some(folder) = set else { continue };
        let full = folder.placed.then(|| resolve(&folder.text, &own)).flatten();
        if !full.is_some_and(|full| analyzer.is_inside(&full)) {
            elsewhere = Some(folder.text.clone());
        }
    }
    let mut alias = None;
    for setting in globals.values(&["--config-env"]) {
        let key = setting.text.split('=').next().unwrap_or_default();
        if config::executes(key) {
            analyzer.ask(format!("git's {key} decides what git runs"), false);
        }
    }
    if globals
        .iter()
        .any(|word| word.text.starts_with("--exec-path="))
    {
        analyzer.ask("git runs programs of another folder", false);
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
        config::setting_runs(analyzer, key, value, setting.exact);
    }
    if let Some(alias) = alias {
        let text = match alias.strip_prefix('!') {
            Some(command) => command.to_owned(),
            None => format!("git {alias}"),
        };
        return Some(analyzer.script(&text, &mut own, call.stdin));
    }
    let output = subcommand(analyzer, name, rest, &mut own);
    if let Some(folder) = elsewhere
        && !READS.contains(&name)
    {
        analyzer.ask(
            format!("git works in {folder}, outside the worktree"),
            false,
        );
    }
    Some(output)
}

fn subcommand(
    analyzer: &mut Analyzer<'_>,
    name: &str,
    args: Args<'_>,
    state: &mut State,
) -> Output {
    let command = |word: &Text| word.text.starts_with("ext::") || word.text.contains("=ext::");
    if !matches!(name, "grep" | "log" | "commit") && args.iter().any(command) {
        analyzer.ask("the remote is a command", true);
    }
    if READS.contains(&name) {
        return read(analyzer, name, args, state);
    }
    analyzer.find(Tier::WriteLocal, "it changes the local repository", false);
    match name {
        "push" => push(analyzer, args),
        "clean" => {
            let dry = args.short('n') || args.long("--dry-run");
            if !dry && !args.short('h') {
                analyzer.ask("it removes files that git does not know", false);
            }
        }
        "config" => config::judge(analyzer, args, state),
        "filter-branch" | "filter-repo" | "replace" | "prune" => {
            analyzer.ask("it rewrites or drops history", false);
        }
        "reflog" if args.any(&["expire", "delete"]) => {
            analyzer.ask("it drops the reflog", false);
        }
        "gc" if (args.iter().any(|word| word.text.starts_with("--prune="))
            || args.has("--aggressive") && args.long("--prune")) =>
        {
            analyzer.ask("it drops unreachable history", false);
        }
        "update-ref" if (args.short('d') || args.has("--stdin")) => {
            analyzer.ask("it deletes or moves refs", false);
        }
        "branch" if (args.short('D') || args.short('d') || args.long("--delete")) => {
            analyzer.ask("it deletes a branch", false);
        }
        "tag" if (args.short('d') || args.long("--delete")) => {
            analyzer.ask("it deletes a tag", false);
        }
        "stash" if args.any(&["drop", "clear"]) => {
            analyzer.ask("it drops stashed work", false);
        }
        "worktree" => worktree(analyzer, args, state),
        "rm" if args.short('r') && !args.has("--cached") && !args.short('n') => {
            analyzer.ask("it removes recursively", false);
        }
        "rebase" => {
            for text in args.values(&["-x", "--exec"]) {
                analyzer.inner(&text.text, text.exact, &mut state.clone(), &Stdin::None);
            }
        }
        "bisect" if args.get(0) == Some("run") => {
            analyzer.nested(&args.0[1..], &mut state.clone(), &Stdin::None);
        }
        "submodule" => submodule(analyzer, args, state),
        "difftool" | "mergetool" => {
            for text in args.values(&["-x", "--extcmd"]) {
                analyzer.inner(&text.text, text.exact, &mut state.clone(), &Stdin::None);
            }
        }
        "clone" | "init" => place(analyzer, name, args, state),
        "fetch" | "pull" => {
            for text in args.values(&["--upload-pack"]) {
                analyzer.ask(format!("git runs `{}`", text.text), true);
            }
            if name == "fetch" && args.iter().any(|word| word.text.starts_with("ext::")) {
                analyzer.ask("the remote is a command", true);
            }
        }
        "credential" | "credential-store" | "credential-cache" if !args.any(&["fill", "get"]) => {
            analyzer.ask("it changes stored credentials", false);
        }
        "archive" | "format-patch" | "bundle" => {
            let targets = args.values(&["-o", "--output", "--output-directory"]);
            for target in &targets {
                analyzer.write(target, state, "writes to");
            }
            for text in args.values(&["--exec"]) {
                analyzer.ask(format!("git runs `{}`", text.text), false);
            }
        }
        "send-email" | "imap-send" | "request-pull" => {
            analyzer.find(Tier::WriteVisible, "it sends mail", true);
        }
        "remote" => {
            if args.any(&["remove", "rm", "prune"]) {
                analyzer.find(Tier::WriteLocal, "it changes remotes", false);
            }
            if args.iter().any(|word| word.text.starts_with("ext::")) {
                analyzer.ask("the remote is a command", true);
            }
        }
        "daemon" | "http-backend" | "upload-pack" | "receive-pack" | "shell" => {
            analyzer.ask("it serves the repository", true);
        }
        "lfs" if args.any(&["push"]) => {
            analyzer.find(Tier::WriteVisible, "it pushes", true);
        }
        "svn" | "p4" if args.any(&["dcommit", "submit"]) => {
            analyzer.find(Tier::WriteVisible, "it pushes", true);
        }
        "checkout-index" => {
            for prefix in args.values(&["--prefix"]) {
                analyzer.write(&prefix, state, "writes to");
            }
        }
        _ => {}
    }
    Output::Unknown
}

fn read(analyzer: &mut Analyzer<'_>, name: &str, args: Args<'_>, state: &State) -> Output {
    for path in args.values(&["--output"]) {
        analyzer.find(Tier::WriteLocal, "it writes a file", false);
        analyzer.write(&path, state, "writes to");
    }
    if name == "grep" {
        for pager in args.values(&["-O", "--open-files-in-pager"]) {
            analyzer.pager(&pager, state);
        }
    }
    if name == "symbolic-ref" {
        if args.short('d') || args.long("--delete") {
            analyzer.ask("it deletes a ref", false);
        } else if args.operands(&["-m"]).len() > 1 {
            analyzer.find(Tier::WriteLocal, "it moves a ref", false);
        }
    }
    if name == "ls-remote" {
        for text in args.values(&["--upload-pack", "--exec"]) {
            analyzer.ask(format!("git runs `{}`", text.text), true);
        }
    }
    match (name, args.get(0)) {
        ("rev-parse", Some("--show-toplevel")) => Output::Text(analyzer.ctx.root.to_owned()),
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

fn push(analyzer: &mut Analyzer<'_>, args: Args<'_>) {
    analyzer.find(Tier::WriteVisible, "it pushes", true);
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
        analyzer.ask("it overwrites or deletes what is on the remote", true);
    }
    if let Some(program) = args.values(&["--receive-pack", "--exec"]).first() {
        analyzer.ask(format!("git runs `{}`", program.text), true);
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
        analyzer.ask(format!("`{}` is a deployment", remote.text), true);
    }
    for reference in refs {
        let text = reference.text.as_str();
        let target = text.rsplit(':').next().unwrap_or(text);
        if text.starts_with('+') || text.starts_with(':') {
            analyzer.ask("it overwrites or deletes what is on the remote", true);
        } else if analyzer.ctx.overrides.is_protected(target) {
            analyzer.ask(format!("`{target}` is a protected branch"), true);
        }
    }
    if args.has("--all") {
        analyzer.ask("it pushes every branch, the protected ones too", true);
    }
}

fn worktree(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &State) {
    match args.get(0) {
        Some("add") => {
            let operands = Args(&args.0[1..]).operands(&["-b", "-B", "--reason"]);
            if let Some(path) = operands.first() {
                analyzer.write(path, state, "writes to");
            }
        }
        Some("remove") => analyzer.ask("it removes a worktree", false),
        Some("move") => {
            for path in Args(&args.0[1..]).operands(&[]) {
                analyzer.write(path, state, "moves");
            }
        }
        _ => {}
    }
}

fn submodule(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &mut State) {
    match args.subcommand(&[]) {
        Some(("foreach", rest)) => {
            let words = rest.operands(&[]);
            let start = words
                .first()
                .and_then(|first| rest.iter().position(|word| std::ptr::eq(word, *first)));
            let argv = &rest.0[start.unwrap_or(rest.0.len())..];
            if let [only] = argv {
                analyzer.inner(&only.text, only.exact, &mut state.clone(), &Stdin::None);
            } else {
                analyzer.nested(argv, &mut state.clone(), &Stdin::None);
            }
        }
        Some(("deinit", rest)) if rest.short('f') || rest.long("--force") => {
            analyzer.ask("it removes submodule folders", false);
        }
        _ => {}
    }
}

fn place(analyzer: &mut Analyzer<'_>, name: &str, args: Args<'_>, state: &State) {
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
        config::setting_runs(analyzer, key, value, setting.exact);
    }
    if let Some(program) = args.values(&["-u", "--upload-pack"]).first() {
        analyzer.ask(format!("git runs `{}`", program.text), true);
    }
    if operands
        .first()
        .is_some_and(|url| url.text.starts_with("ext::"))
    {
        analyzer.ask("the remote is a command", true);
    }
    let target = operands.get(usize::from(name == "clone"));
    let here = Text::exact(".");
    analyzer.write(target.copied().unwrap_or(&here), state, "writes to");
}
