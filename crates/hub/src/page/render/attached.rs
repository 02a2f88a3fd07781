//! Files that came with a message: pictures and sounds in place, short texts folded open
//! or shut, tables as tables, all others by a link that says what they are.

mod table;

use std::collections::HashMap;

use maud::{Markup, html};
use serde_json::Value;

use crate::{
    page::render::{Names, code, text},
    workspace::files,
};

/// What is known of files beside the messages that bring them.
#[derive(Debug, Default)]
pub(crate) struct FileTexts {
    /// Text of small text files, by file id.
    pub(crate) snippets: HashMap<String, String>,
    /// What was said in recordings, by file id.
    pub(crate) heard: HashMap<String, String>,
}

/// A file of a message, as Slack's shape has it.
struct Attached<'a> {
    id: &'a str,
    name: &'a str,
    title: &'a str,
    kind: &'a str,
    size: u64,
}

/// All files of a message.
pub(crate) fn attached(message: &Value, known: &FileTexts, names: &Names) -> Markup {
    let all = message["files"].as_array().map_or(&[][..], Vec::as_slice);
    html! {
        @for file in all {
            @let word = |name: &str| file[name].as_str().unwrap_or_default();
            (one(&Attached {
                id: word("id"),
                name: word("name"),
                title: word("title"),
                kind: word("mimetype"),
                size: file["size"].as_u64().unwrap_or(0),
            }, known, names))
        }
    }
}

fn one(file: &Attached<'_>, known: &FileTexts, names: &Names) -> Markup {
    let link = format!("/files/{}", file.id);
    if let Some(text) = known.snippets.get(file.id) {
        return snippet(file, &link, text);
    }
    if !files::is_shown_in_place(file.kind) {
        return linked(file, &link);
    }
    if file.kind.starts_with("audio/") {
        let heard = known.heard.get(file.id);
        return html! {
            figure.voice {
                audio controls preload="metadata" src=(link) aria-label={ "Recording " (file.title) } {}
                @if let Some(words) = heard {
                    blockquote.transcript aria-label="What was said" { (text::render(words, names)) }
                }
                figcaption.soft { (file.title) " · " (size(file.size)) }
            }
        };
    }
    html! {
        p.file {
            a.zoom href=(link) aria-label={ "Enlarge " (file.title) } {
                img src=(link) alt=(file.title) loading="lazy";
            }
        }
    }
}

/// A short text, where it was posted.
fn snippet(file: &Attached<'_>, link: &str, text: &str) -> Markup {
    html! {
        div.kept {
            details.snippet id={ "s" (file.id) } open[text.lines().count() <= 30] {
                summary { code { (file.title) } " " (odd(file)) }
                (body(text, file.name))
            }
            (saved(file, &format!("{link}?download=1")))
        }
    }
}

/// Code in colours, a table as one.
pub(crate) fn body(text: &str, name: &str) -> Markup {
    match table::of(text, name) {
        Some(table) => table,
        None => code::block(text, code::language_of(name)),
    }
}

/// What is not shown in place: texts lead to a page of their own, documents open in
/// the browser's reader, the rest is saved.
fn linked(file: &Attached<'_>, link: &str) -> Markup {
    let save = format!("{link}?download=1");
    html! {
        p.file {
            @if files::is_text(file.kind) {
                a href={ "/f/" (file.id) } { "📄 " (file.title) }
            } @else if file.kind == "application/pdf" {
                a href=(link) target="_blank" rel="noopener" { "📕 " (file.title) }
            } @else {
                a href=(save) download { "📦 " (file.title) }
            }
            " " span.soft { (size(file.size)) } " " (odd(file))
            @if files::is_text(file.kind) || file.kind == "application/pdf" {
                (saved(file, &save))
            }
        }
    }
}

/// Beside what opens and folds: a button holds no link.
fn saved(file: &Attached<'_>, link: &str) -> Markup {
    html! { a.save href=(link) download aria-label={ "Download " (file.title) } { "Download" } }
}

/// A word of warning about a file that is something else than its name says.
fn odd(file: &Attached<'_>) -> Markup {
    html! {
        @if files::misnamed(file.name, file.kind) { span.chip { "not what its name says" } " " }
    }
}

/// A size as people say it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", bytes / 1024),
        _ => format!(
            "{}.{} MB",
            bytes / 1_048_576,
            bytes % 1_048_576 * 10 / 1_048_576
        ),
    }
}
