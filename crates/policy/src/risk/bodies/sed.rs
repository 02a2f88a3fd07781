//! sed scripts: `e`, `w` and the flags of `s` that do the same.

/// What a sed script does besides editing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Effects {
    pub runs: bool,
    pub writes: Vec<String>,
}

/// Reads a script. What cannot be read is taken as harmless text: sed would
/// refuse it.
pub(in super::super) fn effects(script: &str) -> Effects {
    let chars: Vec<char> = script.chars().collect();
    let mut reader = Reader {
        chars: &chars,
        at: 0,
        found: Effects::default(),
    };
    while reader.at < chars.len() {
        reader.command();
    }
    reader.found
}

struct Reader<'c> {
    chars: &'c [char],
    at: usize,
    found: Effects,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn skip(&mut self, set: &str) {
        while self.peek().is_some_and(|c| set.contains(c)) {
            self.at += 1;
        }
    }

    /// One command with its address.
    fn command(&mut self) {
        self.skip(" \t\n;{}");
        self.address();
        self.skip(" \t!");
        let Some(command) = self.peek() else { return };
        self.at += 1;
        match command {
            // A block: its first command stands right behind.
            '{' | '}' => {}
            's' => self.substitute(),
            'y' => {
                if let Some(mark) = self.peek() {
                    self.at += 1;
                    self.until(mark);
                    self.until(mark);
                }
            }
            'e' => {
                self.found.runs = true;
                self.line();
            }
            'w' | 'W' => {
                let path = self.line();
                self.found.writes.push(path);
            }
            'a' | 'i' | 'c' => {
                // Text up to a line that does not end in a backslash.
                loop {
                    let line = self.line();
                    if !line.ends_with('\\') || self.at >= self.chars.len() {
                        break;
                    }
                }
            }
            'r' | 'R' | '#' => {
                self.line();
            }
            _ => {
                while self.peek().is_some_and(|c| !";}\n".contains(c)) {
                    self.at += 1;
                }
            }
        }
    }

    /// `1,5`, `$`, `/re/,/re/`, `\,re,`, `0~3`, `/re/I`.
    fn address(&mut self) {
        loop {
            match self.peek() {
                Some('/') => {
                    self.at += 1;
                    self.until('/');
                    self.skip("IM");
                }
                Some('\\') => {
                    self.at += 1;
                    if let Some(mark) = self.peek() {
                        self.at += 1;
                        self.until(mark);
                        self.skip("IM");
                    }
                }
                Some(c) if c.is_ascii_digit() || "$,~+ ".contains(c) => self.at += 1,
                _ => return,
            }
        }
    }

    fn substitute(&mut self) {
        let Some(mark) = self.peek() else { return };
        self.at += 1;
        self.until(mark);
        self.until(mark);
        while let Some(flag) = self.peek() {
            match flag {
                'e' => self.found.runs = true,
                'w' => {
                    self.at += 1;
                    let path = self.line();
                    self.found.writes.push(path);
                    return;
                }
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {}
                _ => return,
            }
            self.at += 1;
        }
    }

    /// Behind the next unescaped mark; brackets hide it.
    fn until(&mut self, mark: char) {
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == '\\' {
                self.at += 1;
            } else if c == mark {
                return;
            }
        }
    }

    fn line(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
        let end = self.at.min(self.chars.len());
        let line: String = self.chars[start.min(end)..end].iter().collect();
        self.at += 1;
        line.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, runs: bool, writes: &[&str]) {
        let found = effects(script);
        assert_eq!(
            (found.runs, found.writes),
            (runs, writes.iter().map(|w| (*w).to_owned()).collect()),
            "{script}"
        );
    }

    #[test]
    fn commands_are_told_from_text() {
        check("s/a/b/g", false, &[]);
        check("s/e/w/", false, &[]);
        check("s|/etc/x|/usr/e|; s/rm -rf/x/", false, &[]);
        check("/error/d", false, &[]);
        check("1,5p;$d", false, &[]);
        check("/e/,/w/{s/x/y/;p}", false, &[]);
        check("s/a/b/e", true, &[]);
        check("s/a/b/gw /etc/x", false, &["/etc/x"]);
        check("1e id", true, &[]);
        check("/x/ w out", false, &["out"]);
        check("a\\\nrm e w\n1e id", true, &[]);
        check("y/ew/xx/;e", true, &[]);
        check("s,a,b,;1!e id", true, &[]);
        check("1{e id\n}", true, &[]);
        check("1{s/x/id/e}", true, &[]);
        check("/a/{/b/{p;e id\n}}", true, &[]);
        check(":a;e id", true, &[]);
        check("F;e id", true, &[]);
        check(":e;N;$!be;s/\\n/ /g", false, &[]);
        check("1{s/e/w/;p}", false, &[]);
    }
}
