//! git: where it works, what it is told before the subcommand, and the few
//! subcommands whose words have to be followed.

use super::git_config;
use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("git", git),
    ("git-read", read),
    ("git-push", |analyzer, call, state| {
        let args = verb(call, "push")?;
        let root = analyzer.ctx.root;
        if state
            .cwd
            .as_deref()
            .is_some_and(|cwd| place::is_beneath(cwd, root))
        {
            analyzer.pushes();
        }
        push(analyzer, args);
        None
    }),
    ("git-config", |analyzer, call, state| {
        git_config::judge(analyzer, verb(call, "config")?, state);
        None
    }),
    ("git-worktree", |analyzer, call, state| {
        worktree(analyzer, verb(call, "worktree")?, state);
        None
    }),
    ("git-bisect", |analyzer, call, state| {
        let args = verb(call, "bisect")?;
        if args.get(0) == Some("run") {
            analyzer.nested(&args.0[1..], &mut state.clone(), &Stdin::None);
        }
        None
    }),
    ("git-submodule", |analyzer, call, state| {
        submodule(analyzer, verb(call, "submodule")?, state);
        None
    }),
    ("git-clone", |analyzer, call, state| {
        let clones = call.args.get(0) == Some("clone");
        let args = verb(call, "clone").or_else(|| verb(call, "init"))?;
        place(analyzer, clones, args, state);
        None
    }),
];

/// What follows this subcommand.
fn verb<'c>(call: &Call<'c>, name: &str) -> Option<Args<'c>> {
    (call.args.get(0) == Some(name)).then(|| Args(&call.args.0[1..]))
}

fn git(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    let (name, rest) = args.subcommand(table().list("git-flags"))?;
    let (globals, told) = args.0.split_at(args.0.len() - rest.0.len() - 1);
    let globals = Args(globals);
    let mut own = state.clone();
    let elsewhere = folders(analyzer, globals, &mut own);
    if let Some(alias) = settings(analyzer, globals, name) {
        let text = match alias.strip_prefix('!') {
            Some(command) => command.to_owned(),
            None => format!("git {alias}"),
        };
        return Some(analyzer.script(&text, &mut own, call.stdin));
    }
    let row = table().row("git-subcommand")?;
    let args = Args(told);
    let output = analyzer.by_row(row, &Call { args, ..*call }, &mut own);
    if let Some(folder) = elsewhere
        && !table().has("git-reads", name)
    {
        analyzer.ask(format!("git works in {folder}, outside the worktree"));
    }
    Some(output)
}

/// Goes where git is told to work. A folder outside the worktree is returned.
fn folders(analyzer: &Analyzer<'_>, globals: Args<'_>, own: &mut State) -> Option<String> {
    let mut elsewhere = None;
    for folder in globals.values(&["-C", "--git-dir", "--work-tree"]) {
        own.cwd = folder.placed.then(|| resolve(&folder.text, own)).flatten();
        let cwd = own.cwd.as_deref();
        if !cwd.is_some_and(|cwd| analyzer.is_inside(cwd)) {
            elsewhere = Some(folder.text);
        }
    }
    for name in ["GIT_DIR", "GIT_WORK_TREE"] {
        let set = own.variables.get(name).and_then(|texts| texts.first());
        let Some(folder) = set else { continue };
        let full = folder.placed.then(|| resolve(&folder.text, own)).flatten();
        if !full.is_some_and(|full| analyzer.is_inside(&full)) {
            elsewhere = Some(folder.text.clone());
        }
    }
    elsewhere
}

/// Judges settings before the subcommand. Returns what an alias makes of it.
fn settings(analyzer: &mut Analyzer<'_>, globals: Args<'_>, name: &str) -> Option<String> {
    for setting in globals.values(&["--config-env"]) {
        let key = setting.text.split('=').next().unwrap_or_default();
        if git_config::executes(key) {
            analyzer.ask(format!("git's {key} decides what git runs"));
        }
    }
    let moves = |word: &Text| word.text.starts_with("--exec-path=");
    if globals.iter().any(moves) {
        analyzer.ask("git runs programs of another folder");
    }
    let mut alias = None;
    for setting in globals.values(&["-c"]) {
        let pair = setting.text.split_once('=');
        let (key, value) = pair.unwrap_or((&setting.text, "true"));
        let named = key.to_lowercase();
        if named.strip_prefix("alias.") == Some(name.to_lowercase().as_str()) {
            alias = Some(value.to_owned());
        }
        git_config::setting_runs(analyzer, key, value, setting.exact);
    }
    alias
}

