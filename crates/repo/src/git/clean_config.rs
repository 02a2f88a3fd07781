//! The clone's config as commands in the sandbox see it: without the tokens that
//! people and CI put into it (in addresses, in headers, beside credentials).

use std::{
    fs,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::local_config::places;
use butler_protocol::among;

/// What is shown in the place of a repository's config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanConfig {
    pub at: PathBuf,
    /// What is to be shown there instead.
    pub from: PathBuf,
    /// Where we keep our own things, which is nobody's business inside.
    pub ours: PathBuf,
}

/// A cleaned copy of the config of the repository around `dir`'s files, made if it is
/// missing or old. Nothing where there is no repository, or no copy can be made: then
/// the config must not be shown.
pub fn clean_config(dir: &Path) -> Option<CleanConfig> {
    clean_config_of(&places(dir)?.common)
}

pub(super) fn clean_config_of(common: &Path) -> Option<CleanConfig> {
    let (at, ours) = (common.join("config"), common.join("codebutler"));
    let text = cleaned(&String::from_utf8_lossy(&fs::read(&at).ok()?));
    let from = ours.join("config");
    if !fs::read(&from).is_ok_and(|there| there == text.as_bytes()) {
        fs::create_dir_all(&ours).ok()?;
        // A file of each call's own: two calls of one process that shared one took it from
        // under each other, and the second saw no config at all.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let beside = ours.join(format!("config.{}.{number}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        options.create(true).write(true).truncate(true).mode(0o600);
        let mut file = options.open(&beside).ok()?;
        std::io::Write::write_all(&mut file, text.as_bytes()).ok()?;
        fs::rename(&beside, &from).ok()?;
    }
    Some(CleanConfig { at, from, ours })
}

/// Sections that say how to log in somewhere.
const LOGINS: &str = "http credential sendemail imap github gitlab";
/// What a key is called that holds a secret.
const SECRETS: &[&str] = &[
    "token", "password", "passwd", "secret", "header", "auth", "cookie",
];

/// The text without logins, secrets and comments.
fn cleaned(text: &str) -> String {
    let mut kept = String::new();
    let mut in_login = false;
    for line in whole_lines(text) {
        let mut rest = line.trim();
        if let Some((header, after)) = split_header(rest) {
            in_login = among(LOGINS, &section(header));
            if !in_login {
                kept.push_str(&format!("{}\n", without_logins(header)));
            }
            rest = after.trim();
        }
        let key = rest
            .split('=')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let secret = SECRETS.iter().any(|word| key.contains(word));
        if !(in_login || secret || rest.is_empty() || rest.starts_with(['#', ';'])) {
            kept.push_str(&format!("\t{}\n", without_logins(rest)));
        }
    }
    kept
}

/// Lines with those that a backslash continues.
fn whole_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.pop();
                last.push_str(line);
            }
            None => lines.push(line.to_owned()),
        }
        let backslashes = line.bytes().rev().take_while(|b| *b == b'\\').count();
        goes_on = backslashes % 2 == 1;
    }
    lines
}

/// A section's header and what follows it on the same line.
fn split_header(line: &str) -> Option<(&str, &str)> {
    if !line.starts_with('[') {
        return None;
    }
    let (mut quoted, mut escaped) = (false, false);
    for (at, letter) in line.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(line.split_at(at + 1)),
            _ => {}
        }
    }
    Some((line, ""))
}

fn section(header: &str) -> String {
    let name = header.trim_start_matches('[').trim_start();
    let end = name.find(|c: char| c == '.' || c == ']' || c == '"' || c.is_whitespace());
    name[..end.unwrap_or(name.len())].to_ascii_lowercase()
}

/// Takes the name and password out of every address.
fn without_logins(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        let end = after.find(|c: char| c == '/' || c == '"' || c.is_whitespace());
        let host = &after[..end.unwrap_or(after.len())];
        let login = host.rfind('@').map_or(0, |at| at + 1);
        clean.push_str(before);
        rest = &after[login..];
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixteen worktrees of one process begin at the same moment.
    #[test]
    fn a_copy_that_many_make_at_once_is_whole_for_each() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let text = format!("[core]\n\tbare = false\n[x]\n\ty = {round}\n");
            fs::write(folder.path().join("config"), &text).unwrap();
            let start = std::sync::Barrier::new(16);
            std::thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| {
                        start.wait();
                        let clean = clean_config_of(folder.path()).expect("a copy");
                        assert_eq!(fs::read_to_string(clean.from).unwrap(), text);
                    });
                }
            });
        }
        let left = fs::read_dir(folder.path().join("codebutler")).unwrap();
        assert_eq!(left.count(), 1, "the copy alone");
    }

    #[test]
    fn tokens_are_taken_out_and_all_else_stays() {
        let token = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let text = format!(
            "# {token}\n[core]\n\tbare = false ; {token2}\n[remote \"origin\"]\n\turl = https://x:{token}@example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [http \"https://example.com/\"]\n\textraheader = AUTHORIZATION: basic {token}\n\
             [HTTP] extraHeader = x {token}\n[http.https://a/]\n\tx = {token}\n\
             [url \"https://{token}@example.com/\"]\n\tinsteadOf = git@example.com:\n\
             [my]\n\tapiToken = {token}\n\tcontinued = \\\nhttps://{token}@example.com/ and more\n\
             [branch \"main\"] remote = origin\n",
            token2 = "a comment"
        );
        let clean = cleaned(&text);
        assert!(!clean.contains(&token), "{clean}");
        for kept in [
            "bare = false",
            "url = https://example.com/a.git",
            "fetch = +refs/heads/*:refs/remotes/origin/*",
            "[url \"https://example.com/\"]",
            "[branch \"main\"]\n\tremote = origin",
            "https://example.com/ and more",
        ] {
            assert!(clean.contains(kept), "{kept} is missing in {clean}");
        }
    }
}
