//! Links between the documents of this repository lead somewhere, files that they
//! name exist, and the walk of a message in ARCHITECTURE.md stays short.

use std::{fs, path::Path};

/// The relative targets of Markdown links in a text.
fn targets(text: &str) -> Vec<&str> {
    let links = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    links
        .filter(|target| !target.contains("://") && !target.starts_with('#'))
        .map(|target| target.split('#').next().unwrap_or(target))
        .collect()
}

fn dead_links(folder: &Path, dead: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ext| ext == "md") {
            let text = fs::read_to_string(&path).unwrap();
            let gone = targets(&text)
                .into_iter()
                .filter(|target| !folder.join(target).exists());
            dead.extend(gone.map(|target| format!("{}: {target}", path.display())));
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let mut dead = Vec::new();
    for folder in ["", "docs", "docs/decisions", "docs/design", "docs/facts"] {
        dead_links(&root().join(folder), &mut dead);
    }
    assert_eq!(dead, Vec::<String>::new());
}

/// What stands in backticks and is a path from the root of the repository.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|word| {
        let ours = ["crates/", "docs/", "roles/", "xtask/", "bench/"];
        ours.iter().any(|folder| word.starts_with(folder)) && !word.contains(['<', '*', ' ', '{'])
    })
}

#[test]
fn every_file_that_the_guides_name_exists() {
    let mut missing = Vec::new();
    for guide in ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/mailbox.md"] {
        let text = fs::read_to_string(root().join(guide)).unwrap();
        let gone = named_files(&text).filter(|file| !root().join(file).exists());
        missing.extend(gone.map(|file| format!("{guide}: {file}")));
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn the_walk_has_fifteen_stations_at_most_and_each_names_its_file() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let walk = text.split("\n## The walk\n").nth(1).unwrap();
    let walk = walk.split("\n## ").next().unwrap();
    let stations: Vec<&str> = walk
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---") && line.contains('['))
        .collect();
    for (at, station) in stations.iter().enumerate() {
        assert!(
            station.starts_with(&format!("| {} | [", at + 1)),
            "{station}"
        );
    }
    assert!(
        (8..=15).contains(&stations.len()),
        "{} stations",
        stations.len()
    );
}

#[test]
fn targets_are_the_relative_ones() {
    let text = "[a](b.md) ![c](d/e.png#f) [g](https://h) [i](#j)";
    assert_eq!(targets(text), ["b.md", "d/e.png"]);
}
