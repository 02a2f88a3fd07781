//! What a listing of all files says about a repository: what lies at the top,
//! which languages it is written in, where its manifests are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

/// So many entries of the top level are named.
const TOP: usize = 40;
/// A longer name is not worth its room.
const NAME_BYTES: usize = 48;
/// So many manifests are named, the ones nearest to the top first.
const MANIFESTS_NAMED: usize = 8;
/// So many languages are named.
const LANGUAGES_NAMED: usize = 5;

/// Files that say what a folder is built with, then languages and how their files end.
const KNOWN: &str = include_str!("layout.txt");

/// The manifests, and languages by the endings of their files.
static LISTS: LazyLock<(Vec<&str>, BTreeMap<&str, &str>)> = LazyLock::new(|| {
    let mut lines = KNOWN
        .lines()
        .map(|line| line.split_once(' ').unwrap_or((line, "")));
    let manifests = lines.next().map_or("", |(_, names)| names);
    let languages = lines.flat_map(|(language, endings)| {
        let endings = endings.split_whitespace();
        endings.map(move |ending| (ending, language))
    });
    (manifests.split_whitespace().collect(), languages.collect())
});

/// What lies where in one commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    folders: BTreeSet<String>,
    files: BTreeSet<String>,
    languages: BTreeMap<&'static str, usize>,
    manifests: Vec<String>,
    /// `scripts.test` of the `package.json` at the top, where there is one.
    pub test_script: Option<String>,
}

impl Layout {
    /// Of all paths of a commit. The team's own folder is none of its business.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut layout = Self::default();
        for path in paths {
            layout.add(path);
        }
        let depth = |path: &String| (path.matches('/').count(), path.clone());
        layout.manifests.sort_by_key(depth);
        layout
    }

    fn add(&mut self, path: &str) {
        let strange = |letter: char| letter.is_control() || letter == '`';
        let Some(first) = path.split('/').next().filter(|first| !first.is_empty()) else {
            return;
        };
        if first == ".codebutler" || path.contains(strange) {
            return;
        }
        let top = if path.contains('/') {
            &mut self.folders
        } else {
            &mut self.files
        };
        if !top.contains(first) {
            top.insert(first.to_owned());
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let (manifests, languages) = &*LISTS;
        if manifests.contains(&name) && path.len() <= 2 * NAME_BYTES {
            self.manifests.push(path.to_owned());
        }
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        if let Some(language) = ending.and_then(|ending| languages.get(ending)) {
            *self.languages.entry(language).or_default() += 1;
        }
    }

    /// Takes note of the `package.json` at the top.
    #[must_use]
    pub fn with_package(mut self, text: &str) -> Self {
        let package: Option<serde_json::Value> = serde_json::from_str(text).ok();
        let script = package.as_ref().map(|package| &package["scripts"]["test"]);
        self.test_script = script.and_then(|script| script.as_str()).map(str::to_owned);
        self
    }

    /// Folders first, as `src/`, then files.
    pub(super) fn top(&self) -> String {
        let folders = self.folders.iter().map(|name| format!("{name}/"));
        let all: Vec<String> = folders.chain(self.files.iter().cloned()).collect();
        let mut shown: Vec<&str> = all.iter().map(String::as_str).collect();
        shown.retain(|name| name.len() <= NAME_BYTES);
        shown.truncate(TOP);
        let more = all.len() - shown.len();
        let mut text = shown.join(" ");
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        text
    }

    /// The most used first.
    pub(super) fn languages(&self) -> String {
        let mut all: Vec<(&str, usize)> = self.languages.iter().map(|(a, b)| (*a, *b)).collect();
        all.sort_by_key(|(name, count)| (usize::MAX - count, *name));
        let shown = all.iter().take(LANGUAGES_NAMED);
        let shown: Vec<String> = shown
            .map(|(name, count)| match count {
                1 => format!("{name} (1 file)"),
                many => format!("{name} ({many} files)"),
            })
            .collect();
        shown.join(", ")
    }

    /// The nearest to the top first.
    pub(super) fn manifests(&self) -> String {
        let mut shown: Vec<&str> = self.manifests.iter().map(String::as_str).collect();
        shown.truncate(MANIFESTS_NAMED);
        let more = self.manifests.len() - shown.len();
        let mut text = shown.join(", ");
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        text
    }
}
