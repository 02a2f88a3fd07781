//! Arguments of a program: flags merged, split, reordered, before `--`.

use super::text::Text;

/// The words behind a program's name.
#[derive(Clone, Copy)]
pub(super) struct Args<'a>(pub &'a [Text]);

impl<'a> Args<'a> {
    pub(super) fn iter(self) -> impl Iterator<Item = &'a Text> {
        self.0.iter()
    }

    /// Words before `--`.
    fn before_end(self) -> impl Iterator<Item = &'a Text> {
        self.0.iter().take_while(|word| word.text != "--")
    }

    /// A one-letter flag, alone or merged with others.
    pub(super) fn short(self, letter: char) -> bool {
        self.before_end().any(|word| {
            word.text
                .strip_prefix('-')
                .is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
        })
    }

    /// A long flag, also shortened as GNU programs allow, with or without a value.
    pub(super) fn long(self, name: &str) -> bool {
        self.before_end().any(|word| {
            let flag = word.text.split('=').next().unwrap_or_default();
            flag.len() >= 3 && flag.starts_with("--") && name.starts_with(flag)
        })
    }

    /// A flag written exactly so.
    pub(super) fn has(self, flag: &str) -> bool {
        self.before_end().any(|word| word.text == flag)
    }

    /// Any of these words, wherever they stand.
    pub(super) fn any(self, words: &[&str]) -> bool {
        self.0.iter().any(|word| words.contains(&word.as_str()))
    }

    /// The words as they are told to a program of this name.
    pub(super) fn behind_program(self, name: &str) -> Vec<Text> {
        std::iter::once(Text::exact(name))
            .chain(self.0.iter().cloned())
            .collect()
    }

    /// The word at a place.
    pub(super) fn get(self, index: usize) -> Option<&'a str> {
        self.0.get(index).map(Text::as_str)
    }

    /// The values of a flag: `-o x`, `-ox`, `--out x`, `--out=x`.
    pub(super) fn values(self, flags: &[&str]) -> Vec<Text> {
        let mut found = Vec::new();
        let mut words = self.0.iter();
        while let Some(word) = words.next() {
            if word.text == "--" {
                break;
            }
            if flags.contains(&word.as_str()) {
                found.extend(words.next().cloned());
                continue;
            }
            for flag in flags {
                found.extend(match flag.len() == 2 && !flag.starts_with("--") {
                    true => word.strip(flag),
                    false => word.strip(&format!("{flag}=")),
                });
            }
        }
        found
    }

    /// The same words with merged letters apart: `-sXDELETE` as `-s -X DELETE`.
    /// A letter of `takes` has what follows it, or the next word, as its value.
    pub(super) fn apart(self, takes: &str) -> Vec<Text> {
        let mut found = Vec::with_capacity(self.0.len());
        let mut words = self.0.iter();
        while let Some(word) = words.next() {
            let letters = word.text.strip_prefix('-').unwrap_or_default();
            if word.text == "--" {
                found.push(word.clone());
                found.extend(words.cloned());
                break;
            }
            if letters.is_empty() || letters.starts_with('-') {
                found.push(word.clone());
                continue;
            }
            for (at, letter) in letters.char_indices() {
                found.push(word.with(format!("-{letter}")));
                if takes.contains(letter) {
                    let rest = &letters[at + letter.len_utf8()..];
                    if rest.is_empty() {
                        found.extend(words.next().cloned());
                    } else {
                        found.push(word.with(rest));
                    }
                    break;
                }
            }
        }
        found
    }

    /// Words that are neither flags nor values of these flags.
    pub(super) fn operands(self, with_value: &[&str]) -> Vec<&'a Text> {
        let mut found = Vec::new();
        let mut words = self.0.iter();
        while let Some(word) = words.next() {
            if word.text == "--" {
                found.extend(words);
                break;
            }
            if with_value.contains(&word.as_str()) {
                words.next();
            } else if word.text == "-" || !word.text.starts_with('-') {
                found.push(word);
            }
        }
        found
    }

    /// The words behind a wrapper's own flags and so many words of its own.
    pub(super) fn peel(self, with_value: &[&str], own: usize) -> &'a [Text] {
        let (mut index, mut left) = (0, own);
        while let Some(word) = self.0.get(index) {
            let text = word.as_str();
            if text == "--" && left == 0 {
                return &self.0[index + 1..];
            }
            if with_value.contains(&text) {
                index += 2;
            } else if text.starts_with('-') && text.len() > 1 {
                index += 1;
            } else if left > 0 {
                left -= 1;
                index += 1;
            } else {
                break;
            }
        }
        self.0.get(index..).unwrap_or_default()
    }

    /// The words from the first operand on.
    pub(super) fn since_operand(self, with_value: &[&str]) -> &'a [Text] {
        let first = self.operands(with_value).into_iter().next();
        let at = first.and_then(|first| self.iter().position(|word| std::ptr::eq(word, first)));
        at.map_or(&[], |at| &self.0[at..])
    }

    /// The words behind a word.
    pub(super) fn behind(self, word: &str) -> Option<&'a [Text]> {
        let at = self.iter().position(|found| found.text == word)?;
        self.0.get(at + 1..)
    }

    /// The value of a letter at the end of merged flags: `-sf file`.
    pub(super) fn merged_value(self, letter: char) -> Vec<Text> {
        let pairs = self.0.windows(2).filter(|pair| {
            let flags = pair[0].as_str();
            flags.len() > 2
                && flags.starts_with('-')
                && flags.ends_with(letter)
                && flags[1..].bytes().all(|b| b.is_ascii_alphabetic())
        });
        pairs.map(|pair| pair[1].clone()).collect()
    }

    /// The first operand: the subcommand of many programs.
    pub(super) fn subcommand(self, with_value: &[&str]) -> Option<(&'a str, Args<'a>)> {
        let mut index = 0;
        while let Some(word) = self.0.get(index) {
            if with_value.contains(&word.as_str()) {
                index += 2;
            } else if word.text.starts_with('-') && word.text != "-" {
                index += 1;
            } else {
                return Some((word.as_str(), Args(&self.0[index + 1..])));
            }
        }
        None
    }
}

/// The name of a program without its folder.
pub(super) fn basename(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<Text> {
        words.iter().copied().map(Text::exact).collect()
    }

    #[test]
    fn flags_in_every_spelling() {
        let words = texts(&[
            "-vrf", "--recurs", "--out=a", "-ob", "-o", "c", "x", "--", "-q",
        ]);
        let args = Args(&words);
        assert!(args.short('r') && args.short('f') && !args.short('q'));
        assert!(args.long("--recursive") && !args.long("--force"));
        let values: Vec<_> = args.values(&["-o", "--out"]);
        assert_eq!(values, texts(&["a", "b", "c"]));
        let operands: Vec<_> = args
            .operands(&["-o"])
            .into_iter()
            .map(Text::as_str)
            .collect();
        assert_eq!(operands, ["x", "-q"]);
        let words = texts(&["-sXDELETE", "-fLo", "x", "--data", "-d", "u"]);
        let apart = Args(&words).apart("Xod");
        let expected = [
            "-s", "-X", "DELETE", "-f", "-L", "-o", "x", "--data", "-d", "u",
        ];
        assert_eq!(apart, texts(&expected));
        let words = texts(&["-C", "d", "--quiet", "push", "-f"]);
        let (name, rest) = Args(&words).subcommand(&["-C"]).unwrap();
        assert!(name == "push" && rest.short('f'));
    }
}
