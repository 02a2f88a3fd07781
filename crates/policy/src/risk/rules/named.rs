//! Scripts and run-targets by their names: what is called deploy, deploys.

use butler_protocol::Tier;

use super::{
    super::{
        analyzer::Analyzer,
        args::{Args, basename},
        simple::Call,
        state::State,
    },
    cmake, consoles,
};

/// Words in a name that say it changes the world.
const LOUD: [&str; 8] = [
    "deploy",
    "undeploy",
    "redeploy",
    "publish",
    "unpublish",
    "rollout",
    "deployment",
    "teardown",
];

/// Words in a name that say it only looks or prepares.
const QUIET: [&str; 31] = [
    "test",
    "tests",
    "spec",
    "specs",
    "lint",
    "check",
    "checks",
    "verify",
    "validate",
    "format",
    "fmt",
    "build",
    "gen",
    "generate",
    "render",
    "show",
    "print",
    "list",
    "dry",
    "dryrun",
    "mock",
    "fake",
    "unit",
    "e2e",
    "typecheck",
    "types",
    "docs",
    "doc",
    "help",
    "status",
    "logs",
];

/// Names of tasks that drop or empty a database.
const DROPS: [&str; 14] = [
    "db:drop",
    "db:reset",
    "db:purge",
    "db:wipe",
    "db:nuke",
    "migrate:reset",
    "migrate:fresh",
    "drop-db",
    "reset-db",
    "db-drop",
    "db-reset",
    "database:drop",
    "schema:drop",
    "ecto.drop",
];

/// Why a script of this name asks, if it does.
pub(in super::super) fn script_name(path: &str) -> Option<String> {
    let name = basename(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, extension)| {
        let script = matches!(
            extension,
            "sh" | "bash"
                | "zsh"
                | "py"
                | "js"
                | "mjs"
                | "cjs"
                | "ts"
                | "rb"
                | "pl"
                | "php"
                | "ps1"
        );
        if script { stem } else { name }
    });
    let runs = path.contains('/') || stem != name || LOUD.contains(&name);
    let release = stem == "release" && (path.contains('/') || stem != name);
    (runs && (is_loud(stem) || release)).then(|| format!("`{name}` is named for a deployment"))
}

/// Whether a name says deploy and does not say test. Words are split at signs
/// and at capitals.
fn is_loud(name: &str) -> bool {
    let mut spaced = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            spaced.push(' ');
        }
        spaced.push(c.to_ascii_lowercase());
    }
    let words: Vec<&str> = spaced
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let loud = words.iter().position(|word| LOUD.contains(word));
    let Some(loud) = loud else { return false };
    // `deploy:docs` deploys the documents; `test:deploy` tests the deployment.
    loud == 0 && !words.get(1).is_some_and(|next| is_test(next))
        || !words.iter().any(|word| QUIET.contains(word))
        || matches!(words[0], "docs" | "doc") && words.len() == 2
}

fn is_test(word: &str) -> bool {
    matches!(
        word,
        "test"
            | "tests"
            | "spec"
            | "check"
            | "dry"
            | "dryrun"
            | "lint"
            | "help"
            | "status"
            | "logs"
    )
}

fn is_quiet(word: &str) -> bool {
    QUIET.contains(&word)
}

/// Whether a target of make says that it sends or destroys something.
fn sends(name: &str) -> bool {
    let words: Vec<&str> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let any = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    let applies = any(&["terraform", "tf", "helm", "k8s", "kubectl", "pulumi"])
        && any(&["apply", "upgrade", "install", "uninstall", "delete"]);
    !words.iter().any(|word| is_quiet(word))
        && (name == "release" || applies || any(&["push", "destroy", "upload"]))
}

/// A run-target asks by its name. `release` does so only where it cannot be the
/// name of an optimised build.
fn target(analyzer: &mut Analyzer<'_>, name: &str, release: bool) {
    let releases = name == "release"
        || name
            .strip_prefix("release:")
            .is_some_and(|rest| !rest.split([':', '-', '_']).any(is_test));
    if is_loud(name) || (release && releases) {
        analyzer.ask(
            format!("the target `{name}` is named for a deployment"),
            true,
        );
    } else if DROPS
        .iter()
        .any(|drop| name == *drop || name.ends_with(&format!(":{drop}")))
    {
        analyzer.ask(format!("the target `{name}` drops a database"), false);
    }
}

