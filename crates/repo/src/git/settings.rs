//! The settings under which git runs for us: which of this process's variables
//! it sees, which config we force, and what we take over from the person's own
//! git config (how to reach remotes, and nothing else).

use std::{ffi::OsString, time::Duration};

use tokio::sync::OnceCell;

use super::process::{Ask, run};
use crate::Result;

/// What git needs of our environment to reach a remote. Everything else, and
/// above all every `GIT_DIR`, `GIT_INDEX_FILE` and token of ours, stays here.
const PASSED: &str = "PATH HOME USER LOGNAME TMPDIR XDG_CONFIG_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR \
    XDG_STATE_HOME SSH_AUTH_SOCK SSH_AGENT_PID GIT_SSH_COMMAND GIT_SSL_CAINFO SSL_CERT_FILE \
    SSL_CERT_DIR http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY no_proxy \
    GH_TOKEN GITHUB_TOKEN GH_HOST GH_ENTERPRISE_TOKEN GH_CONFIG_DIR";

/// Variables that hold whatever the process says.
const FORCED: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("NO_COLOR", "1"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "true"),
    ("SSH_ASKPASS", "true"),
    // Empty is "no proxy", and keeps git from looking into the config for one.
    ("GIT_PROXY_COMMAND", ""),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GH_PROMPT_DISABLED", "1"),
    ("GH_NO_UPDATE_NOTIFIER", "1"),
];

