//! Compound commands: groups, branches, loops, tests, functions.

use std::rc::Rc;

use super::{
    Block, BlockKind, Function, Node, Part, Word,
    cursor::{Parser, Read, Unreadable},
};

impl Parser<'_> {
    /// One command of any shape.
    pub(super) fn command(&mut self) -> Read<Node> {
        self.deeper(|p| {
            p.blanks();
            let word = p.keyword();
            match word.as_str() {
                "if" => p.branch_if(),
                "while" | "until" => p.branch_while(),
                "for" | "select" => p.each(),
                "case" => p.case(),
                "{" => {
                    p.bump();
                    let body = p.list(&["}"])?;
                    p.need_keyword("}", "a group")?;
                    p.block(BlockKind::Group, Vec::new(), vec![body])
                }
                "[[" => p.double_brackets(),
                "function" => p.function(),
                "coproc" => p.coproc(),
                _ if p.peek() == Some('(') => p.parentheses(),
                _ => p.simple(),
            }
        })
    }

    /// A compound command with the redirections behind it.
    fn block(&mut self, kind: BlockKind, words: Vec<Word>, bodies: Vec<Vec<Node>>) -> Read<Node> {
        let mut redirects = Vec::new();
        self.blanks();
        while let Some(redirect) = self.redirect()? {
            redirects.push(redirect);
            self.blanks();
        }
        Ok(Node::Block(Block {
            kind,
            words,
            bodies,
            redirects,
        }))
    }

    fn branch_if(&mut self) -> Read<Node> {
        self.need_keyword("if", "an `if`")?;
        let mut bodies = vec![self.list(&["then"])?];
        self.need_keyword("then", "an `if`")?;
        loop {
            bodies.push(self.list(&["elif", "else", "fi"])?);
            if self.take_keyword("elif") {
                bodies.push(self.list(&["then"])?);
                self.need_keyword("then", "an `if`")?;
            } else if self.take_keyword("else") {
                bodies.push(self.list(&["fi"])?);
                self.need_keyword("fi", "an `if`")?;
                break;
            } else {
                self.need_keyword("fi", "an `if`")?;
                break;
            }
        }
        self.block(BlockKind::Branches, Vec::new(), bodies)
    }

    fn branch_while(&mut self) -> Read<Node> {
        for _ in 0..5 {
            self.bump();
        }
        let condition = self.list(&["do"])?;
        let body = self.do_done()?;
        self.block(BlockKind::Branches, Vec::new(), vec![condition, body])
    }

    fn do_done(&mut self) -> Read<Vec<Node>> {
        self.gap()?;
        if self.take_keyword("{") {
            let body = self.list(&["}"])?;
            self.need_keyword("}", "a loop")?;
            return Ok(body);
        }
        self.need_keyword("do", "a loop")?;
        let body = self.list(&["done"])?;
        self.need_keyword("done", "a loop")?;
        Ok(body)
    }

    fn each(&mut self) -> Read<Node> {
        let _ = self.take_keyword("for") || self.take_keyword("select");
        self.blanks();
        if self.take_pair('(', '(') {
            let parts = self.arithmetic()?;
            let parts = parts.ok_or(Unreadable::Unfinished("a loop"))?;
            self.blanks();
            self.take(';');
            let body = self.do_done()?;
            return self.block(BlockKind::Branches, vec![number(parts)], vec![body]);
        }
        let word = self.word()?.ok_or(Unreadable::Unfinished("a loop"))?;
        let name = word.plain().unwrap_or_default().to_owned();
        self.gap()?;
        let listed = self.take_keyword("in");
        let mut words = Vec::new();
        if listed {
            self.blanks();
            while let Some(word) = self.word()? {
                words.push(word);
                self.blanks();
            }
        }
        self.blanks();
        self.take(';');
        let body = self.do_done()?;
        self.block(BlockKind::Each { name, listed }, words, vec![body])
    }

    fn case(&mut self) -> Read<Node> {
        self.need_keyword("case", "a `case`")?;
        self.blanks();
        let mut words = vec![self.word()?.ok_or(Unreadable::Unfinished("a `case`"))?];
        self.need_keyword("in", "a `case`")?;
        let mut bodies = Vec::new();
        loop {
            self.gap()?;
            if self.take_keyword("esac") {
                break;
            }
            self.case_patterns(&mut words)?;
            bodies.push(self.list(&["esac"])?);
            // `;;`, `;&` and `;;&` all end a branch.
            while self.take(';') || self.take('&') {}
            if self.peek().is_none() {
                return Err(Unreadable::Unfinished("a `case`"));
            }
        }
        self.block(BlockKind::Branches, words, bodies)
    }

    fn case_patterns(&mut self, words: &mut Vec<Word>) -> Read<()> {
        self.take('(');
        loop {
            self.blanks();
            words.push(self.word()?.ok_or(Unreadable::Unfinished("a `case`"))?);
            self.blanks();
            if self.take(')') {
                return Ok(());
            }
            self.need('|', "a `case`")?;
        }
    }

    /// `[[ … ]]`: operands are words, everything else is an operator.
    fn double_brackets(&mut self) -> Read<Node> {
        self.bump();
        self.bump();
        let mut words = Vec::new();
        loop {
            self.gap()?;
            if self.take_keyword("]]") {
                return self.block(BlockKind::Test, words, Vec::new());
            }
            match self.peek() {
                None => return Err(Unreadable::Unfinished("`[[`")),
                Some('<' | '>') if self.peek_second() == Some('(') => {
                    words.extend(self.word()?);
                }
                Some('(' | ')' | '<' | '>' | '|' | '&') => self.at += 1,
                Some(_) => words.push(self.word()?.ok_or(Unreadable::Unfinished("`[[`"))?),
            }
        }
    }

    /// `(( … ))` or `( … )`.
    fn parentheses(&mut self) -> Read<Node> {
        self.at += 1;
        if self.peek() == Some('(') {
            self.at += 1;
            if let Some(parts) = self.arithmetic()? {
                return self.block(BlockKind::Test, vec![number(parts)], Vec::new());
            }
            self.at -= 1;
        }
        let body = self.inside_parens()?;
        self.block(BlockKind::Subshell, Vec::new(), vec![body])
    }

    fn function(&mut self) -> Read<Node> {
        self.need_keyword("function", "a function")?;
        self.blanks();
        let word = self.word()?.ok_or(Unreadable::Unfinished("a function"))?;
        let name = match word.parts.as_slice() {
            [Part::Plain(name) | Part::Quoted(name)] => name.clone(),
            _ => return Err(Unreadable::Unknown("a computed function name")),
        };
        self.blanks();
        if self.take('(') {
            self.blanks();
            self.need(')', "a function")?;
        }
        self.function_body(name)
    }

    pub(super) fn function_body(&mut self, name: String) -> Read<Node> {
        self.gap()?;
        let body = Rc::new(self.command()?);
        Ok(Node::Function(Function { name, body }))
    }

    /// `coproc [NAME] command`: a name only stands before a compound command.
    fn coproc(&mut self) -> Read<Node> {
        self.need_keyword("coproc", "a coprocess")?;
        self.blanks();
        let start = self.at;
        let named = self.word()?.is_some_and(|word| word.plain().is_some());
        self.blanks();
        let next = self.keyword();
        let compound = matches!(
            next.as_str(),
            "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[["
        ) || self.peek() == Some('(');
        if !(named && compound) {
            self.at = start;
        }
        Ok(Node::Background(Box::new(self.command()?)))
    }
}

/// `(( … ))` is read as the number it computes.
fn number(parts: Vec<Part>) -> Word {
    Word {
        parts: vec![Part::Number(parts)],
    }
}
