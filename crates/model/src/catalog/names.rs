//! Names that are almost right: tools a model misspelt, model ids a person did.

/// The canonical spelling of `name` among `known`, when it differs only in
/// case, separators or a `functions.` prefix.
pub(crate) fn canonical<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let exact = known.iter().find(|other| **other == name);
    let wanted = fold(name);
    exact
        .or_else(|| known.iter().find(|other| fold(other) == wanted))
        .copied()
}

/// Up to `most` names closest to `name`, the closest first; far ones are left out.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str], most: usize) -> Vec<&'a str> {
    butler_protocol::nearest(&fold(name), known.iter().copied(), most)
}

fn fold(name: &str) -> String {
    let name = name.trim();
    let name = name.strip_prefix("functions.").unwrap_or(name);
    // Kimi numbers its calls: `functions.read:0`.
    let name = match name.rsplit_once(':') {
        Some((before, digits)) if digits.bytes().all(|b| b.is_ascii_digit()) => before,
        _ => name,
    };
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' ' | '.'))
        .flat_map(char::to_lowercase)
        .take(80)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [&str; 6] = [
        "Read",
        "Grep",
        "RunChecks",
        "Write",
        "HandOver",
        "SendMessage",
    ];

    #[test]
    fn case_separators_and_prefixes_do_not_matter() {
        for name in [
            "run_checks",
            "RUNCHECKS",
            "functions.RunChecks:0",
            "Run-Checks",
            "runChecks",
        ] {
            assert_eq!(canonical(name, &TOOLS), Some("RunChecks"), "{name}");
        }
        assert_eq!(canonical("Delete", &TOOLS), None);
    }

    #[test]
    fn the_nearest_names_are_offered() {
        assert_eq!(nearest("read_file", &TOOLS, 3)[0], "Read");
        assert_eq!(nearest("SendMesage", &TOOLS, 1), ["SendMessage"]);
        assert!(nearest("xyzzyplugh", &TOOLS, 3).is_empty());
    }
}
