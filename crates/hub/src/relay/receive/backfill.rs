//! Brings the mirror up to date after a gap: the channel's history since it was
//! last known to be complete, the replies of threads that moved or in which
//! somebody works, the reactions and edits on all of these, and the reactions
//! on open cards. Absence proves nothing: what is not in Slack any more stays.

use std::{collections::BTreeSet, sync::Arc};

use butler_protocol::{ChannelId, MessageTs, UserId};
use serde_json::{Value, json};
use tracing::info;

use crate::{
    error::{Refusal, Result, Trouble},
    hub::App,
    person_api::person_actions::Reacted,
    relay::{
        Relay, channels,
        receive::{News, echoes, ingest, mirror, missed_clicks},
        send::upstream::messages,
    },
    store::{Db, params},
    workspace::{channels as places, message},
};

/// Events may come late, and clocks are not ours: so much is looked at again.
const OVERLAP_S: u64 = 300;
/// Threads that were quiet for longer are looked at only when history shows them.
const LIVELY_MS: i64 = 7 * 24 * 3600 * 1000;

/// Looks at every channel.
pub(crate) async fn run(app: &Arc<App>, relay: &Arc<Relay>) -> Result<()> {
    let all = app.read(|db| places::list(db, None)).await?;
    for channel in all.into_iter().filter(|channel| !channel.repo.is_empty()) {
        let id = channel.id.clone();
        let plan = app.read(move |db| plan(db, &id)).await?;
        Filling {
            app,
            relay,
            channel: channel.id,
            plan,
        }
        .fill()
        .await?;
    }
    missed_clicks::ask(app, relay).await?;
    mark(app).await
}

/// The mirror is complete up to its newest messages.
pub(crate) async fn mark(app: &Arc<App>) -> Result<()> {
    app.write_as_owner(|tx| {
        crate::relay::receive::inbox::prune(tx.db())?;
        missed_clicks::alive(tx.db())?;
        // Only what others said proves that we were listening then: our own
        // posts are in the mirror also while nobody hears Slack.

        let newest: Vec<(String, String)> = tx.db().rows(
            "SELECT channel, max(ts) FROM messages WHERE role IS NULL GROUP BY channel",
            [],
        )?;
        for (channel, ts) in newest {
            channels::remember(tx.db(), &format!("seen {channel}"), &ts)?;
        }
        Ok(())
    })
    .await
}

/// What is to be looked at in one channel.
struct Plan {
    /// What is older was said before we came.
    begins: String,
    /// History from here on.
    oldest: String,
    /// Threads that moved after this may have replies that we missed, whatever
    /// else of them is known: a newer reply, or a post of our own.
    since: String,
    /// Threads that are looked at in any case.
    open: BTreeSet<String>,
    /// Messages whose reactions count.
    cards: Vec<String>,
}

fn plan(db: &Db, channel: &ChannelId) -> Result<Plan> {
    let begins = channels::recall(db, &format!("begins {channel}"))?;
    let begins = begins.unwrap_or_else(|| "0000000000.000000".to_owned());
    let seen = channels::recall(db, &format!("seen {channel}"))?;
    let seen = earlier(seen.as_deref().unwrap_or(&begins));
    let lively_s = (db.now_ms() - LIVELY_MS) / 1000;
    let lively: Option<String> = db.one(
        "SELECT min(root) FROM (SELECT root FROM messages WHERE channel = ?1
               GROUP BY root HAVING max(ts) > ?2) told",
        params![channel, format!("{lively_s:010}.000000")],
    )?;
    let oldest = lively.map_or(seen.clone(), |root| root.min(seen.clone()));
    let texts = |sql: &str| -> Result<Vec<String>> { Ok(db.rows(sql, [&channel])?) };
    let mut open: BTreeSet<String> =
        texts("SELECT DISTINCT root FROM cards WHERE channel = ?1 AND choice IS NULL")?
            .into_iter()
            .collect();
    open.extend(texts(
        "SELECT DISTINCT root FROM activity WHERE channel = ?1 AND state <> 'idle'",
    )?);
    Ok(Plan {
        oldest: oldest.max(begins.clone()),
        since: seen,
        begins,
        open,
        cards: texts("SELECT message FROM cards WHERE channel = ?1 AND choice IS NULL")?,
    })
}

/// A little before a timestamp.
fn earlier(ts: &str) -> String {
    let seconds: u64 = ts
        .split('.')
        .next()
        .unwrap_or_default()
        .parse()
        .unwrap_or(0);
    format!("{:010}.000000", seconds.saturating_sub(OVERLAP_S))
}

struct Filling<'a> {
    app: &'a Arc<App>,
    relay: &'a Arc<Relay>,
    channel: ChannelId,
    plan: Plan,
}

