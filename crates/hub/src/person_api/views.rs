//! `/v1/views`, `/v1/shortcuts`, `/v1/options`, `/v1/home`: what apps show beside the channel, and what
//! a person does with it.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    routing::{get, post},
};
use butler_protocol::{ChannelId, MessageTs};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    error::{Answer, Refusal, Refused, well},
    hub::App,
    identity::Person,
    person_api::{Press, Somebody, person_actions},
    store::Tx,
    workspace::{
        gate,
        modals::{self, interactions},
        pressed,
    },
};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/views", get(list))
        .route("/v1/views/submit", post(submit))
        .route("/v1/views/actions", post(press))
        .route("/v1/views/close", post(close))
        .route("/v1/shortcuts", post(shortcut))
        .route("/v1/options", post(options))
        .route("/v1/home", post(home))
}

async fn list(Somebody { app, person }: Somebody) -> Answer {
    let look = app.read(move |db| modals::of(db, &person.id));
    let (modals, home) = look.await?;
    well(json!({"views": modals, "home": home}))
}

#[derive(Deserialize)]
struct Sending {
    view_id: String,
    /// In the shape of Slack's `state.values`.
    state: Option<Value>,
}

async fn submit(somebody: Somebody, Json(sent): Json<Sending>) -> Answer {
    let work = move |tx: &mut Tx<'_>, person: &Person| {
        interactions::submit(tx, person, &sent.view_id, sent.state.as_ref())
    };
    somebody.does_here(work).await
}

#[derive(Deserialize)]
struct Pressing {
    view_id: String,
    #[serde(flatten)]
    press: Press,
}

async fn press(somebody: Somebody, Json(pressing): Json<Pressing>) -> Answer {
    let work = move |tx: &mut Tx<'_>, person: &Person| {
        interactions::press(tx, person, &pressing.view_id, pressing.press)
    };
    somebody.does_here(work).await
}

#[derive(Deserialize)]
struct Closing {
    view_id: String,
}

async fn close(somebody: Somebody, Json(closing): Json<Closing>) -> Answer {
    let work = move |tx: &mut Tx<'_>, person: &Person| {
        interactions::put_away(tx, person, &closing.view_id)
    };
    somebody.does_here(work).await
}

#[derive(Deserialize)]
struct Shortcut {
    callback_id: String,
    channel: ChannelId,
    /// The message, for a shortcut on one.
    ts: Option<MessageTs>,
}

async fn shortcut(somebody: Somebody, Json(used): Json<Shortcut>) -> Answer {
    let rules = somebody.app.rules.clone();
    let work = move |tx: &mut Tx<'_>, person: &Person| {
        let (name, ts) = (&used.callback_id, used.ts.as_ref());
        interactions::shortcut(tx, &rules, person, name, &used.channel, ts)
    };
    somebody.does_here(work).await
}

#[derive(Deserialize)]
struct Home {
    /// Whose app: the team of this channel.
    channel: ChannelId,
}

async fn home(somebody: Somebody, Json(home): Json<Home>) -> Answer {
    let work =
        move |tx: &mut Tx<'_>, person: &Person| interactions::open_home(tx, person, &home.channel);
    somebody.does_here(work).await
}

/// How long an app may take to name options.
const OPTIONS_WITHIN: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
struct Asking {
    action_id: String,
    block_id: Option<String>,
    /// What was typed so far.
    #[serde(default)]
    value: String,
    #[serde(flatten)]
    place: Place,
}

/// Where the field is.
#[derive(Deserialize)]
#[serde(untagged)]
enum Place {
    View { view_id: String },
    Message { channel: ChannelId, ts: MessageTs },
}

/// A person types into a field whose options an app knows.
async fn options(Somebody { app, person }: Somebody, Json(asking): Json<Asking>) -> Answer {
    person_actions::only_here(&app)?;
    let waiting = Arc::clone(&app);
    let write = app.write(move |tx| {
        let element = (asking.block_id.as_deref(), asking.action_id.as_str());
        let typed = asking.value.as_str();
        let seq = match &asking.place {
            Place::View { view_id } => {
                interactions::ask_options(tx, &person, view_id, element, typed)
            }
            Place::Message { channel, ts } => {
                pressed::ask_options(tx, &person, (channel, ts), element, typed)
            }
        }?;
        Ok(waiting.sockets.options.expect(seq))
    });
    let answer = timeout(OPTIONS_WITHIN, write.await?).await;
    let Ok(Ok(mut answer)) = answer else {
        return Err(Refused(Refusal::RequestTimeout));
    };
    gate::clean_value(&app.redactor, &mut answer);
    let (options, groups) = (&answer["options"], &answer["option_groups"]);
    well(json!({"options": options, "option_groups": groups}))
}
