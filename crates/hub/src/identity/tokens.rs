//! Tokens. They live in the hub's file, so that another process can issue them
//! while the hub runs; `ensure` gives the same ones again.

use std::{collections::BTreeMap, time::Duration};

use butler_protocol::{ChannelId, Role, Secret, Sha256Hex, Standing, UserId};
use data_encoding::BASE32_NOPAD;

use crate::{
    budget::{self, Caps},
    error::{HubError, Refusal, Result, Trouble},
    identity::{
        Person,
        audit::{self, AuditLine},
        channel_name,
        machines::{self, MachineEntry, MachineInvite},
        people::{self, PersonEntry, SessionEntry, owner},
    },
    relay::{self, RepoChannel},
    serve::tls,
    store::{
        db::Db,
        erase::{self, Erased},
        params,
        place::StorePlace,
        system_clock,
    },
    workspace::channels,
};

/// How long a login link can be used.
const LINK_LIFE_MS: i64 = 15 * 60 * 1000;

/// The tokens of one hub. Whatever is asked of them fails when the store does.
#[derive(Debug)]
pub struct Tokens {
    db: Db,
}

/// What the agents of one repo need.
#[derive(Debug, Clone)]
pub struct RepoTokens {
    /// The repo's channel.
    pub channel: ChannelId,
    /// One pair per role.
    pub agents: BTreeMap<Role, AgentTokens>,
}

/// The two tokens of one role, in the form that Slack's SDKs accept.
#[derive(Debug, Clone)]
pub struct AgentTokens {
    /// `xoxb-…`, for the Web API and the control API.
    pub bot: Secret,
    /// `xapp-…`, for Socket Mode.
    pub app: Secret,
}

/// A person's token for `/v1`.
#[derive(Debug, Clone)]
pub struct PersonToken {
    pub user: UserId,
    /// `xoxp-…`.
    pub token: Secret,
}

