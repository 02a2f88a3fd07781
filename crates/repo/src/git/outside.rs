//! Which git runs outside the sandbox: what is in this table, without any working tree.
//! Everything else runs inside.

use std::ffi::OsString;

/// Whether a command may run outside: it reads no working tree, and says what it must for
/// that. All of it has the git folder as its place (or, to find a remote, the clone's top as
/// its folder) and no working tree, so that no attribute, filter, hook, monitor or nested
/// repository is looked at; config that names programs is taken away as everywhere.
pub(super) fn is_outside(args: &[OsString]) -> bool {
    let command = args.first().and_then(|first| first.to_str());
    let must_say: &[&str] = match command.unwrap_or_default() {
        // To the remote and back, with the person's credentials: objects and refs.
        "fetch" | "push" | "ls-remote" => &[],
        // Config files, as text.
        "config" | "remote" | "check-ref-format" => &[],
        // Refs, and the commits that they name.
        "for-each-ref" | "update-ref" | "symbolic-ref" => &[],
        "rev-parse" | "rev-list" | "merge-base" => &[],
        // Objects as they are stored; their content is looked at by nobody.
        "cat-file" | "ls-tree" | "mktree" | "mktag" | "commit-tree" => &[],
        // Objects and refs are put together; none is taken away.
        "repack" => &["-d", "-l", "--geometric=2"],
        "pack-refs" => &[],
        // Is told the bytes of files, and looks at none.
        "fast-import" => &[],
        "hash-object" => &["--stdin", "--no-filters"],
        // Makes a new repository that has no files.
        "init" => &["--bare", "--template="],
        // Makes an empty folder and the file in it that leads to the git state.
        "worktree" => &["add", "--no-checkout"],
        _ => return false,
    };
    let says = |word: &&str| args.iter().any(|arg| arg == word);
    must_say.iter().all(says)
}

/// Whether a command goes to the remote.
pub(super) fn is_remote(args: &[OsString]) -> bool {
    let remote = ["fetch", "push", "ls-remote"];
    args.first()
        .is_some_and(|first| remote.iter().any(|one| first == one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_no_working_tree_runs_outside() {
        let outside = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(Into::into).collect();
            is_outside(&args)
        };
        for line in [
            "fetch origin",
            "push origin a:b",
            "worktree add --no-checkout x",
            "hash-object -w --stdin --no-filters",
        ] {
            assert!(outside(line), "{line}");
        }
        for line in [
            "status",
            "diff HEAD",
            "add .",
            "worktree add x",
            "repack -a -d",
            "gc --auto",
            "worktree remove --no-checkout x",
            "hash-object -w file",
            "merge-tree a b",
            "rebase main",
            "-c x=y status",
            "stash",
        ] {
            assert!(!outside(line), "{line}");
        }
    }
}
