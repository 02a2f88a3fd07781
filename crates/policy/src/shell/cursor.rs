//! The place in the text, and what every reader of it needs: looking ahead with
//! line continuations already joined, blanks, comments, depth.

use super::{MAX_DEPTH, Node, Word, heredoc::Pending};

/// Why a text cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// It ends inside something.
    #[error("it ends inside {0}")]
    Unfinished(&'static str),
    /// Something stands where it may not.
    #[error("`{0}` stands where no command can begin")]
    Unexpected(char),
    /// Nested beyond the limit.
    #[error("it nests too deep")]
    TooDeep,
    /// A form that newer shells have and this reader does not know.
    #[error("it uses {0}")]
    Unknown(&'static str),
}

pub(super) type Read<T> = Result<T, Unreadable>;

pub(super) struct Parser<'a> {
    pub(super) text: &'a [char],
    pub(super) at: usize,
    depth: usize,
    /// What reading may still cost. `((` is tried as arithmetic first and read
    /// again as a subshell; nested, that would double the work at each level.
    left: usize,
    /// Here-documents whose bodies begin after the next newline.
    pub(super) pending: Vec<Pending>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a [char], depth: usize) -> Self {
        Self {
            text,
            at: 0,
            depth,
            left: text.len() * 16 + 4096,
            pending: Vec::new(),
        }
    }

    pub(super) fn script(mut self) -> Read<Vec<Node>> {
        let nodes = self.list(&[])?;
        if let Some(stray) = self.peek() {
            return Err(Unreadable::Unexpected(stray));
        }
        if !self.pending.is_empty() {
            return Err(Unreadable::Unfinished("a here-document"));
        }
        Ok(nodes)
    }

    /// The next character, line continuations skipped.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.raw(0) == Some('\\') && self.raw(1) == Some('\n') {
            self.at += 2;
        }
        self.raw(0)
    }

    /// The character at an offset, as it stands.
    pub(super) fn raw(&self, offset: usize) -> Option<char> {
        self.text.get(self.at + offset).copied()
    }

    /// The character after the next one, continuations skipped.
    pub(super) fn peek_second(&mut self) -> Option<char> {
        self.peek()?;
        let mut ahead = 1;
        while self.raw(ahead) == Some('\\') && self.raw(ahead + 1) == Some('\n') {
            ahead += 2;
        }
        self.raw(ahead)
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let found = self.peek();
        if found.is_some() {
            self.at += 1;
        }
        found
    }

    /// Takes `expected` if it comes next.
    pub(super) fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += 1;
        }
        found
    }

    /// Takes `expected`, or says what the text ends inside of.
    pub(super) fn need(&mut self, expected: char, inside: &'static str) -> Read<()> {
        let found = self.take(expected);
        found.then_some(()).ok_or(Unreadable::Unfinished(inside))
    }

    /// Takes both characters or none.
    pub(super) fn take_pair(&mut self, first: char, second: char) -> bool {
        if self.peek() == Some(first) && self.peek_second() == Some(second) {
            self.bump();
            self.bump();
            return true;
        }
        false
    }

    /// Blanks and a comment, up to a newline or a token.
    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        if self.peek() == Some('#') {
            while !matches!(self.raw(0), None | Some('\n')) {
                self.at += 1;
            }
        }
    }

    /// Blanks, comments and newlines; bodies of here-documents on the way.
    pub(super) fn gap(&mut self) -> Read<()> {
        loop {
            self.blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    pub(super) fn newline(&mut self) -> Read<()> {
        self.at += 1;
        self.read_documents()
    }

    /// Runs a reader one level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Unreadable::TooDeep);
        }
        self.spend(1)?;
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn spend(&mut self, cost: usize) -> Read<()> {
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Unreadable::TooDeep)
            }
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The reserved word or operator-free run of plain letters that comes next,
    /// without taking it. Quoted or expanded words are never reserved.
    pub(super) fn keyword(&mut self) -> String {
        let start = self.at;
        let mut word = String::new();
        while let Some(c) = self.peek() {
            if ends_word(c) {
                break;
            }
            if matches!(c, '\'' | '"' | '\\' | '$' | '`') || word.len() > 16 {
                word.clear();
                break;
            }
            word.push(c);
            self.at += 1;
        }
        self.at = start;
        word
    }

    /// Takes a reserved word if it comes next.
    pub(super) fn take_keyword(&mut self, expected: &str) -> bool {
        if self.keyword() != expected {
            return false;
        }
        for _ in expected.chars() {
            self.bump();
        }
        true
    }

    pub(super) fn need_keyword(&mut self, expected: &str, inside: &'static str) -> Read<()> {
        self.gap()?;
        match self.peek() {
            _ if self.take_keyword(expected) => Ok(()),
            None => Err(Unreadable::Unfinished(inside)),
            Some(other) => Err(Unreadable::Unexpected(other)),
        }
    }

    pub(super) fn source(&self, from: usize) -> String {
        // An escape at the very end steps past it.
        let end = self.at.min(self.text.len());
        self.text[from.min(end)..end].iter().collect()
    }
}

/// Whether an unquoted character ends a word.
pub(super) fn ends_word(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')'
    )
}

/// Whether this is a name a shell variable can have.
pub(crate) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Word {
    /// The text of a word that is one unquoted literal.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [super::Part::Plain(text)] => Some(text),
            _ => None,
        }
    }
}
