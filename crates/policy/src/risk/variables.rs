//! What variables hold: plain ones, arrays, keyed arrays, references, and those
//! that change what they are given. What is not known stays a unknown, and a unknown
//! in the place of a command asks.

use super::{
    analyzer::Analyzer,
    state::{State, Values},
    text::Text,
};
use crate::shell::Assignment;

/// What `declare` made of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `-A`: subscripts are keys, not numbers.
    Keyed,
    /// `-n`: it stands for another variable.
    Reference,
    /// `-l`
    Lower,
    /// `-u`
    Upper,
    /// `-c`: bash spells it in a way that is not followed here.
    Respelled,
    /// `-i`: what it is given is computed.
    Number,
}

impl Kind {
    /// The kind that the flags of `declare` name.
    pub(super) fn of(flags: &str) -> Option<Self> {
        let letters = [
            ('n', Self::Reference),
            ('i', Self::Number),
            ('l', Self::Lower),
            ('u', Self::Upper),
            ('c', Self::Respelled),
            ('A', Self::Keyed),
        ];
        let mut letters = letters.into_iter();
        Some(letters.find(|(letter, _)| flags.contains(*letter))?.1)
    }
}

impl Analyzer<'_> {
    /// Sets a variable, or judges one given to a command.
    pub(super) fn assignment(&mut self, assignment: &Assignment, stays: bool, state: &mut State) {
        let name = &assignment.name;
        let subscript = assignment.subscript.as_ref().map(|word| {
            let text = self.expand_one(word, state);
            self.arithmetic(&text.text, state);
            text
        });
        let values = if assignment.array {
            self.expand(&assignment.value, state)
        } else {
            vec![self.expand_one(&assignment.value, state)]
        };
        if let [value] = values.as_slice() {
            self.environment(name, value, state);
        }
        if matches!(name.as_str(), "BASH_ALIASES" | "BASH_CMDS") {
            self.named_command(subscript.as_ref(), values.first(), state);
        }
        if !stays {
            return;
        }
        if let Some(subscript) = subscript {
            let value = values.into_iter().next().filter(|_| !assignment.append);
            let value = value.unwrap_or_else(Text::unknown);
            self.set_element(name, &subscript, value, state);
            return;
        }
        let values = match state.variables.get(name) {
            Some(old) if assignment.append && assignment.array => [old.clone(), values].concat(),
            Some(old) if assignment.append => {
                let mut all = old.clone();
                let first = joined(all.first().cloned(), values.into_iter().next());
                match all.first_mut() {
                    Some(slot) => *slot = first,
                    None => all.push(first),
                }
                all
            }
            None if assignment.append && !assignment.array => vec![Text::unknown()],
            _ => values,
        };
        self.set(name, values, state);
    }

    /// Gives a variable its values, as its kind takes them.
    pub(super) fn set(&mut self, name: &str, values: Values, state: &mut State) {
        let kind = state.kinds.get(name).copied();
        if kind == Some(Kind::Reference) {
            let target = state.variables.get(name).and_then(|texts| texts.first());
            match target.filter(|target| target.exact).cloned() {
                Some(target) => {
                    state.variables.insert(target.text, vec![Text::unknown()]);
                }
                // Any of them may have been meant.
                None => {
                    for values in state.variables.values_mut() {
                        *values = vec![Text::unknown()];
                    }
                }
            }
            return;
        }
        if state.elements.contains(name) {
            let start = format!("{name}[");
            state.variables.retain(|key, _| !key.starts_with(&start));
            state.elements.remove(name);
        }
        // `a=([3]=x)` leaves gaps, and a keyed array has no order.
        let gaps = !values.is_empty()
            && (kind == Some(Kind::Keyed) || values.iter().any(|text| text.text.starts_with('[')));
        if gaps {
            for (key, value) in values.iter().filter_map(key_and_value) {
                state.elements.insert(name.to_owned());
                let key = format!("{name}[{key}]");
                state.variables.insert(key, vec![value]);
            }
            let unknown = vec![Text::unknown()];
            state.variables.insert(name.to_owned(), unknown);
            return;
        }
        let values = match kind {
            Some(kind) => {
                let values = values.into_iter();
                values.map(|text| self.as_kind(kind, text, state)).collect()
            }
            None => values,
        };
        state.variables.insert(name.to_owned(), values);
    }

    fn as_kind(&mut self, kind: Kind, text: Text, state: &mut State) -> Text {
        match kind {
            // A kind may be left over from a function that has ended, so what
            // it would change is not known.
            Kind::Lower if text.text.to_lowercase() == text.text => text,
            Kind::Upper if text.text.to_uppercase() == text.text => text,
            Kind::Lower | Kind::Upper | Kind::Respelled => Text::unknown(),
            Kind::Number => {
                self.arithmetic(&text.text, state);
                Text::placed("0")
            }
            Kind::Keyed | Kind::Reference => text,
        }
    }

    /// `name[subscript]=value`
    fn set_element(&mut self, name: &str, subscript: &Text, value: Text, state: &mut State) {
        let keyed = state.kinds.get(name) == Some(&Kind::Keyed);
        let index = subscript.text.parse::<usize>().ok().filter(|_| !keyed);
        if !subscript.exact || !(keyed || index.is_some()) {
            // Any element may have been meant.
            self.set(name, vec![Text::unknown()], state);
            return;
        }
        state.elements.insert(name.to_owned());
        let key = format!("{name}[{}]", subscript.text);
        state.variables.insert(key, vec![value.clone()]);
        let values = state.variables.entry(name.to_owned()).or_default();
        match index {
            Some(index) if index < values.len() => values[index] = value,
            Some(index) if index == values.len() => values.push(value),
            _ => *values = vec![Text::unknown()],
        }
    }

    /// An element of an array, as far as it is known.
    pub(super) fn element(&self, name: &str, subscript: &Text, state: &State) -> Values {
        let unknown = || vec![Text::unknown()];
        let kind = state.kinds.get(name);
        if !subscript.exact || kind == Some(&Kind::Reference) {
            return unknown();
        }
        let keyed = kind == Some(&Kind::Keyed);
        let number = subscript.text.parse::<i64>().ok();
        if number.is_none() && !keyed {
            return unknown();
        }
        let key = format!("{name}[{}]", subscript.text);
        if let Some(values) = state.variables.get(&key) {
            return values.clone();
        }
        let (Some(values), Some(number)) = (state.variables.get(name), number) else {
            return unknown();
        };
        let from_end = i64::try_from(values.len()).unwrap_or(i64::MAX);
        let index = if number < 0 {
            from_end + number
        } else {
            number
        };
        let found = usize::try_from(index).ok().and_then(|at| values.get(at));
        found.map_or_else(unknown, |text| vec![text.clone()])
    }

    /// `BASH_ALIASES[x]=…` names a command, and so does `BASH_CMDS[x]=…`.
    fn named_command(&mut self, name: Option<&Text>, value: Option<&Text>, state: &mut State) {
        if let (Some(name), Some(value)) = (name, value)
            && name.exact
            && value.exact
        {
            state.aliases.insert(name.text.clone(), value.text.clone());
        } else {
            self.ask("it gives commands other names");
        }
    }
}

/// `[key]=value` of a list.
fn key_and_value(text: &Text) -> Option<(String, Text)> {
    let (key, value) = text.text.strip_prefix('[')?.split_once("]=")?;
    text.exact.then(|| (key.to_owned(), Text::exact(value)))
}

fn joined(old: Option<Text>, new: Option<Text>) -> Text {
    match (old, new) {
        (Some(old), Some(new)) => Text {
            text: old.text + &new.text,
            exact: old.exact && new.exact,
            placed: old.placed && new.placed,
            glob: old.glob || new.glob,
        },
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => Text::unknown(),
    }
}
