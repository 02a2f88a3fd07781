//! Links between the documents of this repository lead somewhere.

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

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut dead = Vec::new();
    for folder in [root, &root.join("docs"), &root.join("docs/decisions")] {
        dead_links(folder, &mut dead);
    }
    assert_eq!(dead, Vec::<String>::new());
}

#[test]
fn targets_are_the_relative_ones() {
    let text = "[a](b.md) ![c](d/e.png#f) [g](https://h) [i](#j)";
    assert_eq!(targets(text), ["b.md", "d/e.png"]);
}
