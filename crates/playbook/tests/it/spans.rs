//! What a prompt's text names: tools in code spans, CamelCase words, files.

/// The code spans of a text, fences left out.
pub(crate) fn code(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.starts_with("```"));
    lines
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

/// Tools that a text names: a code span that begins like one, or any word with
/// a capital inside it. Single plain words such as Read are English.
pub(crate) fn tools(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for span in code(text) {
        let name = span.split('(').next().unwrap_or(span);
        let is_name = name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.len() > 2
            && name.chars().all(|letter| letter.is_ascii_alphabetic())
            && name.chars().any(|letter| letter.is_ascii_lowercase());
        if is_name {
            found.push(name.to_owned());
        }
    }
    for word in text.split(|other: char| !other.is_ascii_alphanumeric()) {
        let humps = word
            .as_bytes()
            .windows(2)
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        if humps && word.starts_with(|first: char| first.is_ascii_uppercase()) {
            found.push(word.to_owned());
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Markdown files that a text names, and folders of `.codebutler/`.
pub(crate) fn files(text: &str) -> Vec<&str> {
    text.split(|other: char| other.is_whitespace() || "`()<>,;:\"".contains(other))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.ends_with(".md") || word.starts_with(".codebutler/"))
        .collect()
}

/// The sentences of a text, its code fences left out.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    });
    lines
        .flat_map(|line| line.split_inclusive(". "))
        .flat_map(|part| part.split_inclusive("; "))
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
        .collect()
}

/// Every argument of every call that a text shows: tool, field, value.
pub(crate) fn call_arguments(text: &str) -> Vec<(&str, &str, &str)> {
    let calls = code(text).into_iter().filter_map(|span| {
        let (tool, inside) = span.split_once('(')?;
        Some((tool, inside.strip_suffix(')')?))
    });
    calls
        .flat_map(|(tool, inside)| inside.split(',').map(move |pair| (tool, pair)))
        .filter_map(|(tool, pair)| {
            let (field, value) = pair.split_once(':')?;
            Some((tool, field.trim(), value.trim()))
        })
        .collect()
}

/// The values of `key: value` inside calls such as `HandOver(kind: answer)`.
pub(crate) fn arguments<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let calls = code(text)
        .into_iter()
        .filter_map(|span| span.split_once('('));
    calls
        .flat_map(|(_, inside)| inside.trim_end_matches(')').split(','))
        .filter_map(|pair| pair.split_once(':'))
        .filter(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .collect()
}

#[test]
fn names_are_found_and_english_is_not() {
    let text = "Read it, then `Read` and SendMessage; `HandOver(kind: answer, to: pm)`. PM, JSON, `path:line`, `X`.";
    assert_eq!(tools(text), ["HandOver", "Read", "SendMessage"]);
    assert_eq!(arguments(text, "to"), ["pm"]);
    assert_eq!(
        files("see `.codebutler/artist/`, a.md."),
        [".codebutler/artist/", "a.md"]
    );
}
