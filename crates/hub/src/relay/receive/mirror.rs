//! What people do in Slack, taken over into the mirror, each thing once: a
//! message is known by its channel and timestamp, a reaction by who made it.

use butler_policy::is_stop;
use butler_protocol::{
    ChannelId, MessageTs, Role, StampKind, ThreadId, UserId, mentions, visible_line,
};
use butler_slack::mrkdwn;
use serde_json::{Value, json};

use crate::{
    budget::limits,
    error::{Refusal, Result, Trouble},
    identity::Person,
    log::Happening,
    person_api::person_actions::{
        self, thread_actions,
        words::{self, Said},
    },
    relay::{Us, channel_requests},
    store::{Db, Tx, params},
    workspace::{Rules, access, files, message},
};

/// Fields that belong to an event or a listing, not to the message.
const NOT_KEPT: &str = "\
    channel channel_type event_ts reactions reply_count reply_users reply_users_count \
    latest_reply subscribed last_read is_locked unfurl_links";

/// What is older was not heard when it was said.
const FRESH_MS: i64 = 60_000;

/// Whether the app itself posted this.
pub(crate) fn is_ours(us: &Us, message: &Value) -> bool {
    message["bot_id"].as_str() == Some(us.bot.as_str())
}

/// Whether it is something that somebody said, as against "ana has joined".
pub(crate) fn is_said(message: &Value) -> bool {
    matches!(
        message["subtype"].as_str(),
        None | Some("file_share" | "thread_broadcast" | "me_message" | "bot_message")
    )
}

/// A message's timestamp.
pub(crate) fn ts_of(message: &Value) -> Option<MessageTs> {
    message["ts"].as_str()?.parse().ok()
}

/// The root of a message's thread.
pub(crate) fn root_of(message: &Value) -> Option<MessageTs> {
    let root = message["thread_ts"].as_str().or(message["ts"].as_str());
    root?.parse().ok()
}

/// The message as the mirror keeps it: addresses of files lead to us.
pub(crate) fn shape(db: &Db, base: &str, channel: &ChannelId, message: &Value) -> Result<Value> {
    let mut body = message.clone();
    if let Some(fields) = body.as_object_mut() {
        for name in NOT_KEPT.split(' ') {
            fields.remove(name);
        }
        if fields.get("thread_ts") == fields.get("ts") {
            fields.remove("thread_ts");
        }
    }
    body["type"] = json!("message");
    for file in body["files"].as_array_mut().into_iter().flatten() {
        adopt_file(db, base, channel, file)?;
    }
    if body["files"].is_null()
        && let Some(fields) = body.as_object_mut()
    {
        fields.remove("files");
    }
    Ok(body)
}

/// Remembers where a file is and points it to us.
fn adopt_file(db: &Db, base: &str, channel: &ChannelId, file: &mut Value) -> Result<()> {
    let text = |name: &str| file[name].as_str().map(str::to_owned);
    let (Some(id), Some(url)) = (
        text("id"),
        text("url_private_download").or_else(|| text("url_private")),
    ) else {
        return Ok(());
    };
    let name = files::plain_name(&text("name").unwrap_or_default());
    let title = text("title").map_or_else(|| name.clone(), |title| visible_line(&title).into());
    db.execute(
        "INSERT INTO upstream_files (id, channel, name, url) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET url = excluded.url",
        params![id, channel, name, url],
    )?;
    file["name"] = json!(name);
    file["title"] = json!(title);
    if let Some(fields) = file.as_object_mut() {
        fields.retain(|name, _| !name.starts_with("thumb_") && name != "permalink_public");
    }
    let ours = format!("{base}/files/{id}");
    file["url_private_download"] = json!(format!("{ours}?download=1"));
    file["permalink"] = json!(ours);
    file["url_private"] = json!(ours);
    Ok(())
}

/// When it was said, in which thread, and its shape, if the mirror has not got it.
pub(crate) fn unknown(
    db: &Db,
    rules: &Rules,
    channel: &ChannelId,
    message: &Value,
) -> Result<Option<(MessageTs, MessageTs, Value)>> {
    let (Some(ts), Some(root)) = (ts_of(message), root_of(message)) else {
        return Ok(None);
    };
    if message::find(db, channel, &ts)?.is_some() {
        return Ok(None);
    }
    let body = shape(db, &rules.base, channel, message)?;
    Ok(Some((ts, root, body)))
}

