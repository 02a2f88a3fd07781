//! Whether a licence expression lets us ship: `MIT OR (Apache-2.0 AND ISC)`.

/// Licences that may be in the shipped binary. All are permissive; Unicode-3.0
/// is for the character tables that every URL parser carries.
pub(crate) const ALLOWED: [&str; 13] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "ISC",
    "Zlib",
    "Unlicense",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "Unicode-3.0",
    "BSL-1.0",
];

/// Whether one way through the expression has only allowed licences. What cannot
/// be read is not allowed.
pub(crate) fn is_allowed(expression: &str) -> bool {
    // An old spelling of OR.
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = either(&mut words);
    verdict == Some(true) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>) -> Option<bool> {
    let mut good = both(words)?;
    while words.next_if_eq(&"OR").is_some() {
        let other = both(words)?;
        good |= other;
    }
    Some(good)
}

fn both(words: &mut Words<'_>) -> Option<bool> {
    let mut good = one(words)?;
    while words.next_if_eq(&"AND").is_some() {
        let other = one(words)?;
        good &= other;
    }
    Some(good)
}

fn one(words: &mut Words<'_>) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let inside = either(words)?;
        return words.next_if_eq(&")").map(|_| inside);
    }
    // An exception only gives further freedom.
    if words.next_if_eq(&"WITH").is_some() {
        words.next()?;
    }
    Some(ALLOWED.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_deny_is_told_the_same() {
        let deny = include_str!("../../deny.toml");
        for licence in ALLOWED {
            assert!(deny.contains(&format!("\"{licence}\"")), "{licence}");
        }
    }

    #[test]
    fn permissive_ways_are_found_and_nothing_else() {
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "Apache-2.0 AND ISC",
        ] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0-only",
            "LGPL-2.1-or-later",
            "MIT AND GPL-2.0-only",
            "(MIT",
            "MIT OR",
            "MIT Apache-2.0",
            "MPL-2.0",
            "NOASSERTION",
        ] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }
}
