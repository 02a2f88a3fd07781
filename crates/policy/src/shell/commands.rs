//! Lists, pipelines, simple commands, redirections.

use super::{
    Assignment, Node, Part, Redirect, Simple, Target, Word,
    cursor::{Parser, Read, Unreadable, is_name},
};

/// Words that end a list where they stand first.
const CLOSERS: [&str; 8] = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];

impl Parser<'_> {
    /// Commands up to a closing parenthesis, a closing word, `;;` or the end.
    pub(super) fn list(&mut self, closers: &[&str]) -> Read<Vec<Node>> {
        let mut nodes = Vec::new();
        loop {
            self.gap()?;
            let word = self.keyword();
            if matches!(self.peek(), None | Some(')'))
                || closers.contains(&word.as_str())
                || (self.peek() == Some(';') && !closers.is_empty())
            {
                return Ok(nodes);
            }
            if CLOSERS.contains(&word.as_str()) {
                return Err(Unreadable::Unexpected(self.peek().unwrap_or(' ')));
            }
            let node = self.and_or()?;
            self.blanks();
            nodes.push(if self.is_background() {
                self.at += 1;
                Node::Background(Box::new(node))
            } else {
                node
            });
            if self.peek() == Some(';') && self.peek_second() != Some(';') && !self.ends_branch() {
                self.at += 1;
            }
        }
    }

    fn is_background(&mut self) -> bool {
        self.peek() == Some('&') && self.peek_second() != Some('&')
    }

    /// `;&` and `;;&` end a branch of a case.
    fn ends_branch(&mut self) -> bool {
        self.peek() == Some(';') && self.peek_second() == Some('&')
    }

    /// `a && b || c`, as one group: each part may run.
    fn and_or(&mut self) -> Read<Node> {
        let mut nodes = vec![self.pipeline()?];
        loop {
            self.blanks();
            if !(self.take_pair('&', '&') || self.take_pair('|', '|')) {
                break;
            }
            self.gap()?;
            nodes.push(self.pipeline()?);
        }
        if nodes.len() == 1
            && let Some(only) = nodes.pop()
        {
            return Ok(only);
        }
        Ok(Node::Block(super::Block {
            kind: super::BlockKind::Group,
            words: Vec::new(),
            bodies: vec![nodes],
            redirects: Vec::new(),
        }))
    }

    fn pipeline(&mut self) -> Read<Node> {
        loop {
            self.blanks();
            if self.take_keyword("!") {
                continue;
            }
            let start = self.at;
            if !self.take_keyword("time") {
                break;
            }
            self.blanks();
            // With other flags it is the program of that name.
            if !self.take_keyword("-p") && self.peek() == Some('-') {
                self.at = start;
                break;
            }
            // `time` alone measures nothing.
            self.blanks();
            if matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | ')')) {
                return Ok(Node::Simple(Simple::default()));
            }
        }
        let mut stages = vec![self.command()?];
        loop {
            self.blanks();
            if self.peek() != Some('|') || self.peek_second() == Some('|') {
                break;
            }
            self.at += 1;
            self.take('&');
            self.gap()?;
            // Older bashes refuse a `!` here; newer ones run what follows.
            while self.take_keyword("!") {
                self.blanks();
            }
            stages.push(self.command()?);
        }
        if stages.len() == 1
            && let Some(only) = stages.pop()
        {
            return Ok(only);
        }
        Ok(Node::Pipeline(stages))
    }

    /// Assignments, words and redirections, in any order bash allows.
    pub(super) fn simple(&mut self) -> Read<Node> {
        let start = self.at;
        let mut simple = Simple::default();
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            let Some(word) = self.word()? else { break };
            let assignment = match simple.words.is_empty() {
                true => as_assignment(word),
                false => Err(word),
            };
            match assignment {
                Ok(assignment) => {
                    simple.assignments.push(assignment);
                    continue;
                }
                Err(word) => simple.words.push(word),
            }
            if simple.words.len() == 1 && self.is_definition() {
                return self.definition(&simple);
            }
        }
        let empty =
            simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty();
        if empty {
            return match self.peek() {
                None => Err(Unreadable::Unfinished("a list")),
                Some(stray) => Err(Unreadable::Unexpected(stray)),
            };
        }
        simple.source = self.source(start).trim().to_owned();
        Ok(Node::Simple(simple))
    }

    /// `name ()` behind the first word.
    fn is_definition(&mut self) -> bool {
        let start = self.at;
        self.blanks();
        let mut found = self.take('(');
        if found {
            self.blanks();
            found = self.take(')');
        }
        if !found {
            self.at = start;
        }
        found
    }

    fn definition(&mut self, simple: &Simple) -> Read<Node> {
        let name = simple.words.first().and_then(Word::plain);
        match name {
            Some(name) if simple.assignments.is_empty() => self.function_body(name.to_owned()),
            _ => Err(Unreadable::Unexpected('(')),
        }
    }

    /// A redirection, if one begins here.
    pub(super) fn redirect(&mut self) -> Read<Option<Redirect>> {
        let start = self.at;
        self.descriptor();
        let Some(operator) = self.redirect_operator() else {
            self.at = start;
            return Ok(None);
        };
        let target = match operator {
            "<<" | "<<-" => Target::Document(self.document(operator == "<<-")?),
            _ => {
                while matches!(self.peek(), Some(' ' | '\t')) {
                    self.at += 1;
                }
                let word = self.word()?;
                Target::Word(word.ok_or(Unreadable::Unfinished("a redirection"))?)
            }
        };
        Ok(Some(Redirect { operator, target }))
    }

    /// `2` or `{name}` right before an arrow.
    fn descriptor(&mut self) {
        let start = self.at;
        if self.take('{') {
            let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            while self.peek().is_some_and(part) {
                self.at += 1;
            }
            if !self.take('}') {
                self.at = start;
            }
        } else {
            while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                self.at += 1;
            }
        }
        if !matches!(self.peek(), Some('<' | '>')) {
            self.at = start;
        }
    }

    fn redirect_operator(&mut self) -> Option<&'static str> {
        const OPERATORS: [&str; 12] = [
            "<<<", "<<-", "&>>", "<<", ">>", ">|", ">&", "<&", "<>", "&>", ">", "<",
        ];
        let start = self.at;
        for operator in OPERATORS {
            if operator.chars().all(|c| self.take(c)) {
                // `<(` and `>(` are words, not arrows.
                if operator.len() == 1 && self.raw(0) == Some('(') {
                    break;
                }
                return Some(operator);
            }
            self.at = start;
        }
        self.at = start;
        None
    }
}

