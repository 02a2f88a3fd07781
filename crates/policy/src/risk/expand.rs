//! Words to texts: braces, tilde, variables, substitutions, field splitting, as
//! far as they are known without running anything.

use super::{
    analyzer::Analyzer,
    state::{Output, State, Values},
    text::{Text, UNKNOWN},
    variables::Kind,
};
use crate::shell::{Part, Variable, Word};

/// A brace expansion beyond this many words is not followed.
const MAX_WORDS: usize = 64;

/// A piece of a word on its way.
#[derive(Clone)]
enum Atom<'p> {
    Char { c: char, quoted: bool },
    Part(&'p Part),
}

/// A word being put together.
struct Field {
    text: Text,
    /// Quotes make a word even when it is empty.
    there: bool,
}

impl Field {
    fn new() -> Self {
        Self {
            text: Text::exact(""),
            there: false,
        }
    }

    fn push(&mut self, c: char, quoted: bool) {
        self.there = true;
        self.text.glob |= !quoted && matches!(c, '*' | '?' | '[');
        // A unknown may come back in a text that is read a second time.
        if c == UNKNOWN {
            self.text.exact = false;
            self.text.placed = false;
        }
        self.text.text.push(c);
    }

    fn add(&mut self, text: &Text) {
        self.there = true;
        self.text.text.push_str(&text.text);
        self.text.exact &= text.exact;
        self.text.placed &= text.placed;
        self.text.glob |= text.glob;
    }
}

impl Analyzer<'_> {
    pub(super) fn expand_all(&mut self, words: &[Word], state: &mut State) -> Vec<Text> {
        let mut texts = Vec::new();
        for word in words {
            texts.extend(self.expand(word, state));
        }
        texts
    }

    /// One word, which may become several or none.
    pub(super) fn expand(&mut self, word: &Word, state: &mut State) -> Vec<Text> {
        let mut fields = Vec::new();
        for atoms in alternatives(&atoms(word)) {
            self.fields(&atoms, state, &mut fields);
        }
        let fields = fields.into_iter();
        fields.map(|field| with_placeholder(field, state)).collect()
    }

    /// One word that stays one: assignments, here-strings, targets.
    pub(super) fn expand_one(&mut self, word: &Word, state: &mut State) -> Text {
        let mut field = Field::new();
        for part in &word.parts {
            for text in self.part(part, state) {
                field.add(&text);
            }
        }
        let tilde = matches!(word.parts.first(), Some(Part::Plain(text)) if text.starts_with('~'));
        self.finish_field(field, tilde)
    }

    fn fields(&mut self, atoms: &[Atom<'_>], state: &mut State, fields: &mut Vec<Text>) {
        let mut field = Field::new();
        let tilde = matches!(atoms.first(), Some(Atom::Char { c: '~', quoted }) if !quoted);
        let mut first = true;
        for atom in atoms {
            match atom {
                Atom::Char { c, quoted } => field.push(*c, *quoted),
                Atom::Part(Part::Quoted(text)) => {
                    field.there = true;
                    text.chars().for_each(|c| field.push(c, true));
                }
                Atom::Part(part) => {
                    let texts = self.part(part, state);
                    if !splits(part) {
                        spread(texts, &mut field, fields);
                        continue;
                    }
                    let pieces: Values = texts
                        .iter()
                        .flat_map(|text| self.split(text, state))
                        .collect();
                    let open = texts.iter().any(|t| t.text.starts_with([' ', '\n', '\t']));
                    if open && field.there {
                        let done = std::mem::replace(&mut field, Field::new());
                        fields.push(self.finish_field(done, tilde && first));
                        first = false;
                    }
                    spread(pieces, &mut field, fields);
                }
            }
        }
        if field.there {
            fields.push(self.finish_field(field, tilde && first));
        }
    }

    fn finish_field(&self, field: Field, tilde: bool) -> Text {
        let mut text = field.text;
        if tilde {
            let (user, rest) = text.text.split_once('/').unwrap_or((&text.text, ""));
            match user {
                "~" if rest.is_empty() => text.text = self.ctx.home.to_owned(),
                "~" => text.text = format!("{}/{rest}", self.ctx.home),
                "~+" => text.text = format!("./{rest}"),
                // Another person's home, or where we were before: not ours.
                _ => text.placed = false,
            }
        }
        text
    }

    /// Field splitting of an unquoted expansion.
    fn split(&self, text: &Text, state: &State) -> Values {
        let separators: String = match state.variables.get("IFS").and_then(|ifs| ifs.first()) {
            Some(ifs) if ifs.exact => ifs.text.clone(),
            Some(_) => return vec![Text::unknown()],
            None => " \t\n".to_owned(),
        };
        text.text
            .split(|c| separators.contains(c))
            .filter(|piece| !piece.is_empty())
            .map(|piece| Text {
                text: piece.to_owned(),
                glob: text.glob || piece.contains(['*', '?', '[']),
                ..text.clone()
            })
            .collect()
    }

    /// The texts that one part stands for.
    fn part(&mut self, part: &Part, state: &mut State) -> Values {
        match part {
            Part::Plain(text) => {
                let mut text = Text::read(text);
                text.glob = text.text.contains(['*', '?', '[']);
                vec![text]
            }
            Part::Quoted(text) => vec![Text::read(text)],
            Part::Variable(variable) => self.variable(variable, state),
            Part::Command { nodes, .. } => {
                let output = self.substitution(nodes, state);
                vec![match output {
                    Output::Text(text) => Text::exact(text.trim_end_matches('\n')),
                    Output::Placed(text) => Text::placed(text),
                    Output::Unknown | Output::Foreign => Text::unknown(),
                }]
            }
            Part::Process { nodes, reads } => {
                self.process(nodes, *reads, state);
                vec![Text::placed("/dev/fd/63")]
            }
            Part::Number(parts) => {
                let mut text = String::new();
                for part in parts {
                    let values = self.part(part, state);
                    values.iter().for_each(|value| text.push_str(&value.text));
                }
                self.arithmetic(&text, state);
                vec![Text::placed("0")]
            }
            Part::Array(words) => self.expand_all(words, state),
        }
    }

    fn variable(&mut self, variable: &Variable, state: &mut State) -> Values {
        let operand = Word {
            parts: variable.operand.clone(),
        };
        let operand = self.expand_one(&operand, state);
        if variable.operator.ends_with('@') && operand.text.contains('P') {
            self.ask("`${…@P}` runs what the variable holds");
        }
        let subscript = variable.subscript.as_ref().map(|word| {
            let text = self.expand_one(word, state);
            self.arithmetic(&text.text, state);
            text
        });
        if variable.operator == ":" {
            self.arithmetic(&operand.text, state);
        }
        if variable.operator.starts_with('!') {
            // The text that the variable holds is a name, subscript and all.
            let held = state.variables.get(&variable.name).cloned();
            for value in held.iter().flatten() {
                self.evaluated(&value.text, state);
            }
            return vec![Text::unknown()];
        }
        let counts = variable.operator == "#" && !variable.name.is_empty();
        if counts && operand.text.is_empty() {
            return vec![Text::placed("0")];
        }
        let known = match &subscript {
            Some(text) if !matches!(text.as_str(), "@" | "*") => {
                Some(self.element(&variable.name, text, state))
            }
            whole => lookup(&variable.name, whole.is_some(), state),
        };
        let operator = variable.operator.as_str();
        match (operator, known) {
            ("", Some(values)) => values,
            ("", None) => vec![Text::unknown()],
            (":-" | "-" | ":=" | "=" | ":?" | "?", Some(values)) => {
                let empty = values.iter().all(|text| text.text.is_empty());
                if empty && operator != "-" && !operator.ends_with('?') {
                    vec![operand]
                } else {
                    values
                }
            }
            (":+" | "+", Some(values)) if values.iter().all(|text| !text.text.is_empty()) => {
                vec![operand]
            }
            (op, Some(values)) => {
                let values = values.iter();
                values.map(|text| trimmed(op, text, &operand)).collect()
            }
            (_, None) => vec![Text::unknown()],
        }
    }
}

