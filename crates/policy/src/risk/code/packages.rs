//! Package managers where the verb alone does not tell: scripts they run, texts
//! they evaluate, settings that name a program, packages they fetch.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("npm-call", |analyzer, call, state| {
        if let Some("exec" | "x") = call.args.get(0) {
            analyzer.local("it runs a command");
            calls(analyzer, own_flags(Args(&call.args.0[1..])), state);
        }
        None
    }),
    ("npx-call", |analyzer, call, state| {
        calls(analyzer, own_flags(call.args), state).then_some(Output::Unknown)
    }),
    ("yarn-workspace", in_workspace),
    ("shell-setting", |analyzer, call, _| {
        const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "/bin/bash", "/bin/sh"];
        let shells = call.args.values(&["--script-shell", "--shell"]);
        let mut shells = shells.into_iter();
        let odd = shells.find(|shell| !SHELLS.contains(&shell.as_str()));
        decides(analyzer, odd, call.name);
        None
    }),
    ("cargo-setting", |analyzer, call, _| {
        let told = call.args.values(&["--config"]).into_iter().find(|text| {
            let key = text.text.split_once('=').map_or("", |(key, _)| key);
            table().has("cargo-settings", key)
        });
        decides(analyzer, told, call.name);
        None
    }),
    ("evaluated", |analyzer, call, state| {
        let texts = call.args.values(&["-e", "--eval", "-p", "--print"]);
        if texts.is_empty() {
            return None;
        }
        analyzer.local("it runs a program text");
        texts
            .iter()
            .for_each(|text| node(analyzer, &text.text, state));
        Some(Output::Unknown)
    }),
    ("bun-run", |analyzer, call, state| {
        if let Some(("run", rest)) = call.args.subcommand(&["--cwd", "--filter", "-F"]) {
            runs_script(analyzer, rest, call.stdin, state);
        }
        None
    }),
    ("deno-run", |analyzer, call, state| {
        match call.args.subcommand(&[]) {
            Some(("eval", rest)) if evaluates(analyzer, rest, state) => {}
            Some(("run" | "eval", rest)) => runs_script(analyzer, rest, call.stdin, state),
            _ => {}
        }
        None
    }),
    ("nix-command", |analyzer, call, state| {
        let behind = |flag| call.args.behind(flag);
        let first = [behind("-c"), behind("--command")].into_iter().flatten();
        // All that follows the first of them is the command.
        let words = first.max_by_key(|words| words.len())?;
        Some(analyzer.peeled(words, state, call.stdin))
    }),
    ("guix-shell", |analyzer, call, state| {
        let shell = call.name == "guix" && call.args.any(&["shell", "environment"]);
        let words = call.args.behind("--").filter(|_| shell)?;
        Some(analyzer.peeled(words, state, call.stdin))
    }),
    ("cargo-watch", cargo_watch),
];

fn decides(analyzer: &mut Analyzer<'_>, told: Option<Text>, name: &str) {
    if let Some(told) = told {
        analyzer.ask(format!("`{}` decides what {name} runs", told.text));
    }
}

fn node(analyzer: &mut Analyzer<'_>, text: &str, state: &State) {
    if let Some(node) = bodies::language_of("node") {
        analyzer.judge_text(node, text, state);
    }
}

