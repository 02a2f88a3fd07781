//! Whatever is wrapped around a bad command, it stays bad; wherever bad text
//! stands as data, it stays data; and nothing hangs, whatever is thrown in.

use butler_protocol::Tier;
use proptest::prelude::*;

use crate::risk_corpus::judge;

const BAD: [&str; 10] = [
    "rm -rf src",
    "sudo reboot",
    "git push --force",
    "npm publish",
    "docker run x",
    "chmod -R 777 .",
    "psql -c 'drop table t'",
    "kubectl delete pod x",
    "cp x /etc/passwd",
    "pip install x",
];

/// Ways to run a command that leave it whole. `@` is the command.
const AROUND: [&str; 34] = [
    "@",
    "@; ls",
    "ls; @",
    "ls && @",
    "ls || @",
    "true | @",
    "@ &",
    "( @ )",
    "{ @; }",
    "! @",
    "time @",
    "if true; then @; fi",
    "while true; do @; break; done",
    "for i in 1 2; do @; done",
    "case x in x) @;; esac",
    "f() { @; }; f",
    "echo $( @ )",
    "x=$( @ )",
    "echo \"$( @ )\"",
    "cat <( @ )",
    "echo ${y:-$( @ )}",
    "cat <<E\n$( @ )\nE",
    "bash <<'E'\n@\nE",
    "env A=1 @",
    "nohup @",
    "timeout 5 @",
    "nice -n 5 @",
    "command @",
    "exec @",
    "A=1 B=2 @",
    "ls\n@\nls",
    "ls # x\n@",
    "cd src && @",
    "@ > out.txt 2>&1",
];

/// Wrappers that take the command as one word. `@` is the quoted command.
const QUOTED: [&str; 8] = [
    "sh -c @",
    "bash -lc @",
    "eval @",
    "env sh -c @",
    "echo @ | sh",
    "bash <<< @",
    "trap @ EXIT",
    "xargs -I{} sh -c @",
];

/// Places where a text is only a text.
const DATA: [&str; 12] = [
    "echo @",
    "printf '%s\\n' @",
    "git commit -m @",
    "grep -r @ .",
    "rg -F @",
    "x=@",
    "mytool --note @",
    "[ @ = y ]",
    "git log --grep=@",
    "cat > notes.txt <<< @",
    "jq --arg x @ . f.json",
    "test -n @ && echo yes",
];

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The first word in another spelling that means the same.
fn respelled(command: &str, how: u8) -> String {
    let (first, rest) = command.split_once(' ').unwrap_or((command, ""));
    let (head, tail) = first.split_at(1);
    match how % 7 {
        0 => command.to_owned(),
        1 => format!("\\{first} {rest}"),
        2 => format!("'{head}'{tail} {rest}"),
        3 => format!("{head}\"\"{tail} {rest}"),
        4 => format!("/usr/bin/{first} {rest}"),
        5 => format!("{head}\\\n{tail} {rest}"),
        _ => format!("v={first}; $v {rest}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wrapped_commands_stay_destructive(
        bad in 0..BAD.len(),
        how in any::<u8>(),
        layers in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..4),
    ) {
        // Respelling by a variable is two commands: not for wrappers that take words.
        let how = if layers.is_empty() { how } else { how % 6 };
        let mut command = respelled(BAD[bad], how);
        for (as_word, index) in &layers {
            let simple = !command.contains(['\n', ';', '|', '&', '(', '{', '!']) && !command.starts_with(['A', 'x', 'c', 'i', 'w', 'f', 't']);
            command = if *as_word {
                index.get(&QUOTED).replace('@', &quote(&command))
            } else {
                let around = index.get(&AROUND);
                let words = ["env", "nohup", "timeout", "nice", "command", "exec", "A=1", "time", "!"];
                if !simple && words.iter().any(|word| around.starts_with(word)) {
                    continue;
                }
                around.replace('@', &command)
            };
        }
        let verdict = judge(&command);
        prop_assert_eq!(verdict.tier, Tier::Destructive, "{}", command);
    }

    #[test]
    fn bad_text_as_data_is_not_destructive(
        bad in 0..BAD.len(),
        other in 0..BAD.len(),
        place in 0..DATA.len(),
        twice in any::<bool>(),
    ) {
        let text = if twice { format!("{}; {}", BAD[bad], BAD[other]) } else { BAD[bad].to_owned() };
        let command = DATA[place].replace('@', &quote(&text));
        let verdict = judge(&command);
        prop_assert!(verdict.tier < Tier::Destructive, "{}: {}", command, verdict.reason);
    }

    #[test]
    fn any_text_gets_a_verdict(text in ".*") {
        let _ = judge(&text);
    }

    #[test]
    fn any_shell_like_text_gets_a_verdict(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "rm", " ", "-rf", "$(", ")", "`", "'", "\"", "{", "}", "((", "))", "[[", "]]", ";", "&&", "|", "<<E", "\nE\n",
            "\n", "${x:-", "$x", "~", "*", "=", "x=", "if ", "then ", "fi", "for i in ", "do ", "done", "case x in ", "esac",
            "\\", "<(", ">", "#", "eval ", "sh -c ", "xargs ", "find . -exec ", "é", "\u{fffd}", "{a,b}", "$'\\x41'", "!",
        ]), 0..60),
    ) {
        let _ = judge(&pieces.concat());
    }
}

