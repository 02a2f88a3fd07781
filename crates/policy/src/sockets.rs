//! Commands that surely have no use for a socket, so that none need be made possible:
//! those that consist of nothing but well-known programs that read and change files.
//!
//! Being wrong costs such a command an error of a socket call, never a wall: it gets
//! less than others. So the list (`no-sockets` of the table) is short, and whatever is not plain is not on it.

use crate::{
    risk::is_listed,
    shell::{self, Node, Part, Redirect, Simple, Target, Word},
};

/// Arguments by which one of them starts another program.
const STARTS: &[&str] = &["-exec", "-ok", "--pre", "--compress-program", "--filter"];

/// Whether no part of the command has any use for a socket.
pub fn needs_no_sockets(command: &str) -> bool {
    // The shell itself connects when it opens these.
    let connects = command.contains("/dev/tcp") || command.contains("/dev/udp");
    !connects && shell::parse(command).is_ok_and(|nodes| all(&nodes))
}

fn all(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| match node {
        Node::Simple(simple) => is_known(simple),
        Node::Pipeline(stages) => all(stages),
        Node::Block(block) => {
            words(&block.words)
                && redirects(&block.redirects)
                && block.bodies.iter().all(|b| all(b))
        }
        // What a function's name means is known only where it is called.
        Node::Background(_) | Node::Function(_) => false,
    })
}

fn is_known(simple: &Simple) -> bool {
    let given = simple.assignments.iter();
    let mut given = given.map(|given| (&given.value, given.subscript.is_none()));
    given.all(|(value, plain)| plain && parts(&value.parts))
        && redirects(&simple.redirects)
        && words(&simple.words)
        && is_program(&simple.words)
}

/// Whether the words name a program of the list, used as one of the list.
fn is_program(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return true;
    };
    let mut arguments = arguments.iter().map(Word::plain);
    match program.plain() {
        Some("git") => {
            let does = arguments.next().flatten();
            does.is_some_and(|does| is_listed("no-sockets-git", does))
        }
        Some(name) => {
            let starts = |word: &str| STARTS.iter().any(|start| word.starts_with(start));
            is_listed("no-sockets", name) && !arguments.flatten().any(starts)
        }
        None => false,
    }
}

fn words(words: &[Word]) -> bool {
    words.iter().all(|word| parts(&word.parts))
}

fn redirects(redirects: &[Redirect]) -> bool {
    redirects.iter().all(|redirect| match &redirect.target {
        Target::Word(word) => parts(&word.parts),
        Target::Document(text) => text.get().is_none_or(|word| parts(&word.parts)),
    })
}

fn parts(all_parts: &[Part]) -> bool {
    all_parts.iter().all(|part| match part {
        Part::Plain(_) | Part::Quoted(_) => true,
        // Operators and subscripts can hide a command in a value.
        Part::Variable(variable) => variable.operator.is_empty() && variable.subscript.is_none(),
        Part::Command { nodes, .. } | Part::Process { nodes, .. } => all(nodes),
        Part::Number(inner) => parts(inner),
        Part::Array(list) => words(list),
    })
}

#[cfg(test)]
mod tests {
    use super::needs_no_sockets;

    #[test]
    fn files_and_text_need_none() {
        for command in [
            "echo step 1",
            "ls -la src && cat src/main.rs | head -50",
            "grep -rn 'fn main' --include=*.rs . | sort | uniq -c",
            "git status --short; git diff HEAD~1 -- src",
            "cd crates && wc -l $(git ls-files '*.rs')",
            "if [ -f x ]; then sed -n '1,20p' x; fi",
            "for f in a b; do echo \"$f\"; done > out.txt",
            "cat > x <<'EOF'\ncurl localhost\nEOF",
            "X=1",
        ] {
            assert!(needs_no_sockets(command), "{command}");
        }
    }

    #[test]
    fn what_is_not_known_may_need_some() {
        for command in [
            "cargo test",
            "npm test",
            "python3 -c 'import socket'",
            "curl localhost:3000",
            "echo x | nc localhost 80",
            "echo $(curl localhost)",
            "cat <(curl localhost)",
            "cat < /dev/tcp/127.0.0.1/80",
            "find . -name x -exec curl {} ;",
            "find . -execdir sh -c x ;",
            "rg --pre ./tool x",
            "git fetch",
            "git -c core.pager=x log",
            "git commit -m x",
            "$PROGRAM x",
            "./ls",
            "\"ls\" -l",
            "env ls",
            "ls & ",
            "ls() { curl localhost; }; ls",
            "echo ${x@P}",
            "echo ${x:-$(curl localhost)}",
            "echo 'unfinished",
            "if true; then curl localhost; fi",
            "while read l; do curl $l; done",
        ] {
            assert!(!needs_no_sockets(command), "{command}");
        }
    }
}
