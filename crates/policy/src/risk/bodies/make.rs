//! Makefiles that a command line writes or pipes: the shell lines in them.
//!
//! Read for what may run, not for what make would choose: every recipe counts,
//! whichever target was asked for.

use std::collections::HashMap;

use super::super::text::UNKNOWN;

/// References inside references are followed so deep.
const MAX_DEPTH: usize = 6;

/// A makefile may grow by its references to this size.
const MAX_BYTES: usize = 256 * 1024;

/// The shell lines of a makefile. `given` are variables from outside. Nothing
/// when it grows too large to read, or changes how it is to be read.
pub(in super::super) fn shell_lines(
    text: &str,
    given: &HashMap<String, String>,
) -> Option<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let mut variables = given.clone();
    for line in text.lines().filter(|line| !line.starts_with('\t')) {
        if let Some((name, value)) = setting(line) {
            variables.entry(name.to_owned()).or_insert(value.to_owned());
        }
    }
    let mut left = MAX_BYTES;
    let mut lines = Vec::new();
    let mut defines = false;
    for line in text.lines() {
        let word = line.split_whitespace().next().unwrap_or_default();
        defines = word == "define" || defines && word != "endef";
        let recipe = match line.strip_prefix('\t') {
            Some(recipe) => recipe,
            // What is defined may be run anywhere.
            None if defines && word != "define" => line,
            None if changes_reading(line, word) => return None,
            None if line.trim_start().starts_with('#') => continue,
            None => {
                // `$(shell …)` runs wherever it stands, `x != …` as well.
                for command in shell_calls(line) {
                    lines.push(expanded(command, &variables, 0, &mut left)?);
                }
                if let Some((_, command)) = line.split_once("!=") {
                    lines.push(expanded(command, &variables, 0, &mut left)?);
                }
                match rule_line(line) {
                    Some(recipe) => recipe,
                    None => continue,
                }
            }
        };
        let recipe = recipe.trim_start_matches(['@', '-', '+', ' ', '\t']);
        lines.push(expanded(recipe, &variables, 0, &mut left)?);
    }
    Some(lines)
}

/// Lines that make the rest mean something else, or bring in what nobody sees.
fn changes_reading(line: &str, word: &str) -> bool {
    match setting(line) {
        Some(("SHELL", shell)) => {
            let name = shell.rsplit(['/', ' ']).next().unwrap_or_default();
            !matches!(name, "sh" | "bash" | "zsh" | "dash") || shell.starts_with('.')
        }
        Some((".SHELLFLAGS", flags)) => flags.contains(['$', ';', '\'', '"', '/']),
        Some((name, _)) => name == ".RECIPEPREFIX",
        None => match word {
            "include" | "-include" | "sinclude" => {
                line.contains("/dev/") || line.contains("/proc/")
            }
            "load" | "-load" => true,
            _ => false,
        },
    }
}

/// What stands behind the `;` of `target: sources; recipe`.
fn rule_line(line: &str) -> Option<&str> {
    let (head, recipe) = line.split_once(';')?;
    (head.contains(':') && setting(head).is_none()).then_some(recipe)
}

/// `name = value`, `name := value`, `name ?= value`, `name += value`.
fn setting(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    let plain = !name.is_empty() && !name.contains([' ', ':', '$', ';']);
    plain.then(|| (name, value.trim()))
}

/// The commands of `$(shell …)`, each read once.
fn shell_calls(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("shell ") {
        let open = rest[..at].chars().next_back().unwrap_or(' ');
        let close = match open {
            '(' => ')',
            '{' => '}',
            _ => {
                rest = &rest[at + 1..];
                continue;
            }
        };
        let call = &rest[at - 1..];
        let end = closing(call, open, close);
        found.push(&call["(shell ".len()..end]);
        rest = &call[end..];
    }
    found
}

/// A recipe as the shell gets it.
fn expanded(
    text: &str,
    variables: &HashMap<String, String>,
    depth: usize,
    left: &mut usize,
) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(next) = rest.chars().next() else {
            break;
        };
        let close = match next {
            '(' => ')',
            '{' => '}',
            other => {
                rest = &rest[other.len_utf8()..];
                match other {
                    '$' => out.push('$'),
                    // `$@`, `$<` and their kin are names of files.
                    '@' | '<' | '^' | '*' | '?' | '+' | '|' | '%' => out.push_str("file"),
                    other => {
                        let name = other.to_string();
                        let value = variables.get(&name).cloned().unwrap_or_default();
                        out.push_str(&nested(&value, variables, depth, left)?);
                    }
                }
                continue;
            }
        };
        let end = closing(rest, next, close);
        let inner = &rest[1..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        if let Some(command) = inner.strip_prefix("shell ") {
            out.push_str("$(");
            out.push_str(&nested(command, variables, depth, left)?);
            out.push(')');
        } else if inner.contains([' ', '$', ':']) {
            // A function of make: what it gives is not known.
            out.push(UNKNOWN);
        } else {
            let builtin = match inner {
                "CC" | "CXX" | "LD" | "AR" | "MAKE" | "CPP" => "cc",
                _ => "",
            };
            let value = variables.get(inner).map_or(builtin, String::as_str);
            out.push_str(&nested(value, variables, depth, left)?);
        }
    }
    out.push_str(rest);
    *left = left.checked_sub(out.len())?;
    Some(out)
}

fn nested(
    value: &str,
    variables: &HashMap<String, String>,
    depth: usize,
    left: &mut usize,
) -> Option<String> {
    if depth >= MAX_DEPTH {
        return None;
    }
    expanded(value, variables, depth + 1, left)
}

/// Where the parenthesis that opens a text is closed.
fn closing(text: &str, open: char, close: char) -> usize {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let lines = shell_lines(text, &HashMap::new()).unwrap();
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn recipes_are_found_wherever_they_stand() {
        check("a:;rm -rf x", &["rm -rf x"]);
        check("a: b\n\t@echo $@ $$HOME\n", &["echo file $HOME"]);
        check("X = rm\na:\n\t-$(X) -rf y", &["rm -rf y"]);
        check("X = r$(Y)\nY = m\na:\n\t${X} x", &["rm x"]);
        check("a:\n\t$(CC) -o $@ $<", &["cc -o file file"]);
        check("V := $(shell id -u)\n", &["id -u"]);
        check(
            "V := $(shell a $(shell b)) ${shell c} shell d\n",
            &["a $(b)", "c"],
        );
        check("V := $(shell", &[]);
        check("V := $(shell ", &[""]);
        check("a: $(wildcard *.c) # note\n", &[]);
        check("a:\n\techo $(words a b)", &["echo \u{fffd}"]);
    }

    #[test]
    fn what_grows_or_reads_otherwise_is_not_read() {
        for text in [
            "X = $(X)$(X)\na:\n\t$(X)\n",
            "SHELL = ./evil\n",
            ".RECIPEPREFIX = >\n",
            "include /dev/stdin\n",
            "load ./evil.so\n",
        ] {
            assert_eq!(shell_lines(text, &HashMap::new()), None, "{text}");
        }
        check(
            "SHELL := /bin/bash\n.SHELLFLAGS := -eu -o pipefail -c\n",
            &[],
        );
        check("define R\nrm x\nendef\na: b\n", &["rm x"]);
    }
}
