use proptest::prelude::*;

use super::*;

/// The text of all parts with the fences that cutting added taken out again.
fn joined(parts: &[String]) -> String {
    parts.concat().replace("```", "").replace('\n', "")
}

#[test]
fn short_text_is_one_part() {
    assert_eq!(split("hi", 100), ["hi"]);
    assert_eq!(split("", 100), [""]);
}

#[test]
fn cuts_fall_between_lines_and_fences_are_reopened() {
    let text = format!("intro\n```\n{}```\nend\n", "line of code\n".repeat(20));
    let parts = split(&text, 100);
    assert!(parts.len() > 2);
    for part in &parts {
        assert!(part.len() <= 100, "{part}");
        assert_eq!(fences_in(part) % 2, 0, "{part}");
    }
    assert!(parts[1].starts_with("```\nline of code\n"));
    assert_eq!(joined(&parts), joined(&[text]));
}

#[test]
fn a_long_line_is_cut_at_a_space_and_escapes_stay_whole() {
    let parts = split(&"word ".repeat(40), 50);
    assert!(
        parts.iter().all(|part| part.ends_with("word ")),
        "{parts:?}"
    );
    let parts = split(&"a&amp;".repeat(40), 51);
    assert!(
        parts
            .iter()
            .all(|part| !part.ends_with('&') && !part.ends_with("&am") && !part.starts_with("mp;")),
        "{parts:?}"
    );
}

proptest! {
    #[test]
    fn nothing_is_lost_no_part_is_too_long(
        lines in prop::collection::vec("[a-zé`&; ]{0,60}|```", 0..40), limit in 40usize..200,
    ) {
        let text = lines.join("\n");
        let parts = split(&text, limit);
        for part in &parts {
            prop_assert!(part.len() <= limit, "{} > {limit}: {part:?}", part.len());
        }
        let plain = |s: &str| s.replace(['`', '\n', ' '], "");
        prop_assert_eq!(plain(&parts.concat()), plain(&text));
    }
}
