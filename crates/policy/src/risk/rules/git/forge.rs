//! gh and its kin: what they change on the forge.

use butler_protocol::Tier;

use super::super::super::{analyzer::Analyzer, args::Args, state::Output};

/// Judges a command of gh or its kin.
pub(super) fn judge(analyzer: &mut Analyzer<'_>, args: Args<'_>) -> Output {
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
        ("auth", _) => analyzer.ask("it changes stored credentials", true),
        (
            "secret" | "variable" | "ssh-key" | "gpg-key" | "token",
            "set" | "add" | "delete" | "remove",
        ) => {
            analyzer.ask("it changes stored credentials", true);
        }
        ("release", "create" | "upload" | "delete" | "edit" | "delete-asset") => {
            analyzer.ask("it publishes or changes a release", true);
        }
        (
            "repo",
            "delete" | "archive" | "rename" | "edit" | "create" | "transfer" | "deploy-key"
            | "sync",
        ) => {
            analyzer.ask("it changes the repository on the forge", true);
        }
        ("pr" | "mr", "merge") => analyzer.ask("a merge needs a person's word", true),
        (_, "delete" | "remove" | "transfer") => analyzer.ask("it deletes on the forge", true),
        ("workflow", "run") => {
            let named = rest.iter().any(|word| {
                super::super::script_name(&format!(
                    "./{}",
                    word.text.trim_end_matches(".yml").trim_end_matches(".yaml")
                ))
                .is_some()
            });
            if named {
                analyzer.ask("it starts a deployment", true);
            }
            analyzer.find(Tier::WriteVisible, "it starts a workflow", true);
        }
        ("workflow", "disable" | "enable") => {
            analyzer.ask("it changes the repository on the forge", true);
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
                analyzer.ask("it deletes on the forge", true);
            } else if matches!(method.as_str(), "POST" | "PUT" | "PATCH")
                || rest.iter().any(|word| {
                    matches!(
                        word.as_str(),
                        "-f" | "-F" | "--field" | "--raw-field" | "--input"
                    )
                }) && method != "GET"
            {
                analyzer.find(Tier::WriteVisible, "it writes on the forge", true);
            }
        }
        ("extension", "install" | "upgrade") => analyzer.ask("it installs an extension", true),
        ("alias", "set" | "import") => analyzer.ask("it defines a command", false),
        ("config", "set") => analyzer.ask("it changes settings of the machine", false),
        ("codespace", verb) if !reads.contains(&verb) => {
            analyzer.ask("it changes a remote machine", true);
        }
        (_, verb) if reads.contains(&verb) => {}
        _ => analyzer.find(Tier::WriteVisible, "it writes on the forge", true),
    }
    Output::Unknown
}
