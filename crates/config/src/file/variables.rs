//! `${NAME}` in strings of the machine config, filled from the environment after
//! parsing, so that a quote in a value cannot change the file's meaning. In a
//! repo's file it is a problem: a clone must not read the variables of whoever
//! opens it. `$${NAME}` stands for the text `${NAME}` itself, which shell commands
//! sometimes need.

use std::path::Path;

use crate::file::{
    document::{Kind, Node},
    path::KeyPath,
    problem::Problem,
};

/// Looks a variable up; tests pass their own.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where `${NAME}` comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// The environment: the machine config.
    Environment(Environment<'a>),
    /// Nowhere: a file that came with a repo.
    Nowhere,
}

/// Fills every string of a tree; each variable that cannot be filled is a problem of its own.
pub(crate) fn fill(node: &mut Node, env: Source<'_>, file: &Path, problems: &mut Vec<Problem>) {
    fill_below(node, &KeyPath::root(), env, file, problems);
}

fn fill_below(
    node: &mut Node,
    path: &KeyPath,
    env: Source<'_>,
    file: &Path,
    problems: &mut Vec<Problem>,
) {
    let line = node.line;
    match &mut node.kind {
        Kind::Text(text) => {
            let lookup = |name: &str| match env {
                Source::Environment(env) => env(name),
                Source::Nowhere => None,
            };
            let (filled, unset) = expand(text, &lookup);
            let missing = !unset.is_empty();
            problems.extend(unset.into_iter().map(|name| {
                let (what, remedy) = trouble(&name, env);
                Problem::with_file(file, what, remedy).at(line, path.as_str())
            }));
            node.kind = match missing {
                true => Kind::Unset,
                false => Kind::Text(filled),
            };
        }
        Kind::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                fill_below(item, &path.index(index), env, file, problems);
            }
        }
        Kind::Map(fields) => {
            for field in fields {
                fill_below(&mut field.value, &path.key(&field.key), env, file, problems);
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Unset => {}
    }
}

/// Why a variable was not filled, and what to write instead.
fn trouble(name: &str, source: Source<'_>) -> (String, String) {
    match source {
        Source::Environment(_) => (
            format!("the environment variable {name} is not set"),
            format!("Set {name}, or write $${{{name}}} if the text itself is meant"),
        ),
        Source::Nowhere => (
            format!("a repository's file may not use the environment variable {name}"),
            format!(
                "Only the machine config is filled from the environment; write $${{{name}}} if the text itself is meant"
            ),
        ),
    }
}

/// The filled text, and the names that were not set.
fn expand(text: &str, env: Environment<'_>) -> (String, Vec<String>) {
    let mut filled = String::with_capacity(text.len());
    let mut unset = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        let Some((name, after)) = from[2..].split_once('}').filter(|(name, _)| is_name(name))
        else {
            filled.push_str(before);
            filled.push_str("${");
            rest = &from[2..];
            continue;
        };
        rest = after;
        if let Some(before) = before.strip_suffix('$') {
            filled.push_str(&format!("{before}${{{name}}}"));
            continue;
        }
        filled.push_str(before);
        match env(name) {
            Some(value) => filled.push_str(&value),
            None => unset.push(name.to_owned()),
        }
    }
    filled.push_str(rest);
    (filled, unset)
}

fn is_name(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    !text.is_empty() && text.bytes().all(fits) && !text.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "A" => Some("1".into()),
            "QUOTE" => Some("\"}, ${A}".into()),
            _ => None,
        }
    }

    fn check(text: &str, expected: &str, unset: &[&str]) {
        assert_eq!(
            expand(text, &env),
            (
                expected.to_owned(),
                unset.iter().map(|n| (*n).to_owned()).collect()
            ),
            "{text}"
        );
    }

    #[test]
    fn names_are_filled_once_and_everything_else_stays() {
        check("x${A}y${A}", "x1y1", &[]);
        check("${QUOTE}", "\"}, ${A}", &[]);
        check("$${A} and ${A}", "${A} and 1", &[]);
        check("${NOPE}-${ALSO}", "-", &["NOPE", "ALSO"]);
        check("${A:-x} ${} $A ${", "${A:-x} ${} $A ${", &[]);
        check("${é}${A}", "${é}1", &[]);
    }

    proptest! {
        #[test]
        fn text_without_names_is_unchanged(text in "[^$]*|(\\$[^{])*") {
            prop_assert_eq!(expand(&text, &env), (text.clone(), vec![]));
        }

        #[test]
        fn nothing_panics(text in "[${}A\\p{L}]{0,20}") {
            expand(&text, &env);
        }
    }
}
