//! Scripts and run-targets by their names: what is called deploy, deploys.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("targets", run_targets),
    ("makefiles", |analyzer, call, state| {
        analyzer.makefiles(call, state);
        None
    }),
    ("scripts", script_runner),
    ("composer-script", |analyzer, call, _| {
        if let Some(("run" | "run-script", rest)) = call.args.subcommand(&[])
            && let Some(name) = rest.get(0)
        {
            target(analyzer, name, true);
        }
        None
    }),
    ("each-script", |analyzer, call, _| {
        for word in call.args.operands(&[]) {
            target(analyzer, &word.text, true);
        }
        None
    }),
    ("each-target", |analyzer, call, _| {
        for word in call.args.iter() {
            target(analyzer, &word.text, false);
        }
        None
    }),
    ("java-goals", java_goals),
];

fn is_quiet(word: &str) -> bool {
    table().has("quiet", word)
}

fn is_test(word: &str) -> bool {
    table().has("tests", word)
}

/// Why a script of this name asks, if it does.
pub(in super::super) fn script_name(path: &str) -> Option<String> {
    let name = basename(path);
    let stem = match name.rsplit_once('.') {
        Some((stem, ending)) if table().has("script-endings", ending) => stem,
        _ => name,
    };
    let runs = path.contains('/') || stem != name;
    let loud = (runs || table().has("loud", name)) && is_loud(stem);
    (loud || runs && stem == "release").then(|| format!("`{name}` is named for a deployment"))
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
    let words = parts(&spaced);
    let Some(loud) = words.iter().position(|word| table().has("loud", word)) else {
        return false;
    };
    // `deploy:docs` deploys the documents; `test:deploy` tests the deployment.
    loud == 0 && !words.get(1).is_some_and(|next| is_test(next))
        || !words.iter().any(|word| is_quiet(word))
        || matches!(words[0], "docs" | "doc") && words.len() == 2
}

fn parts(name: &str) -> Vec<&str> {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.filter(|word| !word.is_empty()).collect()
}

/// Whether a target of make says that it sends or destroys something.
fn sends(name: &str) -> bool {
    let words = parts(name);
    let any = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    let applies = any(&["terraform", "tf", "helm", "k8s", "kubectl", "pulumi"])
        && any(&["apply", "upgrade", "install", "uninstall", "delete"]);
    !words.iter().any(|word| is_quiet(word))
        && (name == "release" || applies || any(&["push", "destroy", "upload"]))
}

/// A run-target asks by its name. `release` does so only where it cannot be the
/// name of an optimised build.
fn target(analyzer: &mut Analyzer<'_>, name: &str, release: bool) {
    let behind = name.strip_prefix("release:");
    let releases =
        name == "release" || behind.is_some_and(|rest| !rest.split([':', '-', '_']).any(is_test));
    let drops = |drop: &&str| name == *drop || name.ends_with(&format!(":{drop}"));
    if is_loud(name) || release && releases {
        analyzer.ask_online(format!("the target `{name}` is named for a deployment"));
    } else if table().list("drops").iter().any(drops) {
        analyzer.ask(format!("the target `{name}` drops a database"));
    }
}

fn run_targets(analyzer: &mut Analyzer<'_>, call: &Call<'_>, _: &mut State) -> Option<Output> {
    let (args, takes) = (call.args, table().list("target-flags"));
    let is = |names: &[&str]| names.contains(&call.name);
    let make = is(&["make", "gmake", "bmake"]);
    let dry = (make || is(&["ninja", "just", "rake"]))
        && (args.short('n') || args.has("--dry-run") || args.has("--just-print"));
    let verb = args.subcommand(takes).map(|(verb, _)| verb);
    for word in args.operands(takes) {
        let name = word.as_str();
        if let Some((name, value)) = name.split_once('=') {
            if matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKE" | "CC" | "CXX")
                && (value.contains([' ', ';', '|']) || name.contains("SHELL"))
            {
                analyzer.ask(format!("`{name}=` decides what make runs"));
            }
            continue;
        }
        // A test of a deployment, or a build of one, is none.
        let looks = match call.name {
            "bazel" | "bazelisk" => !matches!(verb, Some("run" | "mobile-install")),
            // `nx target project`
            "nx" => verb.is_some_and(|verb| verb != name && is_quiet(verb)),
            _ => false,
        };
        if dry || looks {
            continue;
        }
        if (make || is(&["just", "rake", "task", "go-task"])) && sends(name) {
            analyzer.ask_online(format!("the target `{name}` is named for a release"));
        }
        target(analyzer, name, false);
        let installs = matches!(name, "install" | "uninstall") || name.starts_with("install-");
        if installs && (make || is(&["ninja", "just", "scons"])) {
            analyzer.ask(format!("`{} {name}` installs", call.name));
        }
    }
    None
}

/// `npm run x`, `yarn x`, `pnpm x`.
fn script_runner(analyzer: &mut Analyzer<'_>, call: &Call<'_>, _: &mut State) -> Option<Output> {
    let takes = call.takes();
    let (first, rest) = call.args.subcommand(takes)?;
    if call.args.has("--help") {
        return None;
    }
    let name = match first {
        "run" | "run-script" | "rum" | "urn" => rest.operands(takes).first()?.as_str(),
        "workspace" => rest.get(1)?,
        _ if call.name != "npm" => first,
        _ => return None,
    };
    target(analyzer, name, true);
    None
}

fn java_goals(analyzer: &mut Analyzer<'_>, call: &Call<'_>, _: &mut State) -> Option<Output> {
    const PUBLISH: [&str; 3] = ["deploy", "flywayClean", "bootBuildImage"];
    const WHOLE: [&str; 2] = ["flyway:clean", "liquibase:dropAll"];
    for word in call.args.operands(call.takes()) {
        let goal = word.text.rsplit(':').next().unwrap_or_default();
        let stays = goal.ends_with("ToMavenLocal");
        let publishes = PUBLISH.contains(&goal)
            || WHOLE.contains(&word.as_str())
            || word.text.starts_with("release:")
            || goal.starts_with("upload")
            || (goal.starts_with("publish") || is_loud(goal)) && !stays;
        if publishes {
            analyzer.ask_online(format!("`{}` publishes or deploys", word.text));
        }
    }
    None
}
