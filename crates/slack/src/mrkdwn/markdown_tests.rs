use proptest::prelude::*;

use super::*;

fn check(markdown: &str, expected: &str) {
    assert_eq!(from_markdown(markdown), expected, "{markdown}");
}

#[test]
fn what_models_write_becomes_what_slack_reads() {
    check("**bold** and *it* and ~~no~~", "*bold* and _it_ and ~no~");
    check("# Title\n\ntext", "*Title*\n\ntext");
    check("# A **b** c", "*A b c*");
    check(
        "[see](https://x.y/a?b=1&c=2)",
        "<https://x.y/a?b=1&amp;c=2|see>",
    );
    check("<https://x.y>", "<https://x.y>");
    check("[local](./a.rs)", "local (./a.rs)");
    check("`a < b`", "`a &lt; b`");
    check("```rust\nlet x = 1;\n```", "```\nlet x = 1;\n```");
    check("- a\n- b\n  - c", "• a\n• b\n    • c");
    check("1. a\n2. b", "1. a\n2. b");
    check("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open");
    check("> quoted\n> twice", "> quoted\n> twice");
    check("a\n\nb", "a\n\nb");
    check("a & b <br> c", "a &amp; b &lt;br&gt; c");
}

#[test]
fn tables_are_aligned_code_or_lists() {
    check(
        "a\n\n| Name | Is |\n|---|---:|\n| `x` | **1** |\n| longer | a < b |\n\nb",
        "a\n\n```\nName    Is\n──────  ─────\nx       1\nlonger  a &lt; b\n```\n\nb",
    );
    let wide = "word ".repeat(20);
    check(
        &format!("| What | Why |\n|---|---|\n| one | {wide} |\n| two | {wide} |"),
        &format!(
            "• *What:* one; *Why:* {0}\n• *What:* two; *Why:* {0}",
            wide.trim()
        ),
    );
    let wider = "x".repeat(80);
    check(
        &format!("| A |\n|---|\n| {wider} |"),
        &format!("• *A:* {wider}"),
    );
}

#[test]
fn a_star_in_an_address_is_no_emphasis() {
    check(
        "see https://x.y/*/a*b and *this*",
        "see https://x.y/*/a*b and _this_",
    );
    check(
        "https://x.y/__init__.py __b__",
        "https://x.y/__init__.py *b*",
    );
    check("*see https://x.y*", "_see https://x.y_");
    check("`https://x.y/*a*`", "`https://x.y/*a*`");
}

#[test]
fn long_code_keeps_its_language_for_the_file() {
    let long = "x = 1\n".repeat(20);
    let text = from_markdown(&format!("```python\n{long}```"));
    assert!(text.starts_with("```python\nx = 1\n"), "{text}");
    let odd = from_markdown(&format!("```a b\n{long}```"));
    assert!(odd.starts_with("```\n"), "{odd}");
}

#[test]
fn no_text_pings_anybody() {
    for probe in [
        "<!channel>",
        "<@U123>",
        "**<!here>**",
        "`<!everyone>`",
        "```\n<!channel>\n```",
    ] {
        let text = from_markdown(probe);
        assert!(!text.contains("<!") && !text.contains("<@"), "{text}");
    }
}

proptest! {
    #[test]
    fn only_links_leave_an_angle_bracket(text in "[a-z<>!@#|*_`~\\[\\]() \\n.:/-]{0,80}") {
        let out = from_markdown(&text);
        for (at, _) in out.match_indices('<') {
            let target = &out[at + 1..];
            prop_assert!(
                ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)),
                "{text:?} -> {out:?}"
            );
        }
    }
}
