//! Branch and path globs: `*` within one path part, `**` across parts, `?` one
//! character. Small on purpose; linear in pattern times text.

/// Whether `text` as a whole matches `pattern`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    // `reach[j]`: the pattern read so far can end before text[j].
    let mut reach = vec![false; text.len() + 1];
    reach[0] = true;
    let mut i = 0;
    while i < pattern.len() {
        let star = pattern[i] == '*';
        let deep = star && pattern.get(i + 1) == Some(&'*');
        let mut next = vec![false; text.len() + 1];
        if star {
            let mut open = false;
            for j in 0..=text.len() {
                open |= reach[j];
                next[j] = open;
                if !deep && text.get(j) == Some(&'/') {
                    open = false;
                }
            }
        } else {
            for (j, found) in text.iter().enumerate() {
                let same = pattern[i] == *found || (pattern[i] == '?' && *found != '/');
                next[j + 1] = reach[j] && same;
            }
        }
        reach = next;
        i += if deep { 2 } else { 1 };
    }
    reach[text.len()]
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stay_within_a_part_unless_doubled() {
        let cases = [
            ("main", "main", true),
            ("main", "maine", false),
            ("release/*", "release/1.2", true),
            ("release/*", "release/1/2", false),
            ("release/**", "release/1/2", true),
            ("*", "", true),
            ("*", "a/b", false),
            ("**", "a/b", true),
            ("v?", "v1", true),
            ("v?", "v/", false),
            ("*-prod", "eu-prod", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXbY", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