/// Targets of task runners.
pub(super) fn targets(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &State) {
    let args = call.args;
    match call.name {
        "make" | "gmake" | "bmake" | "ninja" | "mage" | "just" | "task" | "go-task" | "rake"
        | "invoke" | "inv" | "fab" | "nox" | "grunt" | "gulp" | "ant" | "sbt" | "lein" | "nx"
        | "turbo" | "earthly" | "bazel" | "bazelisk" | "cap" | "poe" | "doit" | "wp" | "rails"
        | "mix" | "scons" => {
            run_targets(analyzer, call);
            consoles::judge(analyzer, call.name, args, state);
            if matches!(call.name, "make" | "gmake" | "bmake") {
                analyzer.makefiles(call, state);
            }
        }
        "npm" | "pnpm" | "yarn" | "bun" => script_runner(analyzer, call),
        "run-s" | "run-p" => {
            for word in args.operands(&[]) {
                target(analyzer, &word.text, true);
            }
        }
        "composer" => {
            if let Some(("run" | "run-script", rest)) = args.subcommand(&[])
                && let Some(name) = rest.get(0)
            {
                target(analyzer, name, true);
            }
        }
        "mvn" | "mvnw" | "gradle" | "gradlew" => java_build(analyzer, args),
        "prisma" | "sequelize" | "typeorm" | "knex" | "flyway" | "liquibase" | "diesel"
        | "sqlx" | "alembic" | "artisan" | "sequelize-cli" | "drizzle-kit" | "dbmate" | "goose"
        | "migrate" | "sea-orm-cli" | "hasura" => script_arguments(analyzer, call.name, args),
        "manage.py" | "django-admin" => {
            script_arguments(analyzer, call.name, args);
            consoles::judge(analyzer, call.name, args, state);
        }
        "console" => args
            .iter()
            .for_each(|word| target(analyzer, &word.text, false)),
        "rimraf" | "del-cli" | "del" | "trash" | "rip" => {
            analyzer.ask("it removes recursively", false);
        }
        "semantic-release" | "release-it" | "np" | "lerna" | "changeset" | "goreleaser"
        | "vsce" | "ovsx" | "twine" | "flit" | "jreleaser" | "standard-release" | "gh-pages"
        | "auto" | "cargo-release" => {
            publisher(analyzer, call);
        }
        "cmake" => cmake::judge(analyzer, call, state),
        "meson" if args.get(0) == Some("install") => analyzer.ask("it installs", false),
        _ => {}
    }
}

fn run_targets(analyzer: &mut Analyzer<'_>, call: &Call<'_>) {
    let args = call.args;
    let dry = matches!(
        call.name,
        "make" | "gmake" | "bmake" | "ninja" | "just" | "rake"
    ) && (args.short('n') || args.has("--dry-run") || args.has("--just-print"));
    let with_value = [
        "-C",
        "-f",
        "-j",
        "-o",
        "--file",
        "--directory",
        "-I",
        "-W",
        "-l",
        "--justfile",
        "-d",
        "-t",
    ];
    for word in args.operands(&with_value) {
        if let Some((name, value)) = word.text.split_once('=') {
            if matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKE" | "CC" | "CXX")
                && (value.contains([' ', ';', '|']) || name.contains("SHELL"))
            {
                analyzer.ask(format!("`{name}=` decides what make runs"), false);
            }
            continue;
        }
        if dry {
            continue;
        }
        // A test of a deployment, or a build of one, is none.
        let looks = match call.name {
            "bazel" | "bazelisk" => !matches!(
                args.subcommand(&with_value).map(|(verb, _)| verb),
                Some("run" | "mobile-install")
            ),
            // `nx target project`
            "nx" => args
                .subcommand(&with_value)
                .is_some_and(|(verb, _)| verb != word.text && is_quiet(verb)),
            _ => false,
        };
        if looks {
            continue;
        }
        let plain = matches!(
            call.name,
            "make" | "gmake" | "bmake" | "just" | "rake" | "task" | "go-task"
        );
        if plain && sends(&word.text) {
            analyzer.ask(
                format!("the target `{}` is named for a release", word.text),
                true,
            );
        }
        target(analyzer, &word.text, false);
        let installs = matches!(word.as_str(), "install" | "uninstall")
            || word.text.starts_with("install-") && call.name != "rake";
        if installs
            && matches!(
                call.name,
                "make" | "gmake" | "bmake" | "ninja" | "just" | "scons"
            )
        {
            analyzer.ask(format!("`{} {}` installs", call.name, word.text), false);
        }
    }
    if call.name == "mix" || call.name == "rails" || call.name == "rake" || call.name == "wp" {
        script_arguments(analyzer, call.name, args);
    }
}