impl Tokens {
    /// Opens the store of a folder or a database, making it if need be.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn open(place: impl Into<StorePlace>) -> Result<Self, HubError> {
        Ok(Self {
            db: place.into().with_clock(system_clock())?.open()?,
        })
    }

    /// The tokens of every role of a repo, and its channel; issued on first use.
    /// A channel name that another repo has gets a number.
    pub fn ensure_repo(
        &mut self,
        repo: &str,
        wished_channel: &str,
    ) -> Result<RepoTokens, HubError> {
        // A mirror has the channels that Slack has, and the hub finds them.
        let missing = self.within(|db| {
            let mirror = relay::is_mirror(db)? || relay::channel_requests::waits(db, repo)?;
            Ok(mirror && channels::list(db, Some(repo))?.is_empty())
        })?;
        if missing {
            return Err(
                match self.within(|db| relay::channel_requests::trouble(db, repo))? {
                    Some(trouble) => HubError::Slack(trouble),
                    None => HubError::NoChannel(repo.to_owned()),
                },
            );
        }
        self.within(|db| {
            let channel = ensure_channel(db, repo, wished_channel)?;
            let mut agents = BTreeMap::new();
            for role in Role::ALL {
                agents.insert(role, ensure_agent(db, repo, role)?);
            }
            Ok(RepoTokens { channel, agents })
        })
    }

    /// Tells a hub with Slack behind it which channel a repo wants. A hub
    /// that runs takes it up within a moment, any other at its next start.
    pub fn request_channel(&mut self, wanted: &RepoChannel) -> Result<(), HubError> {
        self.within(|db| relay::channel_requests::request(db, wanted))
    }

    /// Tells the hub how much a repo may spend, from its next call on.
    pub fn set_caps(&mut self, repo: &str, caps: &Caps) -> Result<(), HubError> {
        self.within(|db| budget::set_caps(db, repo, caps))
    }

    /// A person and their token, made on first use.
    pub fn ensure_person(&mut self, name: &str) -> Result<PersonToken, HubError> {
        self.within(|db| {
            let user = ensure_user(db, name)?;
            let known: Option<String> = db.first(
                "SELECT secret FROM tokens WHERE kind = 'person' AND person = ?1",
                [&user],
            )?;
            let token = match known {
                Some(token) => token,
                None => issue(db, "xoxp", "person", None, Some(user.as_str()))?,
            };
            Ok(PersonToken {
                user,
                token: Secret::new(token),
            })
        })
    }

    /// Everybody of the workspace.
    pub fn people(&mut self) -> Result<Vec<PersonEntry>, HubError> {
        self.within(people::list)
    }

    /// Invites somebody into the built-in workspace, by the machine's owner: the code of
    /// a link that works once.
    ///
    /// # Errors
    /// When the name cannot be used, or the store fails.
    pub fn invite(&mut self, name: &str, standing: Standing) -> Result<Secret, HubError> {
        let by = owner();
        self.within(|db| people::invite(db, &by, name, standing))
    }

    /// Gives somebody other rights.
    ///
    /// # Errors
    /// When there is nobody of that name, or the store fails.
    pub fn give(&mut self, name: &str, standing: Standing) -> Result<(), HubError> {
        let id = people::id_by_name(name);
        self.within(|db| people::give(db, &owner(), &id, standing))
    }

    /// Sends somebody away: nothing of theirs opens the workspace any longer.
    ///
    /// # Errors
    /// When there is nobody of that name, or the store fails.
    pub fn send_away(&mut self, name: &str) -> Result<(), HubError> {
        let id = people::id_by_name(name);
        self.within(|db| people::send_away(db, &owner(), &id))
    }

    /// Forgets somebody, by name or id: what they said, sent and wrote, and their name. What
    /// the disk holds of it is gone afterwards too, but for a database's own log and backups.
    /// While this is under way no hub may have a file open; hubs of a database wait.
    ///
    /// # Errors
    /// When there is nobody of that name, the store fails, or somebody who began before keeps
    /// old versions in the database.
    pub fn erase(&mut self, who: &str) -> Result<Erased, HubError> {
        let (erased, id) = self.within(|db| erase::erase(db, &owner(), who))?;
        match erase::scrub(&self.db).map_err(Trouble::from)? {
            None => Ok(erased),
            Some(by) => Err(HubError::StillSeen { by, id }),
        }
    }

    /// Where people are logged in.
    pub fn sessions(&mut self) -> Result<Vec<SessionEntry>, HubError> {
        self.within(|db| people::sessions(db, None))
    }

    /// Ends a session.
    ///
    /// # Errors
    /// When there is none of this id, or the store fails.
    pub fn end_session(&mut self, id: &str) -> Result<(), HubError> {
        self.within(|db| people::end_session(db, &owner(), id, true).map(drop))
    }

    /// Invites a machine to run roles of a repo, by the machine's owner: the code of a
    /// link that works once, for so long.
    pub fn invite_machine(
        &mut self,
        repo: &str,
        roles: &[Role],
        life: Duration,
    ) -> Result<Secret, HubError> {
        let life_ms = i64::try_from(life.as_millis()).unwrap_or(i64::MAX);
        self.within(|db| machines::invite(db, &owner(), repo, roles, life_ms))
    }

    /// The machines that joined, and the invitations that nobody has used yet.
    pub fn machines(&mut self) -> Result<(Vec<MachineEntry>, Vec<MachineInvite>), HubError> {
        self.within(|db| Ok((machines::list(db)?, machines::invites(db)?)))
    }

    /// Sends a machine away, or takes an invitation back.
    ///
    /// # Errors
    /// When there is none of this id, or the store fails.
    pub fn revoke_machine(&mut self, id: &str) -> Result<(), HubError> {
        self.within(|db| machines::revoke(db, &owner(), id))
    }

    /// The certificate that the hub made for itself, in PEM.
    pub fn own_certificate(&mut self) -> Result<Option<String>, HubError> {
        self.within(tls::own_certificate)
    }

    /// Everything that people did, oldest first.
    pub fn audit(&mut self) -> Result<Vec<AuditLine>, HubError> {
        self.within(|db| audit::lines(db, 0, usize::MAX))
    }

    /// The first card about which the store says otherwise than the audit.
    pub fn contradicts_audit(&mut self) -> Result<Option<String>, HubError> {
        self.within(audit::contradiction)
    }

    /// A code that logs `you` in on the page, once: `/login?code=<code>`.
    pub fn login_link(&mut self) -> Result<Secret, HubError> {
        self.login_link_for("you")
    }

    /// The same for another person.
    pub fn login_link_for(&mut self, name: &str) -> Result<Secret, HubError> {
        self.within(|db| {
            let user = ensure_user(db, name)?;
            let code = random_text();
            db.execute(
                "INSERT INTO login_codes (sha256, person, expires_ms) VALUES (?1, ?2, ?3)",
                params![Sha256Hex::of(&code), user, db.now_ms() + LINK_LIFE_MS],
            )?;
            Ok(Secret::new(code))
        })
    }

    /// The repos that have tokens, with their channels.
    pub fn repos(&mut self) -> Result<Vec<(String, ChannelId)>, HubError> {
        self.within(|db| {
            let all = channels::list(db, None)?;
            Ok(all.into_iter().map(|c| (c.repo, c.id)).collect())
        })
    }

    /// One transaction that waits for the hub's own writer.
    fn within<T>(&mut self, work: impl FnOnce(&Db) -> Result<T>) -> Result<T, HubError> {
        let carry_out = || {
            let transaction = self.db.begin()?;
            let outcome = work(&self.db)?;
            transaction.commit()?;
            Ok::<T, Trouble>(outcome)
        };
        Ok(carry_out()?)
    }
}

