//! Words: quotes, escapes, expansions.

use super::{
    Node, Part, Variable, Word,
    cursor::{Parser, Read, Unreadable, ends_word, is_name},
    parse_at_depth,
};

/// Collects parts and joins neighbours of one kind.
#[derive(Default)]
struct Parts(Vec<Part>);

impl Parts {
    fn plain(&mut self, c: char) {
        if let Some(Part::Plain(text)) = self.0.last_mut() {
            text.push(c);
        } else {
            self.0.push(Part::Plain(c.to_string()));
        }
    }

    fn quoted(&mut self, more: &str) {
        if let Some(Part::Quoted(text)) = self.0.last_mut() {
            text.push_str(more);
        } else {
            self.0.push(Part::Quoted(more.to_owned()));
        }
    }
}

/// Where parts are being read: it decides what is special.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// An unquoted word.
    Word,
    /// `"…"`.
    Quotes,
    /// The body of a here-document.
    Document,
    /// The operand of an unquoted `${…}`.
    Braces,
    /// The operand of `"${…}"` with `-`, `=`, `+` or `?`: apostrophes are text.
    QuotedBraces,
    /// `$(( … ))` and subscripts, closed by parentheses.
    Number,
    /// `$[ … ]`.
    Brackets,
}

impl Parser<'_> {
    /// Reads a word; nothing when none begins here.
    pub(super) fn word(&mut self) -> Read<Option<Word>> {
        let start = self.at;
        let parts = self.deeper(|p| p.parts(Within::Word))?;
        Ok((self.at > start && !parts.is_empty()).then_some(Word { parts }))
    }

    /// The whole text as the body of a here-document.
    pub(super) fn document_parts(&mut self) -> Read<Vec<Part>> {
        self.parts(Within::Document)
    }

    /// After `((`: the parts up to `))`, or nothing when it is no arithmetic.
    pub(super) fn arithmetic(&mut self) -> Read<Option<Vec<Part>>> {
        let start = self.at;
        let parts = self.deeper(|p| p.parts(Within::Number));
        if let Ok(parts) = parts
            && self.raw(0) == Some(')')
            && self.raw(1) == Some(')')
        {
            self.at += 2;
            return Ok(Some(parts));
        }
        self.at = start;
        Ok(None)
    }

    fn parts(&mut self, within: Within) -> Read<Vec<Part>> {
        let mut parts = Parts::default();
        let mut parens = 0usize;
        while let Some(c) = self.peek() {
            self.spend(1)?;
            match (within, c) {
                (Within::Word, c) if ends_word(c) => {
                    if !self.joins_word(c, &mut parts)? {
                        break;
                    }
                }
                (Within::Quotes, '"')
                | (Within::Braces | Within::QuotedBraces, '}')
                | (Within::Brackets, ']') => break,
                (Within::Number, ')') if parens == 0 => break,
                (Within::Number, '(' | ')') => {
                    parens = if c == '(' { parens + 1 } else { parens - 1 };
                    self.at += 1;
                    parts.plain(c);
                }
                _ => self.part(within, c, &mut parts)?,
            }
        }
        Ok(parts.0)
    }

    /// A metacharacter that does not end the word after all: `<( … )`,
    /// `name=( … )`, `@( … )`.
    fn joins_word(&mut self, c: char, parts: &mut Parts) -> Read<bool> {
        if matches!(c, '<' | '>') && self.peek_second() == Some('(') {
            self.bump();
            self.bump();
            let nodes = self.inside_parens()?;
            parts.0.push(Part::Process {
                nodes,
                reads: c == '<',
            });
            return Ok(true);
        }
        if c != '(' {
            return Ok(false);
        }
        let Some(Part::Plain(before)) = parts.0.last() else {
            return Ok(false);
        };
        let name = before.strip_suffix('=');
        if name.is_some_and(|name| is_name(name.trim_end_matches('+'))) {
            self.at += 1;
            let words = self.array()?;
            parts.0.push(Part::Array(words));
            return Ok(true);
        }
        if before.ends_with(['?', '*', '+', '@', '!']) && before.len() > 1 || before == "@" {
            self.at += 1;
            self.extended_glob(parts)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn array(&mut self) -> Read<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.gap()?;
            if self.take(')') {
                return Ok(words);
            }
            match self.word()? {
                Some(word) => words.push(word),
                None => return Err(Unreadable::Unfinished("an array")),
            }
        }
    }

    /// `@(a|b)`: its text counts as a glob, its substitutions as themselves.
    fn extended_glob(&mut self, parts: &mut Parts) -> Read<()> {
        parts.plain('(');
        let inner = self.deeper(|p| p.parts(Within::Number))?;
        parts.0.extend(inner);
        parts.plain(')');
        self.need(')', "a pattern")
    }

    fn part(&mut self, within: Within, c: char, parts: &mut Parts) -> Read<()> {
        let bare = matches!(
            within,
            Within::Word | Within::Braces | Within::Number | Within::Brackets
        );
        match c {
            '\\' => self.escape(within, parts),
            '\'' if bare => {
                self.at += 1;
                let text = self.until_apostrophe()?;
                parts.quoted(&text);
                Ok(())
            }
            '"' if within != Within::Document => {
                self.at += 1;
                let inner = self.deeper(|p| p.parts(Within::Quotes))?;
                self.need('"', "a quote")?;
                parts.quoted("");
                parts.0.extend(inner);
                Ok(())
            }
            '`' => self.backticks(within, parts),
            '$' => self.dollar(within, bare, parts),
            other => {
                self.at += 1;
                if matches!(within, Within::Word | Within::Braces) {
                    parts.plain(other);
                } else {
                    parts.quoted(other.encode_utf8(&mut [0; 4]));
                }
                Ok(())
            }
        }
    }

    fn escape(&mut self, within: Within, parts: &mut Parts) -> Read<()> {
        let next = self.raw(1);
        let special = match within {
            Within::Quotes | Within::QuotedBraces => {
                matches!(next, Some('$' | '`' | '"' | '\\' | '}'))
            }
            Within::Document => matches!(next, Some('$' | '`' | '\\')),
            _ => true,
        };
        self.at += 1;
        match next {
            None if within == Within::Document => parts.quoted("\\"),
            None => return Err(Unreadable::Unfinished("an escape")),
            Some(next) if special => {
                self.at += 1;
                parts.quoted(next.encode_utf8(&mut [0; 4]));
            }
            Some(_) => parts.quoted("\\"),
        }
        Ok(())
    }

    fn until_apostrophe(&mut self) -> Read<String> {
        let start = self.at;
        while let Some(c) = self.raw(0) {
            if c == '\'' {
                let text = self.source(start);
                self.at += 1;
                return Ok(text);
            }
            self.at += 1;
        }
        Err(Unreadable::Unfinished("a quote"))
    }

    fn backticks(&mut self, within: Within, parts: &mut Parts) -> Read<()> {
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.raw(0) {
                None => return Err(Unreadable::Unfinished("backticks")),
                Some('`') => break,
                Some('\\') => {
                    let next = self.raw(1);
                    let in_quotes = matches!(within, Within::Quotes | Within::QuotedBraces);
                    let unescaped =
                        matches!(next, Some('$' | '`' | '\\')) || (in_quotes && next == Some('"'));
                    if !unescaped {
                        inner.push('\\');
                    }
                    inner.extend(next);
                    self.at += 2;
                }
                Some(c) => {
                    inner.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        self.spend(inner.len())?;
        let depth = self.depth() + 1;
        if depth > super::MAX_DEPTH {
            return Err(Unreadable::TooDeep);
        }
        parts.0.push(Part::Command {
            nodes: parse_at_depth(&inner, depth)?,
            quoted: !matches!(within, Within::Word),
        });
        Ok(())
    }

    fn dollar(&mut self, within: Within, bare: bool, parts: &mut Parts) -> Read<()> {
        self.at += 1;
        let quoted = within != Within::Word;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                if self.peek() == Some('(') {
                    self.at += 1;
                    if let Some(inner) = self.arithmetic()? {
                        parts.0.push(Part::Number(inner));
                        return Ok(());
                    }
                    self.at -= 1;
                }
                let nodes = self.inside_parens()?;
                parts.0.push(Part::Command { nodes, quoted });
            }
            Some('{') => {
                self.at += 1;
                use Within::{Document, QuotedBraces, Quotes};
                let in_quotes = matches!(within, Quotes | Document | QuotedBraces);
                let mut variable = self.deeper(|p| p.braces(in_quotes))?;
                variable.quoted = quoted;
                parts.0.push(Part::Variable(variable));
            }
            Some('[') => {
                self.at += 1;
                let inner = self.deeper(|p| p.parts(Within::Brackets))?;
                self.need(']', "arithmetic")?;
                parts.0.push(Part::Number(inner));
            }
            Some('\'') if bare => {
                self.at += 1;
                let text = self.ansi_quote()?;
                parts.quoted(&text);
            }
            // A translated string is a quoted one.
            Some('"') if bare => {}
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                let name = self.variable_name();
                parts.0.push(Part::Variable(Variable {
                    name,
                    quoted,
                    subscript: None,
                    operator: String::new(),
                    operand: Vec::new(),
                }));
            }
            _ => parts.quoted("$"),
        }
        Ok(())
    }

    /// A name, a digit, or one special character.
    fn variable_name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek() {
            let first = name.is_empty();
            if c.is_ascii_alphabetic() || c == '_' || (c.is_ascii_digit() && !first) {
                name.push(c);
                self.at += 1;
            } else {
                if first {
                    name.push(c);
                    self.at += 1;
                }
                break;
            }
            // `$10` is `$1` and a nought.
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                break;
            }
        }
        name
    }

    /// After `${`.
    fn braces(&mut self, quoted: bool) -> Read<Variable> {
        let mut operator = String::new();
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            return Err(Unreadable::Unknown("a command in `${ …; }`"));
        }
        if matches!(self.peek(), Some('!' | '#')) && self.peek_second() != Some('}') {
            operator.extend(self.bump());
        }
        let mut name = String::new();
        while let Some(c) = self.peek() {
            let special = name.is_empty() && "@*#?-$!".contains(c);
            if !(c.is_ascii_alphanumeric() || c == '_' || special) {
                break;
            }
            name.push(c);
            self.at += 1;
            if special {
                break;
            }
        }
        let mut subscript = None;
        if self.peek() == Some('[') {
            self.at += 1;
            let parts = self.deeper(|p| p.parts(Within::Brackets))?;
            self.need(']', "a subscript")?;
            subscript = Some(Word { parts });
        }
        operator.push_str(self.parameter_operator());
        let substitutes = operator.ends_with(['-', '=', '+', '?']);
        let within = match quoted && substitutes {
            true => Within::QuotedBraces,
            false => Within::Braces,
        };
        let operand = self.deeper(|p| p.parts(within))?;
        self.need('}', "`${`")?;
        Ok(Variable {
            name,
            quoted,
            subscript,
            operator,
            operand,
        })
    }

    fn parameter_operator(&mut self) -> &'static str {
        const OPERATORS: [&str; 22] = [
            ":-", ":=", ":?", ":+", "##", "%%", "//", "/#", "/%", "^^", ",,", "~~", "#", "%", "/",
            "^", ",", "@", ":", "-", "=", "?",
        ];
        let start = self.at;
        for operator in OPERATORS.into_iter().chain(["+", "~"]) {
            if operator.chars().all(|c| self.take(c)) {
                return operator;
            }
            self.at = start;
        }
        ""
    }

    /// Behind an opening parenthesis: commands up to the closing one. Documents
    /// announced before it are not its business.
    pub(super) fn inside_parens(&mut self) -> Read<Vec<Node>> {
        let outer = std::mem::take(&mut self.pending);
        let nodes = self.deeper(|p| p.list(&[]))?;
        self.need(')', "parentheses")?;
        if !self.pending.is_empty() {
            return Err(Unreadable::Unfinished("a here-document"));
        }
        self.pending = outer;
        Ok(nodes)
    }

    /// `$'…'`, decoded.
    fn ansi_quote(&mut self) -> Read<String> {
        let mut text = String::new();
        loop {
            let c = self.raw(0).ok_or(Unreadable::Unfinished("a quote"))?;
            self.at += 1;
            match c {
                '\'' => return Ok(text),
                '\\' => {
                    let kind = self.raw(0).ok_or(Unreadable::Unfinished("a quote"))?;
                    self.at += 1;
                    self.ansi_escape(kind, &mut text);
                }
                other => text.push(other),
            }
        }
    }

    fn ansi_escape(&mut self, kind: char, text: &mut String) {
        let decoded = match kind {
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'e' | 'E' => Some('\u{1b}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            'x' => self.digits(16, 2),
            'u' => self.digits(16, 4),
            'U' => self.digits(16, 8),
            '0'..='7' => {
                self.at -= 1;
                self.digits(8, 3)
            }
            'c' => {
                let control = self.raw(0).map(|c| char::from((c as u32 & 0x1f) as u8));
                self.at += 1;
                control
            }
            '\\' | '\'' | '"' | '?' => Some(kind),
            _ => {
                text.push('\\');
                Some(kind)
            }
        };
        text.extend(decoded);
    }

    fn digits(&mut self, radix: u32, most: usize) -> Option<char> {
        let mut value = 0u32;
        for _ in 0..most {
            let Some(digit) = self.raw(0).and_then(|c| c.to_digit(radix)) else {
                break;
            };
            value = value * radix + digit;
            self.at += 1;
        }
        char::from_u32(value)
    }
}
