//! Reads the files of the table, and says what is wrong with them.

use butler_protocol::Tier;

use super::{
    super::{code, state::Output},
    Program, Table,
    row::{Action, Inner, Line, Row, Term, Test, Which, Words},
};

/// Reads the names of all programs and the lists; what is said about a program is left
/// as it stands until somebody asks.
pub(super) fn table(families: &[(&'static str, &'static str)]) -> Table {
    let mut table = Table::default();
    for (family, text) in families {
        for (index, source) in text.lines().enumerate() {
            let source = source.trim();
            if source.is_empty() || source.starts_with('#') {
                continue;
            }
            let number = index + 1;
            if let Err(problem) = line(&mut table, family, number, source) {
                table.problems.push(named(family, number, &problem));
            }
        }
    }
    table
}

fn named(family: &str, number: usize, problem: &str) -> String {
    format!("{family}.txt:{number}: {problem}")
}

fn line(
    table: &mut Table,
    family: &'static str,
    number: usize,
    source: &'static str,
) -> Result<(), String> {
    let (key, rest) = source.split_once(' ').unwrap_or((source, ""));
    match key {
        "words" => {
            let (name, list) = rest.split_once(' ').ok_or("a list needs words")?;
            let words = words(table, list.split_whitespace())?;
            let twice = table.words.insert(name, words).is_some();
            return if twice {
                Err(format!("the list `{name}` is there twice"))
            } else {
                Ok(())
            };
        }
        "program" => return program(table, family, rest),
        _ => {}
    }
    let program = table.programs.last_mut();
    let program = program.ok_or("a line before the first program")?;
    program.lines.push((number, source));
    Ok(())
}

fn program(table: &mut Table, family: &'static str, names: &'static str) -> Result<(), String> {
    let at = table.programs.len();
    for name in names.split_whitespace() {
        let twice = if name.ends_with(['*', '#']) {
            table.open.push((name, at));
            false
        } else {
            table.names.insert(name, at).is_some()
        };
        if twice {
            return Err(format!("`{name}` has a row already"));
        }
    }
    table.programs.push(Program {
        family,
        #[cfg(test)]
        names: names.split_whitespace().collect(),
        ..Program::default()
    });
    Ok(())
}

/// Reads what is said about a program. A row with a mistake in it asks about everything.
pub(super) fn row(table: &Table, program: &Program) -> Row {
    let mut row = Row::default();
    for &(number, source) in &program.lines {
        let at = Position {
            family: program.family,
            number,
            source,
        };
        if let Err(problem) = said(table, &mut row, &at) {
            let problem = named(program.family, number, &problem);
            // The table lives as long as the process.
            let asks = at.line(Action::Finds(Tier::Destructive), Vec::new(), problem.leak());
            return Row {
                script: true,
                #[cfg(test)]
                problem: Some(asks.reason),
                lines: vec![asks],
                ..Row::default()
            };
        }
    }
    row
}

fn said(table: &Table, row: &mut Row, at: &Position) -> Result<(), String> {
    let (key, rest) = at.source.split_once(' ').unwrap_or((at.source, ""));
    row.lines.extend(read(table, at, key, rest)?);
    match key {
        "takes" => row.takes = words(table, rest.split_whitespace())?.exact().to_vec(),
        "skips" => row.skips = Some(rest),
        "script" => row.script = true,
        "prints" => {
            row.prints = Some(match rest.split_once(' ').unwrap_or((rest, "")) {
                ("nothing", _) => Output::nothing(),
                ("foreign", _) => Output::Foreign,
                ("placed", text) => Output::Placed(text.to_owned()),
                (other, _) => return Err(format!("nothing prints `{other}`")),
            });
        }
        #[cfg(test)]
        "+" | "!" => row.examples.push(super::row::Example {
            command: rest,
            asks: key == "!",
        }),
        _ => {}
    }
    Ok(())
}

struct Position {
    family: &'static str,
    number: usize,
    source: &'static str,
}

impl Position {
    fn line(&self, action: Action, when: Vec<Term>, reason: &'static str) -> Line {
        Line {
            family: self.family,
            number: self.number,
            source: self.source,
            action,
            online: false,
            when,
            reason,
        }
    }
}

/// The lines that one line of a file stands for.
fn read(
    table: &Table,
    at: &Position,
    key: &'static str,
    rest: &'static str,
) -> Result<Vec<Line>, String> {
    let (key, when, reason) = match (key.strip_suffix(':'), rest.split_once(": ")) {
        (Some(key), _) => (key, "", rest),
        (None, Some((when, reason))) => (key, when, reason),
        (None, None) => (key, rest, ""),
    };
    let (word, online) = match key.strip_suffix("-online") {
        Some(word) => (word, true),
        None => (key, false),
    };
    let usual = USUAL.iter().filter(|(name, ..)| *name == word);
    let usual = usual.map(|&(_, key, line)| {
        let verbs = rest.split_whitespace().collect::<Vec<_>>().join("|");
        // The table lives as long as the process.
        read(table, at, key, line.replace("{verbs}", &verbs).leak())
    });
    let usual: Vec<_> = usual.collect::<Result<_, _>>()?;
    if !usual.is_empty() {
        return Ok(usual.into_iter().flatten().collect());
    }
    let action = match word {
        "takes" | "skips" | "script" | "prints" | "+" | "!" => return Ok(Vec::new()),
        "looks" => Action::Looks,
        "local" => Action::Finds(Tier::WriteLocal),
        "seen" => Action::Finds(Tier::WriteVisible),
        "asks" => Action::Finds(Tier::Destructive),
        "undoable" => Action::Undoable,
        "code" => {
            let code = code::named(rest).ok_or_else(|| format!("there is no code `{rest}`"))?;
            return Ok(vec![at.line(Action::Code(code), Vec::new(), "")]);
        }
        "writes" | "runs" | "fetches" => {
            let (first, when) = when.split_once(' ').unwrap_or((when, ""));
            let action = match word {
                "writes" => Action::Writes(which(first)?),
                word => Action::Runs(inner(table, first, word == "fetches")?),
            };
            return Ok(vec![at.line(action, terms(table, when)?, reason)]);
        }
        _ => return Err(format!("`{key}` is no word of the table")),
    };
    if reason.is_empty() && !matches!(action, Action::Looks) {
        return Err("it gives no reason".to_owned());
    }
    let line = at.line(action, terms(table, when)?, reason);
    Ok(vec![Line { online, ..line }])
}