/// What xargs or find put there.
fn with_placeholder(mut text: Text, state: &State) -> Text {
    if let Some((mark, value)) = &state.placeholder
        && text.text.contains(mark.as_str())
    {
        text.text = text.text.replace(mark.as_str(), &value.text);
        text.exact = false;
        text.placed &= value.placed;
    }
    text
}

/// What a parameter holds; of an array the first element, or all.
fn lookup(name: &str, all: bool, state: &State) -> Option<Values> {
    match name {
        "$" | "?" | "#" | "!" | "-" | "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID"
        | "BASHPID" | "HOSTNAME" | "HOSTTYPE" | "OSTYPE" | "EPOCHSECONDS" | "SHLVL" => {
            Some(vec![Text::placed("0")])
        }
        "PWD" => Some(vec![Text::exact(state.cwd.clone()?)]),
        "0" => Some(vec![state.zero.clone()]),
        "@" | "*" => state.positional.clone(),
        digit if digit.bytes().all(|b| b.is_ascii_digit()) && !digit.is_empty() => {
            let index: usize = digit.parse().ok()?;
            let values = state.positional.as_ref()?;
            let value = values.get(index.checked_sub(1)?).cloned();
            Some(value.into_iter().collect())
        }
        name if state.kinds.get(name) == Some(&Kind::Reference) => None,
        name => {
            let values = state.variables.get(name)?;
            if all || values.len() == 1 {
                return Some(values.clone());
            }
            Some(values.first().cloned().into_iter().collect())
        }
    }
}

/// `${x%…}` and its kin: the text is no longer known, its place may be.
fn trimmed(operator: &str, text: &Text, operand: &Text) -> Text {
    let climbs = |text: &str| text.contains("..");
    let stays = match operator {
        "%" | "%%" | "^" | "^^" | "," | ",," | ":" => !climbs(&text.text),
        "#" | "##" | "/" | "//" | "/#" | "/%" => {
            !text.text.starts_with('/')
                && !climbs(&text.text)
                && !climbs(&operand.text)
                && operand.placed
        }
        _ => false,
    };
    if stays && text.placed {
        Text::placed(text.text.clone())
    } else {
        Text::unknown()
    }
}

