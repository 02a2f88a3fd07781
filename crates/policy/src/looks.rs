//! Commands that surely change no file, whoever misread them.
//!
//! The rules say how far a command reaches as well as they know its programs, and no
//! list of programs and flags is ever complete: `GIT_TRACE=$PWD/a git status` and `sed -f script a`
//! look, and write. So whether files are saved before a command hangs on this list instead, which
//! errs to the other side: what is not plain text of a well-known program is saved, at the price
//! of a look at what has changed.

use crate::needs_no_sockets;

/// What the shell makes something else of, and what gives a variable to a program.
const NOT_PLAIN: &[char] = &['$', '`', '{', '*', '?', '[', '=', '\\', '<', '>', '('];

/// Flags by which a program of the list writes, runs or takes its orders from a file.
const FLAGS: &[&str] = &[
    "--output",
    "--file",
    "--ext-diff",
    "--textconv",
    "--filters",
    "--compile",
];

/// The same as letters.
const LETTERS: &[char] = &['f', 'o', 'C', 'i'];

/// Whether the command changes no file, on top of what the rules say of it.
pub fn surely_looks(command: &str) -> bool {
    !command.contains(NOT_PLAIN)
        && !command.split_whitespace().any(is_risky)
        && needs_no_sockets(command)
}

fn is_risky(word: &str) -> bool {
    let word = word.replace(['"', '\''], "");
    if word.len() > 2 && word.starts_with("--") {
        return FLAGS.iter().any(|flag| flag.starts_with(&word));
    }
    word.starts_with('-') && word.contains(LETTERS)
}

#[cfg(test)]
mod tests {
    use super::surely_looks;

    #[test]
    fn what_people_look_with_most_is_sure() {
        for command in [
            "echo step 1",
            "ls -la src && cat src/main.rs | head -50",
            "grep -rn 'fn main' . | sort | uniq -c",
            "git status --short; git diff HEAD~1 -- src",
            "git log --oneline -5",
            "find . -name x",
        ] {
            assert!(surely_looks(command), "{command}");
        }
    }

    /// All of them are judged to look only, or once were.
    #[test]
    fn what_looks_and_can_write_is_not_sure() {
        for command in [
            "sed -f s.sed a",
            "sed -nf s.sed a",
            "sed --fil s.sed a",
            "sed \"-\"f s.sed a",
            "tree -o src/main.rs",
            "file -C -m x",
            "git diff --outp src/main.rs",
            "git log -p --ext-diff",
            "git cat-file --textconv HEAD:x",
            "GIT_TRACE=/work/a git status",
            "PATH=. ls",
            "export PATH; ls",
            "tree $X src/main.rs",
            "tree {-,}o src/main.rs",
            "tree *",
            "set -- -o; tree",
            "hash -p ./x ls; ls",
            "awk -f s.awk a",
            "less -o a b",
            "ag --pager x y",
            "time -o a ls",
            "history -w a",
            "alias ls",
            "ctags -R",
        ] {
            assert!(!surely_looks(command), "{command}");
        }
    }
}