/// What package managers and programs with verbs have in common, each a word and a line of
/// the table that it stands for, its key apart; `{verbs}` are the words behind it.
const USUAL: [(&str, &str, &str); 8] = [
    ("builds", "looks", "any:--help|--version|-h few:2"),
    ("builds", "local:", "it builds or tests"),
    (
        "changes",
        "asks-online",
        "{verbs} !any:@dry: `{0} {1}` changes what is installed",
    ),
    (
        "publishes",
        "asks-online",
        "{verbs} !any:@dry: `{0} {1}` publishes or changes credentials",
    ),
    ("does", "local:", "it runs a program"),
    (
        "does",
        "asks-online",
        "{verbs} !any:--help|--version|--dry-run|--local: `{0} {1}` publishes or installs",
    ),
    ("only", "local:", "it runs a program"),
    (
        "only",
        "asks-online",
        "!{verbs} !any:--help|--version|--dry-run|--local: `{0} {1}` changes more than files here",
    ),
];

fn which(text: &'static str) -> Result<Which, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let number = |text: &str, none| match text {
        "" => Ok(none),
        text => text
            .parse::<usize>()
            .map_err(|_| format!("`{text}` is no number")),
    };
    Ok(match kind {
        "operands" => {
            let (from, to) = rest.split_once("..").unwrap_or(("", ""));
            Which::Operands(number(from, 0)?, number(to, usize::MAX)?)
        }
        "value" => Which::Values(rest.split('|').collect()),
        "path" => Which::Paths(rest.split('|').collect()),
        "starting" => Which::Starting(rest),
        _ => return Err(format!("`{text}` names no words")),
    })
}

fn inner(table: &Table, text: &'static str, fetches: bool) -> Result<Inner, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    if kind == "text" {
        return Ok(Inner::Text(rest.split('|').collect()));
    }
    let (place, own) = text.split_once('+').unwrap_or((text, "0"));
    let own = own.parse().map_err(|_| format!("`{own}` is no number"))?;
    match place.split_once(':') {
        None if place == "rest" => Ok(Inner::Rest { own, fetches }),
        Some(("after", verbs)) => {
            let verbs = words(table, verbs.split('|'))?;
            Ok(Inner::After {
                verbs,
                own,
                fetches,
            })
        }
        _ => Err(format!("`{text}` says not where the command stands")),
    }
}

fn terms(table: &Table, text: &'static str) -> Result<Vec<Term>, String> {
    let mut operand = 0;
    text.split_whitespace()
        .map(|word| term(table, word, &mut operand))
        .collect()
}

fn term(table: &Table, text: &'static str, operand: &mut usize) -> Result<Term, String> {
    let (not, text) = match text.strip_prefix('!') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let list = |text: &'static str| words(table, text.split('|'));
    let test = match text.split_once(':') {
        None if text == "help" => Test::Help,
        Some(("any", text)) => Test::Any(list(text)?),
        Some(("word", text)) => Test::AnyOperand(list(text)?),
        Some(("has", text)) => Test::Has(list(text)?),
        Some(("as", text)) => Test::Name(list(text)?),
        Some(("flag", text)) => Test::Flag(text.split('|').collect()),
        Some(("input", text)) => Test::Input(text),
        Some(("few", text)) => {
            Test::Few(text.parse().map_err(|_| format!("`{text}` is no number"))?)
        }
        Some(("value", text)) => {
            let (flags, text) = text.split_once('=').ok_or("a value needs `=`")?;
            let (flags, is) = match flags.strip_suffix('!') {
                Some(flags) => (flags, false),
                None => (flags, true),
            };
            Test::Value(flags.split('|').collect(), is, list(text)?)
        }
        _ => {
            *operand += 1;
            Test::Operand(*operand - 1, list(text)?)
        }
    };
    Ok(Term { not, test })
}

fn words(table: &Table, list: impl Iterator<Item = &'static str>) -> Result<Words, String> {
    let mut words = Words::default();
    for word in list {
        match word.strip_prefix('@').filter(|name| !name.is_empty()) {
            Some(name) => {
                let known = table.words.get(name);
                words.extend(known.ok_or_else(|| format!("there is no list `{name}`"))?);
            }
            None => words.add(word),
        }
    }
    Ok(words)
}
