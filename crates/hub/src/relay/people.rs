//! People of Slack, by the names that others see.

use std::sync::PoisonError;

use butler_protocol::UserId;
use serde_json::{Value, json};
use tracing::{error, warn};

use super::{
    Relay, Us,
    channels::{recall, remember},
};
use crate::{
    error::{Refusal, Result, Trouble},
    hub::{App, OwnersStore},
    identity::{Person, person_by_id},
    store::{Db, params},
};

/// Somebody who is not a member of this workspace with all rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outsider {
    Guest,
    /// Slack Connect: they are of another company's workspace.
    OtherWorkspace,
}

impl Outsider {
    /// What they are told when they name the team.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Guest => {
                "I work for the members of this workspace, and you are a guest here. \
                 Please ask one of them to pass it on."
            }
            Self::OtherWorkspace => {
                "I work for the members of this workspace, and you are of another one. \
                 Please ask one of them to pass it on."
            }
        }
    }

    const fn kept(this: Option<Self>) -> &'static str {
        match this {
            None => "member",
            Some(Self::Guest) => "guest",
            Some(Self::OtherWorkspace) => "elsewhere",
        }
    }

    fn of(us: &Us, user: &Value) -> Option<Self> {
        let is = |name: &str| user[name] == json!(true);
        if is("is_stranger") || user["team_id"].as_str().is_some_and(|team| team != us.team) {
            return Some(Self::OtherWorkspace);
        }
        (is("is_restricted") || is("is_ultra_restricted")).then_some(Self::Guest)
    }
}

impl Relay {
    /// Whether somebody is a guest or of another workspace. Slack is asked once; while it
    /// is away nobody is taken for one.
    pub(crate) async fn outsider(
        &self,
        store: &OwnersStore<'_>,
        user: &UserId,
    ) -> Result<Option<Outsider>> {
        let key = format!("stands {user}");
        let wanted = key.clone();
        let kept = store.read(move |db| recall(db, &wanted)).await?;
        match kept.as_deref() {
            Some("guest") => return Ok(Some(Outsider::Guest)),
            Some("elsewhere") => return Ok(Some(Outsider::OtherWorkspace)),
            Some(_) => return Ok(None),
            None => {}
        }
        let args = json!({"user": user});
        let Ok(answer) = self.upstream.once("users.info", &args).await else {
            return Ok(None);
        };
        let found = Outsider::of(&self.us, &answer.body["user"]);
        store
            .write(move |tx| remember(tx.db(), &key, Outsider::kept(found)))
            .await?;
        Ok(found)
    }

    /// Who a user is. Slack is asked once; while it is away the id must do.
    pub(super) async fn person(&self, store: &OwnersStore<'_>, user: &UserId) -> Result<Person> {
        let remembered = {
            let people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
            people.get(user).cloned()
        };
        if let Some(person) = remembered {
            return Ok(person);
        }
        let id = user.as_str().to_owned();
        let known = store.read(move |db| person_by_id(db, &id)).await?;
        let person = match known {
            Some(person) => person,
            None => {
                let args = json!({"user": user});
                let Ok(answer) = self.upstream.once("users.info", &args).await else {
                    return Ok(Person {
                        id: user.clone(),
                        name: user.as_str().to_owned(),
                    });
                };
                let name = name_of(&answer.body["user"], user);
                let user = user.clone();
                store.write(move |tx| keep(tx.db(), &user, &name)).await?
            }
        };
        let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
        people.insert(user.clone(), person.clone());
        Ok(person)
    }
}

/// Asks Slack who is in the groups to which the machine's config gives rights. What
/// cannot be asked stays as it was.
pub(super) async fn refresh_groups(app: &App, relay: &Relay) {
    for name in app.rules.people.keys().filter(|key| key.starts_with('S')) {
        let args = json!({"usergroup": name});
        let answer = match relay.upstream.once("usergroups.users.list", &args).await {
            Ok(answer) => answer.body,
            Err(error) => {
                warn!(group = name, %error, "the members of a group that has rights here are \
                    not known; the app needs the scope usergroups:read");
                continue;
            }
        };
        let users = answer["users"].as_array().into_iter().flatten();
        let users: Vec<String> = users
            .filter_map(|user| user.as_str().map(str::to_owned))
            .collect();
        let name = name.clone();
        if let Err(trouble) = app
            .write_as_owner(move |tx| keep_group(tx.db(), &name, &users))
            .await
        {
            error!(%trouble, "the members of a group cannot be kept");
        }
    }
}

fn keep_group(db: &Db, name: &str, users: &[String]) -> Result<()> {
    db.execute("DELETE FROM group_members WHERE name = ?1", [name])?;
    let mut add =
        db.prepare_cached("INSERT OR IGNORE INTO group_members (name, user) VALUES (?1, ?2)")?;
    for user in users {
        add.execute(params![name, user])?;
    }
    Ok(())
}

fn name_of(user: &Value, id: &UserId) -> String {
    let names = [
        &user["profile"]["display_name"],
        &user["name"],
        &user["real_name"],
    ];
    let mut names = names.into_iter().filter_map(Value::as_str);
    let name = names.find(|name| !name.is_empty());
    name.unwrap_or(id.as_str()).to_owned()
}

/// Keeps a person; a name that somebody else has gets the id.
fn keep(db: &Db, user: &UserId, name: &str) -> Result<Person> {
    for name in [name.to_owned(), format!("{name} ({user})")] {
        let kept = db.execute(
            "INSERT INTO people (id, name, created_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![user, name, db.now_ms()],
        )?;
        if kept > 0 {
            break;
        }
    }
    let found = person_by_id(db, user.as_str())?;
    found.ok_or(Trouble::Refused(Refusal::UserNotFound))
}
