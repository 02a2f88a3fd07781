//! What is declared is real: every configuration key is read by the product, every
//! right names a tool that is registered and every tool has a right, every export
//! of a crate has a user outside it. What is started has an owner, what waits has a
//! limit, and structs and folders stay small enough to hold. Found by reading the source.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use butler_config::{SchemaName, schema};
use butler_tools::Registry;
use serde_json::Value;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let name = path
                .strip_prefix(workspace())
                .unwrap()
                .display()
                .to_string();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

/// Every Rust file of the workspace by its path.
fn all_sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for part in ["crates", "bench", "xtask"] {
        sources(&workspace().join(part), &mut found);
    }
    assert!(found.len() > 300, "{}", found.len());
    found
}

/// Without comments, and without the tests at the end of a file.
fn product(text: &str) -> String {
    code(text.split("#[cfg(test)]").next().unwrap_or_default())
}

/// Without comments.
fn code(text: &str) -> String {
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// Words and single signs.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match word(first) {
            true => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

/// Whether code reads a field: `parent.field`, or `.field` where the parent is not
/// known by name or the field's name is its own.
fn reads(tokens: &[&str], parent: Option<&str>, field: &str) -> bool {
    let distinct = field.len() >= 10;
    tokens.windows(4).any(|found| {
        found[1] == "."
            && found[2] == field
            && found[3] != "("
            && (distinct || parent.is_none_or(|parent| found[0] == parent))
    })
}

struct Key {
    path: String,
    parent: Option<String>,
    field: String,
}

fn snake(key: &str) -> String {
    let mut name = String::new();
    for c in key.replace("ID", "Id").chars() {
        if c.is_uppercase() {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    name
}

fn resolve<'a>(root: &'a Value, mut at: &'a Value) -> &'a Value {
    while let Some(name) = at["$ref"].as_str() {
        at = &root["$defs"][name.rsplit('/').next().unwrap()];
    }
    at
}

/// The keys that hold a value, with the field that each becomes.
fn keys(root: &Value, at: &Value, path: &str, parent: Option<&str>, found: &mut Vec<Key>) {
    let at = resolve(root, at);
    for (key, value) in at["properties"].as_object().into_iter().flatten() {
        if key == "$schema" {
            continue;
        }
        let (path, field) = (format!("{path}{key}"), snake(key));
        let inner = resolve(root, value);
        let item = ["additionalProperties", "items"].map(|key| resolve(root, &inner[key]));
        let item = item.into_iter().find(|item| item["properties"].is_object());
        if inner["properties"].is_object() {
            keys(root, inner, &format!("{path}."), Some(&field), found);
        } else if let Some(item) = item {
            keys(root, item, &format!("{path}[]."), None, found);
        } else {
            let parent = parent.map(str::to_owned);
            found.push(Key {
                path,
                parent,
                field,
            });
        }
    }
}

/// The functions of the settings' own files with their bodies; those that only
/// hold what nobody agreed to are no readers.
fn accessors(sources: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (path, text) in sources {
        let Some(file) = path.strip_prefix("crates/config/src/") else {
            continue;
        };
        let text = product(text);
        for part in text.split("fn ").skip(1) {
            let name: String = part
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if file != "consent.rs" || name == "agreed" {
                found.push((name, part.to_owned()));
            }
        }
    }
    found
}

/// What a key is read by: product code of other crates, or a function of the
/// settings that such code reaches.
fn unread(sources: &BTreeMap<String, String>) -> Vec<String> {
    // The binary alone depends on the settings; other crates get fields of their own,
    // often of the same name.
    let outside: Vec<String> = sources
        .iter()
        .filter(|(path, _)| path.starts_with("crates/codebutler/src/"))
        .map(|(_, text)| product(text))
        .collect();
    let outside: Vec<Vec<&str>> = outside.iter().map(|text| tokens(text)).collect();
    let functions = accessors(sources);
    let functions: Vec<(&str, Vec<&str>)> = functions
        .iter()
        .map(|(name, body)| (name.as_str(), tokens(body)))
        .collect();
    let mut used: BTreeSet<&str> = BTreeSet::from(["agreed"]);
    let words: BTreeSet<&str> = outside.iter().flatten().copied().collect();
    used.extend(
        functions
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| words.contains(name)),
    );
    loop {
        let before = used.len();
        for (name, body) in &functions {
            if used.contains(name) {
                let called = functions.iter().map(|(other, _)| *other);
                let called: Vec<&str> = called.filter(|other| body.contains(other)).collect();
                used.extend(called);
            }
        }
        if used.len() == before {
            break;
        }
    }
    let mut found = Vec::new();
    for name in SchemaName::ALL {
        let root = schema(name);
        let parent = match name {
            SchemaName::Machine => "machine",
            SchemaName::Repo => "repo",
            SchemaName::Policy => "policy",
            SchemaName::Mcp => "mcp",
        };
        let mut all = Vec::new();
        keys(root, root, "", Some(parent), &mut all);
        for Key {
            path,
            parent,
            field,
        } in all
        {
            let by_others = outside
                .iter()
                .any(|file| reads(file, parent.as_deref(), &field));
            let by_own = || {
                let mut readers = functions.iter().filter(|(name, _)| used.contains(name));
                readers.any(|(_, body)| {
                    reads(body, parent.as_deref(), &field) || reads(body, Some("self"), &field)
                })
            };
            if !by_others && !by_own() {
                found.push(format!("{}: {path}", name.as_str()));
            }
        }
    }
    found
}

#[test]
fn every_configuration_key_is_read_by_the_product() {
    let mut sources = all_sources();
    assert_eq!(unread(&sources), Vec::<String>::new());
    // The law sees a reader that is gone.
    let rules = sources
        .get_mut("crates/codebutler/src/wiring/rules.rs")
        .unwrap();
    *rules = rules
        .replace("limits.wait_minutes", "10")
        .replace("language.reply", "usual");
    let gone = unread(&sources);
    for key in ["repo: language.reply", "repo: limits.waitMinutes"] {
        assert!(gone.iter().any(|one| one == key), "{key}: {gone:?}");
    }
}

#[test]
fn every_right_names_a_tool_and_every_tool_has_a_right() {
    let native = Registry::native();
    let chat = butler_agent::chat_specs(None)
        .into_iter()
        .map(|spec| spec.name);
    let tools: BTreeSet<String> = native.names().map(str::to_owned).chain(chat).collect();
    let rights: BTreeSet<String> = butler_policy::tools_with_rights()
        .map(str::to_owned)
        .collect();
    assert_eq!(rights, tools);
    for role in butler_protocol::Role::ALL {
        for tool in butler_policy::default_tools(role) {
            assert!(
                tools.contains(*tool),
                "{role} is offered {tool}, which does not exist"
            );
        }
    }
}

/// The names that a crate's `lib.rs` gives away.
fn exports(lib: &str) -> Vec<String> {
    let lib = product(lib);
    let mut names = Vec::new();
    for part in lib.split("pub use ").skip(1) {
        let list = part.split(';').next().unwrap_or_default();
        let items = match list.split_once('{') {
            Some((_, items)) => items.trim().trim_end_matches('}').split(',').collect(),
            None => vec![list.rsplit("::").next().unwrap_or_default()],
        };
        let last = |item: &str| {
            item.rsplit([' ', ':'])
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        names.extend(
            items
                .into_iter()
                .map(str::trim)
                .map(last)
                .filter(|name| !name.is_empty()),
        );
    }
    names
}

/// A role knows of the others what the hub tells it: the code that opens logs opens
/// those of its own role, and stands in six files.
#[test]
fn no_agent_opens_the_log_of_another() {
    let opens = [".conversation(", "last_entries(", "Journal::open("];
    let sources = all_sources();
    let agent = sources
        .iter()
        .filter(|(path, _)| path.starts_with("crates/agent/src/"))
        .map(|(path, text)| (path, code(&product(text))));
    let found: BTreeSet<&str> = agent
        .filter(|(_, text)| {
            let imports = text
                .lines()
                .filter(|line| line.starts_with("use butler_journal"));
            let read = [" read,", "::read;", " read}"];
            let mut imports = imports.filter(|line| read.iter().any(|word| line.contains(word)));
            imports.next().is_some() || opens.iter().any(|open| text.contains(open))
        })
        .map(|(path, _)| path.trim_start_matches("crates/agent/src/"))
        .collect();
    let own = [
        "exec/driver.rs",
        "exec/session.rs",
        "listen/process.rs",
        "listen/work_key.rs",
        "tell/thread_logs.rs",
        "thread/worker/taking_up.rs",
    ];
    assert_eq!(found, BTreeSet::from(own));
}

#[test]
fn every_export_has_a_user_outside_its_crate() {
    let mut sources = all_sources();
    sources.values_mut().for_each(|text| *text = code(text));
    let mut unused = BTreeSet::new();
    for (path, lib) in &sources {
        let Some(crate_name) = path
            .strip_prefix("crates/")
            .and_then(|path| path.strip_suffix("/src/lib.rs"))
        else {
            continue;
        };
        let inside = format!("crates/{crate_name}/src/");
        let package = format!("butler_{crate_name}");
        let users: BTreeSet<&str> = sources
            .iter()
            .filter(|(path, text)| !path.starts_with(&inside) && text.contains(&package))
            .flat_map(|(_, text)| tokens(text))
            .collect();
        let own_tests: BTreeSet<&str> = sources
            .iter()
            .filter(|(path, _)| {
                path.starts_with(&format!("crates/{crate_name}/")) && !path.starts_with(&inside)
            })
            .flat_map(|(_, text)| tokens(text))
            .collect();
        let dead = exports(lib).into_iter();
        let dead = dead.filter(|name| !users.contains(&**name) && !own_tests.contains(&**name));
        unused.extend(dead.map(|name| format!("{crate_name}::{name}")));
    }
    assert_eq!(unused, BTreeSet::new());
}

/// The product's own files by path, as words and signs, without their tests.
fn product_files(sources: &BTreeMap<String, String>) -> BTreeMap<&str, String> {
    let ours = |path: &str| path.contains("/src/") && !path.starts_with("crates/testkit/");
    let kept = sources
        .iter()
        .filter(|(path, _)| path.starts_with("crates/") && ours(path))
        .filter(|(path, _)| !path.ends_with("_tests.rs"));
    kept.map(|(path, text)| (path.as_str(), product(text)))
        .collect()
}

/// Reads standard input; only its end ends it, and the process does not wait for that.
const ENDS_WITH_THE_PROCESS: &[&str] = &["crates/codebutler/src/process.rs: thread::spawn"];

/// Where a task or thread is started and its handle let go: at the beginning of a
/// statement, or given to `_`.
fn let_go(path: &str, text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let starts = matches!(tokens[at], "spawn" | "spawn_blocking" | "spawn_local");
        if !starts || tokens.get(at + 1) != Some(&"(") || at < 3 || tokens[at - 1] != ":" {
            continue;
        }
        let mut first = at;
        while first >= 3 && tokens[first - 1] == ":" && tokens[first - 2] == ":" {
            first -= 3;
        }
        let before = tokens[first - 1];
        let ignored = before == "=" && tokens[first - 2] == "_";
        if !ignored && !matches!(before, ";" | "{" | "}") {
            continue;
        }
        let mut open = 0_usize;
        let end = (at + 1..tokens.len()).find(|index| {
            match tokens[*index] {
                "(" => open += 1,
                ")" => open -= 1,
                _ => {}
            }
            open == 0
        });
        // Awaited or joined on the spot, or the value of a block.
        if end.and_then(|end| tokens.get(end + 1)) == Some(&";") {
            found.push(format!("{path}: {}::{}", tokens[at - 3], tokens[at]));
        }
    }
    found
}

#[test]
fn every_task_and_thread_has_an_owner() {
    let sources = all_sources();
    let files = product_files(&sources);
    let mut found: Vec<String> = files
        .iter()
        .flat_map(|(path, text)| let_go(path, text))
        .collect();
    found.retain(|one| !ENDS_WITH_THE_PROCESS.contains(&one.as_str()));
    assert_eq!(found, Vec::<String>::new());
    // The law sees what is let go, and what is not.
    let text = "fn f() { tokio::spawn(g(1)); let _ = std::thread::spawn(h); \
                let kept = tokio::spawn(g(2)); tokio::task::spawn_blocking(h).await; \
                scope.spawn(h); tokio::spawn(g(3)) }";
    assert_eq!(let_go("x", text), ["x: tokio::spawn", "x: thread::spawn"]);
}

/// Queues without a limit: tokio's by their name, the standard library's by their
/// missing size.
fn unlimited(text: &str) -> usize {
    let sizeless = |rest: &&str| {
        let size = rest.split_once('(').map_or("", |(_, rest)| rest);
        size.trim_start().starts_with(')')
    };
    let named = text.matches("unbounded_channel").count() + text.matches("Unbounded").count();
    named + text.split("mpsc::channel").skip(1).filter(sizeless).count()
}

#[test]
fn every_queue_has_a_limit() {
    let sources = all_sources();
    let found: Vec<&String> = sources
        .iter()
        .filter(|(path, _)| path.starts_with("crates/") && path.contains("/src/"))
        .filter(|(_, text)| unlimited(&product(text)) > 0)
        .map(|(path, _)| path)
        .collect();
    assert_eq!(found, Vec::<&String>::new());
    let text = "mpsc::channel(8); mpsc::channel(); mpsc::channel::<u8>(); oneshot::channel(); \
                mpsc::unbounded_channel()";
    assert_eq!(unlimited(text), 3);
}

/// The structs of a file with more than so many fields.
fn wide(text: &str, most: usize) -> Vec<String> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at] != "struct" {
            continue;
        }
        let Some(body) = (at + 2..tokens.len()).find(|i| matches!(tokens[*i], "{" | ";" | "("))
        else {
            continue;
        };
        if tokens[body] != "{" {
            continue;
        }
        let (mut depth, mut fields) = (0_usize, 0);
        for index in body..tokens.len() {
            match tokens[index] {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                // `name: Type`, not a path.
                ":" if depth == 1 && tokens[index - 1] != ":" && tokens[index + 1] != ":" => {
                    fields += 1;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        if fields > most {
            found.push(tokens[at + 1].to_owned());
        }
    }
    found
}

#[test]
fn no_struct_has_more_fields_than_a_person_can_hold() {
    let sources = all_sources();
    let files = product_files(&sources);
    let mut found = BTreeSet::new();
    for (path, text) in &files {
        let part = path.split('/').nth(1).unwrap();
        found.extend(wide(text, 16).iter().map(|name| format!("{part}::{name}")));
    }
    assert_eq!(found, BTreeSet::new());
    let text =
        "struct Small { a: u8, b: std::io::Error } struct Wide<T> { a: T, b: [u8; 2], c: Vec<T> }";
    assert_eq!(wide(text, 2), ["Wide"]);
}

#[test]
fn no_folder_has_more_modules_than_a_person_can_hold() {
    let sources = all_sources();
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for path in sources.keys().filter(|path| path.contains("/src")) {
        let (folder, file) = path.rsplit_once('/').unwrap();
        let counts =
            !matches!(file, "lib.rs" | "main.rs" | "mod.rs") && !file.ends_with("_tests.rs");
        if counts && !folder.ends_with("/bin") {
            *folders.entry(folder).or_default() += 1;
        }
    }
    folders.retain(|_, count| *count > 16);
    assert_eq!(folders, BTreeMap::new());
}

/// A role's name decides something in `policy` and `playbook` only; everybody else
/// asks for its right or its duty.
#[test]
fn no_role_is_told_by_its_name_outside_policy_and_playbook() {
    let named = |file: &str, text: &str| {
        let code = product(text);
        let tokens = tokens(&code);
        let told = |at: &[&str]| match at {
            ["=" | "!", "=", "Role", ":", ":", name, ..] => *name != "ALL",
            [_, "role", "=" | "!", "=", "Role", ..] => true,
            _ => false,
        };
        tokens.windows(7).any(told).then(|| file.to_owned())
    };
    assert!(named("x", "fn f(role: Role) { if role == Role::Pm { a() } }").is_some());
    assert!(named("x", "fn f() { let x = a.role() != Role::Lead; b(); c() }").is_some());
    assert!(named("x", "fn f(role: Role) { if role == other { a() } b(); }").is_none());
    let exempt = [
        "crates/policy/",
        "crates/playbook/",
        "crates/testkit/",
        "/tests/",
        "tests.rs",
    ];
    let told: Vec<_> = all_sources()
        .iter()
        .filter(|(file, _)| !exempt.iter().any(|part| file.contains(part)))
        .filter_map(|(file, text)| named(file, text))
        .collect();
    assert!(told.is_empty(), "{told:#?}");
}
