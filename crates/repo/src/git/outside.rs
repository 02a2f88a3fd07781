//! Which git runs outside the sandbox: what is in this table, without any working tree.
//! Everything else runs inside.

use std::ffi::OsString;

/// A command that reads no working tree, and what it must say for that.
struct Outside {
    command: &'static str,
    must_say: &'static [&'static str],
}

/// What runs outside. All of it has the git folder as its place (or, to find a remote,
/// the clone's top as its folder) and no working tree, so that no attribute, filter, hook, monitor or nested repository is
/// looked at; config that names programs is taken away as everywhere.
const OUTSIDE: &[Outside] = &[
    // To the remote and back, with the person's credentials: objects and refs.
    plain("fetch"),
    plain("push"),
    plain("ls-remote"),
    // Config files, as text.
    plain("config"),
    plain("remote"),
    plain("check-ref-format"),
    // Refs, and the commits that they name.
    plain("for-each-ref"),
    plain("update-ref"),
    plain("symbolic-ref"),
    plain("rev-parse"),
    plain("rev-list"),
    plain("merge-base"),
    // Objects as they are stored; their content is looked at by nobody.
    plain("cat-file"),
    plain("ls-tree"),
    plain("mktree"),
    plain("mktag"),
    plain("commit-tree"),
    // Objects and refs are put together; none is taken away.
    Outside {
        command: "repack",
        must_say: &["-d", "-l", "--geometric=2"],
    },
    plain("pack-refs"),
    // Is told the bytes of files, and looks at none.
    plain("fast-import"),
    Outside {
        command: "hash-object",
        must_say: &["--stdin", "--no-filters"],
    },
    // Makes a new repository that has no files.
    Outside {
        command: "init",
        must_say: &["--bare", "--template="],
    },
    // Makes an empty folder and the file in it that leads to the git state.
    Outside {
        command: "worktree",
        must_say: &["add", "--no-checkout"],
    },
];

const fn plain(command: &'static str) -> Outside {
    Outside {
        command,
        must_say: &[],
    }
}

/// Whether a command may run outside.
pub(super) fn is_outside(args: &[OsString]) -> bool {
    let says = |word: &&str| args.iter().any(|arg| arg == word);
    OUTSIDE.iter().any(|outside| {
        args.first().is_some_and(|first| first == outside.command)
            && outside.must_say.iter().all(says)
    })
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