/// What a subcommand that only looks prints.
fn read(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    const FOLDERS: [&str; 4] = [
        "--git-dir",
        "--git-common-dir",
        "--git-path",
        "--absolute-git-dir",
    ];
    let name = call.args.get(0);
    let name = name.filter(|name| table().has("git-reads", name))?;
    let args = Args(&call.args.0[1..]);
    if name == "grep" {
        for pager in args.values(&["-O", "--open-files-in-pager"]) {
            analyzer.pager(&pager, state);
        }
    }
    Some(match (name, args.get(0)) {
        ("rev-parse", Some("--show-toplevel")) => Output::Text(analyzer.ctx.root.to_owned()),
        ("rev-parse" | "rev-list" | "describe" | "symbolic-ref" | "merge-base", _)
            if !args.any(&FOLDERS) =>
        {
            Output::Placed("0".to_owned())
        }
        _ => Output::Unknown,
    })
}

fn push(analyzer: &mut Analyzer<'_>, args: Args<'_>) {
    const FORCED: [&str; 3] = ["--force", "--mirror", "--prune"];
    analyzer.find(Tier::WriteVisible, "it pushes", true);
    if args.long("--dry-run") || args.has("-n") {
        return;
    }
    let forced = args
        .iter()
        .any(|word| FORCED.iter().any(|flag| word.text.starts_with(flag)));
    if forced || args.short('f') || args.short('d') || args.has("--delete") {
        analyzer.ask_online("it overwrites or deletes what is on the remote");
    }
    if let Some(program) = args.values(&["--receive-pack", "--exec"]).first() {
        analyzer.ask_online(format!("git runs `{}`", program.text));
    }
    if args.has("--all") {
        analyzer.ask_online("it pushes every branch, the protected ones too");
    }
    let operands = args.operands(&["-o", "--push-option", "--repo", "--receive-pack", "--exec"]);
    let Some((remote, refs)) = operands.split_first() else {
        return;
    };
    let lower = remote.text.to_lowercase();
    if table().has("git-deploys", &lower)
        || lower.starts_with("ext::")
        || lower.contains("git.heroku.com")
        || lower.starts_with("dokku@")
    {
        analyzer.ask_online(format!("`{}` is a deployment", remote.text));
    }
    for reference in refs {
        let text = reference.text.as_str();
        let target = text.rsplit(':').next().unwrap_or(text);
        if text.starts_with('+') || text.starts_with(':') {
            analyzer.ask_online("it overwrites or deletes what is on the remote");
        } else if analyzer.ctx.overrides.is_protected(target) {
            analyzer.ask_online(format!("`{target}` is a protected branch"));
        }
    }
}

fn worktree(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &State) {
    let Some((verb, rest)) = args.0.split_first() else {
        return;
    };
    match verb.as_str() {
        "add" => {
            if let Some(path) = Args(rest).operands(&["-b", "-B", "--reason"]).first() {
                analyzer.write(path, state, "writes to");
            }
        }
        "move" => analyzer.writes(&Args(rest).operands(&[]), state, "moves"),
        _ => {}
    }
}

/// `git submodule foreach …`
fn submodule(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &State) {
    let Some(("foreach", rest)) = args.subcommand(&[]) else {
        return;
    };
    match rest.since_operand(&[]) {
        [only] => analyzer.inner_apart(only, state),
        argv => drop(analyzer.nested(argv, &mut state.clone(), &Stdin::None)),
    }
}

/// `git clone`, `git init`: where the repository is put, and who says what runs.
fn place(analyzer: &mut Analyzer<'_>, clones: bool, args: Args<'_>, state: &State) {
    let operands = args.operands(table().list("clone-flags"));
    for setting in args.values(&["-c", "--config"]) {
        let pair = setting.text.split_once('=');
        let (key, value) = pair.unwrap_or((&setting.text, "true"));
        git_config::setting_runs(analyzer, key, value, setting.exact);
    }
    if let Some(program) = args.values(&["-u", "--upload-pack"]).first() {
        analyzer.ask_online(format!("git runs `{}`", program.text));
    }
    let first = operands.first();
    if first.is_some_and(|url| url.text.starts_with("ext::")) {
        analyzer.ask_online("the remote is a command");
    }
    // An address, not a folder.
    let away = |url: &&&Text| url.text.contains(':') && !url.text.starts_with("file:");
    if clones && operands.first().filter(away).is_some() {
        analyzer.find(Tier::WriteLocal, "it asks the remote", true);
    }
    let here = Text::exact(".");
    let target = operands.get(usize::from(clones)).copied().unwrap_or(&here);
    analyzer.write(target, state, "writes to");
}
