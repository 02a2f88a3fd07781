//! Package managers: installing, adding, removing, publishing.

mod managers;

use butler_vocab::Tier;

use managers::{MANAGERS, Manager};

use super::super::{
    args::Args,
    bodies,
    simple::Call,
    state::{Output, State},
    walk::Walk,
};

pub(super) fn judge(walk: &mut Walk<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    match call.name {
        "go" => go(walk, args),
        "dotnet" => dotnet(walk, args),
        "nix-env" | "nix-channel" => walk.ask("it changes what is installed", true),
        "nix" if args.any(&["install", "upgrade", "remove"]) => {
            walk.ask("it changes what is installed", true);
        }
        "pacman" | "yay" | "paru" | "pamac" => {
            if args.short('S') && !args.short('s') && !args.short('i')
                || args.short('R')
                || args.short('U')
            {
                walk.ask("it changes what is installed", true);
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
                walk.ask("it changes what is installed", false);
            }
        }
        "flutter" | "dart" => {
            let words: Vec<&str> = args
                .operands(&[])
                .iter()
                .map(|word| word.as_str())
                .collect();
            match words.as_slice() {
                ["pub", "publish", ..] => publish(walk, args, "pub publish"),
                ["pub", "get" | "add" | "remove" | "upgrade" | "global", ..]
                | ["upgrade" | "downgrade", ..] => {
                    walk.ask("it changes what is installed", true);
                }
                _ => walk.find(Tier::WriteLocal, "it builds or tests", false),
            }
        }
        "deno" => match args.subcommand(&[]) {
            Some(("install" | "i" | "add" | "remove" | "uninstall" | "upgrade", _)) => {
                walk.ask("it changes what is installed", true);
            }
            Some(("publish", _)) => publish(walk, args, "deno publish"),
            Some(("eval", rest)) if evaluates(walk, rest, state) => {}
            Some(("run" | "eval", rest))
                if rest.iter().any(|word| word.text.starts_with("http")) =>
            {
                walk.ask("it runs code from the network", true);
            }
            _ => walk.find(Tier::WriteLocal, "it builds or tests", false),
        },
        "cpanm" | "cpan" | "easy_install" | "pip-sync" if !args.0.is_empty() => {
            walk.ask("it changes what is installed", true);
        }
        "corepack" => walk.ask("it changes what is installed", true),
        "swift" => walk.find(Tier::WriteLocal, "it builds or tests", false),
        name => {
            let manager = MANAGERS
                .iter()
                .find(|manager| manager.names.contains(&name))?;
            managed(walk, call, manager, state);
        }
    }
    Some(Output::Unknown)
}

fn managed(walk: &mut Walk<'_>, call: &Call<'_>, manager: &Manager, state: &State) {
    let args = call.args;
    if args.any(&["--help", "--version", "-h"]) && args.0.len() <= 2 {
        return;
    }
    walk.find(Tier::WriteLocal, "it builds or tests", false);
    let words: Vec<&str> = args
        .operands(manager.with_value)
        .iter()
        .map(|word| word.as_str())
        .collect();
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
        ("asdf" | "mise", "plugin") => matches!(second, "list" | "ls"),
        ("brew", "services") => matches!(second, "list" | "info"),
        ("brew", "bundle") => second == "list",
        ("bundle" | "bundler", "cache" | "package") => false,
        ("uv", "self") => second == "version",
        ("bundle", "") => !args.0.is_empty(),
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
        _ => false,
    };
    if manager.publishes.contains(&first) {
        if !dry {
            walk.ask(
                format!("`{} {first}` publishes or changes credentials", call.name),
                true,
            );
        }
        return;
    }
    if manager.changes.contains(&first) || extra {
        if !dry {
            let what = format!("`{} {first}` changes what is installed", call.name);
            walk.ask(what, true);
        }
        return;
    }
    super::named::targets(walk, call, state);
}

fn publish(walk: &mut Walk<'_>, args: Args<'_>, what: &str) {
    if !args.any(&["--dry-run", "-n"]) {
        walk.ask(format!("`{what}` publishes"), true);
    }
}

fn go(walk: &mut Walk<'_>, args: Args<'_>) {
    match args.subcommand(&["-C"]) {
        Some(("install" | "get", _)) => walk.ask("it changes what is installed", true),
        Some(("env", rest)) if rest.short('w') || rest.short('u') => {
            walk.ask("it changes settings of the machine", false);
        }
        Some(("clean", rest)) if rest.any(&["-modcache", "-cache"]) => {
            walk.ask("it empties a cache outside the worktree", false);
        }
        Some(("run", rest)) if rest.get(0).is_some_and(|name| name.contains('@')) => {
            walk.ask("it runs code from the network", true);
        }
        Some(("test" | "build" | "vet" | "run", rest)) => {
            for program in rest.values(&["-exec", "-toolexec", "-vettool"]) {
                walk.ask(format!("go runs `{}`", program.text), false);
            }
            walk.find(Tier::WriteLocal, "it builds or tests", false);
        }
        Some(("generate", _)) => walk.find(Tier::WriteLocal, "it runs generators", false),
        _ => walk.find(Tier::WriteLocal, "it builds or tests", false),
    }
}

fn dotnet(walk: &mut Walk<'_>, args: Args<'_>) {
    let words: Vec<&str> = args
        .operands(&[])
        .iter()
        .map(|word| word.as_str())
        .collect();
    match words.as_slice() {
        ["tool", "install" | "uninstall" | "update" | "restore", ..]
        | ["workload", "install" | "update" | "uninstall", ..]
        | ["add" | "remove", _, "package", ..]
        | ["add" | "remove", "package", ..] => walk.ask("it changes what is installed", true),
        ["nuget", "push" | "delete", ..] => walk.ask("it publishes", true),
        ["ef", "database", "drop", ..] => walk.ask("it drops a database", false),
        ["user-secrets", "set" | "remove" | "clear", ..] | ["dev-certs", ..] => {
            walk.ask("it changes stored credentials", false);
        }
        _ => walk.find(Tier::WriteLocal, "it builds or tests", false),
    }
}

/// `deno eval TEXT`: asks when the text runs or deletes something.
fn evaluates(walk: &mut Walk<'_>, args: Args<'_>, state: &State) -> bool {
    let Some(language) = bodies::language_of("node") else {
        return false;
    };
    let text = args.operands(&["--ext"]);
    let reason = text.first().and_then(|body| {
        let removes = body.text.contains("Deno.remove") && body.text.contains("recursive");
        let runs = body.text.contains("Deno.Command") || body.text.contains("Deno.run");
        bodies::judge(walk, language, &body.text, state)
            .or_else(|| (removes || runs).then(|| "the text runs or removes something".to_owned()))
    });
    let asks = reason.is_some();
    if let Some(reason) = reason {
        walk.ask(reason, false);
    }
    asks
}
