//! Files of the workspace. A file is announced, filled, then shared; what was
//! never shared is seen by its owner only.

mod kind;

use butler_protocol::{ChannelId, fault, visible_line};
use serde_json::{Value, json};

pub(crate) use self::kind::{is_shown_in_place, is_text, mimetype_of, misnamed};
use crate::{
    error::{Refusal, Trouble, refuse},
    identity::{names::TEAM, tokens::random_text},
    store::{
        db::Db,
        sql::{self, OptionalExtension, Row, params},
    },
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
pub(crate) fn announce(db: &Db, file: &NewFile) -> Result<(String, String), Trouble> {
    if file.length == 0 || file.length > SIZE_LIMIT {
        return refuse(Refusal::FileUploadSizeRestricted);
    }
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
            i64::try_from(file.length).unwrap_or(i64::MAX),
            key,
            db.now_ms()
        ],
    )?;
    Ok((id, key))
}

/// Refuses whoever has not the key of a file that waits for its bytes.
pub(crate) fn awaits(db: &Db, id: &str, key: &str) -> Result<(), Trouble> {
    let sql = "SELECT EXISTS (SELECT 1 FROM files WHERE id = ?1 AND upload_key = ?2)";
    let waits: bool = db
        .prepare_cached(sql)?
        .query_row(params![id, key], |row| row.get(0))?;
    if waits {
        return Ok(());
    }
    refuse(Refusal::FileNotFound)
}

/// Fills a file, once per announcement and only with its key.
pub(crate) fn fill(db: &Db, id: &str, key: &str, bytes: &[u8]) -> Result<(), Trouble> {
    fault("hub.before-file");
    let filled = db.execute(
        "UPDATE files SET bytes = ?3, length = ?4 WHERE id = ?1 AND upload_key = ?2",
        params![
            id,
            key,
            bytes,
            i64::try_from(bytes.len()).unwrap_or(i64::MAX)
        ],
    )?;
    fault("hub.after-file");
    if filled == 0 {
        return refuse(Refusal::FileNotFound);
    }
    Ok(())
}

/// One file.
pub(crate) fn get(db: &Db, id: &str) -> Result<File, Trouble> {
    let sql = format!("SELECT {COLUMNS}, substr(bytes, 1, {HEAD}) FROM files WHERE id = ?1");
    let found = db
        .prepare_cached(&sql)?
        .query_row([id], |row| {
            let head: Option<Vec<u8>> = row.get(9)?;
            read(row, &head.unwrap_or_default())
        })
        .optional()?;
    found.ok_or(Trouble::Refused(Refusal::FileNotFound))
}

/// The files that a repo's agents brought, or that stand in its channels, newest first.
/// What they are is only taken from their names: all of them would have to be read.
pub(crate) fn of_repo(db: &Db, repo: &str) -> Result<Vec<File>, Trouble> {
    let sql = format!(
        "SELECT {COLUMNS} FROM files WHERE bytes IS NOT NULL
           AND (owner = ?1 OR channel IN (SELECT id FROM channels WHERE repo = ?1))
         ORDER BY created_ms DESC, id"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map([repo], |row| read(row, &[]))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Its bytes.
pub(crate) fn bytes(db: &Db, id: &str) -> Result<Vec<u8>, Trouble> {
    let found: Option<Option<Vec<u8>>> = db
        .prepare_cached("SELECT bytes FROM files WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    found
        .flatten()
        .ok_or(Trouble::Refused(Refusal::FileNotFound))
}

/// `head` is how its bytes begin, where that is known.
fn read(row: &Row<'_>, head: &[u8]) -> sql::Result<File> {
    let name: String = row.get(4)?;
    Ok(File {
        id: row.get(0)?,
        channel: row.get::<_, Option<String>>(1)?.map(ChannelId::new),
        owner: row.get(2)?,
        user: row.get(3)?,
        mimetype: mimetype_of(&name, head),
        name,
        title: row.get(5)?,
        length: row.get::<_, i64>(6)?.unsigned_abs(),
        filled: row.get(7)?,
        created_ms: row.get(8)?,
    })
}

/// Gives a file its title and, when it is shared, its channel.
pub(crate) fn settle(
    db: &Db,
    owner: &str,
    id: &str,
    title: Option<&str>,
    channel: Option<&ChannelId>,
) -> Result<File, Trouble> {
    let file = get(db, id)?;
    if file.owner != owner || !file.filled {
        return refuse(Refusal::FileNotFound);
    }
    db.execute(
        "UPDATE files SET title = coalesce(?2, title), channel = coalesce(?3, channel),
           upload_key = NULL WHERE id = ?1",
        params![id, title.map(visible_line), channel.map(ChannelId::as_str)],
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
pub(crate) fn shares(db: &Db, file: &File) -> Result<Value, Trouble> {
    let Some(channel) = &file.channel else {
        return Ok(json!({}));
    };
    let mut statement = db.prepare_cached(
        "SELECT ts, root FROM messages WHERE channel = ?1
           AND json_extract(body, '$.subtype') = 'file_share' AND instr(body, ?2) > 0
         ORDER BY ts",
    )?;
    let quoted = format!("\"{}\"", file.id);
    let rows = statement.query_map([channel.as_str(), &quoted], |row| {
        let (ts, root): (String, String) = (row.get(0)?, row.get(1)?);
        let mut share = json!({"ts": ts, "team_id": TEAM, "reply_users": [], "reply_count": 0,
            "reply_users_count": 0, "channel_name": ""});
        if root != ts {
            share["thread_ts"] = json!(root);
        }
        Ok(share)
    })?;
    let shares: Vec<Value> = rows.collect::<Result<_, _>>()?;
    Ok(json!({"public": {channel.as_str(): shares}}))
}

/// How Slack highlights a file, by its ending.
pub(crate) fn snippet_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "c" => "c",
        "cpp" => "cpp",
        "cs" => "csharp",
        "css" => "css",
        "diff" => "diff",
        "go" => "go",
        "html" => "html",
        "java" => "java",
        "js" | "jsx" => "javascript",
        "json" => "javascript",
        "kt" => "kotlin",
        "md" => "markdown",
        "php" => "php",
        "py" => "python",
        "rb" => "ruby",
        "rs" => "rust",
        "sh" => "shell",
        "sql" => "sql",
        "swift" => "swift",
        "toml" => "text",
        "ts" | "tsx" => "typescript",
        "txt" => "text",
        "xml" => "xml",
        "yaml" => "yaml",
        _ => return None,
    })
}

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
