//! Package managers: installing, adding, removing, publishing.

mod managers;

use butler_protocol::Tier;

use managers::{MANAGERS, Manager};

use super::super::{
    analyzer::Analyzer,
    args::Args,
    bodies,
    simple::Call,
    state::{Output, State, Stdin},
    text::Text,
};

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    state: &mut State,
) -> Option<Output> {
    let args = call.args;
    match call.name {
        "go" => go(analyzer, args),
        "dotnet" => dotnet(analyzer, args),
        "nix-env" | "nix-channel" => analyzer.ask("it changes what is installed", true),
        "nix" => {
            analyzer.find(Tier::WriteLocal, "it builds or tests", false);
            let changes = ["install", "upgrade", "remove", "add", "rollback"];
            if args.get(0) == Some("profile") && args.any(&changes) || args.any(&changes[..3]) {
                analyzer.ask("it changes what is installed", true);
            }
            if let Some(("run", rest)) = args.subcommand(&[])
                && rest
                    .get(0)
                    .is_some_and(|flake| !flake.starts_with(['.', '#', '-']))
            {
                analyzer.ask("it runs code from the network", true);
            }
        }
        "pacman" | "yay" | "paru" | "pamac" => {
            if args.short('S') && !args.short('s') && !args.short('i')
                || args.short('R')
                || args.short('U')
            {
                analyzer.ask("it changes what is installed", true);
            }
        }
        "dpkg" | "rpm" => {
            let looks = if call.name == "dpkg" {
                !(args.short('i')
                    || args.short('r')
                    || args.short('P')
                    || args.long("--install")
                    || args.long("--remove")
                    || args.long("--purge")
                    || args.long("--configure")
                    || args.long("--unpack"))
            } else {
                args.short('q') || args.short('V') || args.long("--query")
            };
            if !looks {
                analyzer.ask("it changes what is installed", false);
            }
        }
        "flutter" | "dart" => {
            let words: Vec<&str> = args
                .operands(&[])
                .iter()
                .map(|word| word.as_str())
                .collect();
            match words.as_slice() {
                ["pub", "publish", ..] => publish(analyzer, args, "pub publish"),
                ["pub", "get" | "add" | "remove" | "upgrade" | "global", ..]
                | ["upgrade" | "downgrade", ..] => {
                    analyzer.ask("it changes what is installed", true);
                }
                _ => analyzer.find(Tier::WriteLocal, "it builds or tests", false),
            }
        }
        "deno" => match args.subcommand(&[]) {
            Some(("install" | "i" | "add" | "remove" | "uninstall" | "upgrade", _)) => {
                analyzer.ask("it changes what is installed", true);
            }
            Some(("publish", _)) => publish(analyzer, args, "deno publish"),
            Some(("deploy", _)) => analyzer.ask("`deno deploy` deploys", true),
            Some(("eval", rest)) if evaluates(analyzer, rest, state) => {}
            Some(("run" | "eval", rest)) => runs_script(analyzer, rest, call.stdin, state),
            _ => analyzer.find(Tier::WriteLocal, "it builds or tests", false),
        },
        "cpanm" | "cpan" | "easy_install" | "pip-sync" if !args.0.is_empty() => {
            analyzer.ask("it changes what is installed", true);
        }
        "bun" if !args.values(&["-e", "--eval", "-p", "--print"]).is_empty() => {
            analyzer.find(Tier::WriteLocal, "it runs a program text", false);
            for text in args.values(&["-e", "--eval", "-p", "--print"]) {
                let reason = bodies::language_of("node")
                    .and_then(|node| bodies::judge(analyzer, node, &text.text, state));
                if let Some(reason) = reason {
                    analyzer.ask(reason, false);
                }
            }
        }
        "corepack" => analyzer.ask("it changes what is installed", true),
        "swift" => analyzer.find(Tier::WriteLocal, "it builds or tests", false),
        name => {
            // `pip3.12` is a pip.
            let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            let manager = MANAGERS.iter().find(|manager| {
                manager.names.contains(&name) || bare == "pip" && manager.names.contains(&bare)
            })?;
            managed(analyzer, call, manager, state);
        }
    }
    Some(Output::Unknown)
}

