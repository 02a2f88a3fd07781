//! Programs that are known by their verbs alone: a few that look, or a few that
//! publish, install or remove.

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    args::Args,
    simple::Call,
    state::{Output, State},
};

/// Everything but these verbs changes remote or shared things.
const LOOKERS: &[(&[&str], &[&str])] = &[
    (&["s3cmd"], &["ls", "la", "info", "du", "get", "multipart"]),
    (&["s5cmd"], &["ls", "cat", "du", "head", "version"]),
    (
        &["mc"],
        &[
            "ls", "cat", "head", "stat", "du", "find", "diff", "tree", "ping", "version",
        ],
    ),
    (
        &["crane", "gcrane"],
        &[
            "digest", "manifest", "ls", "config", "catalog", "export", "pull", "validate",
            "version", "blob",
        ],
    ),
    (
        &["oras"],
        &["pull", "discover", "resolve", "version", "manifest", "repo"],
    ),
    (
        &["cdktf"],
        &[
            "synth", "diff", "list", "get", "init", "output", "debug", "provider", "convert",
        ],
    ),
    (
        &["tilt"],
        &[
            "version",
            "doctor",
            "get",
            "describe",
            "logs",
            "alpha",
            "analytics",
            "explain",
        ],
    ),
    (
        &["virsh"],
        &[
            "list",
            "dominfo",
            "dumpxml",
            "domstate",
            "version",
            "capabilities",
            "net-list",
            "pool-list",
            "vol-list",
            "nodeinfo",
            "uri",
            "domblklist",
            "domiflist",
        ],
    ),
    (&["limactl"], &["list", "ls", "info", "validate"]),
    (
        &["VBoxManage", "vboxmanage"],
        &["list", "showvminfo", "showhdinfo"],
    ),
    (&["qm", "pct"], &["list", "status", "config", "showcmd"]),
    (
        &["tmutil"],
        &[
            "listbackups",
            "status",
            "version",
            "destinationinfo",
            "latestbackup",
        ],
    ),
    (&["reg"], &["query", "compare"]),
    (&["bcdedit"], &["/enum"]),
    (
        &["pre-commit"],
        &[
            "run",
            "sample-config",
            "validate-config",
            "validate-manifest",
            "try-repo",
            "help",
            "hazmat",
        ],
    ),
    (
        &["husky", "lefthook"],
        &["run", "dump", "version", "validate", "check-install"],
    ),
];

/// Only these verbs ask.
const DOERS: &[(&[&str], &[&str])] = &[
    (&["jsr"], &["publish", "add", "install", "remove"]),
    (&["wasm-pack"], &["publish", "login"]),
    (
        &["snapcraft"],
        &["upload", "push", "release", "promote", "login", "close"],
    ),
    (&["anaconda"], &["upload", "remove", "login", "move"]),
    (&["tea"], &["release", "releases", "login", "logout"]),
    (
        &["ko"],
        &["build", "publish", "apply", "create", "delete", "run"],
    ),
    (&["raco"], &["pkg"]),
    (
        &["pixi"],
        &[
            "add",
            "remove",
            "install",
            "update",
            "upgrade",
            "global",
            "self-update",
        ],
    ),
    (&["carthage"], &["update", "bootstrap", "checkout"]),
    (&["playwright"], &["install", "install-deps", "uninstall"]),
    (&["lima"], &["rm", "sudo"]),
    (&["dep"], &["deploy"]),
];

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    _state: &mut State,
) -> Option<Output> {
    let args = call.args;
    let verb = args.subcommand(&[]).map_or("", |(verb, _)| verb);
    let quiet = verb.is_empty() || args.any(&["--help", "--version", "--dry-run", "--local"]);
    if let Some((_, looks)) = LOOKERS.iter().find(|(names, _)| names.contains(&call.name)) {
        analyzer.find(Tier::WriteLocal, "it runs a program", false);
        if !quiet && !looks.contains(&verb) {
            analyzer.ask(
                format!("`{} {verb}` changes more than files here", call.name),
                true,
            );
        }
        return Some(Output::Unknown);
    }
    if let Some((_, does)) = DOERS.iter().find(|(names, _)| names.contains(&call.name)) {
        analyzer.find(Tier::WriteLocal, "it runs a program", false);
        if !quiet && does.contains(&verb) {
            analyzer.ask(
                format!("`{} {verb}` publishes or installs", call.name),
                true,
            );
        }
        return Some(Output::Unknown);
    }
    let reason = flagged(call.name, args, verb)?;
    analyzer.find(Tier::WriteLocal, "it runs a program", false);
    analyzer.ask(reason, false);
    Some(Output::Unknown)
}

/// Programs that ask by a flag or two words.
fn flagged(name: &str, args: Args<'_>, verb: &str) -> Option<&'static str> {
    let starts = |start: &str| args.iter().any(|word| word.text.starts_with(start));
    let asks = match name {
        "gio" => args.any(&["--empty"]) || verb == "remove",
        "trash-empty" | "trash-cli" | "trash-rm" => !args.any(&["--help", "--version"]),
        "journalctl" => starts("--vacuum") || args.any(&["--rotate", "--flush"]),
        "networksetup" => ["-set", "-remove", "-create", "-delete", "-add"]
            .iter()
            .any(|start| starts(start)),
        "iptables-restore" | "ip6tables-restore" | "aa-teardown" => true,
        "emerge" => !args.any(&["-p", "--pretend", "-s", "--search", "--info", "--version"]),
        "code" | "codium" | "code-insiders" => {
            starts("--install-extension") || starts("--uninstall-extension")
        }
        "wsl" | "wsl.exe" => starts("--unregister") || starts("--install"),
        "electron-builder" => args
            .values(&["--publish", "-p"])
            .iter()
            .any(|when| when.text != "never"),
        "java" => starts("-XX:OnError") || starts("-XX:OnOutOfMemoryError"),
        "flask" => verb == "db" && args.any(&["downgrade"]),
        "tox" => args
            .values(&["-e"])
            .iter()
            .any(|name| matches!(name.as_str(), "release" | "publish" | "deploy" | "upload")),
        "swift" => verb == "package-registry" && args.any(&["publish", "login", "logout"]),
        _ => return None,
    };
    asks.then_some("it installs, publishes or removes")
}

/// `program verb --help`: only a look. The flag stands last, behind nothing but
/// the names of subcommands, so that it is not some inner command's own.
pub(super) fn asks_for_help(call: &Call<'_>) -> bool {
    const GROUPS: [&str; 16] = [
        "compose",
        "image",
        "container",
        "network",
        "volume",
        "system",
        "context",
        "buildx",
        "builder",
        "service",
        "stack",
        "secret",
        "config",
        "rollout",
        "state",
        "workspace",
    ];
    let Some((last, before)) = call.args.0.split_last() else {
        return false;
    };
    let help = match call.name {
        "aws" => matches!(last.as_str(), "help"),
        _ => matches!(last.as_str(), "--help" | "-help"),
    };
    let name = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'3')
    };
    let plain = before
        .iter()
        .all(|word| word.exact && !word.text.starts_with('-') && name(&word.text));
    let most = match call.name {
        "gcloud" | "az" | "aws" | "gh" => 4,
        _ if before
            .first()
            .is_some_and(|word| GROUPS.contains(&word.as_str())) =>
        {
            2
        }
        _ => 1,
    };
    help && plain && before.len() <= most
}
