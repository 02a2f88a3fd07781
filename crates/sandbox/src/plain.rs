//! Commands that no shell has to read: one program and its arguments, as they stand.
//! Starting a shell for them costs more than starting most of the programs.

/// What the shell reads as words as they stand, outside quotes.
const AS_IT_STANDS: &[u8] = b"_./:,@%+=-";

/// What the shell does itself, or reads as grammar. Whoever calls one of these wants the
/// shell's.
const OF_THE_SHELL: &str = ". : alias bg bind break builtin caller case cd command compgen complete compopt continue \
    coproc declare dirs disown do done elif else enable esac eval exec exit export false fc \
    fg fi for function getopts hash help history if in jobs kill let local logout mapfile \
    popd printf pushd pwd read readarray readonly return select set shift shopt source \
    suspend test then time times trap true type typeset ulimit umask unalias unset until \
    wait while";

/// The program and its arguments, if the command is nothing else: no second command, no
/// variable, no pattern, no redirection. The program is one that is found along `PATH`:
/// what a path names may be a script without a first line, which a shell has to run.
pub(crate) fn words(command: &str) -> Option<Vec<String>> {
    let words = split(command)?;
    let program = words.first()?;
    let of_the_shell = OF_THE_SHELL.split(' ').any(|name| name == program);
    if program.is_empty() || of_the_shell || program.contains(['=', '/']) {
        return None;
    }
    // The shell's own, which is the program's but for options.
    let option = |word: &String| word.starts_with('-');
    (program != "echo" || !words.iter().any(option)).then_some(words)
}

/// The words, quotes taken off; nothing when anything in them means more than itself.
fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = command.chars();
    while let Some(next) = rest.next() {
        match next {
            ' ' => words.extend(word.take()),
            '\'' | '"' => {
                let (quoted, after) = rest.as_str().split_once(next)?;
                let means_more = next == '"' && quoted.contains(['$', '`', '\\', '!']);
                if means_more || quoted.contains('\0') {
                    return None;
                }
                word.get_or_insert_default().push_str(quoted);
                rest = after.chars();
            }
            _ if next.is_ascii_alphanumeric()
                || next.is_ascii() && AS_IT_STANDS.contains(&(next as u8)) =>
            {
                word.get_or_insert_default().push(next);
            }
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::{OF_THE_SHELL, words};

    #[test]
    fn one_program_and_its_arguments_need_no_shell() {
        let plain = [
            ("ls", vec!["ls"]),
            (
                "  cargo test -p a --lib  ",
                vec!["cargo", "test", "-p", "a", "--lib"],
            ),
            (
                "grep -rn 'a b|$c' src",
                vec!["grep", "-rn", "a b|$c", "src"],
            ),
            (
                "git log --format=\"%h %s\"",
                vec!["git", "log", "--format=%h %s"],
            ),
            ("cat ''", vec!["cat", ""]),
            ("echo step 1", vec!["echo", "step", "1"]),
        ];
        for (command, argv) in plain {
            let argv = argv.into_iter().map(String::from).collect();
            assert_eq!(words(command), Some(argv), "{command}");
        }
    }

    #[test]
    fn whatever_means_more_than_itself_is_the_shells() {
        for command in [
            "",
            " ",
            "a; b",
            "a && b",
            "a | b",
            "a > b",
            "a $b",
            "a `b`",
            "a \"$b\"",
            "a ~/b",
            "a *",
            "a {b,c}",
            "a [b]",
            "a\\ b",
            "a # b",
            "A=b c",
            "a\nb",
            "(a)",
            "a &",
            "! a",
            "a 'b",
            "[[ a ]]",
            "cd src",
            "echo -n a",
            "time ls",
            "exit 3",
            "./run",
            "/bin/ls",
            "bin/run a",
            "ls \"a!b\"",
            "ls ü",
            "''",
        ] {
            assert_eq!(words(command), None, "{command}");
        }
    }

    #[test]
    fn every_word_of_bash_is_known() {
        let bash = Command::new("bash")
            .args(["-c", "compgen -bk"])
            .output()
            .unwrap();
        let names = String::from_utf8(bash.stdout).unwrap();
        let plain = |name: &&str| *name != "echo" && words(name).is_some();
        assert_eq!(
            names.lines().filter(plain).collect::<Vec<_>>(),
            Vec::<&str>::new()
        );
        let mut known = OF_THE_SHELL.split(' ');
        assert!(known.all(|name| names.lines().any(|one| one == name)));
    }

    proptest! {
        /// What we split is what bash would have given the program.
        #[test]
        fn bash_reads_the_same_words(
            arguments in "([a-z0-9 ./:,@%+=-]|'[ a-z$*;|\\\\]{0,4}'|\"[ a-z*;|~!]{0,4}\"|[$~*#!{}\\\\;]){0,12}",
        ) {
            let command = format!("echo_words {arguments}");
            if let Some(words) = words(&command) {
                let script = format!("echo_words() {{ printf '%s\\0' \"$@\"; }}\n{command}");
                let bash = Command::new("bash").args(["--norc", "-c", &script]).output().unwrap();
                let read = String::from_utf8(bash.stdout).unwrap();
                let mut read: Vec<&str> = read.split('\0').collect();
                read.pop();
                // With no words at all `printf` writes one empty line.
                let ours: Vec<&str> = words[1..].iter().map(String::as_str).collect();
                prop_assert!(read == ours || ours.is_empty(), "{command}: {read:?} {ours:?}");
            }
        }
    }
}