/// `npm run x`, `yarn x`, `pnpm x`.
fn script_runner(analyzer: &mut Analyzer<'_>, call: &Call<'_>) {
    let with_value = [
        "--prefix",
        "--workspace",
        "--filter",
        "-F",
        "--cwd",
        "-C",
        "--dir",
        "-w",
    ];
    // pnpm's `-w` takes nothing.
    let with_value = &with_value[..with_value.len() - usize::from(call.name == "pnpm")];
    let Some((first, rest)) = call.args.subcommand(with_value) else {
        return;
    };
    if call.args.has("--help") {
        return;
    }
    let name = match first {
        "run" | "run-script" | "rum" | "urn" => {
            rest.operands(with_value).first().map(|word| word.as_str())
        }
        "workspace" => rest.get(1),
        _ if call.name != "npm" => Some(first),
        _ => None,
    };
    if let Some(name) = name {
        target(analyzer, name, true);
    }
}

fn java_build(analyzer: &mut Analyzer<'_>, args: Args<'_>) {
    for word in args.operands(&["-f", "-p", "-pl", "-P", "-b", "-x", "--file", "-T"]) {
        let goal = word.text.rsplit(':').next().unwrap_or_default();
        let publishes = goal == "deploy"
            || word.text.starts_with("release:")
            || word.text == "deploy:deploy"
            || goal.starts_with("publish") && !goal.ends_with("ToMavenLocal")
            || goal.starts_with("upload")
            || goal == "flywayClean"
            || matches!(word.as_str(), "flyway:clean" | "liquibase:dropAll")
            || goal == "bootBuildImage";
        if publishes || is_loud(goal) && !goal.ends_with("ToMavenLocal") {
            analyzer.ask(format!("`{}` publishes or deploys", word.text), true);
        }
    }
}

fn publisher(analyzer: &mut Analyzer<'_>, call: &Call<'_>) {
    let args = call.args;
    let quiet = args.any(&[
        "--dry-run",
        "-d",
        "--snapshot",
        "--help",
        "--version",
        "-h",
        "check",
        "run",
        "bootstrap",
        "build",
        "ls",
        "list",
        "status",
        "add",
        "version",
        "init",
        "changed",
        "diff",
        "clean",
        "package",
        "--no-publish",
    ]);
    // Its `-d` is the folder that is published.
    let quiet = match call.name {
        "gh-pages" => args.any(&["--help", "--version", "--no-push"]),
        "lerna" if args.get(0) == Some("clean") => false,
        _ => quiet,
    };
    if !quiet {
        analyzer.ask(format!("`{}` publishes or removes", call.name), true);
    }
}

/// Arguments of frameworks' own command scripts.
pub(super) fn script_arguments(analyzer: &mut Analyzer<'_>, script: &str, args: Args<'_>) {
    let has = |words: &[&str]| args.any(words);
    let drops = match script {
        "manage.py" | "django-admin" => {
            has(&["flush", "reset_db", "sqlflush", "clear_cache"])
                || has(&["migrate"]) && has(&["zero"])
        }
        "artisan" => has(&[
            "migrate:fresh",
            "migrate:reset",
            "migrate:refresh",
            "db:wipe",
            "migrate:rollback",
        ]),
        "prisma" => {
            has(&["reset"]) || has(&["push"]) && has(&["--force-reset", "--accept-data-loss"])
        }
        "sequelize" | "sequelize-cli" => has(&["db:drop", "db:migrate:undo:all"]),
        "typeorm" => has(&["schema:drop", "migration:revert"]) || has(&["schema:sync"]),
        "knex" => has(&["migrate:rollback", "migrate:down"]),
        "flyway" => has(&["clean"]),
        "liquibase" => has(&["dropAll", "drop-all", "rollback", "rollbackCount"]),
        "diesel" | "sqlx" => has(&["drop", "reset", "redo"]) || has(&["revert"]),
        "alembic" => has(&["downgrade"]),
        "drizzle-kit" => has(&["drop"]) || has(&["push"]) && has(&["--force"]),
        "hasura" => has(&["clear", "delete", "rollback"]),
        "dbmate" | "goose" | "migrate" | "sea-orm-cli" => {
            has(&["drop", "reset", "down", "fresh", "refresh"])
        }
        "rails" | "rake" | "mix" | "wp" => {
            has(&[
                "db:drop",
                "db:reset",
                "db:purge",
                "db:drop:all",
                "db:schema:load",
                "db:migrate:reset",
                "ecto.drop",
                "ecto.reset",
                "ecto.rollback",
                "hex.publish",
                "db:truncate_all",
            ]) || script == "wp" && has(&["reset", "drop", "delete"])
        }
        "setup.py" => {
            if has(&["install", "develop", "upload", "register"]) {
                analyzer.ask("setup.py installs or publishes", true);
            }
            false
        }
        _ => false,
    };
    if drops {
        analyzer.ask(format!("`{script}` drops or resets a database"), false);
    }
    analyzer.find(Tier::WriteLocal, "it runs a program in the sandbox", false);
}