#[test]
fn hostile_texts_end_with_a_question() {
    let deep =
        |open: &str, close: &str, n: usize| format!("{}ls{}", open.repeat(n), close.repeat(n));
    let texts = [
        deep("$(", ")", 5000),
        deep("( ", " )", 5000),
        deep("{ ", "; }", 5000),
        deep("eval ", "", 100),
        deep("env ", "", 100),
        format!("echo {}", "a".repeat(1 << 20)),
        "ls\0-la".to_owned(),
        "ls \u{1b}[2J".to_owned(),
        "'".repeat(100_001),
        "f() { f | f & }; f".to_owned(),
    ];
    for text in texts {
        let verdict = judge(&text);
        let shown: String = text.chars().take(40).collect();
        assert_eq!(verdict.tier, Tier::Destructive, "{shown}");
        assert!(!verdict.reason.is_empty());
    }
}

#[test]
fn long_and_broad_texts_end() {
    for text in [
        format!("echo {}", "{a,b}".repeat(2000)),
        format!("echo {}", "{".repeat(60_000)),
        format!("echo {}", "{1..9}".repeat(50)),
        "ls; ".repeat(20_000),
        "for i in 1 2 3 4 5 6 7 8 9; do ".repeat(12) + "ls; " + &"done; ".repeat(12),
        "if true; then ".repeat(30) + "x=1; ls " + &"; fi".repeat(30),
        "x=$(ls > $(ls > $(ls > $(ls > $(ls > $(ls > y))))))".to_owned(),
        format!("cat <<E\n{}\nE", "line of text\n".repeat(15_000)),
        format!("echo {}", "$(echo a)".repeat(3000)),
        format!("a {}", "\"$x\" ".repeat(20_000)),
        format!("a={}; {}", "b+".repeat(40_000), ": $((a)); ".repeat(3000)),
        format!("a={}; : {}", "b".repeat(90_000), "${!a} ".repeat(15_000)),
        "a[1]=x; a=(y); ".repeat(8000),
        format!("a=({}); echo ${{a[9]}}", "x ".repeat(60_000)),
        format!("make --eval '{}'", "$(shell ".repeat(25_000)),
        format!("make --eval 'X=$(X)$(X){}'", "\na:;$(X)".repeat(9000)),
        format!("sed '{}'", "1{".repeat(90_000)),
        format!("sed '{}'", "1{e x\n".repeat(30_000)),
        "declare -n r=$x; r=1; ".repeat(6000),
        format!("perl -e '{}'", "unlink find( ".repeat(15_000)),
        format!("python3 -c '{}'", "unlink( for # ".repeat(15_000)),
        format!("fzf --bind '{}'", "execute(".repeat(20_000)),
        format!("curl -{}", "sX".repeat(90_000)),
    ] {
        let _ = judge(&text);
    }
}
