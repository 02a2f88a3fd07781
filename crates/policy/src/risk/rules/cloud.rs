//! Containers, clusters, clouds: everything but a look asks.

use butler_protocol::Tier;

use super::{
    super::{
        analyzer::Analyzer,
        args::Args,
        simple::Call,
        state::{Output, State},
    },
    verbs,
};

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    _state: &mut State,
) -> Option<Output> {
    let args = call.args;
    if (args.0.len() == 1 || args.get(0) == Some("help"))
        && args.any(&["--version", "--help", "-h", "version", "help", "-v", "-V"])
        && is_known(call.name)
    {
        return Some(Output::Unknown);
    }
    if verbs::asks_for_help(call) && is_known(call.name) {
        return Some(Output::Unknown);
    }
    let looks = match call.name {
        "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose" | "buildah"
        | "skopeo" | "lxc" | "lxd" | "incus" | "ctr" | "crictl" | "docker-machine" | "kind"
        | "minikube" | "k3d" | "colima" | "vagrant" | "multipass" | "machinectl"
        | "systemd-nspawn" | "runc" | "finch" => container_looks(call.name, args),
        "kubectl" | "oc" | "k" | "microk8s" | "k3s" => kubectl_looks(args),
        "helm" | "helmfile" => {
            looks_at(
                args,
                &[
                    "list", "ls", "status", "get", "history", "show", "search", "template", "lint",
                    "env", "diff", "verify", "inspect",
                ],
            ) || args.has("--dry-run")
                || args.get(0) == Some("repo") && args.get(1) == Some("list")
                || args.any(&["dependency", "dep"]) && args.any(&["list", "build", "update"])
        }
        "terraform" | "tofu" | "terragrunt" | "packer" => terraform_looks(args),
        "pulumi" => {
            looks_at(
                args,
                &[
                    "preview", "about", "whoami", "logs", "console", "schema", "convert",
                ],
            ) || args.get(0) == Some("stack")
                && matches!(
                    args.get(1),
                    None | Some("ls" | "output" | "history" | "graph" | "tag")
                )
                || args.get(0) == Some("config") && matches!(args.get(1), None | Some("get"))
        }
        "aws" | "awslocal" => aws_looks(args),
        "gcloud" | "gsutil" | "az" | "doctl" | "ibmcloud" | "oci" | "linode-cli" | "hcloud"
        | "scw" | "vultr-cli" | "aliyun" | "exo" | "civo" | "ovhcloud" | "yc" => cloud_looks(args),
        "heroku" | "flyctl" | "fly" | "vercel" | "now" | "netlify" | "wrangler" | "firebase"
        | "serverless" | "sls" | "cdk" | "sam" | "eb" | "railway" | "render" | "amplify"
        | "copilot" | "skaffold" | "argocd" | "flux" | "nomad" | "dokku" | "supabase"
        | "planetscale" | "pscale" | "neonctl" | "turso" | "cf" | "up" | "apex" | "zappa"
        | "chalice" | "sst" | "kamal" | "capistrano" | "mina" | "shipit" | "surge" | "expo"
        | "eas" | "fastlane" | "mkdocs" | "mike" | "tanka" | "kustomize" | "kubeseal"
        | "istioctl" | "linkerd" | "velero" | "eksctl" | "kops" | "deployctl" | "modal"
        | "platform" | "clever" | "scalingo" | "gigalixir" | "azd" | "func" | "swa" | "kubeadm"
        | "ecs-cli" | "juju" => platform_looks(call.name, args),
        "ansible" | "ansible-playbook" | "ansible-pull" | "salt" | "salt-call" | "puppet"
        | "chef-client" | "knife" | "cap" => {
            args.any(&[
                "--check",
                "--syntax-check",
                "--list-tasks",
                "--list-hosts",
                "--list-tags",
                "-T",
                "--tasks",
                "-C",
            ]) || args.iter().any(|word| word.text.starts_with("--list"))
        }
        _ => return None,
    };
    if looks {
        analyzer.find(Tier::Read, "", false);
        analyzer.find(Tier::WriteLocal, "it looks at remote machines", true);
    } else {
        analyzer.ask(
            format!("`{}` changes containers, clusters or clouds", call.name),
            true,
        );
    }
    Some(Output::Unknown)
}

fn is_known(name: &str) -> bool {
    matches!(
        name,
        "docker"
            | "podman"
            | "docker-compose"
            | "kubectl"
            | "helm"
            | "terraform"
            | "tofu"
            | "pulumi"
            | "aws"
            | "gcloud"
            | "az"
            | "heroku"
            | "fly"
            | "flyctl"
            | "vercel"
            | "netlify"
            | "wrangler"
            | "firebase"
            | "serverless"
            | "cdk"
            | "sam"
            | "ansible"
            | "ansible-playbook"
            | "minikube"
            | "kind"
            | "vagrant"
    )
}

