//! What is known at one point of the text: variables, folder, functions, files
//! that the text itself made.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::{RiskContext, text::Text, variables::Kind};
use crate::shell::Node;

/// A shell variable: one text, or several if it is an array.
pub(super) type Values = Vec<Text>;

/// What stands on standard input.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stdin {
    None,
    Text(String),
    /// The output of something, or a file.
    Unknown,
}

/// What a command prints.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Output {
    /// Exactly this.
    Text(String),
    /// One word that stays in its place, as `$(mktemp)`.
    Placed(String),
    /// Anything.
    Unknown,
    /// Something downloaded or decoded.
    Foreign,
}

impl Output {
    pub(super) fn nothing() -> Self {
        Self::Text(String::new())
    }

    pub(super) fn stdin(&self) -> Stdin {
        match self {
            Output::Text(text) => Stdin::Text(text.clone()),
            _ => Stdin::Unknown,
        }
    }
}

/// A file that the text itself wrote.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Made {
    /// With this content.
    Text(String),
    /// From the network or a decoder.
    Foreign,
}

#[derive(Debug, Clone)]
pub(super) struct State {
    /// The current folder; nothing when it is not known.
    pub cwd: Option<String>,
    pub before: Option<String>,
    /// By name; elements that were set one by one also as `name[key]`.
    pub variables: HashMap<String, Values>,
    /// Arrays with such elements.
    pub elements: HashSet<String>,
    pub kinds: HashMap<String, Kind>,
    pub functions: HashMap<String, Rc<Node>>,
    pub aliases: HashMap<String, String>,
    /// `$0`
    pub zero: Text,
    /// `$1 …`; nothing when they are not known.
    pub positional: Option<Values>,
    pub files: HashMap<String, Made>,
    /// Symbolic links that the text made: path to target.
    pub links: HashMap<String, String>,
    /// What xargs or find put a file name for, as `{}`.
    pub placeholder: Option<(String, Text)>,
    /// The command runs on another machine: nothing there is ours.
    pub remote: bool,
}

impl State {
    pub(super) fn new(ctx: &RiskContext<'_>) -> Self {
        let mut variables = HashMap::new();
        for (name, value) in [("HOME", ctx.home), ("TMPDIR", "/tmp")] {
            variables.insert(name.to_owned(), vec![Text::exact(value)]);
        }
        Self {
            cwd: Some(ctx.cwd.to_owned()),
            before: None,
            variables,
            elements: HashSet::new(),
            kinds: HashMap::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            zero: Text::exact("bash"),
            positional: None,
            files: HashMap::new(),
            links: HashMap::new(),
            placeholder: None,
            remote: false,
        }
    }

    /// Joins what is known after one of several branches: what they agree on.
    pub(super) fn join(&mut self, other: State, is_inside: impl Fn(&str) -> bool) {
        for (name, values) in other.variables {
            match self.variables.get_mut(&name) {
                Some(known) if *known == values => {}
                Some(known) => {
                    let placed = known.iter().chain(&values).all(|text| text.placed);
                    let text = values.first().or(known.first()).cloned();
                    *known = vec![match text {
                        Some(text) if placed => Text::placed(text.text),
                        _ => Text::unknown(),
                    }];
                }
                None => {
                    let texts = values.into_iter();
                    let unsure = texts.map(|text| Text {
                        exact: false,
                        ..text
                    });
                    self.variables.insert(name, unsure.collect());
                }
            }
        }
        let stays = |cwd: &Option<String>| cwd.as_deref().is_some_and(&is_inside);
        if stays(&self.cwd) {
            self.cwd = other.cwd;
        }
        self.elements.extend(other.elements);
        self.kinds.extend(other.kinds);
        self.functions.extend(other.functions);
        self.aliases.extend(other.aliases);
        self.files.extend(other.files);
        self.links.extend(other.links);
        if self.positional != other.positional {
            self.positional = None;
        }
    }
}
