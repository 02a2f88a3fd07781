//! awk programs: `system()`, pipes to and from commands, files they write.

/// What an awk program does besides reading and printing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Effects {
    pub runs: bool,
    /// Literal files it writes; nothing stands for a computed one.
    pub writes: Vec<Option<String>>,
}

#[derive(Debug, PartialEq)]
enum Token {
    Text(String),
    Word(String),
    Regex,
    Sign(char),
}

/// Reads a program.
pub(in super::super) fn effects(program: &str) -> Effects {
    let tokens = tokens(program);
    let mut found = Effects::default();
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1);
        let before = index.checked_sub(1).and_then(|at| tokens.get(at));
        match token {
            Token::Word(word) if word == "system" => {
                found.runs |= next == Some(&Token::Sign('('));
            }
            Token::Sign('|') => {
                let double = next == Some(&Token::Sign('|')) || before == Some(&Token::Sign('|'));
                found.runs |= !double;
            }
            Token::Sign('>') if prints(&tokens[..index]) => {
                let target = match next {
                    Some(Token::Sign('>')) => tokens.get(index + 2),
                    next => next,
                };
                if before != Some(&Token::Sign('>')) {
                    found.writes.push(match target {
                        Some(Token::Text(path)) => Some(path.clone()),
                        _ => None,
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether the statement that ends here is a print outside parentheses.
fn prints(tokens: &[Token]) -> bool {
    let mut depth = 0i32;
    for token in tokens.iter().rev() {
        match token {
            Token::Sign(')') => depth += 1,
            Token::Sign('(') => {
                depth -= 1;
                if depth < 0 {
                    return false;
                }
            }
            Token::Sign('{' | '}' | ';' | '\n') => return false,
            Token::Word(word) if depth == 0 && matches!(word.as_str(), "print" | "printf") => {
                return true;
            }
            _ => {}
        }
    }
    false
}

fn tokens(program: &str) -> Vec<Token> {
    let chars: Vec<char> = program.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '"' => {
                let (text, end) = quoted(&chars, at, '"');
                tokens.push(Token::Text(text));
                at = end;
            }
            '/' if regex_may_start(tokens.last()) => {
                at = quoted(&chars, at, '/').1;
                tokens.push(Token::Regex);
            }
            '#' => {
                while chars.get(at).is_some_and(|c| *c != '\n') {
                    at += 1;
                }
            }
            c if c.is_alphabetic() || c == '_' => {
                let start = at - 1;
                while chars
                    .get(at)
                    .is_some_and(|c| c.is_alphanumeric() || *c == '_')
                {
                    at += 1;
                }
                tokens.push(Token::Word(chars[start..at].iter().collect()));
            }
            c if c.is_whitespace() && c != '\n' => {}
            c => tokens.push(Token::Sign(c)),
        }
    }
    tokens
}

fn regex_may_start(last: Option<&Token>) -> bool {
    match last {
        None => true,
        Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '$') && !sign.is_ascii_digit(),
        Some(_) => false,
    }
}

fn quoted(chars: &[char], from: usize, end: char) -> (String, usize) {
    let mut text = String::new();
    let mut at = from;
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '\\' => {
                text.extend(chars.get(at));
                at += 1;
            }
            c if c == end || (c == '\n' && end == '/') => break,
            c => text.push(c),
        }
    }
    (text, at.min(chars.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(program: &str, runs: bool, writes: &[Option<&str>]) {
        let found = effects(program);
        assert_eq!(found.runs, runs, "{program}");
        let found: Vec<_> = found.writes.iter().map(Option::as_deref).collect();
        assert_eq!(found, writes, "{program}");
    }

    #[test]
    fn commands_and_files_are_found_and_words_are_not() {
        check("{print $1}", false, &[]);
        check("/system\\(/ {print}", false, &[]);
        check("{print \"system(1)\"}", false, &[]);
        check("$1 > 5 || $2 < 3 {print $1 / 2}", false, &[]);
        check("BEGIN{system(\"id\")}", true, &[]);
        check("{print | \"sh\"}", true, &[]);
        check("BEGIN{\"id\" | getline x}", true, &[]);
        check("{print $1 > \"out\"}", false, &[Some("out")]);
        check("{print $1 >> \"/etc/x\"}", false, &[Some("/etc/x")]);
        check("{print > $1}", false, &[None]);
        check("{if ($1 > 3) print ($2 > 1)}", false, &[]);
    }
}
