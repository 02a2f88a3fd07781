//! Sections of a Markdown file, by their level-two heading.

/// The text without the section under `heading` (as in `## Archived Learnings`):
/// that section only, up to the next heading of the same or a higher level.
#[must_use]
pub fn without_section(text: &str, heading: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    let mut fence = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fence = !fence;
        }
        let is_heading = !fence && (line.starts_with("# ") || line.starts_with("## "));
        if is_heading {
            inside = line.trim_end() == heading;
        }
        if !inside {
            out.push_str(line);
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