impl Filling<'_> {
    async fn fill(&self) -> Result<()> {
        let args = json!({"oldest": self.plan.oldest, "inclusive": true});
        let mut roots = self.pages("conversations.history", args).await?;
        roots.sort_by(|one, other| one["ts"].as_str().cmp(&other["ts"].as_str()));
        let mut threads = self.plan.open.clone();
        let mut found = 0;
        for root in &roots {
            found += usize::from(self.take(root).await?);
            if let (Some(ts), Some(latest)) = (root["ts"].as_str(), root["latest_reply"].as_str())
                && latest > self.plan.since.as_str()
            {
                threads.insert(ts.to_owned());
            }
        }
        for thread in &threads {
            let mut replies = match self
                .pages("conversations.replies", json!({"ts": thread}))
                .await
            {
                Ok(replies) => replies,
                // Somebody deleted the thread.
                Err(Trouble::Refused(Refusal::ThreadNotFound)) => continue,
                Err(trouble) => return Err(trouble),
            };
            replies.sort_by(|one, other| one["ts"].as_str().cmp(&other["ts"].as_str()));
            replies.dedup_by(|one, other| one["ts"] == other["ts"]);
            for reply in &replies {
                found += usize::from(self.take(reply).await?);
            }
        }
        for card in &self.plan.cards {
            self.card(card).await?;
        }
        if found > 0 {
            info!(channel = %self.channel, messages = found, "back-filled from Slack's history");
        }
        Ok(())
    }

    async fn pages(&self, method: &str, mut args: Value) -> Result<Vec<Value>> {
        args["channel"] = json!(self.channel);
        args["limit"] = json!(200);
        args["include_all_metadata"] = json!(true);
        let mut found = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.relay.upstream.call(method, &args).await?;
            found.extend(messages(&page).cloned());
            match page["response_metadata"]["next_cursor"].as_str() {
                Some(next) if !next.is_empty() && next != cursor => {
                    next.clone_into(&mut cursor);
                    args["cursor"] = json!(cursor);
                }
                _ => return Ok(found),
            }
        }
    }

    /// Takes one message over; true when it was new.
    async fn take(&self, slack: &Value) -> Result<bool> {
        let Some(ts) = mirror::ts_of(slack) else {
            return Ok(false);
        };
        if ts.as_str() <= self.plan.begins.as_str() || !mirror::is_said(slack) {
            return Ok(false);
        }
        let (channel, wanted) = (self.channel.clone(), ts.clone());
        let known = self
            .app
            .read(move |db| message::find(db, &channel, &wanted))
            .await?;
        let ours = mirror::is_ours(&self.relay.us, slack);
        let (rules, us) = (self.app.rules.clone(), self.relay.us.clone());
        let (channel, message) = (self.channel.clone(), slack.clone());
        match (known.is_some(), ours) {
            (false, true) => {
                self.app
                    .write_as_owner(move |tx| echoes::adopt(tx, &rules, &us, &channel, &message))
                    .await?;
            }
            (false, false) => {
                // What history shows is not in the inbox.
                let news = News {
                    app: self.app,
                    relay: self.relay,
                    seq: 0,
                };
                ingest::said(news, &self.channel, slack).await?;
            }
            (true, false) => {
                self.app
                    .write_as_owner(move |tx| mirror::edited(tx, &rules, &channel, &message))
                    .await?;
            }
            (true, true) => {}
        }
        self.reactions(&ts, slack).await?;
        Ok(known.is_none())
    }

    /// The reactions on a card that waits.
    async fn card(&self, ts: &str) -> Result<()> {
        let args = json!({"channel": self.channel, "timestamp": ts, "full": true});
        let answer = match self.relay.upstream.call("reactions.get", &args).await {
            Ok(answer) => answer,
            Err(error) if error.refusal() == Some(Refusal::MessageNotFound) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        match ts.parse() {
            Ok(ts) => self.reactions(&ts, &answer["message"]).await,
            Err(_) => Ok(()),
        }
    }

    /// Makes people's reactions in the mirror those that stand in Slack.
    async fn reactions(&self, ts: &MessageTs, slack: &Value) -> Result<()> {
        let mut stand = BTreeSet::new();
        // Slack names only some of many users; then nobody is missed.
        let mut whole = true;
        for one in slack["reactions"].as_array().into_iter().flatten() {
            let name = one["name"].as_str().unwrap_or_default();
            let users = one["users"].as_array().map_or(&[][..], Vec::as_slice);
            whole &= one["count"].as_u64() == u64::try_from(users.len()).ok();
            for user in users.iter().filter_map(Value::as_str) {
                if user != self.relay.us.user.as_str() {
                    stand.insert((name.to_owned(), user.to_owned()));
                }
            }
        }
        let (us, channel, wanted) = (self.relay.us.clone(), self.channel.clone(), ts.clone());
        let known = self
            .app
            .read(move |db| mirror::reactions_of_people(db, &us, &channel, &wanted))
            .await?;
        let known: BTreeSet<(String, String)> = known
            .into_iter()
            .map(|(name, user)| (name, user.as_str().to_owned()))
            .collect();
        for (name, user) in stand.difference(&known) {
            self.react(ts, name, user, true).await?;
        }
        for (name, user) in known.difference(&stand).filter(|_| whole) {
            self.react(ts, name, user, false).await?;
        }
        Ok(())
    }

    async fn react(&self, ts: &MessageTs, name: &str, user: &str, add: bool) -> Result<()> {
        let user = UserId::new(user);
        let person = self.relay.person(&self.app.as_owner(), &user).await?;
        let what = Reacted {
            channel: self.channel.clone(),
            ts: ts.clone(),
            name: name.to_owned(),
            add,
        };
        let rules = self.app.rules.clone();
        self.app
            .write_as_owner(move |tx| mirror::reacted(tx, &rules, &person, what))
            .await
    }
}
