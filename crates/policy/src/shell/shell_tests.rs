//! The programs that a text runs, at every depth.

use super::*;

/// First words of all simple commands, in order, as far as they are plain.
fn programs(text: &str) -> Result<Vec<String>, Unreadable> {
    let mut found = Vec::new();
    for node in &parse(text)? {
        visit(node, &mut found);
    }
    Ok(found)
}

fn visit(node: &Node, found: &mut Vec<String>) {
    match node {
        Node::Simple(simple) => {
            if let Some(word) = simple.words.first() {
                found.push(show(word));
            }
            let values = simple.assignments.iter();
            let values = values.flat_map(|a| a.subscript.iter().chain([&a.value]));
            for word in simple.words.iter().chain(values) {
                visit_parts(&word.parts, found);
            }
            visit_redirects(&simple.redirects, found);
        }
        Node::Pipeline(nodes) => nodes.iter().for_each(|n| visit(n, found)),
        Node::Background(node) => visit(node, found),
        Node::Function(function) => visit(&function.body, found),
        Node::Block(block) => {
            block
                .words
                .iter()
                .for_each(|w| visit_parts(&w.parts, found));
            block.bodies.iter().flatten().for_each(|n| visit(n, found));
            visit_redirects(&block.redirects, found);
        }
    }
}

fn visit_redirects(redirects: &[Redirect], found: &mut Vec<String>) {
    for redirect in redirects {
        match &redirect.target {
            Target::Word(word) => visit_parts(&word.parts, found),
            Target::Document(slot) => visit_parts(&slot.get().unwrap().parts, found),
        }
    }
}

fn visit_parts(parts: &[Part], found: &mut Vec<String>) {
    for part in parts {
        match part {
            Part::Command { nodes, .. } | Part::Process { nodes, .. } => {
                nodes.iter().for_each(|n| visit(n, found));
            }
            Part::Number(inner) => visit_parts(inner, found),
            Part::Variable(variable) => {
                if let Some(word) = &variable.subscript {
                    visit_parts(&word.parts, found);
                }
                visit_parts(&variable.operand, found);
            }
            Part::Array(words) => words.iter().for_each(|w| visit_parts(&w.parts, found)),
            Part::Plain(_) | Part::Quoted(_) => {}
        }
    }
}

fn show(word: &Word) -> String {
    word.parts
        .iter()
        .map(|part| match part {
            Part::Plain(text) | Part::Quoted(text) => text.as_str(),
            _ => "?",
        })
        .collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(programs(text).unwrap(), expected, "{text}");
}

#[test]
fn lists_and_pipelines() {
    check("a; b && c || d | e & f", &["a", "b", "c", "d", "e", "f"]);
    check("! a | b |& c", &["a", "b", "c"]);
    check("a\nb # c\nd", &["a", "b", "d"]);
    check("a \\\n b &\\\n& c", &["a", "c"]);
    check("r\\\nm x", &["rm"]);
    check("time -p a; time b; time", &["a", "b"]);
    check("time -f %e a", &["time"]);
    check("coproc a b; coproc N { c; }", &["a", "c"]);
    check("x=1 y=2 a", &["a"]);
    check(">o a <i 2>&1 &>l", &["a"]);
    check("{fd}>x a", &["a"]);
}

#[test]
fn compound_commands() {
    check(
        "if a; then b; elif c; then d; else e; fi",
        &["a", "b", "c", "d", "e"],
    );
    check(
        "while a; do b; done; until c; do d; done",
        &["a", "b", "c", "d"],
    );
    check("for x in 1 2; do a; done; for x; do b; done", &["a", "b"]);
    check("for ((i=0; i<3; i++)); do a; done", &["a"]);
    check("for x in a b; { c; }", &["c"]);
    check("select x in a; do b; done", &["b"]);
    check(
        "case $x in a|b) c;; (d) e;& f) g;;& *) h; esac",
        &["c", "e", "g", "h"],
    );
    check("case x in esac", &[]);
    check("{ a; b; }; ( c; d ) > f", &["a", "b", "c", "d"]);
    check("( ( a ) ); ((b); (c))", &["a", "b", "c"]);
    check("[[ -f x && $(a) =~ ^(b|c)$ ]] && d", &["a", "d"]);
    check("(( x = $(a) + 1 )) && b", &["a", "b"]);
    check(
        "f() { a; }; function g { b; }; function h() ( c )",
        &["a", "b", "c"],
    );
    check("f () if a; then b; fi", &["a", "b"]);
    check("echo if then fi { }", &["echo"]);
}

