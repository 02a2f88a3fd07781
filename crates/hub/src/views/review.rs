//! What people say about the lines of a change, and which of its files they have gone
//! through. Comments are drafts until they are sent; then they are findings for the Coder.

use std::{collections::HashMap, fmt::Write as _};

use butler_protocol::{MessageTs, ThreadId, UserId};

use crate::{
    error::{Refusal, Result, When},
    store::{Db, FromSql, from_row, params, sql},
};

/// The longest comment or suggestion.
const LONGEST: usize = 4_000;
/// The most drafts of one person in one thread.
const MOST: i64 = 50;

/// Which version of a file a line stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Old,
    New,
}

impl Side {
    /// The letter in addresses and in the store.
    pub(crate) const fn letter(self) -> &'static str {
        match self {
            Side::Old => "L",
            Side::New => "R",
        }
    }

    pub(crate) fn of_letter(letter: &str) -> Option<Self> {
        [Side::Old, Side::New]
            .into_iter()
            .find(|side| side.letter() == letter)
    }
}

impl FromSql for Side {
    const NAME: &'static str = "L or R";
    fn from_value(value: sql::Value<'_>) -> Option<Self> {
        String::from_value(value).map(|letter| Self::of_letter(&letter).unwrap_or(Side::New))
    }
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) path: String,
    pub(crate) side: Side,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl std::fmt::Display for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.path, self.first)?;
        if self.last > self.first {
            write!(f, "-{}", self.last)?;
        }
        Ok(())
    }
}

/// A comment that somebody wants to make.
#[derive(Debug)]
pub(crate) struct NewComment {
    pub(crate) lines: Lines,
    /// The lines as they read.
    pub(crate) quote: String,
    pub(crate) text: String,
    /// What should stand there instead.
    pub(crate) suggestion: Option<String>,
    /// The hash of what the file's change was.
    pub(crate) digest: String,
}

/// A comment that was made.
#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub(crate) id: i64,
    pub(crate) person: UserId,
    pub(crate) lines: Lines,
    pub(crate) quote: String,
    pub(crate) text: String,
    pub(crate) suggestion: Option<String>,
    pub(crate) digest: String,
    pub(crate) at_ms: i64,
    /// Its number as a finding, and the message that it went in.
    pub(crate) sent: Option<(i64, MessageTs)>,
}

from_row! { Lines: path, side, first, last }
from_row! { Comment: id, person, lines, quote, text, suggestion, digest, at_ms, sent }

/// Keeps a draft.
pub(crate) fn draft(db: &Db, thread: &ThreadId, person: &UserId, new: &NewComment) -> Result<()> {
    let suggestion = new.suggestion.as_deref();
    Refusal::NoText.when(new.text.trim().is_empty() && suggestion.is_none())?;
    let held = drafts(db, thread, person)?.len();
    let too_long = new.text.len().max(suggestion.unwrap_or_default().len()) > LONGEST;
    Refusal::MsgTooLong.when(too_long || i64::try_from(held).unwrap_or(MOST) >= MOST)?;
    db.run("INSERT INTO review_comments (channel, root, person, path, side, first, last, quote,
            text, suggestion, digest, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)", params![thread, person, new.lines.path, new.lines.side.letter(), new.lines.first, new.lines.last, new.quote, new.text.trim_end(), suggestion, new.digest, db.now_ms()])
}

/// Takes a draft back; only its own author can, and only before it is sent.
pub(crate) fn drop_draft(db: &Db, person: &UserId, id: i64) -> Result<()> {
    db.run(
        "DELETE FROM review_comments WHERE id = ?1 AND person = ?2 AND sent IS NULL",
        params![id, person],
    )
}

/// What a person sees in a thread: what everybody sent, and their own drafts.
pub(crate) fn comments(db: &Db, thread: &ThreadId, person: &UserId) -> Result<Vec<Comment>> {
    Ok(db.rows(
        "SELECT id, person, path, side, first, last, quote, text, suggestion, digest, at_ms,
           number, sent
         FROM review_comments WHERE channel = ?1 AND root = ?2 AND (sent IS NOT NULL OR person = ?3)
         ORDER BY id",
        params![thread, person],
    )?)
}

fn drafts(db: &Db, thread: &ThreadId, person: &UserId) -> Result<Vec<Comment>> {
    let mut all = comments(db, thread, person)?;
    all.retain(|one| one.sent.is_none() && one.person == *person);
    Ok(all)
}

