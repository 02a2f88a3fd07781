//! Words for the person who waits. This is a tool for the terminal; it prints.

/// Says a line.
#[expect(clippy::print_stdout, reason = "a tool for the terminal prints")]
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Says that a step begins.
pub(crate) fn heading(text: &str) {
    line(&format!("\n=== {text}"));
}