/// Config that holds whatever the repository says.
const CONFIG: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.ignoreStat", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.quotePath", "true"),
    // By it we see whether somebody else moved the branch of a worktree.
    ("core.logAllRefUpdates", "true"),
    // Sixteen worktrees share one store of refs: wait for each other's locks.
    ("core.filesRefLockTimeout", "10000"),
    ("core.packedRefsTimeout", "10000"),
    ("core.alternateRefsCommand", "true"),
    ("core.askPass", "true"),
    ("core.protectNTFS", "true"),
    ("credential.helper", ""),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.fsckObjects", "true"),
    ("fetch.writeCommitGraph", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.gpgSign", "false"),
    ("push.followTags", "false"),
    ("commit.gpgSign", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    ("diff.noprefix", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("diff.renames", "true"),
    ("merge.renames", "true"),
    ("merge.conflictStyle", "merge"),
    ("rebase.updateRefs", "false"),
    ("rebase.autoSquash", "false"),
    ("rebase.autoStash", "false"),
    ("rerere.enabled", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedHead", "false"),
    ("log.showSignature", "false"),
];

/// Besides, in the sandbox: objects come one by one, so that each can be checked.
const INSIDE: &[(&str, &str)] = &[("core.bigFileThreshold", "4g")];

/// Variables that a command without a way to the remote needs.
const LOCAL: &[&str] = &["PATH"];

/// Keys of the person's own config that say how to reach a remote.
const FROM_PERSON: &[&str] = &["credential.", "url.", "http.", "ssh.", "safe.directory"];

/// How git runs here. See the module's own words.
#[derive(Debug)]
pub struct Settings {
    variables: Vec<(OsString, OsString)>,
    person: OnceCell<Vec<(String, String)>>,
    /// How long a command may take that does not leave this machine.
    pub local_deadline: Duration,
    /// How long a fetch or push may take.
    pub remote_deadline: Duration,
}

impl Settings {
    /// From this process's environment.
    pub fn from_process() -> Self {
        Self::from_variables(std::env::vars_os())
    }

    /// From a given environment, which is scrubbed like a process's own.
    pub fn from_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = variables
            .into_iter()
            .filter(|(name, _)| PASSED.split(' ').any(|passed| name == passed))
            .map(|(name, value)| match value.to_str() {
                Some(ssh) if name == "GIT_SSH_COMMAND" => (name, without_questions(ssh).into()),
                _ => (name, value),
            })
            .collect();
        Self {
            variables,
            person: OnceCell::new(),
            local_deadline: Duration::from_secs(300),
            remote_deadline: Duration::from_secs(600),
        }
    }

    /// The whole environment of a command, `config` put last so that it wins.
    pub(crate) async fn environment(
        &self,
        config: &[(String, String)],
    ) -> Result<Vec<(OsString, OsString)>> {
        let mut all = self.plain();
        let person = self.person().await?;
        let always = CONFIG.iter().map(|(k, v)| ((*k).into(), (*v).into()));
        let config = always
            .chain(self.ssh_command(person))
            .chain(config.iter().cloned())
            .chain(person.iter().cloned());
        all.extend(as_variables(config));
        Ok(all)
    }

    /// The environment of a command in the sandbox: no way to a remote.
    pub(crate) fn inside(&self, config: &[(String, String)]) -> Vec<(OsString, OsString)> {
        let local = |(name, _): &&(OsString, OsString)| LOCAL.iter().any(|local| name == local);
        let mut all: Vec<_> = self.variables.iter().filter(local).cloned().collect();
        all.extend(forced());
        let always = CONFIG.iter().chain(INSIDE);
        let always = always.map(|(k, v)| ((*k).into(), (*v).into()));
        all.extend(as_variables(always.chain(config.iter().cloned())));
        all
    }

    /// A variable that is passed on, as text.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        let found = self.variables.iter().find(|(n, _)| n == name)?;
        found.1.to_str().map(str::to_owned)
    }

    /// The scrubbed environment without any config.
    pub(crate) fn plain(&self) -> Vec<(OsString, OsString)> {
        self.variables.iter().cloned().chain(forced()).collect()
    }

    /// A repository must not choose the program that we start as ssh.
    /// Nobody is there to answer ssh: it must fail with a word instead of waiting.
    fn ssh_command(&self, person: &[(String, String)]) -> Option<(String, String)> {
        let chosen = person.iter().any(|(key, _)| key == "core.sshcommand");
        (!chosen).then(|| ("core.sshCommand".into(), "ssh -oBatchMode=yes".into()))
    }

    /// Reads the person's system and global config once.
    async fn person(&self) -> Result<&Vec<(String, String)>> {
        self.person
            .get_or_try_init(|| async { Ok(person_keys(&self.listing().await?)) })
            .await
    }

    /// The person's system and global config, as git lists it.
    async fn listing(&self) -> Result<Vec<u8>> {
        let mut variables = self.plain();
        variables.retain(|(name, _)| name != "GIT_CONFIG_NOSYSTEM" && name != "GIT_CONFIG_GLOBAL");
        // No repository is looked at: an empty GIT_DIR is none.
        variables.push(("GIT_DIR".into(), "/dev/null".into()));
        let args = ["config", "--list", "--includes", "-z"].map(OsString::from);
        let asked = Ask::new("git", &args, &variables, self.local_deadline);
        Ok(run(asked).await?.stdout)
    }

    /// Whether the person signs commits wherever they work.
    pub async fn signs_commits(&self) -> Result<bool> {
        let listing = self.listing().await?;
        let last = config_entries(&listing).filter(|(key, _)| key == "commit.gpgsign");
        Ok(last.last().is_some_and(|(_, value)| value == "true"))
    }
}

fn forced() -> impl Iterator<Item = (OsString, OsString)> {
    FORCED.iter().map(|(k, v)| ((*k).into(), (*v).into()))
}

/// Config in the variables that git reads it from; of two values the later counts.
fn as_variables(config: impl Iterator<Item = (String, String)>) -> Vec<(OsString, OsString)> {
    let mut all = Vec::new();
    let mut count = 0;
    for (key, value) in config {
        all.push((format!("GIT_CONFIG_KEY_{count}").into(), key.into()));
        all.push((format!("GIT_CONFIG_VALUE_{count}").into(), value.into()));
        count += 1;
    }
    all.push(("GIT_CONFIG_COUNT".into(), count.to_string().into()));
    all
}

fn person_keys(listing: &[u8]) -> Vec<(String, String)> {
    config_entries(listing)
        .filter(|(key, _)| {
            key == "core.sshcommand" || FROM_PERSON.iter().any(|start| key.starts_with(start))
        })
        .map(|(key, value)| match key == "core.sshcommand" {
            true => (key, without_questions(&value)),
            false => (key, value),
        })
        .collect()
}

/// A person's own ssh, so that it asks nobody: there is nobody to answer. Another program
/// need not know the option.
fn without_questions(ssh: &str) -> String {
    let program = ssh.split_whitespace().next().unwrap_or_default();
    let is_ssh = program.rsplit('/').next() == Some("ssh");
    match is_ssh && !ssh.to_lowercase().contains("batchmode") {
        true => format!("{ssh} -oBatchMode=yes"),
        false => ssh.to_owned(),
    }
}

/// The entries of `git config --list -z`: key, newline, value.
pub(crate) fn config_entries(listing: &[u8]) -> impl Iterator<Item = (String, String)> {
    listing.split(|b| *b == 0).filter_map(|entry| {
        let text = String::from_utf8_lossy(entry);
        let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
        (!key.is_empty()).then(|| (key.to_owned(), value.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ways_to_a_remote_are_taken_from_the_person() {
        let listing = b"user.name\nana\0credential.helper\nstore\0core.hookspath\n/x\0alias.st\n!rm\0http.https://x/.proxy\np\0core.sshcommand\nssh -i k\0filter.a.clean\ncat\0";
        let keys: Vec<_> = person_keys(listing).into_iter().map(|(k, _)| k).collect();
        assert_eq!(
            keys,
            [
                "credential.helper",
                "http.https://x/.proxy",
                "core.sshcommand"
            ]
        );
    }

    #[tokio::test]
    async fn ssh_waits_for_nobody() {
        let home = tempfile::tempdir().unwrap();
        let path = (OsString::from("PATH"), std::env::var_os("PATH").unwrap());
        let variables = [path, ("HOME".into(), home.path().into())];
        let ssh = async |expected: &str| {
            let settings = Settings::from_variables(variables.clone());
            let all = settings.environment(&[]).await.unwrap();
            assert!(all.iter().any(|(_, value)| value == expected), "{all:?}");
        };
        ssh("ssh -oBatchMode=yes").await;
        let config = "[core]\n\tsshCommand = ssh -i key\n";
        std::fs::write(home.path().join(".gitconfig"), config).unwrap();
        ssh("ssh -i key -oBatchMode=yes").await;
        let settings = Settings::from_variables(variables.clone());
        assert!(!settings.signs_commits().await.unwrap());
        let config = "[commit]\n\tgpgSign = true\n";
        std::fs::write(home.path().join(".gitconfig"), config).unwrap();
        assert!(settings.signs_commits().await.unwrap());
        assert_eq!(without_questions("plink -batch"), "plink -batch");
        assert_eq!(
            without_questions("ssh -oBatchMode=no"),
            "ssh -oBatchMode=no"
        );
    }

    #[test]
    fn nothing_that_leads_to_a_remote_is_seen_in_the_sandbox() {
        let given = [("GH_TOKEN", "t"), ("SSH_AUTH_SOCK", "s"), ("PATH", "/bin")];
        let settings = Settings::from_variables(given.map(|(k, v)| (k.into(), v.into())));
        let all = settings.inside(&[]);
        assert!(!all.iter().any(|(_, value)| value == "t" || value == "s"));
    }

    #[test]
    fn the_environment_is_an_allow_list() {
        let settings = Settings::from_variables(
            [("GIT_DIR", "/x"), ("SLACK_TOKEN", "t"), ("PATH", "/bin")]
                .map(|(k, v)| (k.into(), v.into())),
        );
        let names: Vec<_> = settings.plain().into_iter().map(|(k, _)| k).collect();
        assert!(names.contains(&"PATH".into()));
        assert!(!names.contains(&"GIT_DIR".into()) && !names.contains(&"SLACK_TOKEN".into()));
    }
}