/// The first operand is one of these.
fn looks_at(args: Args<'_>, verbs: &[&str]) -> bool {
    let with_value = [
        "-n",
        "--namespace",
        "--context",
        "--kubeconfig",
        "--cwd",
        "-C",
        "-s",
        "--stack",
    ];
    args.subcommand(&with_value)
        .is_none_or(|(verb, _)| verbs.contains(&verb))
}

fn container_looks(name: &str, args: Args<'_>) -> bool {
    const LOOKS: [&str; 20] = [
        "ps", "images", "logs", "inspect", "version", "info", "stats", "top", "port", "diff",
        "history", "search", "events", "ls", "list", "config", "status", "df", "show", "get",
    ];
    let with_value = [
        "-H",
        "--host",
        "-c",
        "--context",
        "--config",
        "-l",
        "-f",
        "--file",
        "-p",
        "--project-name",
        "--profile",
        "--env-file",
        "--project-directory",
    ];
    let words: Vec<&str> = args
        .operands(&with_value)
        .iter()
        .map(|word| word.as_str())
        .collect();
    match words.as_slice() {
        [] => true,
        [
            "compose" | "image" | "container" | "network" | "volume" | "system" | "context"
            | "manifest" | "node" | "service" | "stack" | "plugin" | "buildx" | "builder"
            | "machine" | "cluster" | "profile" | "secret" | "swarm" | "trust",
            verb,
            ..,
        ] => {
            LOOKS.contains(verb) || *verb == "images" || *verb == "convert" && words[0] == "compose"
        }
        [_, verb, ..] if name == "ctr" => LOOKS.contains(verb),
        ["get" | "version" | "config", ..] if name == "kind" || name == "k3d" => true,
        ["ip" | "service" | "dashboard" | "status", ..] if name == "minikube" => {
            words[0] != "service"
        }
        ["config", verb, ..] if name == "minikube" => *verb == "view",
        [verb, ..] => LOOKS.contains(verb),
    }
}

fn kubectl_looks(args: Args<'_>) -> bool {
    let with_value = [
        "-n",
        "--namespace",
        "--context",
        "--kubeconfig",
        "-f",
        "-l",
        "--cluster",
        "--user",
        "-o",
    ];
    let words: Vec<&str> = args
        .operands(&with_value)
        .iter()
        .map(|word| word.as_str())
        .collect();
    let dry = args
        .iter()
        .any(|word| word.text.starts_with("--dry-run") && word.text != "--dry-run=none");
    match words.as_slice() {
        [] => true,
        [
            "get" | "describe" | "logs" | "top" | "explain" | "version" | "api-resources"
            | "api-versions" | "cluster-info" | "diff" | "events" | "wait" | "completion"
            | "kustomize" | "options" | "whoami" | "status",
            ..,
        ] => true,
        ["config", verb, ..] => matches!(
            *verb,
            "view" | "current-context" | "get-contexts" | "get-clusters" | "get-users"
        ),
        ["auth", verb, ..] => matches!(*verb, "can-i" | "whoami"),
        ["rollout", verb, ..] => matches!(*verb, "status" | "history"),
        _ => dry,
    }
}

fn terraform_looks(args: Args<'_>) -> bool {
    let words: Vec<&str> = args
        .operands(&[])
        .iter()
        .map(|word| word.as_str())
        .collect();
    match words.as_slice() {
        ["state", verb, ..] => matches!(*verb, "list" | "show" | "pull"),
        ["workspace", verb, ..] => matches!(*verb, "list" | "show" | "select"),
        ["run-all", verb, ..] => matches!(*verb, "plan" | "validate" | "output"),
        [verb, ..] => matches!(
            *verb,
            "plan"
                | "validate"
                | "fmt"
                | "show"
                | "output"
                | "version"
                | "providers"
                | "graph"
                | "init"
                | "get"
                | "console"
                | "test"
                | "metadata"
                | "inspect"
                | "hclfmt"
                | "modules"
        ),
        [] => true,
    }
}

fn aws_looks(args: Args<'_>) -> bool {
    let with_value = [
        "--profile",
        "--region",
        "--output",
        "--query",
        "--endpoint-url",
        "--color",
    ];
    let words: Vec<&str> = args
        .operands(&with_value)
        .iter()
        .map(|word| word.as_str())
        .collect();
    let reads = |verb: &str| {
        [
            "describe-",
            "list-",
            "get-",
            "head-",
            "batch-get-",
            "search-",
            "lookup-",
            "estimate-",
            "test-",
            "validate-",
            "scan",
            "query",
            "filter-",
            "view-",
            "simulate-",
        ]
        .iter()
        .any(|start| verb.starts_with(start))
            || matches!(verb, "ls" | "help" | "wait" | "tail" | "presign")
    };
    match words.as_slice() {
        ["s3", "cp" | "sync", from, to, ..] => {
            from.starts_with("s3://") && !to.starts_with("s3://") && !args.has("--delete")
                || args.any(&["--dryrun"])
        }
        ["configure", verb, ..] => matches!(*verb, "list" | "get" | "list-profiles"),
        ["configure"] => false,
        ["help" | "version", ..] | [] => true,
        ["ecr", "get-login-password", ..] | ["secretsmanager", "get-secret-value", ..] => true,
        [_, verb, ..] => reads(verb),
        [_] => true,
    }
}

