//! Keys, passwords, logins: creating, storing, rotating, deleting.

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    simple::Call,
    state::{Output, State},
};

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    _state: &mut State,
) -> Option<Output> {
    let args = call.args;
    let first = args.operands(&[]).first().map_or("", |word| word.as_str());
    let changes = match call.name {
        "ssh-keygen" => {
            !(args.short('l')
                || args.short('y')
                || args.short('F')
                || args.short('B')
                || args.short('E'))
        }
        "ssh-add" => !(args.short('l') || args.short('L')),
        "ssh-copy-id" | "htpasswd" | "passwd" | "chpasswd" | "vncpasswd" | "smbpasswd"
        | "kinit" | "kdestroy" | "ssh-agent-add" | "mkcert" | "certbot" | "acme.sh" | "step" => {
            true
        }
        "gpg" | "gpg2" => args.iter().any(|word| {
            let flag = word.text.as_str();
            [
                "--gen",
                "--full-gen",
                "--quick-gen",
                "--quick-add",
                "--delete",
                "--import",
                "--export-secret",
                "--edit-key",
                "--passwd",
                "--quick-revoke",
                "--quick-set",
                "--send-key",
                "--sign-key",
                "--lsign-key",
            ]
            .iter()
            .any(|start| flag.starts_with(start))
        }),
        "pass" | "gopass" => matches!(
            first,
            "insert"
                | "add"
                | "generate"
                | "rm"
                | "remove"
                | "delete"
                | "edit"
                | "mv"
                | "cp"
                | "init"
                | "git"
        ),
        "vault" => {
            !matches!(
                first,
                "read" | "list" | "status" | "version" | "kv" | "print" | ""
            ) || first == "kv"
                && args.any(&["put", "delete", "destroy", "patch", "undelete", "rollback"])
        }
        "op" => {
            args.any(&[
                "create", "delete", "edit", "signin", "signout", "add", "forget",
            ]) && first != "run"
        }
        "bw" | "lpass" | "keepassxc-cli" => matches!(
            first,
            "login"
                | "logout"
                | "unlock"
                | "lock"
                | "create"
                | "delete"
                | "edit"
                | "add"
                | "rm"
                | "generate"
                | "import"
        ),
        "security" => {
            !(first.starts_with("find-")
                || first.starts_with("list-")
                || first.starts_with("show-")
                || first == "dump-keychain")
        }
        "secret-tool" => matches!(first, "store" | "clear"),
        "keyctl" | "keytool" => {
            call.name == "keyctl" && !matches!(first, "show" | "list" | "print" | "describe")
                || call.name == "keytool" && !(args.has("-list") || args.has("-printcert"))
        }
        "sops" | "age-keygen" | "ansible-vault" => {
            call.name == "age-keygen"
                || args.any(&["rotate", "updatekeys", "rekey", "-r", "--rotate"])
        }
        "doppler" | "infisical" | "chamber" | "dotenv-vault" => {
            matches!(
                first,
                "login" | "logout" | "setup" | "write" | "delete" | "push"
            ) || args.any(&["set", "delete", "upload"])
        }
        "chsh" | "visudo" | "vipw" => true,
        _ => return None,
    };
    if changes {
        analyzer.ask(format!("`{}` changes keys or passwords", call.name), true);
    } else {
        analyzer.find(Tier::WriteLocal, "it looks at keys", false);
    }
    Some(Output::Unknown)
}
