//! Files of the workspace. A file is announced, filled, then shared; what was
//! never shared is seen by its owner only.

mod kind;

use butler_protocol::{ChannelId, fault, visible_line};
use serde_json::{Value, json};

pub(crate) use self::kind::{is_shown_in_place, is_text, mimetype_of, misnamed};
use crate::{
    error::{Refusal, Result, Trouble, When, refuse},
    identity::{TEAM, tokens::random_text},
    store::{Db, from_row, params},
};

/// The most that one file may hold.
pub(crate) const SIZE_LIMIT: u64 = 32 * 1024 * 1024;

/// A file without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) id: String,
    pub(crate) channel: Option<ChannelId>,
    /// The repo of an agent's file, or the person's id.
    pub(crate) owner: String,
    /// Who shows up as its user.
    pub(crate) user: String,
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) mimetype: &'static str,
    pub(crate) length: u64,
    pub(crate) filled: bool,
    pub(crate) created_ms: i64,
}

/// What somebody wants to upload.
#[derive(Debug, Clone)]
pub(crate) struct NewFile {
    pub(crate) owner: String,
    pub(crate) user: String,
    pub(crate) name: String,
    pub(crate) length: u64,
}

const COLUMNS: &str =
    "id, channel, owner, user, name, title, length, bytes IS NOT NULL, created_ms";
from_row! { File: id, channel, owner, user, name, title, length, filled, created_ms; mimetype: "" }

/// The first bytes of a file tell what it is; this many are looked at.
const HEAD: usize = 64;

/// Longer names are cut at their beginning; their ending stays.
const NAME: usize = 120;

/// A name as people and roles can be shown it: no folders, nothing that hides or turns
/// round what stands beside it.
pub(crate) fn plain_name(name: &str) -> String {
    let last = name
        .rsplit(['/', '\\'])
        .find(|part| !part.trim().is_empty());
    let shown = visible_line(last.unwrap_or_default().trim()).into_owned();
    let over = shown.chars().count().saturating_sub(NAME);
    match shown.is_empty() {
        true => "file".to_owned(),
        false => shown.chars().skip(over).collect(),
    }
}

/// Announces a file; answers its id and the key with which it can be filled.
pub(crate) fn announce(db: &Db, file: &NewFile) -> Result<(String, String)> {
    Refusal::FileUploadSizeRestricted.when(file.length == 0 || file.length > SIZE_LIMIT)?;
    let id = format!("F{}", &random_text()[..10]);
    let (key, name) = (random_text(), plain_name(&file.name));
    db.execute(
        "INSERT INTO files (id, owner, user, name, title, length, upload_key, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7)",
        params![
            id,
            file.owner,
            file.user,
            name,
            file.length,
            key,
            db.now_ms()
        ],
    )?;
    Ok((id, key))
}

/// Refuses whoever has not the key of a file that waits for its bytes.
pub(crate) fn awaits(db: &Db, id: &str, key: &str) -> Result<()> {
    let sql = "SELECT EXISTS (SELECT 1 FROM files WHERE id = ?1 AND upload_key = ?2)";
    let waits: bool = db.one(sql, params![id, key])?;
    if waits {
        return Ok(());
    }
    refuse(Refusal::FileNotFound)
}

/// Fills a file, once per announcement and only with its key.
pub(crate) fn fill(db: &Db, id: &str, key: &str, bytes: &[u8]) -> Result<()> {
    fault("hub.before-file");
    let filled = db.execute(
        "UPDATE files SET bytes = ?3, length = ?4 WHERE id = ?1 AND upload_key = ?2",
        params![id, key, bytes, bytes.len()],
    )?;
    fault("hub.after-file");
    Refusal::FileNotFound.when(filled == 0)?;
    Ok(())
}

/// One file.
pub(crate) fn get(db: &Db, id: &str) -> Result<File> {
    let sql = format!("SELECT {COLUMNS}, substr(bytes, 1, {HEAD}) FROM files WHERE id = ?1");
    let found = db.first::<(File, Option<Vec<u8>>)>(&sql, [id])?;
    let (file, head) = found.ok_or(Refusal::FileNotFound)?;
    Ok(File {
        mimetype: mimetype_of(&file.name, &head.unwrap_or_default()),
        ..file
    })
}

/// The files that a repo's agents brought, or that stand in its channels, newest first.
/// What they are is only taken from their names: all of them would have to be read.
pub(crate) fn of_repo(db: &Db, repo: &str) -> Result<Vec<File>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM files WHERE bytes IS NOT NULL
           AND (owner = ?1 OR channel IN (SELECT id FROM channels WHERE repo = ?1))
         ORDER BY created_ms DESC, id"
    );
    let mut found: Vec<File> = db.rows(&sql, [repo])?;
    for file in &mut found {
        file.mimetype = mimetype_of(&file.name, &[]);
    }
    Ok(found)
}

