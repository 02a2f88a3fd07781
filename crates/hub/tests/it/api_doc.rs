//! `docs/api.md` names every route of `/v1` and no other: the routes are read
//! from the source, so that a new one cannot be forgotten.

use std::{collections::BTreeSet, fs, path::Path};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Everything between the parentheses that begin here.
fn inside(text: &str) -> &str {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

fn is_for_people(path: &str) -> bool {
    path.starts_with("/v1/")
        || matches!(path, "/healthz" | "/readyz" | "/readyz/store" | "/metrics")
}

fn routes() -> BTreeSet<String> {
    let mut source = String::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut source,
    );
    let mut found = BTreeSet::new();
    for part in source.split(".route(").skip(1) {
        let call = inside(part);
        let Some(path) = call.split('"').nth(1).filter(|path| is_for_people(path)) else {
            continue;
        };
        let handlers = call.split_once("\",").map_or("", |(_, rest)| rest);
        for method in METHODS {
            let words = handlers.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '(');
            if words
                .into_iter()
                .any(|word| word.starts_with(&format!("{method}(")))
            {
                found.insert(format!("{} {path}", method.to_uppercase()));
            }
        }
    }
    found
}

#[test]
fn the_document_names_every_route_and_no_other() {
    let text = include_str!("../../../../docs/api.md");
    let documented: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
        .map(str::to_owned)
        .collect();
    let routes = routes();
    assert!(routes.len() > 15, "the routes were not found: {routes:?}");
    assert_eq!(
        routes.difference(&documented).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "not in docs/api.md"
    );
    assert_eq!(
        documented.difference(&routes).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "in docs/api.md, but not in the hub"
    );
}

/// The section about the live stream names every kind of event that it has.
#[test]
fn the_document_names_every_kind_of_live_event() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["src/person_api.rs", "src/person_api/live.rs"];
    let source = files.map(|file| fs::read_to_string(root.join(file)).unwrap());
    let source = source.concat();
    let document = fs::read_to_string(root.join("../../docs/api.md")).unwrap();
    let section = document.split("### `GET /v1/events`").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let kinds: BTreeSet<&str> = source
        .split(".event(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(kinds.len() >= 5, "{kinds:?}");
    for kind in kinds {
        assert!(section.contains(&format!("`{kind}`")), "{kind}");
    }
}