fn ensure_channel(db: &Db, repo: &str, wanted: &str) -> Result<ChannelId> {
    let known: Option<String> = db.first(
        "SELECT id FROM channels WHERE repo = ?1 ORDER BY created_ms, id LIMIT 1",
        [repo],
    )?;
    if let Some(id) = known {
        return Ok(ChannelId::new(id));
    }
    let name = channel_name(wanted);
    for number in 1.. {
        let attempt = if number == 1 {
            name.clone()
        } else {
            format!("{name}-{number}")
        };
        match channels::create(db, repo, &attempt) {
            Err(Trouble::Refused(Refusal::NameTaken)) => {}
            made => return Ok(made?.id),
        }
    }
    Err(Trouble::Refused(Refusal::NameTaken))
}

/// One role of one repo, known from now on.
pub(super) fn ensure_agent_key(db: &Db, repo: &str, role: Role) -> Result<i64> {
    db.execute(
        "INSERT OR IGNORE INTO agents (repo, role) VALUES (?1, ?2)",
        params![repo, role],
    )?;
    let sql = "SELECT id FROM agents WHERE repo = ?1 AND role = ?2";
    Ok(db.one(sql, params![repo, role])?)
}

fn ensure_agent(db: &Db, repo: &str, role: Role) -> Result<AgentTokens> {
    let key = ensure_agent_key(db, repo, role)?;
    let token = |prefix: &str, kind: &str| -> Result<Secret> {
        let known: Option<String> = db.first(
            "SELECT secret FROM tokens WHERE kind = ?1 AND agent = ?2 AND machine IS NULL",
            params![kind, key],
        )?;
        Ok(Secret::new(match known {
            Some(token) => token,
            None => issue(db, prefix, kind, Some(key), None)?,
        }))
    };
    Ok(AgentTokens {
        bot: token("xoxb", "bot")?,
        app: token("xapp", "app")?,
    })
}

fn ensure_user(db: &Db, name: &str) -> Result<UserId> {
    let id = people::id_by_name(name);
    db.execute(
        "INSERT OR IGNORE INTO people (id, name, created_ms) VALUES (?1, ?2, ?3)",
        params![id, name, db.now_ms()],
    )?;
    Ok(id)
}

fn issue(
    db: &Db,
    prefix: &str,
    kind: &str,
    agent: Option<i64>,
    person: Option<&str>,
) -> Result<String> {
    let secret = format!("{prefix}-1-{}", random_text());
    db.execute(
        "INSERT INTO tokens (sha256, secret, kind, agent, person) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![Sha256Hex::of(&secret), secret, kind, agent, person],
    )?;
    Ok(secret)
}

/// 160 random bits as 32 letters and digits.
///
/// # Panics
/// When the system has no randomness to give; nothing safe can be done then.
pub(crate) fn random_text() -> String {
    let mut bytes = [0u8; 20];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    BASE32_NOPAD.encode(&bytes)
}

/// The name under which browsers keep their session, made once per store. It is
/// not to be guessed: who knows it can have the cookie sent to another port.
pub(crate) fn own_name(db: &Db) -> Result<String> {
    let fresh = random_text()[..20].to_ascii_lowercase();
    Ok(db.first_own_value("own_name", &format!("codebutler-{fresh}.localhost"))?)
}

