//! The stage of the demo: a temporary folder with a sample project, its bare
//! remote, and a machine folder of its own. Nothing outside is touched.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use butler_config::{HOME_VARIABLE, Settings, write_private};
use serde_json::json;
use tempfile::TempDir;

use crate::CliError;

/// The sample project, built into the binary.
const SAMPLE: [(&str, &str); 3] = [
    ("notes.sh", include_str!("../../../../demo/sample/notes.sh")),
    (
        "tests/run.sh",
        include_str!("../../../../demo/sample/tests/run.sh"),
    ),
    (
        "README.md",
        include_str!("../../../../demo/sample/README.md"),
    ),
];

/// The folder and what is in it. Dropping it removes everything.
pub(crate) struct Stage {
    folder: TempDir,
}

impl Stage {
    /// Sets the stage for a model at `model_url`.
    pub(crate) fn set(
        model_url: &str,
        banner: &str,
        requests: &[String],
    ) -> Result<Self, CliError> {
        let folder = tempfile::Builder::new()
            .prefix("codebutler-demo-")
            .tempdir()?;
        let stage = Self { folder };
        stage.write_machine(model_url)?;
        stage.write_welcome(banner, requests)?;
        stage.write_project()?;
        Ok(stage)
    }

    /// The person's clone.
    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.path().join("notes")
    }

    /// The bare remote.
    pub(crate) fn remote(&self) -> PathBuf {
        self.folder.path().join("remote.git")
    }

    /// The machine's folder.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// What the configuration says, read as every process reads it.
    pub(crate) fn settings(&self) -> Result<Settings, CliError> {
        let home = self.home().display().to_string();
        let environment = move |name: &str| (name == HOME_VARIABLE).then(|| home.clone());
        Ok(Settings::load(&self.repo(), &environment)?)
    }

    fn write_machine(&self, model_url: &str) -> Result<(), CliError> {
        fs::create_dir_all(self.home())?;
        let config = json!({
            "models": {"endpoints": {"rehearsal": {"kind": "generic", "baseUrl": model_url}}}
        });
        write_private(&self.home().join("config.json"), &pretty(&config))?;
        Ok(())
    }

    /// What the page greets with.
    fn write_welcome(&self, banner: &str, requests: &[String]) -> Result<(), CliError> {
        let folder = self.home().join("hub");
        fs::create_dir_all(&folder)?;
        let welcome = json!({"banner": banner, "requests": requests, "demo": true});
        fs::write(folder.join("welcome.json"), pretty(&welcome))?;
        Ok(())
    }

    fn write_project(&self) -> Result<(), CliError> {
        let repo = self.repo();
        fs::create_dir_all(&repo)?;
        for (name, text) in SAMPLE {
            let path = repo.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, text)?;
        }
        let folder = repo.join(".codebutler");
        fs::create_dir_all(&folder)?;
        let model = |role: &str| json!({"model": format!("rehearsal/{role}")});
        let config = json!({
            "slack": {"channelName": "codebutler-notes"},
            "models": {
                "pm": {"default": "rehearsal/pm"},
                "coder": {"default": "rehearsal/coder"},
                "reviewer": model("reviewer"),
                "researcher": model("researcher"),
                "artist": {"uxModel": "rehearsal/artist"},
                "lead": model("lead"),
            },
            "checks": {"test": "sh tests/run.sh"},
        });
        fs::write(folder.join("config.json"), pretty(&config))?;
        fs::write(folder.join(".gitignore"), "threads/\nbranches/\nimages/\n")?;
        self.commit()
    }

    fn commit(&self) -> Result<(), CliError> {
        let (repo, remote) = (self.repo(), self.remote());
        let remote_text = remote.display().to_string();
        git(
            self.folder.path(),
            &[
                "init",
                "--quiet",
                "--bare",
                "--initial-branch=main",
                &remote_text,
            ],
        )?;
        git(&repo, &["init", "--quiet", "--initial-branch=main"])?;
        git(&repo, &["add", "--all"])?;
        git(
            &repo,
            &[
                "commit",
                "--quiet",
                "--message",
                "notes: keep short notes in a text file",
            ],
        )?;
        git(&repo, &["remote", "add", "origin", &remote_text])?;
        git(
            &repo,
            &["push", "--quiet", "--set-upstream", "origin", "main"],
        )?;
        git(&repo, &["remote", "set-head", "origin", "main"])?;
        Ok(())
    }
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// Runs git as nobody in particular: the person's own settings stay out.
pub(crate) fn git(folder: &Path, args: &[&str]) -> Result<String, CliError> {
    let output = Command::new("git")
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "you")
        .env("GIT_AUTHOR_EMAIL", "you@example.com")
        .env("GIT_COMMITTER_NAME", "you")
        .env("GIT_COMMITTER_EMAIL", "you@example.com")
        .output()
        .map_err(|error| {
            CliError::user(format!("git cannot be started: {error}")).hint("install git")
        })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(CliError::user(format!(
        "git {} failed: {}",
        args.first().unwrap_or(&""),
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}
