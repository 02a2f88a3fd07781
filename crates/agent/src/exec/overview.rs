//! The folder in a few lines, as a role is told of its repository in a thread: what
//! lies in it, and how it is checked. Told once, before the task.

use std::{env, fs, path::Path};

use butler_playbook::{Layout, Overview};
use butler_repo::Git;
use butler_tools::text_in;
use tokio_util::sync::CancellationToken;

use super::ExecConfig;

/// More of a folder that is no repository is not looked at.
const MOST_FILES: usize = 5_000;

/// A longer list of scripts is not read.
const MOST_BYTES: u64 = 1 << 20;

pub(super) async fn of(config: &ExecConfig, cancel: &CancellationToken) -> String {
    let files = match in_git(&config.folder, cancel).await {
        Some(files) => files,
        None => on_disk(&config.folder),
    };
    let mut layout = Layout::of(files.iter().map(String::as_str));
    if let Ok(Some(package)) = text_in(&config.folder, "package.json", MOST_BYTES) {
        layout = layout.with_package(&package);
    }
    let checks: Vec<_> = config
        .checks
        .iter()
        .map(|check| (check.name.as_str(), check.command.as_str()))
        .collect();
    let now = jiff::Timestamp::from_millisecond(config.clock.now_ms()).unwrap_or_default();
    Overview {
        layout: &layout,
        branch: None,
        platform: &format!("{} {}", env::consts::OS, env::consts::ARCH),
        date: &now.to_zoned(jiff::tz::TimeZone::UTC).date().to_string(),
        prepare: &[],
        unagreed: &[],
        checks: &checks,
    }
    .text()
}

/// What git knows or would take, below this folder.
async fn in_git(folder: &Path, cancel: &CancellationToken) -> Option<Vec<String>> {
    let git = Git::at(folder);
    let listed = git
        .call([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ])
        .run(cancel)
        .await
        .ok()?;
    let paths = listed.fields().map(String::from_utf8_lossy);
    Some(paths.map(std::borrow::Cow::into_owned).collect())
}

/// The files of two levels, without hidden folders and links.
fn on_disk(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((path, prefix)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&path) else {
            continue;
        };
        for entry in entries.flatten().take(MOST_FILES) {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.file_type() {
                Ok(kind) if kind.is_file() => found.push(format!("{prefix}{name}")),
                Ok(kind) if kind.is_dir() && !name.starts_with('.') && prefix.is_empty() => {
                    folders.push((entry.path(), format!("{name}/")));
                }
                _ => {}
            }
        }
    }
    found
}
