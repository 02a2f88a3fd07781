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
    let wanted = fold(name);
    let mut ranked: Vec<(usize, &str)> = known
        .iter()
        .map(|other| (distance(&wanted, &fold(other)), *other))
        .filter(|(far, other)| *far <= (wanted.len().max(other.len()) / 2).max(2))
        .collect();
    ranked.sort_by_key(|(far, _)| *far);
    ranked
        .into_iter()
        .take(most)
        .map(|(_, name)| name)
        .collect()
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

/// Edits between two words; a word that begins with the other counts as close.
fn distance(a: &str, b: &str) -> usize {
    if !a.is_empty() && !b.is_empty() && (a.starts_with(b) || b.starts_with(a)) {
        return 1;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = cost.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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