#[test]
fn substitutions_in_every_corner() {
    check(
        "echo $(a) `b` \"$(c)\" \"`d`\"",
        &["echo", "a", "b", "c", "d"],
    );
    check("echo `a \\`b\\``", &["echo", "a", "b"]);
    check("cat <(a) >(b)", &["cat", "a", "b"]);
    check(
        "echo ${x:-$(a)} ${x#`b`} ${x%$(c)} ${x^^$(d)} ${x//$(e)/$(f)}",
        &["echo", "a", "b", "c", "d", "e", "f"],
    );
    check("echo \"${x:-'$(a)'}\"", &["echo", "a"]);
    check("echo \"${x%'$(a)'}\" ${x:-'$(b)'}", &["echo"]);
    check(
        "echo $((1 + $(a))) $[ $(b) ] ${x[$(c)]} ${x:$(d):1}",
        &["echo", "a", "b", "c", "d"],
    );
    check(
        "x[$(a)]=1; y=($(b) \"$(c)\"); declare -a z=($(d))",
        &["a", "b", "c", "declare", "d"],
    );
    check("echo '$(a)' \\$\\(b $'$(c)' \"\\$(d)\"", &["echo"]);
    check("a > $(b) <<< $(c)", &["a", "b", "c"]);
    check("echo $( (a); b ) $((c) ; d)", &["echo", "a", "b", "c", "d"]);
    check("case $(a) in $(b)) c;; esac", &["a", "b", "c"]);
    check("for x in $(a) `b`; do c; done", &["a", "b", "c"]);
    check("echo $(case x in a) b;; esac)", &["echo", "b"]);
    check("echo $(a # )\n)", &["echo", "a"]);
}

#[test]
fn here_documents() {
    check("cat <<E\n$(a) `b`\nE\nc", &["cat", "a", "b", "c"]);
    check("cat <<'E'\n$(a)\nE\nc", &["cat", "c"]);
    check("cat <<-E\n\t$(a)\n\tE\nc", &["cat", "a", "c"]);
    check(
        "cat <<A <<B | d\n$(a)\nA\n$(b)\nB\nc",
        &["cat", "a", "b", "d", "c"],
    );
    check("cat <<E && b\nx\nE\nc", &["cat", "b", "c"]);
    check("cat <<E\nx \\\nE\na\nE\nb", &["cat", "b"]);
    check("x=$(cat <<E\nb\nE\n); c", &["cat", "c"]);
    check("cat <<\\E\n`a`\nE", &["cat"]);
    check("if a; then cat <<E\nE\nfi", &["a", "cat"]);
}

#[test]
fn what_cannot_be_read_is_an_error() {
    for text in [
        "'",
        "\"a",
        "$(a",
        "`a",
        "a (b",
        "if a; then b",
        "for x in a; do b",
        "case x in a) b",
        "{ a",
        "( a",
        "cat <<E\nx",
        "a )",
        "}",
        "fi",
        "done",
        "a && ",
        "| a",
        "a >",
        "${x",
        "[[ a",
        "; a",
        "a &&& b",
        "f() ",
        "$(( 1",
        "${ a; }",
        "\\",
    ] {
        assert!(programs(text).is_err(), "{text} -> {:?}", programs(text));
    }
}

#[test]
fn hostile_text_neither_hangs_nor_aborts() {
    for text in ["cat <<\\", "$'\\c", "`\\", "echo \\", "a <<E\\"] {
        let _ = programs(text);
    }
    for unit in [
        "(",
        "((",
        "$(",
        "$((",
        "${x:-",
        "`",
        "\"$(",
        "{ ",
        "if ",
        "<(",
        "$[",
        "!",
        "[[ ",
        "f()",
        "case x in a) ",
        "for x in ",
        "$(cat <<E\n",
        "\\`",
        "a|",
        "&&",
        "<<E\n",
        "'",
        "x=(",
        "@(",
    ] {
        let _ = programs(&unit.repeat(20_000));
    }
    assert_eq!(programs(&"$(".repeat(5000)), Err(Unreadable::TooDeep));
    assert!(programs(&format!("echo {}", "a ".repeat(500_000))).is_ok());
}
