//! Which learnings should go, by evidence: replaced by a newer one about the
//! same case, about files that are gone, unsure and of no use for a long time,
//! or said to everybody already. Proposed to a person, never done alone.

use std::collections::{BTreeMap, BTreeSet};

use butler_protocol::{Confidence, Fate};
use serde::{Deserialize, Serialize};

use super::id_in;
use crate::{Entry, Learning, Memory, MemoryError, Worth, markdown::outline::sections};

/// An unsure learning that helped nobody in so many threads goes.
pub(crate) const IDLE_THREADS: u32 = 10;

/// What is known about how learnings fare.
pub struct Evidence<'a> {
    /// Whether the tree has this file or folder.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// By title: threads whose prompt had it since it last helped.
    pub idle: &'a BTreeMap<String, u32>,
    /// By id: what a trial showed.
    pub tried: &'a BTreeMap<String, Worth>,
    /// The learnings of `global.md`, unless that is the file itself.
    pub global: Option<&'a Memory>,
}

/// A learning that should go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruning {
    pub title: String,
    /// Why, for the person who decides.
    pub reason: String,
    pub fate: Fate,
}

/// Ids and titles of the learnings that a prompt gave whole, as a thread's log keeps
/// it. From these and from what helped, [`idle_threads`] counts.
pub fn learnings_in(prompt: &str) -> Vec<(String, String)> {
    let all = sections(prompt);
    let listed = |start: usize| {
        let mut lists = all
            .iter()
            .filter(|one| one.level == 2 && one.title == "Learnings");
        lists.any(|list| list.body.contains(&start))
    };
    let given = all.iter().filter(|section| {
        let whole = prompt[section.body.clone()].contains("**Rule:**");
        section.level == 3 && whole && listed(section.range.start)
    });
    let named = given.map(|section| {
        let id = id_in(&prompt[section.range.clone()], section.title);
        (id, section.title.to_owned())
    });
    named.collect()
}

/// What one thread says about the learnings it was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// Titles that were in one of its prompts.
    pub given: Vec<String>,
    /// Titles that its look back names as having helped.
    pub helped: Vec<String>,
}

/// By title: in how many threads, since it last helped, a learning was given for
/// nothing. The oldest thread comes first.
pub fn idle_threads(threads: &[ThreadUse]) -> BTreeMap<String, u32> {
    let mut idle: BTreeMap<String, u32> = BTreeMap::new();
    for thread in threads {
        let given: BTreeSet<_> = thread.given.iter().collect();
        for title in given {
            *idle.entry(title.clone()).or_default() += 1;
        }
        for title in &thread.helped {
            idle.insert(title.clone(), 0);
        }
    }
    idle
}

impl Memory {
    /// What should go, each learning at most once, in the order of the file.
    pub fn prunings(&self, evidence: &Evidence<'_>) -> Vec<Pruning> {
        self.live()
            .filter_map(|entry| self.reason(entry, evidence))
            .collect()
    }

    /// The file without what a person agreed to let go.
    /// Fails when one of them is not there, or the file is tangled; then nothing changes.
    pub fn prune(&self, agreed: &[Pruning]) -> Result<Self, MemoryError> {
        let mut pruned = self.clone();
        for one in agreed {
            pruned = match one.fate {
                Fate::Archive => pruned.archive(&one.title, &one.reason)?,
                Fate::Remove => pruned.remove(&one.title)?,
            };
        }
        Ok(pruned)
    }

