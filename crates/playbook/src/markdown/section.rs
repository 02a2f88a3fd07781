//! Sections of a Markdown file, by their level-two heading.

use crate::markdown::outline::lines;

/// The text without the section under `heading` (as in `## Archived Learnings`):
/// that section only, up to the next heading of the same or a higher level.
pub(crate) fn without_section(text: &str, heading: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for line in lines(text) {
        if line.heading().is_some_and(|(level, _)| level <= 2) {
            inside = line.raw.trim_end() == heading;
        }
        if !inside {
            out.push_str(line.raw);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_that_section_goes() {
        let text = "# A\n\n## Learnings\nkeep\n\n## Archived Learnings\n### Old\ngone\n\n## After\nkeep too\n";
        assert_eq!(
            without_section(text, "## Archived Learnings"),
            "# A\n\n## Learnings\nkeep\n\n## After\nkeep too\n"
        );
        assert_eq!(without_section(text, "## Nothing"), text);
    }

    #[test]
    fn a_heading_inside_a_fence_is_no_heading() {
        let text = "## Archived Learnings\n```\n## After\n```\n## Real\nx\n";
        assert_eq!(
            without_section(text, "## Archived Learnings"),
            "## Real\nx\n"
        );
    }
}
