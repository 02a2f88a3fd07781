//! Lines that a change adds and that say themselves that something is missing.

/// So many are named, the rest is counted.
const NAMED: usize = 5;
/// More of a line does not help.
const LINE: usize = 80;

/// New `TODO` and `FIXME` lines of a unified diff, a line each.
pub(super) fn in_diff(diff: &str) -> Vec<String> {
    let (mut path, mut number) = (None, 0_usize);
    let mut found = Vec::new();
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ b/") {
            path = Some(name);
        } else if let Some(hunk) = line.strip_prefix("@@ ") {
            let new = hunk.split('+').nth(1).unwrap_or_default();
            let new = new.split([',', ' ']).next().unwrap_or_default();
            number = new.parse().unwrap_or(0);
        } else if let Some(added) = line.strip_prefix('+') {
            if says_so(added)
                && let Some(path) = path
            {
                let text: String = added.trim().chars().take(LINE).collect();
                found.push(format!("⚠ Left to do: `{path}:{number}` {text}"));
            }
            number += 1;
        } else if line.starts_with(' ') {
            number += 1;
        }
    }
    if found.len() > NAMED {
        let rest = found.len() - NAMED;
        found.truncate(NAMED);
        found.push(format!("⚠ Left to do: {rest} more lines"));
    }
    found
}

/// Whether a line has one of the words, as a word.
fn says_so(line: &str) -> bool {
    let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.any(|word| word == "TODO" || word == "FIXME")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_lines_count_and_only_whole_words() {
        let diff = "diff --git a/a.sh b/a.sh\n--- a/a.sh\n+++ b/a.sh\n@@ -3,3 +3,4 @@ f\n \
            # TODO old\n-# TODO gone\n+# TODO: the empty list\n+TODOS=3\n x\n+y # FIXME\n";
        assert_eq!(
            in_diff(diff),
            [
                "⚠ Left to do: `a.sh:4` # TODO: the empty list",
                "⚠ Left to do: `a.sh:7` y # FIXME"
            ]
        );
        let many = format!("+++ b/x\n@@ -0,0 +1,9 @@\n{}", "+ TODO\n".repeat(9));
        assert_eq!(in_diff(&many).len(), NAMED + 1);
    }
}
