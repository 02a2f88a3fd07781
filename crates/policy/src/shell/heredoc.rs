//! Here-documents: the body stands after the line that names them.

use std::{cell::OnceCell, rc::Rc};

use super::{
    Part, Word,
    cursor::{Parser, Read, Unreadable, ends_word},
};

/// A here-document whose body has not been read yet.
pub(super) struct Pending {
    delimiter: String,
    /// No expansion happens in the body.
    quoted: bool,
    /// `<<-`: leading tabs do not count.
    tabs: bool,
    slot: Rc<OnceCell<Word>>,
}

impl Parser<'_> {
    /// After `<<` or `<<-`: the delimiter.
    pub(super) fn document(&mut self, tabs: bool) -> Read<Rc<OnceCell<Word>>> {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        let (mut delimiter, mut quoted, mut any) = (String::new(), false, false);
        while let Some(c) = self.peek() {
            if ends_word(c) {
                break;
            }
            any = true;
            self.at += 1;
            match c {
                '\'' | '"' => {
                    quoted = true;
                    self.delimiter_quote(c, &mut delimiter)?;
                }
                '\\' => {
                    quoted = true;
                    delimiter.extend(self.raw(0));
                    self.at += 1;
                }
                // Bash reads `$(…)` here as text, with rules of its own.
                '$' | '`' => {
                    return Err(Unreadable::Unknown("an expansion as a here-document tag"));
                }
                other => delimiter.push(other),
            }
        }
        if !any {
            return Err(Unreadable::Unfinished("a here-document tag"));
        }
        let slot = Rc::new(OnceCell::new());
        self.pending.push(Pending {
            delimiter,
            quoted,
            tabs,
            slot: Rc::clone(&slot),
        });
        Ok(slot)
    }

    fn delimiter_quote(&mut self, quote: char, delimiter: &mut String) -> Read<()> {
        loop {
            match self.raw(0) {
                None => return Err(Unreadable::Unfinished("a quote")),
                Some(c) if c == quote => {
                    self.at += 1;
                    return Ok(());
                }
                Some(c) => delimiter.push(c),
            }
            self.at += 1;
        }
    }

    /// Called behind a newline: reads the bodies that begin here.
    pub(super) fn read_documents(&mut self) -> Read<()> {
        for pending in std::mem::take(&mut self.pending) {
            let body = self.document_body(&pending)?;
            let parts = if pending.quoted {
                vec![Part::Quoted(body)]
            } else {
                self.spend(body.len())?;
                let chars: Vec<char> = body.chars().collect();
                let mut inner = Parser::new(&chars, self.depth());
                inner.deeper(Parser::document_parts)?
            };
            // The slot is fresh: this document is read once.
            let _ = pending.slot.set(Word { parts });
        }
        Ok(())
    }

    fn document_body(&mut self, pending: &Pending) -> Read<String> {
        let mut body = String::new();
        loop {
            if self.at >= self.text.len() {
                return Err(Unreadable::Unfinished("a here-document"));
            }
            let line = self.document_line(!pending.quoted);
            let line = if pending.tabs {
                line.trim_start_matches('\t')
            } else {
                &line
            };
            if line == pending.delimiter {
                return Ok(body);
            }
            body.push_str(line);
            body.push('\n');
        }
    }

    /// One line; where expansion happens, a backslash at its end joins the next.
    fn document_line(&mut self, joins: bool) -> String {
        let mut line = String::new();
        while let Some(c) = self.raw(0) {
            self.at += 1;
            match c {
                '\n' => break,
                '\\' if joins && self.raw(0) == Some('\n') => self.at += 1,
                '\\' if joins && self.raw(0) == Some('\\') => {
                    line.push_str("\\\\");
                    self.at += 1;
                }
                other => line.push(other),
            }
        }
        line
    }
}
