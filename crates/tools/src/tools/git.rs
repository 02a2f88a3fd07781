//! What the three git readers share: git with safe settings in the root, refs
//! that cannot be options, and diffs cut by file.

use butler_repo::Git;
use tokio_util::sync::CancellationToken;

use super::NotDone;
use crate::{ToolContext, content::clip, place::holds_secrets};

/// Where the default branch may be found, best first.
const DEFAULTS: [&str; 6] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
    "refs/heads/trunk",
];

/// Git in the context's root.
pub(super) fn git(context: &ToolContext) -> Git {
    Git::at(context.workplace().root())
}

/// A branch, tag or commit as a model names it: nothing that git could take for
/// an option, a range or a path.
pub(super) fn check_ref(name: &str) -> Result<&str, String> {
    let fits = |c: char| c.is_alphanumeric() || "_./@^~{}+-#".contains(c);
    let ok = !name.is_empty()
        && name.len() <= 200
        && !name.starts_with('-')
        && !name.contains("..")
        && name.chars().all(fits);
    if ok {
        Ok(name)
    } else {
        Err(format!(
            "refused: `{}` is not the name of a branch, tag or commit",
            clip::line(name)
        ))
    }
}

/// A failed git command as a model reads it.
impl From<butler_repo::Error> for NotDone {
    fn from(error: butler_repo::Error) -> Self {
        let text = match error {
            butler_repo::Error::Failed { stderr, .. } => {
                format!("failed: git says: {}", stderr.trim())
            }
            butler_repo::Error::TooMuch { .. } => {
                "failed: there is too much of it: name a `path`".to_owned()
            }
            other => format!("failed: {other}"),
        };
        clip::head_and_tail(&text, 2000, "").into()
    }
}

/// Where the present branch left the default branch.
pub(super) async fn fork_point(git: &Git, cancel: &CancellationToken) -> Option<String> {
    for name in DEFAULTS {
        let base = git
            .call(["merge-base", "HEAD", name])
            .accept(&[0, 1, 128])
            .run(cancel)
            .await
            .ok()?;
        if base.code == 0 && !base.text().is_empty() {
            return Some(base.text());
        }
    }
    None
}

/// One file of a diff.
pub(super) struct Section<'d> {
    pub path: String,
    pub text: &'d str,
}

/// A diff by file. Files that hold secrets by custom keep their name only.
pub(super) fn sections(diff: &str) -> Vec<Section<'_>> {
    let mut starts: Vec<usize> = diff
        .match_indices("diff --git ")
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || diff.as_bytes().get(at - 1) == Some(&b'\n'))
        .collect();
    starts.push(diff.len());
    starts
        .windows(2)
        .map(|pair| {
            let text = &diff[pair[0]..pair[1]];
            let path = path_of(text);
            let name = path.rsplit('/').next().unwrap_or_default();
            Section {
                text: if holds_secrets(name) {
                    "[hidden: a file for secrets]\n"
                } else {
                    text
                },
                path,
            }
        })
        .collect()
}

/// The path of a section: the new one, the old one when the file went.
fn path_of(section: &str) -> String {
    let named = |prefix: &str| {
        section
            .lines()
            .take_while(|line| !line.starts_with("@@"))
            .find_map(|line| line.strip_prefix(prefix))
            .map(|path| path.trim_end_matches('\t').to_owned())
    };
    let header = || {
        let line = section.lines().next().unwrap_or_default();
        line.rsplit_once(" b/").map(|(_, path)| path.to_owned())
    };
    named("+++ b/")
        .or_else(|| named("--- a/"))
        .or_else(|| named("rename to "))
        .or_else(header)
        .unwrap_or_default()
}

/// Whether a path is the wanted one or lies below it.
pub(super) fn lies_in(path: &str, wanted: &str) -> bool {
    path == wanted
        || path
            .strip_prefix(wanted)
            .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_that_could_be_something_else_are_refused() {
        for name in [
            "main",
            "origin/main",
            "HEAD~2",
            "v1.0",
            "abc123^",
            "feature/ü",
            "HEAD@{1}",
        ] {
            assert!(check_ref(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "-p",
            "--output=x",
            "a..b",
            "a b",
            "a:b",
            "x;y",
            "$(id)",
            ":/x",
            "*",
        ] {
            assert!(check_ref(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_diff_is_cut_by_file_and_secrets_are_hidden() {
        let diff = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-diff --git a/fake b/fake\n+b\ndiff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-A=1\n+A=2\ndiff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/pic.png b/pic.png\nBinary files a/pic.png and b/pic.png differ\n";
        let found = sections(diff);
        let paths: Vec<&str> = found.iter().map(|section| section.path.as_str()).collect();
        assert_eq!(paths, ["x.rs", ".env", "old", "pic.png"]);
        assert!(found[0].text.ends_with("+b\n"));
        assert_eq!(found[1].text, "[hidden: a file for secrets]\n");
        assert!(lies_in("src/a", "src") && !lies_in("src2/a", "src") && lies_in("a", "a"));
    }
}
