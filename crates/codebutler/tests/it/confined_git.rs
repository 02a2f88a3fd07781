//! No git looks at files outside the sandbox, in no story: a `git` that is first on PATH
//! notes how it is started. In the sandbox it cannot write its notes, so what is noted ran
//! outside.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// What may run outside; none of it reads a working tree.
const OUTSIDE: &[&str] = &[
    "fetch",
    "push",
    "ls-remote",
    "config",
    "remote",
    "for-each-ref",
    "update-ref",
    "symbolic-ref",
    "rev-parse",
    "rev-list",
    "merge-base",
    "cat-file",
    "ls-tree",
    "mktree",
    "mktag",
    "commit-tree",
    "hash-object",
    "worktree",
    "version",
    "check-ref-format",
    "repack",
    "pack-refs",
    // Saves files for undo: is told their bytes and looks at none.
    "fast-import",
];

/// What a fetch or push starts by itself, here or at the other end.
const FAR_END: &[&str] = &[
    "upload-pack",
    "receive-pack",
    "pack-objects",
    "unpack-objects",
    "index-pack",
    "rev-list",
];

/// The notes of the gits of a story.
pub(crate) struct GitNotes(PathBuf);

impl GitNotes {
    /// A `git` in a folder of its own, which takes notes and then does what it is asked to.
    pub(crate) fn new(folder: &Path) -> Self {
        let own = folder.join("noted");
        fs::create_dir(&own).unwrap();
        let path = env::var_os("PATH").unwrap();
        let mut found = env::split_paths(&path).map(|one| one.join("git"));
        let real = found.find(|one| one.exists()).unwrap();
        let notes = Self(own.join("notes"));
        let script = format!(
            "#!/bin/sh\n(echo \"$(readlink /proc/self/ns/mnt)|$PWD|$GIT_WORK_TREE|$*\" >> '{}') 2>/dev/null\nexec '{}' \"$@\"\n",
            notes.0.display(),
            real.display(),
        );
        let program = own.join("git");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        notes
    }

    /// The variable that has it found first.
    pub(crate) fn path(&self) -> (OsString, OsString) {
        let own = self.0.parent().unwrap().to_owned();
        let others = env::var_os("PATH").unwrap();
        let all = env::join_paths([own].into_iter().chain(env::split_paths(&others)));
        ("PATH".into(), all.unwrap())
    }

    /// Asserts that whatever ran outside looked at no files.
    pub(crate) fn judge(&self) {
        let host = fs::read_link("/proc/self/ns/mnt").unwrap();
        let noted = fs::read_to_string(&self.0).unwrap_or_default();
        assert!(!noted.is_empty(), "a team without git");
        for line in noted.lines() {
            let mut parts = line.splitn(4, '|');
            let mut part = || parts.next().unwrap_or_default();
            let (space, place, files, args) = (part(), part(), part(), part());
            // Git starts itself with further words, as for the far end of a push.
            let mut words = args.split(' ');
            let command = words
                .find(|word| !word.starts_with('-'))
                .unwrap_or_default();
            if space != host.to_string_lossy() || FAR_END.contains(&command) {
                continue;
            }
            assert!(OUTSIDE.contains(&command), "outside: git {args}");
            assert_eq!(files, "", "outside with files: git {args}");
            let is_remote = ["fetch", "push", "ls-remote"].contains(&command);
            let is_top = Path::new(place).join(".git").exists();
            assert!(is_remote || !is_top, "outside in {place}: git {args}");
        }
    }
}
