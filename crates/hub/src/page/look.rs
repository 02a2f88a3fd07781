//! Gathers what the pages show: one look into the store per page.

use std::collections::{HashMap, HashSet};

use butler_policy::Duty;
use butler_protocol::{ChannelId, PostTag, ThreadId};
use serde_json::Value;

use super::{apps, layout::Around, visit::Visit};
use crate::{
    error::Result,
    hub::App,
    identity::Person,
    log::{self, AgentKey},
    page::{
        render::{FileTexts, Names},
        view::{
            channel::ChannelView,
            thread::{PAGE, ThreadPage},
        },
    },
    person_api::person_actions::thread_actions,
    presence::{self, facts::Known},
    relay::hearing::{self, SlackStatus},
    store::Db,
    views::{Window, needs, overview, reads},
    workspace::{Rules, access, channels, decide::edited, ephemeral, files, modals, read},
};

/// Longer text files are only linked.
const SNIPPET: u64 = 48 * 1024;

/// What a look needs besides the store.
pub(super) struct Reader {
    person: Person,
    online: HashSet<AgentKey>,
    known: HashMap<AgentKey, Known>,
    version: String,
    slack: Option<String>,
    heard: Option<SlackStatus>,
    port: u16,
    rules: Rules,
    has_servers: bool,
}

impl Reader {
    pub(super) fn new(app: &App, person: Person) -> Self {
        Self {
            person,
            has_servers: !app.presence.servers.of(&app.presence.online()).is_empty(),
            online: app.presence.online(),
            known: app.presence.facts.known(app.store.now_ms()),
            version: app.version.clone(),
            slack: app.relay.as_ref().map(|relay| relay.workspace().to_owned()),
            heard: app.slack(),
            port: app.reached.address.port(),
            rules: app.rules.clone(),
        }
    }

    /// Who looks, and by which rules.
    pub(super) fn who(&self) -> (&Rules, &Person) {
        (&self.rules, &self.person)
    }

    /// The agents that are connected.
    pub(super) fn online(&self) -> &HashSet<AgentKey> {
        &self.online
    }

    /// What every agent said about itself.
    pub(super) fn known(&self) -> &HashMap<AgentKey, Known> {
        &self.known
    }

    /// Names of models that whoever builds in a repo can be given.
    fn pool(&self, db: &Db, repo: &str) -> Result<Vec<String>> {
        let team = presence::team(db, Some(repo), &self.online, db.now_ms())?;
        let builder = team.iter().find(|one| Duty::Build.is_of(one.role));
        let known = builder.and_then(|one| self.known.get(&one.key));
        Ok(known.map_or_else(Vec::new, |known| known.facts.pool.clone()))
    }

    /// What texts are read with: everybody's name, and the hub's port.
    pub(super) fn names(&self, db: &Db) -> Result<Names> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let users = channels::users(db)?;
        let named = users
            .iter()
            .map(|user| (text(&user["id"]), text(&user["name"])));
        Ok(Names::new(named.collect(), self.port))
    }

    /// What stands around a page; the team of one repo, or everybody.
    pub(super) fn around(self, db: &Db, repo: Option<&str>) -> Result<Around> {
        let mut team = presence::team(db, repo, &self.online, db.now_ms())?;
        for member in &mut team {
            let known = self.known.get(&member.key);
            member.failing = known.is_some_and(Known::is_failing);
        }
        let names = self.names(db)?;
        let (open, _) = modals::of(db, &self.person.id)?;
        Ok(Around {
            modals: apps::modals(&open, &names),
            has_apps: log::strangers_listen(db)?,
            all: channels::list(db, None)?,
            needs: needs::of(db, &self.rules, &self.person)?,
            unread: reads::unread(db, &self.person.id)?,
            team,
            person: self.person,
            version: self.version,
            troubles: hearing::troubles(db, self.heard.as_ref())?,
            slack: self.slack,
            has_servers: self.has_servers,
        })
    }
}