fn managed(analyzer: &mut Analyzer<'_>, call: &Call<'_>, manager: &Manager, state: &State) {
    let args = call.args;
    if args.any(&["--help", "--version", "-h"]) && args.0.len() <= 2 {
        return;
    }
    analyzer.find(Tier::WriteLocal, "it builds or tests", false);
    let mut words: Vec<&str> = args
        .operands(manager.with_value)
        .iter()
        .map(|word| word.as_str())
        .collect();
    // `cargo +nightly …`
    if call.name == "cargo" && words.first().is_some_and(|word| word.starts_with('+')) {
        words.remove(0);
    }
    if call.name == "yarn" && in_workspace(analyzer, call, state) {
        return;
    }
    if let ("bun", Some(("run", rest))) = (call.name, args.subcommand(manager.with_value)) {
        runs_script(analyzer, rest, call.stdin, state);
    }
    settings(analyzer, call);
    let first = words.first().copied().unwrap_or("");
    let second = words.get(1).copied().unwrap_or("");
    let looks = match (call.name, first) {
        ("rustup", "toolchain" | "target" | "component") => second == "list",
        ("rustup", "override" | "self") => second == "list",
        ("conda" | "mamba" | "micromamba", "env") => second == "list" || second == "export",
        ("apt" | "apt-get", "source") => false,
        ("yarn", "set") => second != "version",
        ("yarn", "npm") => !matches!(second, "publish" | "login" | "logout" | "tag"),
        ("yarn", "global" | "plugin") => second == "list" || second == "dir",
        ("npm", "dist-tag" | "owner" | "team" | "access" | "token" | "org" | "profile") => {
            matches!(second, "ls" | "list" | "get")
        }
        ("npm", "set") => false,
        ("cargo", "owner") => args.any(&["--list", "-l"]),
        ("cargo", "install") => args.has("--list"),
        ("asdf" | "mise", "plugin") => matches!(second, "list" | "ls"),
        ("brew", "services") => matches!(second, "list" | "info"),
        ("brew", "bundle") => second == "list",
        ("bundle" | "bundler", "cache" | "package") => false,
        ("uv", "self") => second == "version",
        ("bundle", "") => {
            let asks = ["--version", "-v", "-V", "--help", "-h", "--verbose"];
            !args.0.is_empty() && args.any(&asks)
        }
        ("hatch", "python") => second == "show",
        ("opam", "switch") => matches!(second, "list" | "show" | ""),
        ("pnpm", "env") => second == "list",
        _ => false,
    };
    if looks {
        return;
    }
    let dry = args.any(&["--dry-run", "--simulate", "--just-print", "--help", "-h"])
        || matches!(call.name, "apt" | "apt-get") && args.has("-s");
    let extra = match (call.name, first) {
        ("uv", "pip") => matches!(second, "install" | "uninstall" | "sync"),
        ("uv", "tool") => matches!(second, "install" | "uninstall" | "upgrade"),
        ("uv", "python") => matches!(second, "install" | "uninstall"),
        ("npm", "audit") => second == "fix",
        ("npm", "config" | "c") => matches!(second, "set" | "delete" | "rm" | "edit"),
        ("yarn", "config") | ("pnpm", "config") => matches!(second, "set" | "delete"),
        ("poetry" | "pip", "config") => args.0.len() > 2 && second != "list",
        ("yarn", "") => !args.any(&["--version", "-v", "--help"]),
        ("bun", "pm") => matches!(second, "trust" | "cache"),
        ("pod", "repo") => matches!(second, "push" | "remove"),
        _ => false,
    };
    let tool = matches!((call.name, first), ("cargo", "workspaces" | "ws"));
    if manager.publishes.contains(&first) || tool && second == "publish" {
        if !dry {
            analyzer.ask(
                format!("`{} {first}` publishes or changes credentials", call.name),
                true,
            );
        }
        return;
    }
    if manager.changes.contains(&first) || extra {
        if !dry {
            let what = format!("`{} {first}` changes what is installed", call.name);
            analyzer.ask(what, true);
        }
        return;
    }
    super::named::targets(analyzer, call, state);
}

/// `yarn workspace NAME …`, `yarn workspaces foreach …`: yarn again, elsewhere.
fn in_workspace(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &State) -> bool {
    let rest = match call.args.subcommand(&["--cwd"]) {
        Some(("workspace", rest)) => rest.0.get(1..).unwrap_or_default(),
        Some(("workspaces", rest)) if matches!(rest.get(0), Some("foreach" | "run")) => {
            let takes = [
                "--from",
                "--include",
                "--exclude",
                "-j",
                "--jobs",
                "--since",
            ];
            let words = Args(&rest.0[1..]);
            match words.subcommand(&takes) {
                Some((_, inner)) => &words.0[words.0.len() - inner.0.len() - 1..],
                None => &[],
            }
        }
        _ => return false,
    };
    if rest.is_empty() {
        return false;
    }
    let words: Vec<Text> = std::iter::once(Text::exact("yarn"))
        .chain(rest.iter().cloned())
        .collect();
    analyzer.nested(&words, &mut state.clone(), call.stdin);
    true
}

