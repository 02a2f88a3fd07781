//! Text that a person decides about, with nothing hidden in it. What a screen
//! would not show, or would show in another order, stands there as `\u{…}`, and
//! what was written can be read back from it byte for byte.

/// More spaces in a row could push the rest off a screen.
const SPACES: usize = 40;
/// More marks on one letter would cover its neighbours.
const MARKS: usize = 4;

/// Shows every control, bidirectional, zero-width and otherwise invisible
/// character as `\u{…}`; so are blanks where they would not be seen: at the end
/// of a line, at either end of the text, and in long runs.
pub(crate) fn verbatim(text: &str) -> String {
    let mut shown = Shown::default();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let hidden = match c {
            '\n' => shown.lines >= 2 || at == 0 || next.is_none(),
            ' ' => shown.spaces >= SPACES || matches!(next, None | Some('\n')) || at == 0,
            // What looks like one of our own signs is marked as none.
            '\\' => text[at..].starts_with("\\u{"),
            '!'..='~' => false,
            _ => is_hidden(c) || (is_mark(c) && !(1..=MARKS).contains(&shown.letter)),
        };
        shown.put(c, hidden);
    }
    shown.text
}

/// What was shown so far, and what it ends with.
#[derive(Default)]
struct Shown {
    text: String,
    lines: usize,
    spaces: usize,
    /// One after a letter, one more for each mark on it; zero where a mark has
    /// nothing to stand on.
    letter: usize,
}

impl Shown {
    fn put(&mut self, c: char, hidden: bool) {
        if hidden {
            self.text.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            self.text.push(c);
        }
        let run = |is: bool, so_far: usize| if is { so_far + 1 } else { 0 };
        self.lines = run(c == '\n', self.lines);
        self.spaces = run(c == ' ', self.spaces);
        self.letter = match c {
            c if is_mark(c) => self.letter + usize::from(!hidden),
            '\n' | ' ' => 0,
            _ => usize::from(!hidden),
        };
    }
}

/// Whether a screen shows nothing for it, or lets it turn the text around.
fn is_hidden(c: char) -> bool {
    // What Unicode calls printable and yet has no ink.
    let inkless = matches!(
        u32::from(c),
        0x034F
            | 0x115F
            | 0x1160
            | 0x17B4
            | 0x17B5
            | 0x180B..=0x180F
            | 0x2800
            | 0x3164
            | 0xFE00..=0xFE0F
            | 0xFFA0
            | 0xFFFC
            | 0x16FE4
            | 0x1D159
            | 0xE0100..=0xE01EF
    );
    // The standard library escapes whatever is no printable character: controls,
    // formats, blanks but the ordinary one, private use, what is unassigned.
    let printable = || ['a', c].iter().collect::<String>().escape_debug().count() == 2;
    inkless || c.is_control() || c.is_whitespace() || !printable()
}

/// Whether it is drawn onto the letter before it.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && !is_hidden(c) && c.escape_debug().count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_named_and_the_rest_stays() {
        for (text, shown) in [
            ("rm -rf \"$HOME\"\nls", "rm -rf \"$HOME\"\nls"),
            (
                "a\u{202e}b\u{200b}c\0\u{7}",
                "a\\u{202e}b\\u{200b}c\\u{0}\\u{7}",
            ),
            ("tab\there\r\n", "tab\\u{9}here\\u{d}\\u{a}"),
            ("end  \nof line ", "end \\u{20}\nof line\\u{20}"),
            ("\n\n\n\nx", "\\u{a}\n\\u{a}\\u{a}x"),
            ("\\u{202e} \\n \\", "\\u{5c}u{202e} \\n \\"),
            (
                "\u{a0}\u{3000}\u{2028}\u{3164}\u{2800}",
                "\\u{a0}\\u{3000}\\u{2028}\\u{3164}\\u{2800}",
            ),
            ("\u{e0041}\u{fe0f}\u{feff}", "\\u{e0041}\\u{fe0f}\\u{feff}"),
            ("日本 Ünïcödé हिन्दी 🎉", "日本 Ünïcödé हिन्दी 🎉"),
            ("e\u{301} \u{301}", "e\u{301} \\u{301}"),
        ] {
            assert_eq!(verbatim(text), shown, "{text:?}");
        }
        let far = format!("ls{}; rm x", " ".repeat(50));
        assert_eq!(verbatim(&far).matches("\\u{20}").count(), 10);
        let heap = format!("e{}", "\u{301}".repeat(9));
        assert_eq!(verbatim(&heap).matches("\\u{301}").count(), 5);
    }
}