/// The flags before the command that a wrapper runs.
fn own_flags(args: Args<'_>) -> Args<'_> {
    let takes = ["-c", "--call", "-p", "--package", "-w", "--workspace"];
    let inner = args.peel(&takes, 0);
    Args(&args.0[..args.0.len() - inner.len()])
}

/// `-c TEXT`: whether there was one.
fn calls(analyzer: &mut Analyzer<'_>, flags: Args<'_>, state: &State) -> bool {
    let texts = flags.values(&["-c", "--call"]);
    for text in &texts {
        analyzer.local("it runs a command");
        analyzer.inner_apart(text, state);
    }
    !texts.is_empty()
}

/// `yarn workspace NAME …`, `yarn workspaces foreach …`: yarn again, elsewhere.
fn in_workspace(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    const TAKES: [&str; 6] = [
        "--from",
        "--include",
        "--exclude",
        "-j",
        "--jobs",
        "--since",
    ];
    let rest = match call.args.subcommand(&["--cwd"])? {
        ("workspace", rest) => rest.0.get(1..)?,
        ("workspaces", rest) if matches!(rest.get(0), Some("foreach" | "run")) => {
            Args(&rest.0[1..]).since_operand(&TAKES)
        }
        _ => return None,
    };
    if rest.is_empty() {
        return None;
    }
    analyzer.local("it builds or tests");
    let words = Args(rest).behind_program("yarn");
    Some(analyzer.nested(&words, &mut state.clone(), call.stdin))
}

/// `deno run X`, `bun run X`: X may be an address, or what is piped in.
fn runs_script(analyzer: &mut Analyzer<'_>, args: Args<'_>, stdin: &Stdin, state: &State) {
    const AWAY: [&str; 4] = ["http:", "https:", "jsr:", "npm:"];
    let away = |word: &Text| AWAY.iter().any(|start| word.text.starts_with(start));
    if args.iter().any(away) {
        analyzer.ask_online("it runs code from the network");
    }
    let first = args.operands(&[]).first().map(|word| word.as_str());
    let piped = matches!(first, Some("-" | "/dev/stdin"));
    match stdin {
        Stdin::Text(text) if piped => node(analyzer, text, state),
        Stdin::Unknown if piped => analyzer.ask_online("it runs whatever is piped into it"),
        _ => {}
    }
}

/// `deno eval TEXT`: asks when the text runs or deletes something.
fn evaluates(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &State) -> bool {
    let texts = args.operands(&["--ext"]);
    let (Some(node), Some(body)) = (bodies::language_of("node"), texts.first()) else {
        return false;
    };
    let has = |call: &str| body.text.contains(call);
    let reason = bodies::judge(analyzer, node, &body.text, state).or_else(|| {
        let removes = has("Deno.remove") && has("recursive");
        let runs = has("Deno.Command") || has("Deno.run");
        (removes || runs).then(|| "the text runs or removes something".to_owned())
    });
    let asks = reason.is_some();
    if let Some(reason) = reason {
        analyzer.ask(reason);
    }
    asks
}

/// `cargo watch -s 'text'`, `-x 'test --all'`, `-- words`.
fn cargo_watch(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let verb = call.args.subcommand(&[]);
    let (_, rest) = verb.filter(|(name, _)| *name == "watch")?;
    analyzer.local("it runs a command");
    let texts = rest.values(&["-s", "--shell"]).into_iter();
    let cargo = rest.values(&["-x", "--exec"]).into_iter();
    let cargo = cargo.map(|text| text.with(format!("cargo {}", text.text)));
    for text in texts.chain(cargo) {
        analyzer.inner_apart(&text, state);
    }
    if let Some(words) = rest.behind("--") {
        analyzer.nested(words, &mut state.clone(), &Stdin::None);
    }
    Some(Output::Unknown)
}

/// Those that look into the project first; the others always fetch.
const LOCAL_FIRST: [&str; 4] = ["npx", "bunx", "npm", "bun"];

impl Analyzer<'_> {
    /// Asks when `fetcher` runs a package that it has to fetch: code that nobody in
    /// this repository has seen. What is installed here is judged like any command.
    pub(in super::super) fn fetched(&mut self, fetcher: &str, args: Args<'_>, inner: &[Text]) {
        let Some(package) = inner.first() else {
            return;
        };
        let (name, version) = split_version(package.as_str());
        if table().has("checkers", name) {
            return;
        }
        // Flags behind the package are the package's own.
        let own = Args(&args.0[..args.0.len() - inner.len()]);
        let kept_local = own.any(&["--no", "--no-install", "--offline"]);
        let told =
            version.is_some() || own.any(&["-y", "--yes", "-p", "--package", "--from", "--with"]);
        if !kept_local && (told || !LOCAL_FIRST.contains(&fetcher)) {
            let package = package.as_str();
            self.ask_online(format!("`{fetcher}` fetches `{package}` and runs it"));
        }
    }
}

/// `name@version` or `name==version`; a scope begins with `@` as well.
fn split_version(package: &str) -> (&str, Option<&str>) {
    let scope = usize::from(package.starts_with('@'));
    let rest = package.get(scope..).unwrap_or_default();
    match rest.find('@').or_else(|| rest.find("==")) {
        Some(at) => (&package[..scope + at], Some(&rest[at + 1..])),
        None => (package, None),
    }
}

#[cfg(test)]
mod tests {
    use super::split_version;

    #[test]
    fn a_scope_is_no_version() {
        assert_eq!(split_version("@scope/tool"), ("@scope/tool", None));
        assert_eq!(split_version("@scope/tool@1"), ("@scope/tool", Some("1")));
        assert_eq!(split_version("tool@latest"), ("tool", Some("latest")));
        assert_eq!(split_version("@"), ("@", None));
    }
}
