//! From a file on disk to a typed value, with its problems collected.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    file::{
        check::{Measure, check},
        document::Document,
        problem::{Problem, Problems},
        removed,
        variables::{self, Environment, Source},
    },
    schema::{SchemaName, schema},
};

/// More than any person writes; a larger file is a mistake.
const MAX_BYTES: u64 = 1024 * 1024;

/// The text of a file that anybody may see; none when it is not there.
pub(crate) fn committed(file: &Path) -> Result<Option<String>, Problem> {
    open(file)?.map(|open| text(file, open)).transpose()
}

/// The text of a file that only its owner may read.
pub(crate) fn private(file: &Path) -> Result<Option<String>, Problem> {
    let Some(open) = open(file)? else {
        return Ok(None);
    };
    // Asked of the open file, so that nobody can swap it in between.
    let about = open.metadata().map_err(|error| unreadable(file, &error))?;
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let what = format!("holds secrets but others can use it (mode {mode:03o})");
        let remedy = format!("Run `chmod 600 {}`", file.display());
        return Err(Problem::with_file(file, what, remedy));
    }
    text(file, open).map(Some)
}

fn open(file: &Path) -> Result<Option<File>, Problem> {
    match File::open(file) {
        Ok(open) => Ok(Some(open)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(file, &error)),
    }
}

fn text(file: &Path, open: File) -> Result<String, Problem> {
    let mut text = String::new();
    let size = open.take(MAX_BYTES + 1).read_to_string(&mut text);
    let size = size.map_err(|error| unreadable(file, &error))?;
    if size as u64 > MAX_BYTES {
        let remedy = "Is it the right file?";
        return Err(Problem::with_file(file, "larger than 1 MB", remedy));
    }
    Ok(text)
}

fn unreadable(file: &Path, error: &io::Error) -> Problem {
    let what = format!("cannot be read: {error}");
    Problem::with_file(file, what, "Check the file and its permissions")
}

/// A value and the document it came from; none when there was no file.
pub(crate) struct Read<T> {
    pub value: T,
    /// As written, `${NAME}` included.
    pub written: Option<Document>,
}

/// Reads one file after the other and remembers what was wrong.
pub(crate) struct Reading<'a> {
    env: Environment<'a>,
    pub problems: Vec<Problem>,
    /// What deserves a word but is no error.
    pub notices: Vec<Problem>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(env: Environment<'a>) -> Self {
        Self {
            env,
            problems: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// What was read, if nothing was wrong.
    pub(crate) fn sound<T>(self, read: T) -> Result<T, Problems> {
        match self.problems.is_empty() {
            true => Ok(read),
            false => Err(Problems(self.problems)),
        }
    }

    /// Reads the machine config.
    pub(crate) fn machine<T: DeserializeOwned + Default>(
        &mut self,
        file: &Path,
        text: Option<&str>,
    ) -> Read<T> {
        let source = Source::Environment(self.env);
        self.read(SchemaName::Machine, source, file, text)
    }

    /// Reads a file of the repo, in which the machine's keys are forbidden.
    pub(crate) fn repo<T: DeserializeOwned + Default>(
        &mut self,
        name: SchemaName,
        file: &Path,
        text: Option<&str>,
    ) -> Read<T> {
        self.read(name, Source::Nowhere, file, text)
    }

    /// A schema takes a millisecond to make, so one is asked for only when there is
    /// something to measure.
    fn read<T: DeserializeOwned + Default>(
        &mut self,
        name: SchemaName,
        source: Source<'_>,
        file: &Path,
        text: Option<&str>,
    ) -> Read<T> {
        let parsed = text.map(|text| Document::parse(file, text)).transpose();
        let written = parsed.unwrap_or_else(|problem| {
            self.problems.push(problem);
            None
        });
        let mut read = Read {
            value: T::default(),
            written,
        };
        let Some(mut document) = read.written.clone() else {
            return read;
        };
        let mut problems = Vec::new();
        self.notices.extend(removed::take_out(&mut document, name));
        variables::fill(&mut document.root, source, file, &mut problems);
        let measure = Measure {
            schema: schema(name),
            machine: (name != SchemaName::Machine).then(|| schema(SchemaName::Machine)),
        };
        problems.extend(check(&document, &measure));
        problems.sort_by_key(|problem| problem.line);
        if problems.is_empty() {
            let mut json = document.root.to_json();
            if let Value::Object(map) = &mut json {
                map.remove("$schema");
            }
            match serde_json::from_value(json) {
                Ok(value) => read.value = value,
                Err(_) => {
                    let remedy = "Please report this; a property test should have found it";
                    problems.push(Problem::with_file(file, "does not fit its schema", remedy));
                }
            }
        }
        self.problems.extend(problems);
        read
    }
}