/// Whether the results of a part are split into fields.
fn splits(part: &Part) -> bool {
    match part {
        Part::Variable(variable) => !variable.quoted,
        Part::Command { quoted, .. } => !quoted,
        _ => false,
    }
}

/// The first piece joins the open field, the last opens a new one.
fn spread(pieces: Values, field: &mut Field, fields: &mut Vec<Text>) {
    let last = pieces.len().saturating_sub(1);
    for (index, piece) in pieces.into_iter().enumerate() {
        field.add(&piece);
        if index < last {
            let done = std::mem::replace(field, Field::new());
            fields.push(done.text);
        }
    }
}

fn atoms(word: &Word) -> Vec<Atom<'_>> {
    let mut atoms = Vec::new();
    for part in &word.parts {
        match part {
            Part::Plain(text) => {
                atoms.extend(text.chars().map(|c| Atom::Char { c, quoted: false }));
            }
            part => atoms.push(Atom::Part(part)),
        }
    }
    atoms
}

/// Brace expansion: the words that a word stands for.
fn alternatives<'p>(atoms: &[Atom<'p>]) -> Vec<Vec<Atom<'p>>> {
    let mut done = Vec::new();
    let mut open = vec![atoms.to_vec()];
    while let Some(next) = open.pop() {
        match braces(&next) {
            Some(expanded) if done.len() + open.len() + expanded.len() <= MAX_WORDS => {
                open.extend(expanded.into_iter().rev());
            }
            Some(_) => {
                // Too many to follow: nothing is known about this word.
                let bare = |c| Atom::Char { c, quoted: false };
                done.push(vec![bare('*'), bare(UNKNOWN)]);
                return done;
            }
            None => done.push(next),
        }
    }
    done
}

/// The first brace group of a word, expanded once. One pass: groups without a
/// comma or range are text.
fn braces<'p>(atoms: &[Atom<'p>]) -> Option<Vec<Vec<Atom<'p>>>> {
    let mut open: Vec<Vec<usize>> = Vec::new();
    let mut found: Option<(Vec<usize>, usize)> = None;
    for (index, atom) in atoms.iter().enumerate() {
        let Atom::Char { c, quoted: false } = atom else {
            continue;
        };
        match c {
            '{' => open.push(vec![index]),
            ',' => {
                if let Some(cuts) = open.last_mut() {
                    cuts.push(index);
                }
            }
            '}' => {
                if let Some(cuts) = open.pop() {
                    let start = cuts[0];
                    let counts = cuts.len() > 1 || range(&atoms[start + 1..index]).is_some();
                    let first = found.as_ref().is_none_or(|(best, _)| start < best[0]);
                    if counts && first {
                        found = Some((cuts, index));
                    }
                }
            }
            _ => {}
        }
    }
    let (mut cuts, end) = found?;
    let (start, head, tail) = (cuts[0], &atoms[..cuts[0]], &atoms[end + 1..]);
    let join = |middle: Vec<Atom<'p>>| [head, &middle, tail].concat();
    if cuts.len() == 1 {
        let range = range(&atoms[start + 1..end])?;
        return Some(range.into_iter().map(join).collect());
    }
    cuts.push(end);
    let pieces = cuts
        .windows(2)
        .map(|cut| atoms[cut[0] + 1..cut[1]].to_vec());
    Some(pieces.map(join).collect())
}

/// `{1..5}`, `{a..e}`.
fn range<'p>(atoms: &[Atom<'p>]) -> Option<Vec<Vec<Atom<'p>>>> {
    if atoms.len() > 24 {
        return None;
    }
    let text = atoms.iter().map(|atom| match atom {
        Atom::Char { c, .. } => Some(*c),
        Atom::Part(_) => None,
    });
    let text: String = text.collect::<Option<_>>()?;
    let mut ends = text.split("..");
    let (from, to) = (ends.next()?, ends.next()?);
    let spell = |text: &str| -> Vec<Atom<'p>> {
        let quoted = true;
        text.chars().map(|c| Atom::Char { c, quoted }).collect()
    };
    if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
        let (low, high) = (from.min(to), from.max(to));
        let most = i32::try_from(MAX_WORDS).unwrap_or(i32::MAX) / 2;
        let high = high.min(low.saturating_add(most));
        return Some((low..=high).map(|n| spell(&n.to_string())).collect());
    }
    let (mut a, mut b) = (from.chars(), to.chars());
    let (from, to) = (a.next()?, b.next()?);
    let letters = a.next().is_none() && b.next().is_none();
    (letters && from.is_ascii_alphabetic() && to.is_ascii_alphabetic()).then(|| {
        (from.min(to)..=from.max(to))
            .map(|c| spell(c.encode_utf8(&mut [0; 4])))
            .collect()
    })
}
