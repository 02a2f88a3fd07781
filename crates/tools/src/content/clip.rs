//! Caps on what a model reads. Whatever is cut says so, and how to see the rest.

/// Bytes of one tool result, unless a tool has a smaller cap of its own.
pub(crate) const RESULT_BYTES: usize = 48 * 1024;

/// Characters of one line.
pub(crate) const LINE_CHARS: usize = 1000;

/// Text of at most `cap` bytes, head and tail kept; `hint` says how to see the
/// rest.
pub(crate) fn head_and_tail(text: &str, cap: usize, hint: &str) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let head = line_end_before(text, cap * 2 / 3);
    let tail = line_start_after(text, text.len() - cap / 3);
    let cut = &text[head..tail];
    let lines = cut.bytes().filter(|byte| *byte == b'\n').count();
    format!(
        "{}\n[… {lines} lines, {} bytes left out{}{hint}]\n{}",
        text[..head].trim_end_matches('\n'),
        cut.len(),
        if hint.is_empty() { "" } else { ": " },
        &text[tail..]
    )
}

/// One line of at most [`LINE_CHARS`] characters.
pub(crate) fn line(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(LINE_CHARS) {
        None => text.into(),
        Some((at, _)) => {
            let rest = text[at..].chars().count();
            format!("{}[… {rest} characters]", &text[..at]).into()
        }
    }
}

/// Output of a program as a model can read it: no colours, no carriage returns
/// that overwrite a line, no other control characters.
pub fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            // A progress bar: only its last state counts.
            '\r' => {
                let line = out.rfind('\n').map_or(0, |at| at + 1);
                out.truncate(line);
            }
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Skips an ANSI sequence whose escape character was just read.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => {
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
        Some(']') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// A cut at or before `at`, at the end of a line when one is near.
fn line_end_before(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    match text[..at].rfind('\n') {
        Some(end) if end > at / 2 => end + 1,
        _ => at,
    }
}

fn line_start_after(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    match text[at..].find('\n') {
        Some(next) if at + next + 1 < text.len() - (text.len() - at) / 2 => at + next + 1,
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_text_stays_and_long_text_keeps_both_ends() {
        assert_eq!(head_and_tail("short", 10, "x"), "short");
        let text: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let cut = head_and_tail(&text, 300, "use offset");
        assert!(cut.starts_with("line 0\nline 1\n"), "{cut}");
        assert!(cut.ends_with("line 999\n"), "{cut}");
        assert!(cut.contains("bytes left out: use offset]"), "{cut}");
    }

    #[test]
    fn colours_and_progress_bars_vanish() {
        assert_eq!(
            plain(b"\x1b[31mred\x1b[0m\r\n10%\r20%\rdone\n\x1b]0;t\x07x\x00y"),
            "red\ndone\nxy"
        );
    }

    proptest! {
        #[test]
        fn cutting_never_panics_and_keeps_the_cap(text in "[a\nü🦀]{0,200}", cap in 1usize..100) {
            let cut = head_and_tail(&text, cap, "");
            prop_assert!(cut.len() <= cap.max(text.len().min(cap)) + 60);
        }

        #[test]
        fn plain_text_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let shown = plain(&bytes);
            prop_assert!(shown.bytes().all(|byte| byte != 0x1b));
        }
    }
}