/// A person's drafts as the message that brings them to the Coder, with their numbers.
/// Refused when there are none.
pub(crate) fn findings(
    db: &Db,
    thread: &ThreadId,
    person: &UserId,
    about: &str,
) -> Result<(String, Vec<(i64, i64)>)> {
    let sent: i64 = db.one(
        "SELECT coalesce(max(number), 0) FROM review_comments WHERE channel = ?1 AND root = ?2",
        [thread],
    )?;
    let drafts = drafts(db, thread, person)?;
    Refusal::NoText.when(drafts.is_empty())?;
    let numbers: Vec<_> = drafts.iter().map(|one| one.id).zip(sent + 1..).collect();
    Ok((message(about, &drafts, sent + 1), numbers))
}

/// The findings in words. Foreign text is fenced: it mentions nobody and orders nothing.
fn message(about: &str, drafts: &[Comment], first: i64) -> String {
    let count = match drafts.len() {
        1 => "one finding".to_owned(),
        many => format!("{many} findings"),
    };
    let mut out = format!(
        "@codebutler.coder Review of {about}: {count}. Fix each, or say why not, and hand over again."
    );
    for (one, number) in drafts.iter().zip(first..) {
        let version = match one.lines.side {
            Side::Old => " (before the change)",
            Side::New => "",
        };
        let _ = write!(out, "\n\n*P{number}* `{}`{version}\n", one.lines);
        out.push_str(&fenced(&one.quote));
        if !one.text.is_empty() {
            let _ = write!(out, "\n{}", one.text);
        }
        if let Some(suggestion) = &one.suggestion {
            let _ = write!(
                out,
                "\nSuggested: these lines become exactly\n{}",
                fenced(suggestion)
            );
        }
    }
    out
}

/// Text between fences that are longer than any in it.
fn fenced(text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Notes that drafts went out in a message.
pub(crate) fn sent(db: &Db, numbers: &[(i64, i64)], message: &MessageTs) -> Result<()> {
    for (id, number) in numbers {
        db.execute(
            "UPDATE review_comments SET sent = ?1, number = ?2 WHERE id = ?3",
            params![message, number, id],
        )?;
    }
    Ok(())
}

/// Marks a file as gone through, as it is now, or takes the mark away.
pub(crate) fn view(
    db: &Db,
    thread: &ThreadId,
    person: &UserId,
    path: &str,
    digest: Option<&str>,
) -> Result<()> {
    let (channel, root) = (thread.channel.as_str(), thread.root.as_str());
    match digest {
        Some(digest) => db.execute(
            "INSERT INTO review_viewed (channel, root, person, path, digest)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (channel, root, person, path)
             DO UPDATE SET digest = excluded.digest",
            params![channel, root, person, path, digest],
        )?,
        None => db.execute(
            "DELETE FROM review_viewed WHERE channel = ?1 AND root = ?2 AND person = ?3 AND path = ?4",
            params![channel, root, person, path],
        )?,
    };
    Ok(())
}

/// What a person has gone through: paths, with the hash of what each changed then.
pub(crate) fn viewed(
    db: &Db,
    thread: &ThreadId,
    person: &UserId,
) -> Result<HashMap<String, String>> {
    let sql =
        "SELECT path, digest FROM review_viewed WHERE channel = ?1 AND root = ?2 AND person = ?3";
    let place = params![thread, person];
    Ok(db
        .rows::<(String, String)>(sql, place)?
        .into_iter()
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(text: &str, suggestion: Option<&str>) -> Comment {
        Comment {
            id: 1,
            person: UserId::new("U1"),
            lines: Lines {
                path: "src/a.rs".into(),
                side: Side::New,
                first: 2,
                last: 3,
            },
            quote: "let a = 1;\n// ```".into(),
            text: text.into(),
            suggestion: suggestion.map(str::to_owned),
            digest: String::new(),
            at_ms: 0,
            sent: None,
        }
    }

    #[test]
    fn findings_name_their_lines_and_fence_what_is_foreign() {
        let all = [comment("Why?", None), comment("", Some("let a = 2;\n"))];
        let text = message("#7 at `0123`", &all, 3);
        assert!(text.starts_with("@codebutler.coder Review of #7 at `0123`: 2 findings."));
        assert!(text.contains("*P3* `src/a.rs:2-3`\n````\nlet a = 1;\n// ```\n````\nWhy?"));
        assert!(text.contains(
            "*P4* `src/a.rs:2-3`\n````\nlet a = 1;\n// ```\n````\n\
             Suggested: these lines become exactly\n```\nlet a = 2;\n```"
        ));
    }
}