    fn reason(&self, entry: &Entry, evidence: &Evidence<'_>) -> Option<Pruning> {
        let learning = &entry.learning;
        let found = |fate: Fate, reason: String| {
            Some(Pruning {
                title: learning.title.clone(),
                reason,
                fate,
            })
        };
        let mut others = self.live().map(|other| &other.learning);
        if let Some(newer) = others.find(|other| replaces(other, learning)) {
            let title = &newer.title;
            let what =
                format!("\"{title}\" is newer, about the same case, and says something else");
            return found(Fate::Remove, what);
        }
        let global = evidence.global.into_iter().flat_map(Memory::live);
        let mut global = global.map(|other| &other.learning);
        if let Some(same) = global.find(|other| says_same(other, learning)) {
            let what = format!("global.md says it to everybody: \"{}\"", same.title);
            return found(Fate::Remove, what);
        }
        let named = paths(learning);
        if !named.is_empty() && !named.iter().any(|path| (evidence.exists)(path)) {
            let list = named.into_iter().collect::<Vec<_>>().join(", ");
            return found(Fate::Archive, format!("it is about {list}, which is gone"));
        }
        let tried = evidence.tried.get(&entry.id);
        if let Some(worth) = tried.filter(|worth| worth.is_useless()) {
            let worth = worth.in_words();
            let what = format!("half of the threads did without it and did not miss it; {worth}");
            return found(Fate::Archive, what);
        }
        let idle = evidence.idle.get(&learning.title).copied().unwrap_or(0);
        if learning.confidence == Confidence::Low && idle >= IDLE_THREADS {
            let what = format!("nobody was sure of it, and it helped in none of {idle} threads");
            return found(Fate::Archive, what);
        }
        None
    }
}

/// Whether a learning is about the same case as an older one and says something
/// else. Of two of one date neither is the newer.
fn replaces(newer: &Learning, older: &Learning) -> bool {
    let date = |learning: &Learning| {
        let mut words = learning.source.rsplit([',', ' ']);
        words.find_map(|word| word.parse::<jiff::civil::Date>().ok())
    };
    let same_case = !newer.when.is_empty() && plain(&newer.when) == plain(&older.when);
    same_case && plain(&newer.rule) != plain(&older.rule) && date(newer) > date(older)
}

fn says_same(one: &Learning, other: &Learning) -> bool {
    !other.rule.is_empty() && plain(&one.rule) == plain(&other.rule)
}

fn plain(text: &str) -> String {
    let words = text.split(|other: char| !other.is_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase()
}

/// Files and folders that a learning's case and rule name. Its example is
/// history and may well be gone.
fn paths(learning: &Learning) -> BTreeSet<String> {
    let text = format!("{} {}", learning.when, learning.rule);
    text.split(|other: char| other.is_whitespace() || "`\"'(),;".contains(other))
        .map(|word| word.trim_end_matches(['.', ':']).trim_start_matches("./"))
        .map(|word| word.split(':').next().unwrap_or(word))
        .filter(|word| is_path(word))
        .map(|word| word.trim_end_matches('/').to_owned())
        .collect()
}

/// `a/b.rs`, `src/`, `notes.sh`; not `and/or`, `e.g`, `1.2` or an address.
pub(crate) fn is_path(word: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    let plain = word.chars().all(fits);
    let name = word
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(word);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let letters = extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.chars().any(|c| c.is_ascii_alphabetic());
    let long = stem.chars().count() > 1 || word.contains('/');
    // `parser.error` is code, `parser.py` is a file; with a folder before it any ending is.
    let name_of_file = word.contains('/') || stem.starts_with("Makefile");
    let known = name_of_file || ENDINGS.contains(&extension.to_ascii_lowercase().as_str());
    let file = long && (1..=5).contains(&extension.len()) && letters && known;
    plain && (file || word.ends_with('/'))
}

/// Endings by which a word alone is the name of a file.
const ENDINGS: &[&str] = &[
    "adoc", "bash", "bat", "c", "cc", "cfg", "cjs", "clj", "conf", "cpp", "cs", "css", "csv",
    "cts", "dart", "ejs", "el", "env", "erb", "erl", "ex", "exs", "fish", "go", "gql", "gz", "h",
    "hbs", "hpp", "hs", "htm", "html", "ico", "ini", "ipynb", "java", "jl", "jpeg", "jpg", "js",
    "json", "jsonl", "jsx", "kt", "kts", "less", "lock", "lua", "m", "md", "mdx", "mjs", "mk",
    "ml", "mm", "mts", "nim", "nix", "orig", "pdf", "php", "pl", "plist", "pm", "png", "proto",
    "ps1", "py", "pyi", "pyx", "r", "rb", "rs", "rst", "sass", "scala", "scss", "sh", "snap",
    "sql", "sum", "svg", "swift", "tf", "tmpl", "toml", "ts", "tsv", "tsx", "txt", "vue", "wasm",
    "xml", "yaml", "yml", "zig", "zsh",
];

#[cfg(test)]
#[path = "prune_tests.rs"]
mod tests;
