//! gh and its kin: what they change on the forge.

use butler_protocol::Tier;

use super::super::super::{args::Args, state::Output, walk::Walk};

/// Judges a command of gh or its kin.
pub(super) fn judge(walk: &mut Walk<'_>, args: Args<'_>) -> Output {
    let Some((group, rest)) = args.subcommand(&["-R", "--repo"]) else {
        return Output::Unknown;
    };
    let verb = rest
        .subcommand(&["-R", "--repo"])
        .map_or("", |(verb, _)| verb);
    let reads = [
        "view", "list", "status", "checks", "diff", "ls", "search", "get", "download", "watch",
        "browse", "",
    ];
    match (group, verb) {
        ("auth", "status" | "token") => {}
        ("auth", _) => walk.ask("it changes stored credentials", true),
        (
            "secret" | "variable" | "ssh-key" | "gpg-key" | "token",
            "set" | "add" | "delete" | "remove",
        ) => {
            walk.ask("it changes stored credentials", true);
        }
        ("release", "create" | "upload" | "delete" | "edit" | "delete-asset") => {
            walk.ask("it publishes or changes a release", true);
        }
        (
            "repo",
            "delete" | "archive" | "rename" | "edit" | "create" | "transfer" | "deploy-key"
            | "sync",
        ) => {
            walk.ask("it changes the repository on the forge", true);
        }
        ("pr" | "mr", "merge") => walk.ask("a merge needs a person's word", true),
        (_, "delete" | "remove" | "transfer") => walk.ask("it deletes on the forge", true),
        ("workflow", "run") => {
            let named = rest.iter().any(|word| {
                super::super::script_name(&format!(
                    "./{}",
                    word.text.trim_end_matches(".yml").trim_end_matches(".yaml")
                ))
                .is_some()
            });
            if named {
                walk.ask("it starts a deployment", true);
            }
            walk.find(Tier::WriteVisible, "it starts a workflow", true);
        }
        ("workflow", "disable" | "enable") => {
            walk.ask("it changes the repository on the forge", true);
        }
        ("api", _) => {
            let method = rest.values(&["-X", "--method"]);
            let method = method
                .first()
                .map_or("", |text| text.text.as_str())
                .to_uppercase();
            let mutation = rest.iter().any(|word| {
                let text = word.text.to_lowercase();
                text.contains("mutation") && text.contains("delete")
            });
            if method == "DELETE" || mutation {
                walk.ask("it deletes on the forge", true);
            } else if matches!(method.as_str(), "POST" | "PUT" | "PATCH")
                || rest.iter().any(|word| {
                    matches!(
                        word.as_str(),
                        "-f" | "-F" | "--field" | "--raw-field" | "--input"
                    )
                }) && method != "GET"
            {
                walk.find(Tier::WriteVisible, "it writes on the forge", true);
            }
        }
        ("extension", "install" | "upgrade") => walk.ask("it installs an extension", true),
        ("alias", "set" | "import") => walk.ask("it defines a command", false),
        ("config", "set") => walk.ask("it changes settings of the machine", false),
        ("codespace", verb) if !reads.contains(&verb) => {
            walk.ask("it changes a remote machine", true);
        }
        (_, verb) if reads.contains(&verb) => {}
        _ => walk.find(Tier::WriteVisible, "it writes on the forge", true),
    }
    Output::Unknown
}
