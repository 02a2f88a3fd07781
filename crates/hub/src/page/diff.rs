//! Unified diffs to HTML. Pure; every character of the diff is escaped.

use maud::{Markup, html};

/// A diff inside a code block: each line in its colour.
pub(super) fn lines(diff: &str) -> Markup {
    html! {
        @for line in diff.split_inclusive('\n') {
            span class=(line_class(line)) { (line) }
        }
    }
}

fn line_class(line: &str) -> &'static str {
    if line.starts_with("@@") {
        "hunk"
    } else if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") {
        "meta"
    } else if line.starts_with('+') {
        "add"
    } else if line.starts_with('-') {
        "del"
    } else {
        "same"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_its_colour_and_no_markup_of_its_own() {
        let html = lines("@@ -1 +1 @@\n-old\n+new <b>\n same\n").into_string();
        assert_eq!(
            html,
            "<span class=\"hunk\">@@ -1 +1 @@\n</span><span class=\"del\">-old\n</span><span class=\"add\">+new &lt;b&gt;\n</span><span class=\"same\"> same\n</span>"
        );
    }
}
