//! The known word that a person probably meant.

/// The nearest of `known` to `word`, when it is near enough to be a slip.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // A third of the letters may differ, so that short words do not match everything.
    let limit = (word.chars().count() / 3).max(1);
    known
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters to insert, delete, replace or swap with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let replace = above[j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = replace.min(above[j] + 1).min(row[j - 1] + 1);
            let swapped =
                i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if swapped {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: Option<&str>) {
        let known = ["maxCostPerDay", "maxCostPerThread", "slack", "pm", "checks"];
        assert_eq!(nearest(word, known.into_iter()), expected, "{word}");
    }

    #[test]
    fn slips_find_their_word_and_strangers_do_not() {
        check("maxCostperDay", Some("maxCostPerDay"));
        check("max_cost_per_day", Some("maxCostPerDay"));
        check("salck", Some("slack"));
        check("check", Some("checks"));
        check("mp", Some("pm"));
        check("database", None);
        check("x", None);
        check("", None);
    }
}