/// Somebody says something. A foreign bot is kept and told to nobody, unless the
/// repo lets it ask for work; its words never decide. False when it was known.
pub(crate) fn said(
    tx: &mut Tx<'_>,
    rules: &Rules,
    us: &Us,
    speaker: Option<&Person>,
    channel: &ChannelId,
    message: &Value,
) -> Result<bool> {
    let Some((ts, root, body)) = unknown(tx.db(), rules, channel, message)? else {
        return Ok(false);
    };
    let repo = crate::workspace::channels::get(tx.db(), channel)?.repo;
    let text = body["text"].as_str().unwrap_or_default().to_owned();
    let is_person = speaker.is_some() && message["bot_id"].is_null();
    let author = speaker.map_or_else(
        || body["bot_id"].as_str().unwrap_or_default().to_owned(),
        |person| person.id.as_str().to_owned(),
    );
    let allowed = match body["bot_id"].as_str() {
        Some(bot) => channel_requests::allows(tx.db(), &repo, bot)?,
        None => false,
    };
    let thread = ThreadId::new(channel.clone(), root);
    let mut logged = Happening {
        to: mentions(&text, Some(&us.user)),
        stamp: StampKind::Message,
        delivered: is_person || allowed,
        ..Happening::new(thread, None, body.clone())
    };
    let Some(person) = speaker.filter(|_| is_person) else {
        message::record(tx, &ts, &author, logged)?;
        return Ok(true);
    };
    let in_thread: Option<MessageTs> = body["thread_ts"].as_str().and_then(|ts| ts.parse().ok());
    let plain = mrkdwn::unescape(&text);
    let words = Said {
        person,
        channel,
        root: in_thread.as_ref(),
        ts: Some(&ts),
        text: &plain,
    };
    let allowed = (&rules.limits, rules.pace.as_ref());
    // What is fetched after an absence was said when it was said, not all at once.
    let said_ms = i64::try_from(ts.seconds())
        .unwrap_or(i64::MAX)
        .saturating_mul(1000);
    let fresh = said_ms > tx.db().now_ms() - FRESH_MS;
    if fresh
        && !is_stop(&plain, Some(&us.user))
        && let Err(Trouble::Refused(refusal)) =
            limits::may_say(tx.db(), allowed, &repo, &person.id, in_thread.as_ref())
    {
        return too_much(tx, rules, (person, &ts), logged, refusal);
    }
    logged.stamp = words::kind_of(tx, rules, &words, &us.user)?;
    if logged.stamp == StampKind::Message
        && let Some(act) = thread_actions::meant(tx, rules, &words)?
    {
        logged.stamp = StampKind::Act;
        logged.reference = Some(act.to_string());
        logged.to = vec![act.role()];
    }
    message::record(tx, &ts, &author, logged)?;
    words::apply(tx, rules, &words, &repo)?;
    Ok(true)
}

/// Keeps what is more than a person may say, tells nobody of it, and the person why.
fn too_much(
    tx: &mut Tx<'_>,
    rules: &Rules,
    (person, ts): (&Person, &MessageTs),
    mut logged: Happening,
    refusal: Refusal,
) -> Result<bool> {
    let thread = logged.thread.clone();
    logged.delivered = false;
    message::record(tx, ts, person.id.as_str(), logged)?;
    if !limits::is_told(tx.db(), &thread, &person.id)? {
        access::tell(tx, rules, person, (&thread, Role::Pm), refusal)?;
    }
    Ok(true)
}

/// Keeps what somebody said whom the team does not listen to; false when it was known.
pub(crate) fn overheard(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    channel: &ChannelId,
    message: &Value,
) -> Result<bool> {
    let Some((ts, root, body)) = unknown(tx.db(), rules, channel, message)? else {
        return Ok(false);
    };
    let logged = Happening {
        delivered: false,
        ..Happening::new(ThreadId::new(channel.clone(), root), None, body)
    };
    message::record(tx, &ts, person.id.as_str(), logged)?;
    Ok(true)
}

/// A person changed their text. Slack also says so when a link unfurled or a
/// reply came; then nothing has changed.
pub(crate) fn edited(
    tx: &mut Tx<'_>,
    rules: &Rules,
    channel: &ChannelId,
    message: &Value,
) -> Result<()> {
    let Some(ts) = ts_of(message) else {
        return Ok(());
    };
    let Some(old) = message::find(tx.db(), channel, &ts)? else {
        return Ok(());
    };
    let by_hand = message["edited"].is_object() && old.role.is_none();
    if !by_hand || message["text"] == old.body["text"] {
        return Ok(());
    }
    let body = shape(tx.db(), &rules.base, channel, message)?;
    message::replace(tx, channel, &old, &body)
}

/// Somebody deleted a message.
pub(crate) fn deleted(tx: &mut Tx<'_>, channel: &ChannelId, ts: &MessageTs) -> Result<()> {
    match message::find(tx.db(), channel, ts)? {
        Some(old) if old.body["subtype"] != json!("tombstone") => {
            message::delete(tx, channel, &old)
        }
        _ => Ok(()),
    }
}

/// A person reacted, or took it back. Known ones and those on messages that we
/// never saw are nothing new.
pub(crate) fn reacted(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    what: person_actions::Reacted,
) -> Result<()> {
    match tx.attempt(|tx| person_actions::reacted(tx, rules, person, what)) {
        Err(Trouble::Refused(
            Refusal::AlreadyReacted
            | Refusal::NoReaction
            | Refusal::MessageNotFound
            | Refusal::InvalidName,
        )) => Ok(()),
        other => other,
    }
}

/// Who stands behind which reaction on a message, people only.
pub(crate) fn reactions_of_people(
    db: &Db,
    us: &Us,
    channel: &ChannelId,
    ts: &MessageTs,
) -> Result<Vec<(String, UserId)>> {
    let mut found = Vec::new();
    for (name, user) in db.rows::<(String, String)>(
        "SELECT name, user FROM reactions WHERE channel = ?1 AND ts = ?2",
        params![channel, ts],
    )? {
        if user != us.user.as_str() {
            found.push((name, UserId::new(user)));
        }
    }
    Ok(found)
}
