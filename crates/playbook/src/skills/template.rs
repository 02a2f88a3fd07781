//! The text of a skill with its variables: `{{param}}` and
//! `{{param | default: "x"}}`. Values are put in once and never read again, so
//! that a captured `{{x}}` stays what the person typed.

use std::{collections::BTreeMap, ops::Range};

/// Values by the name of their parameter.
pub type Captures = BTreeMap<String, String>;

/// A prompt with variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    variables: Vec<Variable>,
}

/// One use of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// What stands there when nothing was captured.
    pub default: Option<String>,
    /// Where in the template it is.
    pub range: Range<usize>,
}

/// Variables that got no value and have no default.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no value for {}", .0.join(", "))]
pub struct MissingValues(pub Vec<String>);

/// A `{{…}}` that begins like a variable and goes on like nothing we know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadVariable {
    pub at: usize,
    pub text: String,
}

impl Template {
    /// Reads a template; what is not understood stays text and is reported.
    pub(crate) fn parse(text: &str) -> (Self, Vec<BadVariable>) {
        let mut variables = Vec::new();
        let mut bad = Vec::new();
        let mut from = 0;
        while let Some(open) = text[from..].find("{{").map(|at| from + at) {
            let Some(close) = text[open..].find("}}").map(|at| open + at) else {
                break;
            };
            let range = open..close + 2;
            match variable(&text[open + 2..close], range.clone()) {
                Read::Variable(variable) => variables.push(variable),
                Read::Bad => bad.push(BadVariable {
                    at: open,
                    text: text[range].to_owned(),
                }),
                Read::Text => {
                    from = open + 2;
                    continue;
                }
            }
            from = close + 2;
        }
        let text = text.to_owned();
        (Self { text, variables }, bad)
    }

    /// A text in which nothing is a variable, as in skills that others wrote.
    pub(crate) fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            variables: Vec::new(),
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every use of a variable, in order.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The text with values in place of variables. A default that is given at
    /// one use of a variable holds for its other uses too.
    /// Errors: names every variable that has neither value nor default.
    pub fn fill(&self, values: &Captures) -> Result<String, MissingValues> {
        let mut out = String::with_capacity(self.text.len());
        let mut missing: Vec<String> = Vec::new();
        let mut from = 0;
        for variable in &self.variables {
            out.push_str(&self.text[from..variable.range.start]);
            from = variable.range.end;
            match self.value(variable, values) {
                Some(value) => out.push_str(value),
                None if missing.contains(&variable.name) => {}
                None => missing.push(variable.name.clone()),
            }
        }
        out.push_str(&self.text[from..]);
        match missing.is_empty() {
            true => Ok(out),
            false => Err(MissingValues(missing)),
        }
    }

    fn value<'a>(&'a self, variable: &'a Variable, values: &'a Captures) -> Option<&'a str> {
        let given = values.get(&variable.name).or(variable.default.as_ref());
        let elsewhere = || {
            let variables = self.variables.iter();
            let mut same = variables.filter(|other| other.name == variable.name);
            same.find_map(|other| other.default.as_ref())
        };
        given.or_else(elsewhere).map(String::as_str)
    }
}

enum Read {
    Variable(Variable),
    Bad,
    Text,
}

fn variable(inside: &str, range: Range<usize>) -> Read {
    let (name, rest) = match inside.split_once('|') {
        Some((name, rest)) => (name.trim(), Some(rest.trim())),
        None => (inside.trim(), None),
    };
    // `${{ secrets.TOKEN }}` and the like belong to somebody else.
    if !is_name(name) {
        return Read::Text;
    }
    let default = match rest.map(default) {
        None => None,
        Some(Some(value)) => Some(value.to_owned()),
        Some(None) => return Read::Bad,
    };
    Read::Variable(Variable {
        name: name.to_owned(),
        default,
        range,
    })
}

/// The value of `default: "x"`.
fn default(filter: &str) -> Option<&str> {
    let value = filter.strip_prefix("default")?.trim_start();
    let value = value.strip_prefix(':')?.trim();
    value.strip_prefix('"')?.strip_suffix('"')
}

/// Whether a word can name a parameter.
pub(crate) fn is_name(word: &str) -> bool {
    let mut chars = word.chars();
    chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str, values: &[(&str, &str)]) -> Result<String, MissingValues> {
        let values = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Template::parse(text).0.fill(&values)
    }

    #[test]
    fn values_defaults_and_what_is_missing() {
        let deploy = r#"to {{ env | default: "staging" }}: run {{env}}"#;
        assert_eq!(fill(deploy, &[]).unwrap(), "to staging: run staging");
        assert_eq!(
            fill(deploy, &[("env", "prod")]).unwrap(),
            "to prod: run prod"
        );
        let missing = fill("{{a}} {{b}} {{a}}", &[("b", "x")]).unwrap_err();
        assert_eq!(missing, MissingValues(vec!["a".into()]));
        assert_eq!(fill(r#"{{a | default: ""}}."#, &[]).unwrap(), ".");
    }

    #[test]
    fn a_value_is_not_read_again() {
        let values = [("a", "{{b}}"), ("b", "secret")];
        assert_eq!(fill("{{a}}", &values).unwrap(), "{{b}}");
    }

    #[test]
    fn other_peoples_braces_stay() {
        for text in ["${{ secrets.TOKEN }}", "{{", "}}{{", "{{ }}", "{{{{a"] {
            assert_eq!(fill(text, &[]).unwrap(), text);
        }
        assert_eq!(fill("{{ .X }}{{a}}", &[("a", "1")]).unwrap(), "{{ .X }}1");
        let (_, bad) = Template::parse("x {{a | upper}}");
        assert_eq!(
            bad,
            [BadVariable {
                at: 2,
                text: "{{a | upper}}".into()
            }]
        );
    }
}
