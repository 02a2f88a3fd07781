//! The files of a change as a tree of folders.

use std::collections::BTreeMap;

use maud::{Markup, html};

/// A file in the tree.
pub(crate) struct Leaf<'a> {
    pub(crate) path: &'a str,
    /// The file's number on the page.
    pub(crate) index: usize,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) viewed: bool,
    pub(crate) comments: usize,
}

#[derive(Default)]
struct Folder<'a> {
    folders: BTreeMap<&'a str, Folder<'a>>,
    files: Vec<(&'a str, &'a Leaf<'a>)>,
}

/// The tree; folders can be folded.
pub(crate) fn tree(leaves: &[Leaf<'_>]) -> Markup {
    let mut top = Folder::default();
    for leaf in leaves {
        let mut folder = &mut top;
        let mut parts: Vec<&str> = leaf.path.split('/').collect();
        let name = parts.pop().unwrap_or_default();
        for part in parts {
            folder = folder.folders.entry(part).or_default();
        }
        folder.files.push((name, leaf));
    }
    shown(&top, "")
}

fn shown(folder: &Folder<'_>, above: &str) -> Markup {
    html! {
        ul {
            @for (name, below) in &folder.folders {
                @let (name, below) = only_way((*name).to_owned(), below);
                @let path = format!("{above}{name}/");
                li { details #{ "dir-" (path) } open { summary { (name) "/" } (shown(below, &path)) } }
            }
            @for (name, leaf) in &folder.files {
                li.viewed[leaf.viewed] {
                    a href={ "#f" (leaf.index) } title=(leaf.path) { (name) }
                    @if leaf.viewed { span.hidden { " viewed" } span aria-hidden="true" { "✓" } }
                    @if leaf.comments > 0 { span.badge { (leaf.comments) span.hidden { " comments" } } }
                    span.counts { span.plus { "+" (leaf.added) } " " span.minus { "−" (leaf.removed) } }
                }
            }
        }
    }
}

/// Folders with nothing but one folder in them are one line.
fn only_way<'f, 'a>(name: String, folder: &'f Folder<'a>) -> (String, &'f Folder<'a>) {
    match folder.folders.iter().next() {
        Some((next, below)) if folder.files.is_empty() && folder.folders.len() == 1 => {
            only_way(format!("{name}/{next}"), below)
        }
        _ => (name, folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_one_way_through_them_are_one_line() {
        let leaf = |path| Leaf {
            path,
            index: 0,
            added: 1,
            removed: 0,
            viewed: false,
            comments: 0,
        };
        let leaves = ["a/b/c.rs", "a/b/d.rs", "e/f.rs", "g.rs"].map(leaf);
        let html = tree(&leaves).into_string();
        assert!(html.contains("<summary>a/b/</summary>"), "{html}");
        assert!(html.contains("<summary>e/</summary>"), "{html}");
        assert_eq!(html.matches("<details").count(), 2, "{html}");
        assert_eq!(html.matches("<a ").count(), 4, "{html}");
    }
}
