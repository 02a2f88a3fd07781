//! Names that look like one that does not exist: for error texts.

/// At most `count` of `known` that `wanted` may have meant, the closest first. Case,
/// dashes, dots and accents do not count.
pub fn nearest<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let wanted = plain(wanted);
    let mut close: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| Some((distance(&wanted, &plain(name))?, name)))
        .collect();
    close.sort();
    close
        .into_iter()
        .take(count)
        .map(|(_, name)| name)
        .collect()
}

/// Letters to insert, delete, replace or swap with their neighbour; nothing when
/// that is more than a slip.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (short, long) = match wanted.len() < name.len() {
        true => (wanted, name),
        false => (name, wanted),
    };
    if wanted == name {
        return Some(0);
    }
    if short.len() >= 3 && long.contains(short) {
        return Some(1);
    }
    // A third of the letters may differ, so that short words do not match everything.
    let most = (long.chars().count() / 3).max(1);
    let far = strsim::osa_distance(wanted, name);
    (far <= most && !short.is_empty()).then_some(far)
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' ' | '\u{300}'..='\u{36f}'))
        .flat_map(char::to_lowercase)
        .map(unaccented)
        .take(80)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &str, known: &[&str], expected: &[&str]) {
        let found = nearest(wanted, known.iter().copied(), 3);
        assert_eq!(found, expected, "{wanted}");
    }

    #[test]
    fn slips_find_their_word_and_strangers_do_not() {
        let keys = ["maxCostPerDay", "slack", "pm", "checks"];
        check("maxCostperDay", &keys, &["maxCostPerDay"]);
        check("max_cost_per_day", &keys, &["maxCostPerDay"]);
        check("salck", &keys, &["slack"]);
        check("check", &keys, &["checks"]);
        check("mp", &keys, &["pm"]);
        for stranger in ["database", "x", ""] {
            check(stranger, &keys, &[]);
        }
        let tools = ["Read", "Grep", "RunChecks", "SendMessage"];
        check("read_file", &tools, &["Read"]);
        check("run_checks", &tools, &["RunChecks"]);
        check("SendMesage", &tools, &["SendMessage"]);
        check("xyzzyplugh", &tools, &[]);
        check("Teleport", &tools, &[]);
    }

    #[test]
    fn files_are_found_whatever_their_case_and_marks() {
        check("readme.md", &["README.md", "main.rs"], &["README.md"]);
        check("cofnig.toml", &["config.toml", "zebra"], &["config.toml"]);
        check("u\u{308}ber.txt", &["über.txt"], &["über.txt"]);
    }

    #[test]
    fn the_closest_come_first_and_not_more_than_asked_for() {
        let models = ["kimi-k2.6", "gpt-4o-mini", "kimi-k2.5", "kimi-k14"];
        let found = nearest("kimi-k2.55", models, 2);
        assert_eq!(found, ["kimi-k2.5", "kimi-k2.6"]);
    }
}
