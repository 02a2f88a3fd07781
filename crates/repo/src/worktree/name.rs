//! Names of branches and folders: a slug that people can read, and the thread's
//! short id by which everybody finds it again.

use std::path::{Path, PathBuf};

use butler_protocol::{BranchName, ThreadId};

/// Every branch of ours starts like this; no other is ever pushed or deleted.
pub const BRANCH_PREFIX: &str = "codebutler/";

const SLUG_LENGTH: usize = 50;
const KNOWLEDGE: &str = "knowledge";

/// The title of a request as part of a branch name: lower-case letters and
/// digits with single dashes, fifty characters at most, cut between words.
pub(crate) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for word in title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let room = SLUG_LENGTH.saturating_sub(slug.len() + usize::from(!slug.is_empty()));
        if word.len() > room && !slug.is_empty() {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(room).map(|c| c.to_ascii_lowercase()));
    }
    match slug.as_str() {
        "" => "thread".to_owned(),
        // Taken by the branch of a thread's knowledge pull request.
        KNOWLEDGE => "knowledge-work".to_owned(),
        _ => slug,
    }
}

/// The branch of a new thread.
pub fn branch(thread: &ThreadId, title: &str) -> BranchName {
    BranchName::new(format!("{BRANCH_PREFIX}{}-{}", slug(title), thread.short()))
}

/// The branch of a thread's knowledge pull request.
pub fn knowledge_branch(thread: &ThreadId) -> BranchName {
    BranchName::new(format!("{BRANCH_PREFIX}{KNOWLEDGE}-{}", thread.short()))
}

/// Whether a branch is one of ours.
pub(crate) fn is_ours(branch: &BranchName) -> bool {
    branch.as_str().starts_with(BRANCH_PREFIX) && short_of(branch).is_some()
}

/// The short thread id at the end of one of our branches.
pub fn short_of(branch: &BranchName) -> Option<&str> {
    let rest = branch.as_str().strip_prefix(BRANCH_PREFIX)?;
    let (slug, short) = rest.rsplit_once('-')?;
    let fits = !slug.is_empty()
        && slug
            .bytes()
            .chain(short.bytes())
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && short.len() == 6;
    fits.then_some(short)
}

/// Whether this is the working branch (not the knowledge branch) of a thread.
pub(crate) fn belongs_to(branch: &BranchName, thread: &ThreadId) -> bool {
    short_of(branch) == Some(thread.short().as_str()) && *branch != knowledge_branch(thread)
}

/// The name under which a branch's worktree is locked and saved: the thread's
/// short id, `_knowledge-<id>` for its knowledge.
pub(crate) fn lock_name(branch: &BranchName) -> String {
    match short_of(branch) {
        Some(short) if is_knowledge(branch) => format!("_{KNOWLEDGE}-{short}"),
        Some(short) => short.to_owned(),
        None => "unnamed".to_owned(),
    }
}

/// Whether this is the branch of a thread's knowledge.
pub(crate) fn is_knowledge(branch: &BranchName) -> bool {
    let name = branch.as_str().trim_start_matches(BRANCH_PREFIX);
    short_of(branch).is_some_and(|short| name == format!("{KNOWLEDGE}-{short}"))
}

/// The folder of a branch's worktree.
pub(crate) fn folder(branches: &Path, branch: &BranchName) -> PathBuf {
    let name = branch.as_str().trim_start_matches(BRANCH_PREFIX);
    if is_knowledge(branch) {
        return branches.join(format!("_{name}"));
    }
    branches.join(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn thread() -> ThreadId {
        "C1/1700000000.000100".parse().unwrap()
    }

    #[test]
    fn a_slug_reads_like_its_title() {
        for (title, expected) in [
            ("Fix the login page!", "fix-the-login-page"),
            ("  --help: show   more ", "help-show-more"),
            ("日本語", "thread"),
            ("", "thread"),
            ("Knowledge", "knowledge-work"),
            ("../../etc/passwd", "etc-passwd"),
        ] {
            assert_eq!(slug(title), expected, "{title}");
        }
        let long = slug(&"word ".repeat(40));
        assert!(long.len() <= 50 && long.ends_with("word"), "{long}");
        assert_eq!(slug(&"x".repeat(99)).len(), 50);
    }

    proptest! {
        #[test]
        fn any_title_makes_a_branch_that_names_its_thread(title in ".*") {
            let branch = branch(&thread(), &title);
            prop_assert!(is_ours(&branch), "{}", branch);
            prop_assert!(belongs_to(&branch, &thread()));
            prop_assert!(branch.as_str().len() <= BRANCH_PREFIX.len() + 57);
            prop_assert!(folder(Path::new("/b"), &branch).parent() == Some(Path::new("/b")));
        }
    }

    #[test]
    fn the_knowledge_branch_is_ours_and_not_the_working_branch() {
        let branch = knowledge_branch(&thread());
        assert!(is_ours(&branch) && !belongs_to(&branch, &thread()));
        assert!(folder(Path::new("/b"), &branch).starts_with("/b"));
        for foreign in [
            "main",
            "codebutler/x",
            "codebutler/../x-abcdef",
            "x/y-abcdef",
        ] {
            assert!(!is_ours(&BranchName::new(foreign)), "{foreign}");
        }
    }
}
