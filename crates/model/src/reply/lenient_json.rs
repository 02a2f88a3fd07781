//! Reads what is almost JSON: raw line breaks in strings, single quotes,
//! trailing commas, bare keys, Python's `True` and `None`.
//!
//! It never guesses at what is missing: an open string, list or object is an
//! error that says so, because completing it could run half a command.

use serde_json::{Map, Number, Value};

const DEEPEST: usize = 64;

/// Why a text could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It ends in the middle.
    Cut,
    /// It is wrong at this byte.
    At(usize),
}

/// Reads one value and returns it with what follows it.
pub(crate) fn read(text: &str) -> Result<(Value, &str), Unread> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    Ok((value, &text[reader.at..]))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Result<char, Unread> {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed.chars().next().ok_or(Unread::Cut)
    }

    fn next_raw(&mut self) -> Result<char, Unread> {
        let next = self.text[self.at..].chars().next().ok_or(Unread::Cut)?;
        self.at += next.len_utf8();
        Ok(next)
    }

    fn take(&mut self, wanted: char) -> Result<bool, Unread> {
        let found = self.peek()? == wanted;
        if found {
            self.at += wanted.len_utf8();
        }
        Ok(found)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Unread> {
        if depth > DEEPEST {
            return Err(Unread::At(self.at));
        }
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.list(depth),
            '"' | '\'' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Unread> {
        self.at += 1;
        let mut fields = Map::new();
        while !self.take('}')? {
            let key = match self.peek()? {
                '"' | '\'' => self.string()?,
                _ => self.bare()?.to_owned(),
            };
            if !self.take(':')? {
                return Err(Unread::At(self.at));
            }
            let value = self.value(depth + 1)?;
            fields.insert(key, value);
            if !self.take(',')? && self.peek()? != '}' {
                return Err(Unread::At(self.at));
            }
        }
        Ok(Value::Object(fields))
    }

    fn list(&mut self, depth: usize) -> Result<Value, Unread> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.take(']')? {
            items.push(self.value(depth + 1)?);
            if !self.take(',')? && self.peek()? != ']' {
                return Err(Unread::At(self.at));
            }
        }
        Ok(Value::Array(items))
    }

    fn string(&mut self) -> Result<String, Unread> {
        let quote = self.next_raw()?;
        let mut text = String::new();
        loop {
            match self.next_raw()? {
                c if c == quote => return Ok(text),
                '\\' => self.escape(&mut text)?,
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Unread> {
        let start = self.at;
        match self.next_raw()? {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => {
                let high = self.hex4()?;
                let mut unit = u32::from(high);
                if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    let low = u32::from(self.hex4()?);
                    unit = 0x10000 + ((unit - 0xd800) << 10) + low.wrapping_sub(0xdc00);
                }
                text.push(char::from_u32(unit).unwrap_or('\u{fffd}'));
            }
            c @ ('"' | '\'' | '\\' | '/') => text.push(c),
            _ => return Err(Unread::At(start)),
        }
        Ok(())
    }

    fn hex4(&mut self) -> Result<u16, Unread> {
        let start = self.at;
        let mut digits = String::with_capacity(4);
        for _ in 0..4 {
            digits.push(self.next_raw()?);
        }
        u16::from_str_radix(&digits, 16).map_err(|_| Unread::At(start))
    }

    fn bare(&mut self) -> Result<&str, Unread> {
        self.peek()?;
        let start = self.at;
        let rest = &self.text[start..];
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.')))
            .unwrap_or(rest.len());
        if length == 0 {
            return Err(Unread::At(start));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn word(&mut self) -> Result<Value, Unread> {
        let at_end = |reader: &Self| reader.at == reader.text.len();
        let word = self.bare()?.to_owned();
        match word.as_str() {
            "true" | "True" => return Ok(Value::Bool(true)),
            "false" | "False" => return Ok(Value::Bool(false)),
            "null" | "None" => return Ok(Value::Null),
            _ => {}
        }
        match word.parse::<Number>() {
            // `12` at the very end may be half of `123`.
            Ok(_) | Err(_) if at_end(self) => Err(Unread::Cut),
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => Err(Unread::At(self.at - word.len())),
        }
    }
}