/// Flags by which cargo and npm are told to run another program.
fn settings(analyzer: &mut Analyzer<'_>, call: &Call<'_>) {
    const KEYS: [&str; 8] = [
        "rustc-wrapper",
        "rustc-workspace-wrapper",
        "build.rustc",
        "runner",
        "linker",
        "rustdoc",
        "credential-provider",
        "alias.",
    ];
    let told = match call.name {
        "cargo" => call.args.values(&["--config"]).into_iter().find(|text| {
            let key = text.text.split('=').next().unwrap_or_default();
            text.text.contains('=') && KEYS.iter().any(|part| key.contains(part))
        }),
        "npm" | "pnpm" => {
            let shells = call.args.values(&["--script-shell", "--shell"]);
            let known = ["bash", "sh", "zsh", "/bin/bash", "/bin/sh"];
            shells
                .into_iter()
                .find(|text| !known.contains(&text.as_str()))
        }
        _ => None,
    };
    if let Some(told) = told {
        analyzer.ask(
            format!("`{}` decides what {} runs", told.text, call.name),
            false,
        );
    }
}

/// `deno run X`, `bun run X`: X may be an address, or what is piped in.
fn runs_script(analyzer: &mut Analyzer<'_>, args: Args<'_>, stdin: &Stdin, state: &State) {
    analyzer.find(Tier::WriteLocal, "it builds or tests", false);
    if args.iter().any(|word| {
        ["http:", "https:", "jsr:", "npm:"]
            .iter()
            .any(|start| word.text.starts_with(start))
    }) {
        analyzer.ask("it runs code from the network", true);
    }
    let piped = args
        .operands(&[])
        .first()
        .is_some_and(|word| matches!(word.as_str(), "-" | "/dev/stdin"));
    match stdin {
        Stdin::Text(text) if piped => {
            let reason = bodies::language_of("node")
                .and_then(|node| bodies::judge(analyzer, node, text, state));
            if let Some(reason) = reason {
                analyzer.ask(reason, false);
            }
        }
        Stdin::Unknown if piped => analyzer.ask("it runs whatever is piped into it", true),
        _ => {}
    }
}

fn publish(analyzer: &mut Analyzer<'_>, args: Args<'_>, what: &str) {
    if !args.any(&["--dry-run", "-n"]) {
        analyzer.ask(format!("`{what}` publishes"), true);
    }
}

fn go(analyzer: &mut Analyzer<'_>, args: Args<'_>) {
    match args.subcommand(&["-C"]) {
        Some(("install" | "get", _)) => analyzer.ask("it changes what is installed", true),
        Some(("env", rest)) if rest.short('w') || rest.short('u') => {
            analyzer.ask("it changes settings of the machine", false);
        }
        Some(("clean", rest)) if rest.any(&["-modcache", "-cache"]) => {
            analyzer.ask("it empties a cache outside the worktree", false);
        }
        Some(("run", rest)) if rest.get(0).is_some_and(|name| name.contains('@')) => {
            analyzer.ask("it runs code from the network", true);
        }
        Some(("test" | "build" | "vet" | "run", rest)) => {
            for program in rest.values(&["-exec", "-toolexec", "-vettool"]) {
                analyzer.ask(format!("go runs `{}`", program.text), false);
            }
            analyzer.find(Tier::WriteLocal, "it builds or tests", false);
        }
        Some(("generate", _)) => analyzer.find(Tier::WriteLocal, "it runs generators", false),
        _ => analyzer.find(Tier::WriteLocal, "it builds or tests", false),
    }
}

fn dotnet(analyzer: &mut Analyzer<'_>, args: Args<'_>) {
    let words: Vec<&str> = args
        .operands(&[])
        .iter()
        .map(|word| word.as_str())
        .collect();
    match words.as_slice() {
        ["tool", "install" | "uninstall" | "update" | "restore", ..]
        | ["workload", "install" | "update" | "uninstall", ..]
        | ["add" | "remove", _, "package", ..]
        | ["add" | "remove", "package", ..] => analyzer.ask("it changes what is installed", true),
        ["nuget", "push" | "delete", ..] => analyzer.ask("it publishes", true),
        ["ef", "database", "drop", ..] => analyzer.ask("it drops a database", false),
        ["user-secrets", "set" | "remove" | "clear", ..] | ["dev-certs", ..] => {
            analyzer.ask("it changes stored credentials", false);
        }
        _ => analyzer.find(Tier::WriteLocal, "it builds or tests", false),
    }
}

/// `deno eval TEXT`: asks when the text runs or deletes something.
fn evaluates(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &State) -> bool {
    let Some(language) = bodies::language_of("node") else {
        return false;
    };
    let text = args.operands(&["--ext"]);
    let reason = text.first().and_then(|body| {
        let removes = body.text.contains("Deno.remove") && body.text.contains("recursive");
        let runs = body.text.contains("Deno.Command") || body.text.contains("Deno.run");
        bodies::judge(analyzer, language, &body.text, state)
            .or_else(|| (removes || runs).then(|| "the text runs or removes something".to_owned()))
    });
    let asks = reason.is_some();
    if let Some(reason) = reason {
        analyzer.ask(reason, false);
    }
    asks
}
