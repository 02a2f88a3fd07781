//! One file as a tree in which every key and value knows its line.
//!
//! JSON with comments and trailing commas, nothing looser: what we accept must
//! also be what editors and other tools accept.

use std::path::{Path, PathBuf};

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{self, ObjectPropName},
    common::Ranged,
    errors::{ParseError, ParseErrorKind},
    parse_to_ast,
};
use serde_json::{Map, Value};

use crate::file::problem::Problem;

/// A file that was read and parsed.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    /// Where it was read.
    pub file: PathBuf,
    /// What it says; an empty file says nothing.
    pub root: Node,
}

/// A value and its line.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub line: usize,
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    /// A string with a variable that is not set.
    Unset,
    List(Vec<Node>),
    Map(Vec<Field>),
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub key: String,
    pub line: usize,
    pub value: Node,
}

impl Document {
    /// Parses a file's text; what is not JSON at all is one problem.
    pub(crate) fn parse(file: &Path, text: &str) -> Result<Self, Problem> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let parsed = parse_to_ast(text, &CollectOptions::default(), &options())
            .map_err(|error| not_json(file, &error))?;
        let lines = Lines::of(text);
        let kind = Kind::Map(Vec::new());
        let root = match &parsed.value {
            Some(value) => node(value, &lines).map_err(|line| bad_number(file, line))?,
            None => Node { line: 1, kind },
        };
        let file = file.to_owned();
        Ok(Self { file, root })
    }
}

impl Node {
    /// The fields, when this is an object.
    pub(crate) fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Map(fields) => fields,
            _ => &[],
        }
    }

    /// The value under a key, when this is an object that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.key == key)
    }

    /// As plain JSON. Of a key that stands twice the first counts; it was reported.
    pub(crate) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null | Kind::Unset => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::Text(value) => Value::String(value.clone()),
            Kind::List(items) => items.iter().map(Node::to_json).collect(),
            Kind::Map(fields) => {
                let mut map = Map::new();
                for field in fields {
                    map.entry(field.key.clone())
                        .or_insert_with(|| field.value.to_json());
                }
                Value::Object(map)
            }
        }
    }
}

pub(crate) fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Turns the parser's tree into ours; the error is the line of a number that is none.
fn node(value: &ast::Value<'_>, lines: &Lines) -> Result<Node, usize> {
    let line = lines.at(value.range().start);
    let kind = match value {
        ast::Value::NullKeyword(_) => Kind::Null,
        ast::Value::BooleanLit(lit) => Kind::Bool(lit.value),
        ast::Value::StringLit(lit) => Kind::Text(lit.value.clone().into_owned()),
        ast::Value::NumberLit(lit) => {
            Kind::Number(serde_json::from_str(lit.value).map_err(|_| line)?)
        }
        ast::Value::Array(array) => {
            let items = array.elements.iter();
            let items = items.map(|item| node(item, lines));
            Kind::List(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let fields = object.properties.iter();
            let fields = fields.map(|field| self::field(field, lines));
            Kind::Map(fields.collect::<Result<_, _>>()?)
        }
    };
    Ok(Node { line, kind })
}

fn field(property: &ast::ObjectProp<'_>, lines: &Lines) -> Result<Field, usize> {
    let key = match &property.name {
        ObjectPropName::String(name) => name.value.clone().into_owned(),
        ObjectPropName::Word(name) => name.value.to_owned(),
    };
    Ok(Field {
        key,
        line: lines.at(property.range.start),
        value: node(&property.value, lines)?,
    })
}

fn not_json(file: &Path, error: &ParseError) -> Problem {
    // Two kinds quote what they found, which may be part of a secret.
    let what = match error.kind() {
        ParseErrorKind::String(_) => "a string is not closed or has a bad escape".to_owned(),
        ParseErrorKind::Custom(_) => "not valid JSON".to_owned(),
        kind => kind.to_string().to_lowercase(),
    };
    let remedy =
        "Correct the file; comments and trailing commas are allowed, other extensions are not";
    Problem::with_file(file, format!("not valid JSON: {what}"), remedy).at(error.line_display(), "")
}

fn bad_number(file: &Path, line: usize) -> Problem {
    let what = "a number is not valid JSON";
    Problem::with_file(file, what, "Write it as in 3 or 2.5").at(line, "")
}

/// Byte offsets of the line starts.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(breaks).collect())
    }

    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}
