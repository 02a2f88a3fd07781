//! Who owns which files, as a `CODEOWNERS` file of the default branch says: the last line
//! that fits a file counts, also when it names nobody. Reading it is pure. People are
//! `@name`, teams `@organisation/name`; addresses of mail and teams of other organisations
//! are left out, because nobody can be asked by them.

use tokio_util::sync::CancellationToken;

use super::Reviewers;
use crate::{Repo, Result};

/// The owners of these files by the first of these `CODEOWNERS` files that is there.
pub(super) async fn of_files(
    repo: &Repo,
    places: &[&str],
    organisation: &str,
    files: &[String],
    cancel: &CancellationToken,
) -> Result<Reviewers> {
    for place in places {
        let object = format!("{}:{place}", repo.default_ref());
        let found = repo
            .git()
            .call(["cat-file", "blob", &object])
            .accept(&[0, 128])
            .run(cancel)
            .await?;
        if found.code == 0 {
            return Ok(read(&found.text(), organisation, files));
        }
    }
    Ok(Reviewers::default())
}

/// The owners of files, each once, in the order of the files.
fn read(text: &str, organisation: &str, files: &[String]) -> Reviewers {
    let lines: Vec<(String, Vec<&str>)> = text.lines().filter_map(line).collect();
    let mut reviewers = Reviewers::default();
    for file in files {
        let last = lines.iter().rfind(|(pattern, _)| owns(pattern, file));
        for owner in last.into_iter().flat_map(|(_, owners)| owners) {
            let Some(name) = owner.strip_prefix('@') else {
                continue;
            };
            let (list, name) = match name.split_once('/') {
                None => (&mut reviewers.people, name),
                Some((of, team)) if of.eq_ignore_ascii_case(organisation) => {
                    (&mut reviewers.teams, team)
                }
                Some(_) => continue,
            };
            if !name.is_empty() && !list.iter().any(|one| one.eq_ignore_ascii_case(name)) {
                list.push(name.to_owned());
            }
        }
    }
    reviewers
}

/// A pattern and its owners; nothing for what is none: comments, and the headings of
/// sections that other forges know.
fn line(text: &str) -> Option<(String, Vec<&str>)> {
    let text = text.trim();
    if text.is_empty() || text.starts_with(['#', '[', '^', '!']) {
        return None;
    }
    // A blank or a # in a name stands behind a stroke.
    let (mut pattern, mut end, mut escaped) = (String::new(), text.len(), false);
    for (at, letter) in text.char_indices() {
        match letter {
            '\\' if !escaped => escaped = true,
            _ if letter.is_whitespace() && !escaped => {
                end = at;
                break;
            }
            _ => {
                pattern.push(letter);
                escaped = false;
            }
        }
    }
    let owners = text[end..].split_whitespace();
    let owners = owners.take_while(|owner| !owner.starts_with('#'));
    Some((pattern, owners.collect()))
}

/// Whether a pattern fits a file: as in `.gitignore`, but `docs/*` does not reach into
/// folders below `docs`.
fn owns(pattern: &str, file: &str) -> bool {
    let folder = pattern.ends_with('/');
    let inner = pattern.trim_end_matches('/');
    let anchored = inner.contains('/');
    let mut parts: Vec<&str> = inner.trim_start_matches('/').split('/').collect();
    if !anchored {
        parts.insert(0, "**");
    }
    let plain = parts
        .last()
        .is_some_and(|part| !part.contains(['*', '?']) && !part.is_empty());
    let path: Vec<&str> = file.split('/').collect();
    let below = |length: usize| fits(&parts, &path[..length]);
    (!folder && below(path.len())) || ((folder || plain) && (1..path.len()).any(below))
}

/// Whether parts of a pattern fit parts of a path, all of both.
fn fits(pattern: &[&str], path: &[&str]) -> bool {
    // `reach[j]`: what was read of the pattern can end before path[j].
    let mut reach = vec![false; path.len() + 1];
    reach[0] = true;
    for part in pattern {
        let mut next = vec![false; path.len() + 1];
        let mut open = false;
        for at in 0..=path.len() {
            open |= reach[at];
            if *part == "**" {
                next[at] = open;
            } else if at > 0 {
                next[at] = reach[at - 1] && part_fits(part, path[at - 1]);
            }
        }
        reach = next;
    }
    reach[path.len()]
}

/// `*` is any letters, `?` is one.
fn part_fits(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut reach = vec![false; text.len() + 1];
    reach[0] = true;
    for letter in pattern.chars() {
        let mut next = vec![false; text.len() + 1];
        let mut open = false;
        for at in 0..=text.len() {
            open |= reach[at];
            if letter == '*' {
                next[at] = open;
            } else if at > 0 {
                next[at] = reach[at - 1] && (letter == '?' || letter == text[at - 1]);
            }
        }
        reach = next;
    }
    reach[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_fits_counts() {
        let text = "# who\n* @ana @Org/core\n*.md   docs@x.invalid @ben # words\n\
            /build/logs/ @ben\napps/ @org/apps @other/apps\ndocs/* @dora\n\
            /vendor\nwith\\ blank.txt @eva\n[Section] @nobody\n**/logs @Ana\n";
        let of = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            let found = read(text, "org", &files);
            (found.people.join(" "), found.teams.join(" "))
        };
        let pair = |people: &str, teams: &str| (people.to_owned(), teams.to_owned());
        assert_eq!(of(&["src/a.rs"]), pair("ana", "core"));
        assert_eq!(of(&["a/b/README.md"]), pair("ben", ""));
        assert_eq!(of(&["build/logs/x/y"]), pair("Ana", ""));
        assert_eq!(of(&["x/build/logs2/y"]), pair("ana", "core"));
        assert_eq!(of(&["x/apps/y/z.c"]), pair("", "apps"));
        assert_eq!(of(&["docs/a.txt"]), pair("dora", ""));
        assert_eq!(of(&["docs/b/a.txt"]), pair("ana", "core"));
        assert_eq!(of(&["vendor/lib/a.c"]), pair("", ""), "nobody owns it");
        assert_eq!(of(&["with blank.txt"]), pair("eva", ""));
        assert_eq!(
            of(&["docs/a.txt", "src/a.rs", "x.md"]),
            pair("dora ana ben", "core")
        );
        assert_eq!(of(&[]), pair("", ""));
    }

    proptest::proptest! {
        /// Whatever stands in the file, reading it ends and names nobody twice.
        #[test]
        fn no_text_breaks_it(text in "[*?/a @#\\\\\n\\[b.]{0,80}", file in "[a-b/.]{1,12}") {
            let found = read(&text, "a", &[file.clone(), file]);
            let mut people = found.people.clone();
            people.sort_unstable();
            people.dedup();
            proptest::prop_assert_eq!(people.len(), found.people.len());
        }
    }
}