/// Its bytes.
pub(crate) fn bytes(db: &Db, id: &str) -> Result<Vec<u8>> {
    let found: Option<Option<Vec<u8>>> = db.first("SELECT bytes FROM files WHERE id = ?1", [id])?;
    found
        .flatten()
        .ok_or(Trouble::Refused(Refusal::FileNotFound))
}

/// Gives a file its title and, when it is shared, its channel.
pub(crate) fn settle(
    db: &Db,
    owner: &str,
    id: &str,
    title: Option<&str>,
    channel: Option<&ChannelId>,
) -> Result<File> {
    let file = get(db, id)?;
    Refusal::FileNotFound.when(file.owner != owner || !file.filled)?;
    db.execute(
        "UPDATE files SET title = coalesce(?2, title), channel = coalesce(?3, channel),
           upload_key = NULL WHERE id = ?1",
        params![id, title.map(visible_line), channel],
    )?;
    get(db, id)
}

/// A file in Slack's shape; `base` is how the caller reaches us.
pub(crate) fn shown(file: &File, base: &str) -> Value {
    let link = format!("{base}/files/{}", file.id);
    let ending = file.name.rsplit_once('.').map_or("", |(_, end)| end);
    let kind = snippet_type(&file.name).unwrap_or(ending);
    json!({
        "id": file.id, "name": file.name, "title": file.title, "mimetype": file.mimetype,
        "filetype": kind, "pretty_type": ending.to_ascii_uppercase(), "size": file.length,
        "user": file.user, "user_team": TEAM, "mode": "hosted", "is_external": false, "comments_count": 0,
        "is_public": true, "created": file.created_ms / 1000, "timestamp": file.created_ms / 1000,
        "url_private": link, "url_private_download": format!("{link}?download=1"),
        "permalink": link, "channels": file.channel.iter().collect::<Vec<_>>(),
        "groups": [], "ims": [], "shares": {}, "editable": false, "public_url_shared": false,
        "display_as_bot": false, "username": "", "file_access": "visible",
    })
}

/// Where a file was shared, as Slack tells it: apps find the message of a file there.
pub(crate) fn shares(db: &Db, file: &File) -> Result<Value> {
    let Some(channel) = &file.channel else {
        return Ok(json!({}));
    };
    let rows = db.rows::<[String; 2]>(
        "SELECT ts, root FROM messages WHERE channel = ?1
         AND json_extract(body, '$.subtype') = 'file_share' AND instr(body, ?2) > 0
         ORDER BY ts",
        params![channel, format!("\"{}\"", file.id)],
    )?;
    let share = |[ts, root]: &[String; 2]| {
        let mut share = json!({"ts": ts, "team_id": TEAM, "reply_users": [], "reply_count": 0,
            "reply_users_count": 0, "channel_name": ""});
        if root != ts {
            share["thread_ts"] = json!(root);
        }
        share
    };
    let shares: Vec<Value> = rows.iter().map(share).collect();
    Ok(json!({"public": {channel.as_str(): shares}}))
}

/// How Slack highlights a file, by its ending.
pub(crate) fn snippet_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    let mut known = SNIPPETS.split(' ').filter_map(|one| one.split_once('.'));
    known.find_map(|(end, kind)| (end == ending).then_some(kind))
}

/// Endings, and what Slack calls what they stand for.
const SNIPPETS: &str = "\
    c.c cpp.cpp cs.csharp css.css diff.diff go.go html.html java.java js.javascript \
    jsx.javascript json.javascript kt.kotlin md.markdown php.php py.python rb.ruby rs.rust \
    sh.shell sql.sql swift.swift toml.text ts.typescript tsx.typescript txt.text xml.xml \
    yaml.yaml";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_visible_word_without_a_way_to_anywhere() {
        for (name, plain) in [
            ("error.log", "error.log"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\ana\\shot.png", "shot.png"),
            ("photo\u{202e}gpj.exe", r"photo\u{202e}gpj.exe"),
            ("a\nb\u{7}.txt", r"a\u{a}b\u{7}.txt"),
            ("größe 名.csv", "größe 名.csv"),
            ("/", "file"),
            ("", "file"),
        ] {
            assert_eq!(plain_name(name), plain);
        }
        let long = plain_name(&format!("{}.tar.gz", "n".repeat(4_000)));
        assert!(long.len() == NAME && long.ends_with("n.tar.gz"), "{long}");
    }
}
