//! Names that look like a name that does not exist: for error texts.

/// At most `count` of `names` that are close to `wanted`, best first.
pub(crate) fn nearest(
    wanted: &str,
    names: impl Iterator<Item = String>,
    count: usize,
) -> Vec<String> {
    let plain = plain(wanted);
    let mut scored: Vec<(u32, String)> = names
        .filter_map(|name| likeness(&plain, &name).map(|score| (score, name)))
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.truncate(count);
    scored.into_iter().map(|(_, name)| name).collect()
}

/// 0 to 1000; nothing when they have too little in common.
fn likeness(wanted: &str, name: &str) -> Option<u32> {
    let name = plain(name);
    if name == wanted {
        return Some(1000);
    }
    if wanted.len() >= 3
        && (name.contains(wanted) || wanted.contains(name.as_str()) && name.len() >= 3)
    {
        return Some(800);
    }
    if sorted(wanted) == sorted(&name) {
        return Some(750);
    }
    let ratio = pair_ratio(wanted, &name);
    (ratio >= 600).then_some(ratio.min(749))
}

/// Case, dashes and marks that combine with a letter do not count.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' ' | '\u{300}'..='\u{36f}'))
        .flat_map(char::to_lowercase)
        .map(unaccented)
        .collect()
}

/// The common precomposed letters without their marks, so that both ways to
/// write an umlaut compare equal.
fn unaccented(c: char) -> char {
    match c {
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        'ý' | 'ÿ' => 'y',
        c => c,
    }
}

/// Swapped letters are the usual slip.
fn sorted(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().collect();
    letters.sort_unstable();
    letters
}

/// How many neighbouring pairs of characters two names share, in thousandths.
pub(crate) fn pair_ratio(a: &str, b: &str) -> u32 {
    let pairs = |text: &str| -> Vec<(char, char)> {
        let chars: Vec<char> = text.chars().take(64).collect();
        chars.windows(2).map(|pair| (pair[0], pair[1])).collect()
    };
    let (first, mut second) = (pairs(a), pairs(b));
    let total = first.len() + second.len();
    if total == 0 {
        return 0;
    }
    let mut common = 0;
    for pair in first {
        if let Some(at) = second.iter().position(|other| *other == pair) {
            second.swap_remove(at);
            common += 1;
        }
    }
    u32::try_from(2000 * common / total).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_dashes_and_typos_are_found_and_strangers_are_not() {
        let near = |wanted: &str, names: &[&str]| {
            nearest(wanted, names.iter().map(|name| (*name).to_owned()), 3)
        };
        assert_eq!(near("readme.md", &["README.md", "main.rs"]), ["README.md"]);
        assert_eq!(near("run_checks", &["RunChecks", "Read"]), ["RunChecks"]);
        assert_eq!(
            near("cofnig.toml", &["config.toml", "zebra"]),
            ["config.toml"]
        );
        assert_eq!(near("u\u{308}ber.txt", &["über.txt"]), ["über.txt"]);
        assert!(near("Teleport", &["Read", "Grep"]).is_empty());
    }
}