/// Whether a login code is good; it stays so.
pub(crate) fn knows_code(db: &Db, code: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM login_codes WHERE sha256 = ?1 AND expires_ms > ?2)";
    let hash = Sha256Hex::of(code);
    Ok(db.one(sql, params![hash, db.now_ms()])?)
}

/// What is kept of a session: it is good under one name only.
pub(crate) fn session_hash(session: &str, host: &str) -> Sha256Hex {
    Sha256Hex::of(format!("{session} {host}"))
}

/// Uses a login code up and opens a session for its person, under this name.
pub(crate) fn use_code(
    db: &Db,
    code: &str,
    host: &str,
    browser: &str,
) -> Result<Option<(Person, String)>> {
    let person: Option<String> = db.first(
        "DELETE FROM login_codes WHERE sha256 = ?1 AND expires_ms > ?2 RETURNING person",
        params![Sha256Hex::of(code), db.now_ms()],
    )?;
    let Some(person) = person else {
        return Ok(None);
    };
    let Some(person) = crate::identity::person_by_id(db, &person)? else {
        return Ok(None);
    };
    let session = random_text();
    const LIFE_MS: i64 = 30 * 24 * 3600 * 1000;
    db.execute(
        "INSERT INTO sessions (sha256, person, expires_ms, created_ms, browser)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            session_hash(&session, host),
            person.id,
            db.now_ms() + LIFE_MS,
            db.now_ms(),
            browser.chars().take(200).collect::<String>()
        ],
    )?;
    let about = serde_json::json!({"session": &session_hash(&session, host).as_str()[..12]});
    audit::note(db, &person, "entered", about)?;
    Ok(Some((person, session)))
}

/// Whose session a cookie is.
pub(crate) fn of_session(db: &Db, cookie: &str, host: &str) -> Result<Option<Person>> {
    let person: Option<String> = db.first(
        "SELECT person FROM sessions WHERE sha256 = ?1 AND expires_ms > ?2",
        params![session_hash(cookie, host), db.now_ms()],
    )?;
    match person {
        Some(id) => crate::identity::person_by_id(db, &id),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_tokens_are_given_again_and_every_role_has_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let mut tokens = Tokens::open(dir.path()).unwrap();
        let first = tokens.ensure_repo("/r/app", "app").unwrap();
        let again = Tokens::open(dir.path())
            .unwrap()
            .ensure_repo("/r/app", "other")
            .unwrap();
        assert_eq!(first.channel, again.channel);
        let mut seen = std::collections::BTreeSet::new();
        for role in Role::ALL {
            assert_eq!(first.agents[&role].bot, again.agents[&role].bot);
            assert!(first.agents[&role].app.expose().starts_with("xapp-"));
            seen.insert(first.agents[&role].bot.expose().to_owned());
            seen.insert(first.agents[&role].app.expose().to_owned());
        }
        assert_eq!(seen.len(), 12);
        let other = tokens.ensure_repo("/r/app2", "app").unwrap();
        assert_ne!(other.channel, first.channel);
        let ana = tokens.ensure_person("ana").unwrap();
        assert_eq!(tokens.ensure_person("ana").unwrap().token, ana.token);
        assert_ne!(tokens.ensure_person("ben").unwrap().user, ana.user);
    }

    #[test]
    fn a_repo_that_waits_for_its_channel_in_slack_gets_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let mut tokens = Tokens::open(dir.path()).unwrap();
        let wanted = RepoChannel {
            repo: "app".to_owned(),
            id: None,
            name: "codebutler-app".to_owned(),
            bots: vec!["B1".to_owned()],
        };
        tokens.request_channel(&wanted).unwrap();
        let early = tokens.ensure_repo("app", "codebutler-app").unwrap_err();
        assert!(matches!(early, HubError::NoChannel(_)), "{early}");
        assert!(tokens.repos().unwrap().is_empty());
    }

    #[test]
    fn a_login_code_works_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut tokens = Tokens::open(dir.path()).unwrap();
        let code = tokens.login_link().unwrap();
        let enter = || use_code(&tokens.db, code.expose(), "a", "").unwrap();
        let (person, session) = enter().unwrap();
        assert_eq!(person.name, "you");
        assert!(enter().is_none());
        let of = |cookie: &str, host: &str| of_session(&tokens.db, cookie, host).unwrap();
        assert_eq!(of(&session, "a"), Some(person));
        assert_eq!(of(&session, "b"), None);
        assert_eq!(of(code.expose(), "a"), None);
    }
}
