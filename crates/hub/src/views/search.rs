//! Search over what was said, the files that came along, and what pull requests
//! change. All words must be there; the last letters of a word may be missing.

use butler_protocol::{ChannelId, MessageTs, ThreadId};
use butler_slack::mrkdwn;
use serde::Serialize;

use crate::{
    error::Result,
    store::{Db, params},
    views::needs,
};

const HITS: i64 = 50;
const MOST_WORDS: usize = 12;
/// How much is shown around a word.
const AROUND: usize = 90;

/// The two engines have nothing in common here.
const IN_SQLITE: &str = "SELECT d.kind, d.channel, d.root, d.key, c.name FROM search
    JOIN search_docs d ON d.id = search.rowid JOIN channels c ON c.id = d.channel
    WHERE search MATCH ?1 ORDER BY rank, d.key DESC LIMIT ?2";
const IN_POSTGRES: &str = "SELECT d.kind, d.channel, d.root, d.key, c.name
    FROM search_docs d JOIN channels c ON c.id = d.channel, to_tsquery('simple', fold_words(?1)) asked
    WHERE d.words @@ asked ORDER BY ts_rank(d.words, asked) DESC, d.key DESC LIMIT ?2";

/// A place where the words stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Hit {
    pub(crate) thread: ThreadId,
    pub(crate) channel: String,
    pub(crate) title: String,
    /// The message; none for a pull request.
    pub(crate) message: Option<MessageTs>,
    /// The pull request's number.
    pub(crate) pull: Option<u64>,
    pub(crate) excerpt: String,
}

/// The best places first.
pub(crate) fn find(db: &Db, query: &str) -> Result<Vec<Hit>> {
    let (sql, expression) = match db.shared() {
        None => (IN_SQLITE, expression(query)),
        Some(_) => (IN_POSTGRES, tsquery(query)),
    };
    let Some(expression) = expression else {
        return Ok(Vec::new());
    };
    let rows: Vec<[String; 5]> = db.rows(sql, params![expression, HITS])?;
    let mut hits = Vec::new();
    for [kind, channel, root, key, name] in rows {
        let Ok(root) = root.parse::<MessageTs>() else {
            continue;
        };
        let thread = ThreadId::new(ChannelId::new(channel), root);
        let pull = key.strip_prefix('#').and_then(|n| n.parse().ok());
        let text = if kind == "pull" {
            pull_text(db, &thread, pull)?
        } else {
            message_text(db, &thread, &key)?
        };
        hits.push(Hit {
            title: needs::title(db, &thread)?,
            channel: name,
            message: key.parse().ok().filter(|_| pull.is_none()),
            pull,
            excerpt: excerpt(&text, query),
            thread,
        });
    }
    Ok(hits)
}

/// Every word as FTS5 reads it: quoted, so that nothing in it is an operator.
fn expression(query: &str) -> Option<String> {
    let words = query
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .take(MOST_WORDS)
        .map(|word| format!("\"{}\"*", word.replace('"', "\"\"")));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Every word as PostgreSQL reads it: its parts behind each other, the last one open.
fn tsquery(query: &str) -> Option<String> {
    let parts = |word: &str| -> Option<String> {
        let parts = word.split(|c: char| !c.is_alphanumeric());
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| format!("({}:*)", parts.join(" <-> ")))
    };
    let words: Vec<String> = query
        .split_whitespace()
        .filter_map(parts)
        .take(MOST_WORDS)
        .collect();
    (!words.is_empty()).then(|| words.join(" & "))
}

fn message_text(db: &Db, thread: &ThreadId, ts: &str) -> Result<String> {
    let sql = "SELECT words FROM message_words WHERE channel = ?1 AND ts = ?2";
    let text: String = db
        .first(sql, params![thread.channel, ts])?
        .unwrap_or_default();
    Ok(mrkdwn::unescape(&text))
}

fn pull_text(db: &Db, thread: &ThreadId, number: Option<u64>) -> Result<String> {
    let sql = "SELECT words FROM pull_words WHERE channel = ?1 AND root = ?2 AND number = ?3";
    let keys = params![thread, number.and_then(|number| i64::try_from(number).ok())];
    let text: String = db.first(sql, keys)?.unwrap_or_default();
    Ok(text)
}

/// The first place in the text where one of the words stands, and what is around it.
fn excerpt(text: &str, query: &str) -> String {
    let low = text.to_lowercase();
    // Lower case may be longer than what it was made of; then the start will do.
    let same = low.len() == text.len();
    let found = query
        .split_whitespace()
        .find_map(|word| low.find(&word.to_lowercase()));
    let at = found.filter(|_| same).unwrap_or(0);
    let mut from = at.saturating_sub(AROUND / 2);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let part: String = text[from..].chars().take(2 * AROUND).collect();
    let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
    if from > 0 { format!("…{part}") } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_query_is_an_operator() {
        assert_eq!(
            expression("a OR \"b"),
            Some("\"a\"* \"OR\"* \"\"\"b\"*".into())
        );
        assert_eq!(expression(" - * "), None);
        let db = Db::in_memory();
        for odd in [
            "NEAR(", "a*b", "^x", "words:", "\"", "{a b}:c", "ü-ß", "a AND",
        ] {
            find(&db, odd).unwrap();
        }
    }

    #[test]
    fn an_excerpt_shows_the_word_whatever_stands_around_it() {
        let text = format!("{} needle {}", "ä".repeat(300), "ö".repeat(300));
        let part = excerpt(&text, "Needle");
        assert!(part.contains("needle") && part.len() < 450, "{part}");
        assert_eq!(excerpt("İx needle", "needle"), "İx needle");
        assert_eq!(excerpt("", "x"), "");
    }
}
