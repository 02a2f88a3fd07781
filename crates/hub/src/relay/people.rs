//! People of Slack, by the names that others see.

use std::sync::PoisonError;

use butler_protocol::UserId;
use rusqlite::params;
use serde_json::{Value, json};

use super::Relay;
use crate::{
    error::{Refusal, Trouble},
    identity::{Person, person_by_id},
    store::{Store, db::Db},
};

impl Relay {
    /// Who a user is. Slack is asked once; while it is away the id must do.
    pub(super) async fn person(&self, store: &Store, user: &UserId) -> Result<Person, Trouble> {
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
                let Ok(answer) = self.upstream.once("users.info", None, &args).await else {
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
fn keep(db: &Db, user: &UserId, name: &str) -> Result<Person, Trouble> {
    for name in [name.to_owned(), format!("{name} ({user})")] {
        let kept = db.execute(
            "INSERT INTO people (id, name, created_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![user.as_str(), name, db.now_ms()],
        )?;
        if kept > 0 {
            break;
        }
    }
    let found = person_by_id(db, user.as_str())?;
    found.ok_or(Trouble::Refused(Refusal::UserNotFound))
}