fn cloud_looks(args: Args<'_>) -> bool {
    let with_value = [
        "--project",
        "--account",
        "--region",
        "--zone",
        "--format",
        "--filter",
        "-g",
        "-n",
        "--resource-group",
        "--name",
        "-o",
        "--output",
        "--query",
        "--subscription",
    ];
    let words: Vec<&str> = args
        .operands(&with_value)
        .iter()
        .map(|word| word.as_str())
        .collect();
    const LOOKS: [&str; 22] = [
        "list",
        "describe",
        "show",
        "ls",
        "get",
        "get-value",
        "info",
        "version",
        "cat",
        "stat",
        "du",
        "help",
        "read",
        "print-access-token",
        "print-identity-token",
        "list-locations",
        "get-iam-policy",
        "tail",
        "status",
        "hash",
        "get-credentials-list",
        "list-versions",
    ];
    const CHANGES: [&str; 34] = [
        "create",
        "delete",
        "update",
        "deploy",
        "set",
        "add",
        "remove",
        "rm",
        "mb",
        "rb",
        "cp",
        "mv",
        "rsync",
        "login",
        "logout",
        "start",
        "stop",
        "restart",
        "reset",
        "resize",
        "import",
        "export",
        "apply",
        "run",
        "submit",
        "activate",
        "revoke",
        "set-iam-policy",
        "add-iam-policy-binding",
        "patch",
        "rollback",
        "undelete",
        "destroy",
        "purge",
    ];
    !words.iter().any(|word| CHANGES.contains(word))
        && (words.is_empty()
            || words.iter().any(|word| {
                LOOKS.contains(word)
                    || word.starts_with("list-")
                    || word.starts_with("get-")
                    || word.starts_with("describe-")
            }))
}

fn platform_looks(name: &str, args: Args<'_>) -> bool {
    let with_value = [
        "-a",
        "--app",
        "-c",
        "--config",
        "-e",
        "--env",
        "-t",
        "--token",
        "--cwd",
        "-s",
        "--stage",
        "-p",
        "--project",
    ];
    let words: Vec<&str> = args
        .operands(&with_value)
        .iter()
        .map(|word| word.as_str())
        .collect();
    let Some(first) = words.first().copied() else {
        // Bare, these two deploy.
        return !matches!(name, "vercel" | "now" | "surge" | "up")
            || args.any(&["--version", "--help", "-v", "-h"]);
    };
    let second = words.get(1).copied().unwrap_or("");
    const LOOKS: [&str; 44] = [
        "list",
        "ls",
        "show",
        "get",
        "describe",
        "status",
        "info",
        "version",
        "help",
        "logs",
        "log",
        "whoami",
        "plan",
        "diff",
        "preview",
        "validate",
        "lint",
        "template",
        "synth",
        "check",
        "dev",
        "serve",
        "build",
        "test",
        "inspect",
        "history",
        "output",
        "doctor",
        "ps",
        "apps",
        "releases",
        "regions",
        "docs",
        "print",
        "package",
        "local",
        "offline",
        "types",
        "graph",
        "tail",
        "new",
        "start",
        "emulators:start",
        "emulators:exec",
    ];
    const CHANGES: [&str; 24] = [
        "create", "delete", "destroy", "remove", "rm", "set", "unset", "add", "apply", "restart",
        "scale", "rollback", "promote", "deploy", "publish", "push", "put", "import", "login",
        "logout", "run", "exec", "reset", "update",
    ];
    let verb = first.rsplit(':').next().unwrap_or(first);
    if CHANGES.contains(&second) || name == "kustomize" && first == "edit" {
        return name == "kustomize";
    }
    match (name, first) {
        ("kustomize", _) => true,
        ("mkdocs", first) => matches!(first, "build" | "serve" | "new" | "get-deps"),
        ("surge", first) => matches!(first, "list" | "whoami"),
        ("expo", first) => matches!(
            first,
            "start" | "export" | "doctor" | "config" | "prebuild" | "lint"
        ),
        ("fastlane", first) => matches!(
            first,
            "lanes" | "test" | "tests" | "env" | "scan" | "list" | "docs"
        ),
        ("heroku", "config" | "addons" | "domains" | "pg" | "run" | "buildpacks") => first != "run",
        ("supabase", "start" | "stop" | "status" | "gen") => true,
        ("supabase", "db") => matches!(second, "diff" | "lint" | "dump"),
        ("wrangler", "types" | "tail" | "whoami" | "dev") => true,
        ("eas", "build") => false,
        ("deployctl", _) => false,
        _ => {
            LOOKS.contains(&first)
                || first.contains(':') && matches!(verb, "list" | "info" | "get" | "start" | "exec")
        }
    }
}
