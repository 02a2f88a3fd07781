//! Who is who: auth, team, bots, users, and the ticket for a socket.

use axum::http::HeaderMap;
use butler_protocol::UserId;
use serde_json::{Value, json};

use super::{Call, conversations};
use crate::{
    error::{Refusal, Result, refuse},
    hub::App,
    identity::{APP, BOT, BOT_NAME, BOT_USER, TEAM},
    log::socket_mode,
    store::Db,
    workspace::channels,
};

pub(super) fn auth_test(call: &Call) -> Result<Value> {
    Ok(json!({
        "url": format!("{}/", call.base()), "team": "CodeButler", "team_id": TEAM,
        "user": BOT_NAME, "user_id": BOT_USER, "bot_id": BOT, "app_id": APP,
        "is_enterprise_install": false,
        "codebutler": {"role": call.agent.role, "repo": call.agent.repo},
    }))
}

pub(super) fn team_info(_: &Call) -> Result<Value> {
    Ok(
        json!({"team": {"id": TEAM, "name": "CodeButler", "domain": "codebutler",
        "email_domain": "", "icon": {"image_default": true}}}),
    )
}

pub(super) fn bots_info(call: &Call) -> Result<Value> {
    match call.args.text("bot") {
        Some(bot) if bot != BOT => refuse(Refusal::BotNotFound),
        _ => Ok(json!({"bot": {"id": BOT, "app_id": APP, "name": BOT_NAME,
            "user_id": BOT_USER, "deleted": false, "updated": 0, "icons": {}}})),
    }
}

pub(super) fn users_info(db: &Db, call: &Call) -> Result<Value> {
    let user = UserId::new(call.args.need("user", Refusal::UserNotFound)?);
    Ok(json!({"user": channels::user(db, &user)?}))
}

pub(super) fn users_list(db: &Db, call: &Call) -> Result<Value> {
    let mut answer = conversations::page(call, channels::users(db)?, "members")?;
    answer["cache_ts"] = json!(0);
    Ok(answer)
}

/// One person by their address; see `workspace::channels`.
pub(super) fn lookup_by_email(db: &Db, call: &Call) -> Result<Value> {
    let email = call.args.need("email", Refusal::UsersNotFound)?;
    let mut members = channels::users(db)?.into_iter();
    let found = members.find(|user| user["profile"]["email"] == email.to_ascii_lowercase());
    Ok(json!({"user": found.ok_or(Refusal::UsersNotFound)?}))
}

/// Who is named, or else the caller.
fn user_of(db: &Db, call: &Call) -> Result<Value> {
    let user = call.args.text("user");
    channels::user(db, &UserId::new(user.as_deref().unwrap_or(BOT_USER)))
}

pub(super) fn profile(db: &Db, call: &Call) -> Result<Value> {
    Ok(json!({"profile": user_of(db, call)?["profile"]}))
}

/// Whether somebody is there: the app is, and of people nobody keeps count.
pub(super) fn presence(db: &Db, call: &Call) -> Result<Value> {
    user_of(db, call)?;
    Ok(
        json!({"presence": "active", "online": true, "auto_away": false, "manual_away": false,
        "connection_count": 1}),
    )
}

/// The address of a socket, good for one connection and a minute.
pub(super) async fn connections_open(call: Call) -> Result<Value> {
    let ticket = socket_mode::ticket(&call.app, call.agent.clone()).await?;
    let base = call.base().replacen("http", "ws", 1);
    Ok(json!({"url": format!("{base}/link/?ticket={ticket}&app_id={APP}")}))
}

impl Call {
    /// The address under which the caller reached us, without a path.
    pub(super) fn base(&self) -> String {
        base_of(&self.app, &self.headers)
    }

    /// The name in it.
    pub(crate) fn host(&self) -> String {
        let base = self.base();
        base.split_once("://")
            .map_or(base.clone(), |(_, host)| host.to_owned())
    }
}

/// The address under which a caller reached us, without a path.
pub(crate) fn base_of(app: &App, headers: &HeaderMap) -> String {
    let host = headers.get("host").and_then(|host| host.to_str().ok());
    app.reached.base(host)
}
