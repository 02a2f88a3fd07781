//! Package managers: installing, adding, removing, publishing.

use butler_vocab::Tier;

use super::super::{
    args::Args,
    simple::Call,
    state::{Output, State},
    walk::Walk,
};

/// A package manager: subcommands that change what is installed, that publish,
/// and that touch credentials. Everything else is a build or a look.
struct Manager {
    names: &'static [&'static str],
    changes: &'static [&'static str],
    publishes: &'static [&'static str],
    /// Flags before the subcommand that take a value.
    with_value: &'static [&'static str],
}

const fn manager(
    names: &'static [&'static str],
    changes: &'static [&'static str],
    publishes: &'static [&'static str],
    with_value: &'static [&'static str],
) -> Manager {
    Manager {
        names,
        changes,
        publishes,
        with_value,
    }
}

const NODE_FLAGS: &[&str] = &[
    "--prefix",
    "-w",
    "--workspace",
    "--filter",
    "-F",
    "--cwd",
    "-C",
    "--dir",
    "--loglevel",
    "--registry",
];

const MANAGERS: &[Manager] = &[
    manager(
        &["npm"],
        &[
            "install",
            "i",
            "in",
            "ins",
            "inst",
            "insta",
            "instal",
            "isnt",
            "isntall",
            "add",
            "ci",
            "clean-install",
            "install-test",
            "it",
            "install-ci-test",
            "cit",
            "uninstall",
            "un",
            "unlink",
            "remove",
            "rm",
            "r",
            "update",
            "up",
            "upgrade",
            "udpate",
            "link",
            "ln",
            "prune",
            "dedupe",
            "set",
            "install-clean",
        ],
        &[
            "publish",
            "unpublish",
            "deprecate",
            "dist-tag",
            "owner",
            "access",
            "team",
            "star",
            "hook",
            "org",
            "profile",
            "token",
            "login",
            "logout",
            "adduser",
            "add-user",
            "trust",
        ],
        NODE_FLAGS,
    ),
    manager(
        &["pnpm"],
        &[
            "install",
            "i",
            "add",
            "remove",
            "rm",
            "uninstall",
            "un",
            "update",
            "up",
            "upgrade",
            "link",
            "ln",
            "unlink",
            "prune",
            "import",
            "fetch",
            "install-test",
            "it",
            "env",
            "self-update",
            "setup",
            "approve-builds",
            "patch-commit",
        ],
        &["publish", "login", "logout", "deploy"],
        NODE_FLAGS,
    ),
    manager(
        &["yarn"],
        &[
            "install",
            "add",
            "remove",
            "upgrade",
            "up",
            "upgrade-interactive",
            "link",
            "unlink",
            "global",
            "import",
            "set",
            "plugin",
            "autoclean",
        ],
        &["publish", "login", "logout", "owner", "tag", "team", "npm"],
        NODE_FLAGS,
    ),
    manager(
        &["bun"],
        &[
            "install", "i", "add", "remove", "rm", "update", "upgrade", "link", "unlink", "patch",
        ],
        &["publish"],
        NODE_FLAGS,
    ),
    manager(
        &["pip", "pip2", "pip3"],
        &["install", "uninstall"],
        &[],
        &["--proxy", "--log", "--python"],
    ),
    manager(
        &["pipx"],
        &[
            "install",
            "uninstall",
            "upgrade",
            "upgrade-all",
            "inject",
            "uninject",
            "reinstall",
            "reinstall-all",
            "uninstall-all",
            "ensurepath",
        ],
        &[],
        &[],
    ),
    manager(
        &["pipenv"],
        &["install", "uninstall", "update", "sync", "clean", "upgrade"],
        &[],
        &[],
    ),
    manager(
        &["uv"],
        &["add", "remove", "sync", "self"],
        &["publish"],
        &["--directory", "--project"],
    ),
    manager(
        &["poetry"],
        &["install", "add", "remove", "update", "sync", "self"],
        &["publish"],
        &["-C", "--directory"],
    ),
    manager(
        &["pdm"],
        &["install", "add", "remove", "update", "sync", "self", "use"],
        &["publish"],
        &[],
    ),
    manager(&["hatch"], &["self", "python"], &["publish"], &[]),
    manager(
        &["rye"],
        &[
            "add",
            "remove",
            "sync",
            "install",
            "uninstall",
            "self",
            "toolchain",
        ],
        &["publish"],
        &[],
    ),
    manager(
        &["conda", "mamba", "micromamba"],
        &[
            "install",
            "remove",
            "uninstall",
            "update",
            "upgrade",
            "create",
            "clean",
            "env",
            "init",
        ],
        &[],
        &[],
    ),
    manager(
        &["gem"],
        &["install", "uninstall", "update", "cleanup", "pristine", "i"],
        &["push", "yank", "owner", "signin", "signout"],
        &[],
    ),
    manager(
        &["bundle", "bundler"],
        &[
            "install", "add", "remove", "update", "clean", "cache", "package", "",
        ],
        &["release"],
        &["--gemfile"],
    ),
    manager(
        &["composer"],
        &[
            "install",
            "require",
            "remove",
            "update",
            "upgrade",
            "global",
            "create-project",
            "reinstall",
            "self-update",
            "i",
            "u",
            "r",
        ],
        &[],
        &["-d", "--working-dir"],
    ),
    manager(
        &["cargo"],
        &[
            "install",
            "uninstall",
            "add",
            "remove",
            "rm",
            "binstall",
            "upgrade",
        ],
        &["publish", "yank", "owner", "login", "logout", "release"],
        &["--color", "--config", "-Z", "-C", "--manifest-path"],
    ),
    manager(
        &["rustup"],
        &[
            "install",
            "update",
            "default",
            "toolchain",
            "target",
            "component",
            "self",
            "override",
            "set",
            "uninstall",
            "upgrade",
        ],
        &[],
        &[],
    ),
    manager(
        &["nvm", "fnm", "volta", "n"],
        &[
            "install",
            "uninstall",
            "i",
            "pin",
            "alias",
            "reinstall-packages",
        ],
        &[],
        &[],
    ),
    manager(
        &[
            "pyenv", "rbenv", "nodenv", "goenv", "asdf", "mise", "sdk", "jenv", "tfenv",
            "tfswitch", "ghcup", "proto", "pkgx", "juliaup",
        ],
        &[
            "install",
            "uninstall",
            "update",
            "plugin",
            "upgrade",
            "global",
            "use",
            "add",
            "remove",
            "rm",
        ],
        &[],
        &[],
    ),
    manager(
        &[
            "apt",
            "apt-get",
            "aptitude",
            "dnf",
            "yum",
            "microdnf",
            "zypper",
            "apk",
            "pkg",
            "xbps-install",
            "eopkg",
            "swupd",
            "urpmi",
            "tdnf",
        ],
        &[
            "install",
            "remove",
            "purge",
            "update",
            "upgrade",
            "dist-upgrade",
            "full-upgrade",
            "autoremove",
            "reinstall",
            "add",
            "del",
            "erase",
            "localinstall",
            "groupinstall",
            "in",
            "rm",
            "up",
            "build-dep",
            "clean",
            "autoclean",
            "fix",
            "delete",
            "swap",
            "downgrade",
            "module",
            "config-manager",
            "distro-sync",
            "source",
            "refresh",
            "addrepo",
            "ar",
        ],
        &[],
        &["-o", "-c", "-t", "--option"],
    ),
    manager(
        &["brew", "port"],
        &[
            "install",
            "uninstall",
            "remove",
            "rm",
            "upgrade",
            "update",
            "reinstall",
            "tap",
            "untap",
            "link",
            "unlink",
            "cleanup",
            "autoremove",
            "services",
            "pin",
            "bundle",
            "selfupdate",
            "activate",
            "deactivate",
            "postinstall",
        ],
        &[],
        &[],
    ),
    manager(
        &["snap", "flatpak"],
        &[
            "install",
            "remove",
            "uninstall",
            "update",
            "refresh",
            "revert",
            "connect",
            "disconnect",
            "override",
            "repair",
            "remote-add",
        ],
        &["upload"],
        &[],
    ),
    manager(
        &["choco", "winget", "scoop"],
        &["install", "uninstall", "upgrade", "update", "add", "remove"],
        &["push"],
        &[],
    ),
    manager(
        &["cpanm", "cpan", "pecl", "pear"],
        &["", "install", "upgrade", "uninstall"],
        &[],
        &[],
    ),
    manager(
        &["luarocks"],
        &["install", "remove", "make", "build", "purge"],
        &["upload"],
        &[],
    ),
    manager(
        &["opam"],
        &[
            "install",
            "remove",
            "update",
            "upgrade",
            "switch",
            "pin",
            "reinstall",
            "init",
        ],
        &[],
        &[],
    ),
    manager(
        &["stack"],
        &["install", "setup", "upgrade"],
        &["upload"],
        &[],
    ),
    manager(&["cabal"], &["install", "update"], &["upload"], &[]),
    manager(
        &["nuget"],
        &["install", "update", "restore-tools"],
        &["push", "delete", "setapikey"],
        &[],
    ),
    manager(
        &["vcpkg", "conan", "spack", "hunter"],
        &["install", "remove", "uninstall", "upgrade"],
        &["upload"],
        &[],
    ),
    manager(
        &[
            "helm-plugin",
            "krew",
            "tlmgr",
            "mas",
            "guix",
            "nimble",
            "shards",
            "gup",
            "eget",
            "cask",
            "dep",
            "glide",
            "jspm",
            "bower",
            "typings",
            "tsd",
            "ansible-galaxy",
            "code-server",
        ],
        &["install", "remove", "uninstall", "update", "upgrade", "add"],
        &["publish"],
        &[],
    ),
    manager(
        &["mix"],
        &[
            "deps.get",
            "deps.update",
            "local.hex",
            "local.rebar",
            "archive.install",
            "escript.install",
            "deps.clean",
        ],
        &["hex.publish", "hex.user"],
        &[],
    ),
    manager(&["swift"], &[], &[], &[]),
    manager(
        &["pod"],
        &["install", "update", "deintegrate"],
        &["trunk"],
        &[],
    ),
    manager(&["go-install"], &["install"], &[], &[]),
];

pub(super) fn judge(walk: &mut Walk<'_>, call: &Call<'_>, _state: &mut State) -> Option<Output> {
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
            managed(walk, call, manager);
        }
    }
    Some(Output::Unknown)
}

fn managed(walk: &mut Walk<'_>, call: &Call<'_>, manager: &Manager) {
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
    super::named::targets(walk, call);
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