/// The channel with its newest threads.
pub(super) async fn channel(visit: &Visit, id: ChannelId) -> Result<ChannelView> {
    let reader = visit.reader();
    let store = &visit.app.store;
    store
        .read(move |db| {
            let channel = channels::get(db, &id)?;
            let range = read::Range {
                limit: PAGE,
                ..read::Range::default()
            };
            let mut messages = read::history(db, &id, &range)?.messages;
            messages.reverse();
            messages.extend(ephemeral::of(db, &id, None, &reader.person.id)?);
            Ok(ChannelView {
                names: reader.names(db)?,
                files: file_texts(db, &messages)?,
                around: reader.around(db, Some(&channel.repo))?,
                messages,
                channel,
            })
        })
        .await
}

/// Notes that a person has a thread before their eyes, if there is something new.
pub(super) async fn seen(app: &App, person: &Person, thread: &ThreadId) -> Result<()> {
    let (id, place) = (person.id.clone(), thread.clone());
    let new = app
        .read(move |db| Ok(reads::unread(db, &id)?.in_thread(&place)))
        .await?;
    if new == 0 {
        return Ok(());
    }
    let (id, place) = (person.id.clone(), thread.clone());
    app.write(move |tx| reads::mark(tx.db(), &id, &place)).await
}

/// A thread, or an older part of it.
pub(super) async fn thread(visit: &Visit, thread: ThreadId, window: Window) -> Result<ThreadPage> {
    let reader = visit.reader();
    let caps = visit.app.rules.caps.clone();
    let store = &visit.app.store;
    store
        .read(move |db| {
            let channel = channels::get(db, &thread.channel)?;
            let older = window.before.is_some();
            let mut view = overview::thread(db, &thread, &caps, &window)?;
            let (rules, person) = (&reader.rules, &reader.person);
            view.can = thread_actions::allowed(db, rules, person, &view.thread, view.can)?;
            let own = if older {
                Vec::new()
            } else {
                let root = Some(&view.thread.root);
                ephemeral::of(db, &view.thread.channel, root, &reader.person.id)?
            };
            let decidable = access::decidable(db, rules, &channel.repo, &view.decisions, person)?;
            let plans = edited::open_plans(db, &channel.repo, &decidable)?;
            Ok(ThreadPage {
                highest: access::highest(db, rules, person)?,
                pool: reader.pool(db, &channel.repo)?,
                plans,
                decidable: decidable
                    .into_iter()
                    .map(|card| card.asked.request)
                    .collect(),
                names: reader.names(db)?,
                files: file_texts(db, &view.messages)?,
                around: reader.around(db, Some(&channel.repo))?,
                channel,
                view,
                own,
                older,
            })
        })
        .await
}

/// The text of small text files, so that code is read where it was posted, and what was
/// said in recordings.
fn file_texts(db: &Db, messages: &[Value]) -> Result<FileTexts> {
    let mut known = FileTexts::default();
    let all = messages
        .iter()
        .filter_map(|message| message["files"].as_array())
        .flatten();
    for file in all {
        let small = file["size"].as_u64().is_some_and(|size| size <= SNIPPET);
        let kind = file["mimetype"].as_str().unwrap_or_default();
        if !files::is_text(kind) || !small {
            continue;
        }
        let id = file["id"].as_str().unwrap_or_default();
        // A file that is gone is a dead link, not a broken page.
        if let Ok(bytes) = files::bytes(db, id)
            && let Ok(text) = String::from_utf8(bytes)
        {
            known.snippets.insert(id.to_owned(), text);
        }
    }
    for message in messages {
        if let Ok(Some(tag)) = PostTag::from_metadata(&message["metadata"])
            && let Some(file) = tag.recording
        {
            known.heard.insert(file, quoted(message));
        }
    }
    Ok(known)
}

/// The lines of a message that somebody else said.
fn quoted(message: &Value) -> String {
    let text = message["text"].as_str().unwrap_or_default();
    let quoted = text.lines().filter_map(|line| {
        let line = line.strip_prefix("&gt;").or(line.strip_prefix('>'))?;
        Some(line.trim_start())
    });
    quoted.collect::<Vec<_>>().join("\n")
}
