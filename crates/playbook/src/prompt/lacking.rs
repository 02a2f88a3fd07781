//! A prompt without the sentences about tools that a role is not offered: a small
//! model that reads of a tool calls it.

/// The text without every sentence that names one of these tools in code.
pub(crate) fn without_tools(text: &str, lacking: &[&str]) -> String {
    let names = |sentence: &str| {
        let called = |tool: &&str| {
            sentence.contains(&format!("`{tool}`")) || sentence.contains(&format!("`{tool}("))
        };
        lacking.iter().any(called)
    };
    let mut lines = Vec::new();
    for line in text.lines() {
        if !names(line) {
            lines.push(line.to_owned());
            continue;
        }
        let (bullet, rest) = match line.strip_prefix("- ") {
            Some(rest) => ("- ", rest),
            None => ("", line),
        };
        let kept = sentences(rest).into_iter().filter(|one| !names(one));
        let kept: Vec<&str> = kept.collect();
        if !kept.is_empty() {
            lines.push(format!("{bullet}{}", kept.join(" ")));
        }
    }
    lines.join("\n")
}

/// A sentence ends with its stop and a blank.
fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line.trim();
    while let Some(end) = rest.find(". ") {
        found.push(&rest[..=end]);
        rest = rest[end + 2..].trim_start();
    }
    found.push(rest);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sentences_about_it_go() {
        let text = "# Coder\n- Use `Read` first. `Glob` for the layout. Then go on.\n- `Glob(pattern)` it.\nA Glob in prose.";
        assert_eq!(
            without_tools(text, &["Glob"]),
            "# Coder\n- Use `Read` first. Then go on.\nA Glob in prose."
        );
        assert_eq!(without_tools(text, &[]), text);
    }
}
