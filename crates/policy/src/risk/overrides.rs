//! Commands that the policy in force judges otherwise. Matched on words.

use super::{
    args::basename,
    place::{normal, resolve},
    state::State,
    text::Text,
};
use crate::{glob, shell};

/// Whether a pattern of `tool_overrides.bash.destructive` covers this command:
/// its words in order, flags between them, more words behind.
pub(super) fn promotes(pattern: &str, argv: &[Text], state: &State, root: &str) -> bool {
    let words = words(pattern);
    let (Some(first), Some(program)) = (words.first(), argv.first()) else {
        return false;
    };
    let same_file = || {
        // Paths in a policy are those of the repo, wherever the command stands.
        let named = normal(&format!("{root}/{first}"));
        first.contains('/') && resolve(&program.text, state) == Some(named)
    };
    let named = !first.contains('/') && fits(first, basename(&program.text));
    if !(named || fits(first, &program.text) || same_file()) {
        return false;
    }
    let mut wanted = words[1..].iter().peekable();
    for word in &argv[1..] {
        match wanted.peek() {
            None => return true,
            Some(next) if fits(next, &word.text) || !word.exact => {
                wanted.next();
            }
            Some(_) if word.text.starts_with('-') => {}
            Some(_) => return false,
        }
    }
    wanted.peek().is_none()
}

/// Whether a pattern of `tool_overrides.bash.safe` is exactly this command; a
/// last `*` allows more words.
pub(super) fn demotes(pattern: &str, argv: &[Text]) -> bool {
    let mut words = words(pattern);
    let open = words.last().is_some_and(|word| word == "*");
    if open {
        words.pop();
    }
    let length = argv.len() == words.len() || open && argv.len() > words.len();
    let mut pairs = argv.iter().zip(&words);
    let same = pairs.all(|(word, wanted)| word.exact && fits(wanted, &word.text));
    length && !words.is_empty() && same
}

fn fits(pattern: &str, word: &str) -> bool {
    pattern == word || (pattern.contains('*') && glob::matches(pattern, word))
}

/// The words of a pattern: split as a shell would, quotes taken off.
fn words(pattern: &str) -> Vec<String> {
    let nodes = shell::parse(pattern).unwrap_or_default();
    let [shell::Node::Simple(simple)] = nodes.as_slice() else {
        return pattern.split_whitespace().map(str::to_owned).collect();
    };
    let text = |word: &shell::Word| {
        let texts = word.parts.iter().map(|part| match part {
            shell::Part::Plain(text) | shell::Part::Quoted(text) => text.as_str(),
            _ => "",
        });
        texts.collect()
    };
    simple.words.iter().map(text).collect()
}