/// Splits `name=value`, `name+=value`, `name[i]=value`; gives the word back if
/// it is none.
pub(crate) fn as_assignment(mut word: Word) -> Result<Assignment, Word> {
    let Some(Part::Plain(first)) = word.parts.first() else {
        return Err(word);
    };
    let Some(end) = first.find(['=', '[', '+']) else {
        return Err(word);
    };
    let name = first[..end].to_owned();
    let rest = &first[end..];
    if !is_name(&name) {
        return Err(word);
    }
    let element = rest.starts_with('[');
    let split = if element {
        // The subscript may hold expansions: look for `]=` in any plain part.
        subscript_end(&word)
    } else {
        let mut signs = ["=", "+="].into_iter();
        let sign = signs.find(|sign| rest.starts_with(sign));
        sign.map(|sign| (0, end + sign.len(), sign == "+="))
    };
    let Some((part, offset, append)) = split else {
        return Err(word);
    };
    let closing = if append { "]+=" } else { "]=" };
    let subscript = element.then(|| {
        // From behind `name[` up to the `]=` in the part that has it.
        let mut parts: Vec<Part> = word.parts[..=part].to_vec();
        if let Some(Part::Plain(last)) = parts.last_mut() {
            last.truncate(offset - closing.len());
        }
        if let Some(Part::Plain(first)) = parts.first_mut() {
            *first = first[(end + 1).min(first.len())..].to_owned();
        }
        Word { parts }
    });
    word.parts.drain(..part);
    let array = matches!(word.parts.get(1), Some(Part::Array(_)));
    if let Some(Part::Plain(text)) = word.parts.first_mut() {
        *text = text[offset..].to_owned();
        if text.is_empty() {
            word.parts.remove(0);
        }
    }
    Ok(Assignment {
        name,
        append,
        value: word,
        array,
        subscript,
    })
}

fn subscript_end(word: &Word) -> Option<(usize, usize, bool)> {
    word.parts.iter().enumerate().find_map(|(index, part)| {
        let Part::Plain(text) = part else { return None };
        ["]=", "]+="].into_iter().find_map(|sign| {
            let at = text.find(sign)?;
            Some((index, at + sign.len(), sign == "]+="))
        })
    })
}
