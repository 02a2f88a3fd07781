//! Places beneath the root that no tool may look into or change, whatever the
//! role: git's own files, other threads, and the files that hold the rules.
//!
//! Names are compared the way a careless file system would: in any case,
//! without characters that some of them ignore, with trailing dots and spaces
//! dropped. So a name that becomes `.git` on somebody's laptop is `.git` here.

use super::{Inside, PlaceError};

/// Folders of `.codebutler/` that belong to the runtime.
const RUNTIME: &[&str] = &["threads", "branches"];

/// Files of `.codebutler/` that say what agents may do. People change them.
const RULES: &[&str] = &["config.json", "policy.json", "mcp.json"];

/// Refuses paths that no file tool may read.
pub(super) fn may_read(path: &Inside) -> Result<(), PlaceError> {
    let refused = |why, instead| {
        Err(PlaceError::Protected {
            path: path.shown().to_owned(),
            why,
            instead,
        })
    };
    let folded: Vec<String> = path.parts().map(folded).collect();
    if folded.iter().any(|part| is_git(part)) {
        return refused(
            "is git's own data",
            "use GitLog, GitDiff or GitStatus to look at the history",
        );
    }
    if let Some(at) = folded.iter().position(|part| part == ".codebutler")
        && let Some(next) = folded.get(at + 1)
        && RUNTIME.contains(&next.as_str())
    {
        return refused(
            "belongs to the runtime",
            "work in the files of this worktree only",
        );
    }
    Ok(())
}

/// Refuses paths that no file tool may change.
pub(super) fn may_write(path: &Inside) -> Result<(), PlaceError> {
    may_read(path)?;
    let folded: Vec<String> = path.parts().map(folded).collect();
    if let Some(at) = folded.iter().position(|part| part == ".codebutler")
        && let Some(next) = folded.get(at + 1)
        && RULES.contains(&next.as_str())
    {
        return Err(PlaceError::Protected {
            path: path.shown().to_owned(),
            why: "holds the rules for agents",
            instead: "say in the thread what should change; a person edits it",
        });
    }
    Ok(())
}

/// Whether a walk leaves this entry out.
pub(super) fn is_hidden_from_walks(parent: &Inside, name: &str) -> bool {
    // Walks ask for every entry: most names need no folding.
    if is_plain(name) && !name.starts_with(['.', 'g', 'G', 't', 'T', 'b', 'B']) {
        return false;
    }
    let name = folded(name);
    if is_git(&name) {
        return true;
    }
    RUNTIME.contains(&name.as_str())
        && parent
            .split()
            .is_some_and(|(_, last)| folded(last) == ".codebutler")
}

/// Whether a file is one where secrets are kept by custom.
pub(crate) fn holds_secrets(name: &str) -> bool {
    if is_plain(name) && !name.starts_with('.') {
        return false;
    }
    let name = folded(name);
    if !(name == ".env" || name.starts_with(".env.") || name == ".envrc") {
        return false;
    }
    !["example", "sample", "template", "dist", "defaults"]
        .iter()
        .any(|harmless| name.ends_with(harmless))
}

fn is_git(folded: &str) -> bool {
    folded == ".git" || folded == "git~1"
}

/// Whether folding a name only changes its case.
fn is_plain(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        && !name.ends_with('.')
}

/// A name as a case-blind, normalising file system would compare it.
fn folded(name: &str) -> String {
    let visible: String = name.chars().filter(|c| !is_ignorable(*c)).collect();
    // An NTFS stream (`.git::$INDEX_ALLOCATION`) names the same file.
    let visible = visible.split(':').next().unwrap_or_default();
    visible
        .trim_end_matches(['.', ' '])
        .chars()
        .map(|c| match c {
            // The only letters outside ASCII that lower to ASCII ones.
            '\u{212a}' => 'k',
            '\u{130}' | '\u{131}' => 'i',
            '\u{17f}' => 's',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

/// Characters that HFS+ leaves out when it compares names.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}'
        | '\u{feff}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{ad}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(text: &str) -> Inside {
        Inside::parse(text, &[]).unwrap()
    }

    #[test]
    fn git_is_closed_in_every_spelling() {
        for path in [
            ".git",
            ".git/config",
            ".GIT/hooks/pre-commit",
            "sub/.Git/HEAD",
            ".git./config",
            ".git /config",
            "git~1/config",
            "GIT~1",
            ".g\u{200c}it/config",
            ".\u{feff}git",
            ".g\u{131}t/config",
            ".git::$INDEX_ALLOCATION/config",
        ] {
            assert!(may_read(&inside(path)).is_err(), "{path:?}");
            assert!(may_write(&inside(path)).is_err(), "{path:?}");
        }
        for path in [".gitignore", ".github/workflows/ci.yml", "git", "x.git"] {
            assert!(may_write(&inside(path)).is_ok(), "{path:?}");
        }
    }

    #[test]
    fn rules_are_read_but_never_written() {
        for path in [
            ".codebutler/policy.json",
            ".codebutler/Config.JSON",
            ".CodeButler/mcp.json",
        ] {
            assert!(may_read(&inside(path)).is_ok(), "{path:?}");
            assert!(may_write(&inside(path)).is_err(), "{path:?}");
        }
        assert!(may_write(&inside(".codebutler/skills/fix.md")).is_ok());
        assert!(may_write(&inside("policy.json")).is_ok());
        for path in [".codebutler/threads/x/plan.md", ".codebutler/branches/y/a"] {
            assert!(may_read(&inside(path)).is_err(), "{path:?}");
        }
    }

    #[test]
    fn env_files_are_known_and_their_examples_are_not() {
        for name in [".env", ".env.local", ".ENV", ".envrc"] {
            assert!(holds_secrets(name), "{name}");
        }
        for name in [".env.example", ".env.sample", "env", "environment.ts"] {
            assert!(!holds_secrets(name), "{name}");
        }
    }
}
