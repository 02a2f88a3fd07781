//! What people send from the page. Every form works without script: it answers
//! with the page that it changed.

use axum::{
    Form,
    body::Bytes,
    extract::{Path, Request},
    response::Redirect,
};
use butler_protocol::{ChannelId, Complexity, MessageTs, RequestId, Usd};
use serde::Deserialize;

use super::{Turned, state::Filled, visit::Visit};
use crate::{
    error::{Refusal, Trouble},
    person_api::{MessageForm, message_form, person_actions},
    workspace::{decide::edited::PlanEdit, ephemeral, message, react},
};

type Sent = Result<Redirect, Turned>;

fn back_to(channel: &ChannelId, root: &MessageTs) -> Redirect {
    Redirect::to(&format!("/c/{channel}/{root}"))
}

/// Says something; a new thread opens itself.
pub(super) async fn say(
    Visit { app, person, .. }: Visit,
    Path(channel): Path<ChannelId>,
    request: Request,
) -> Sent {
    let form = message_form::read(&app, request, Some(channel.clone())).await?;
    let thread = form.thread.clone();
    let (ts, _) = person_actions::say(&app, person, form).await?;
    Ok(back_to(&channel, &thread.unwrap_or(ts)))
}

/// Uses an element of a message, with the state of all its fields.
pub(super) async fn press(
    Visit { app, person, .. }: Visit,
    Path(channel): Path<ChannelId>,
    body: Bytes,
) -> Sent {
    let filled = Filled::read(&body);
    let missing = || Trouble::Refused(Refusal::MessageNotFound);
    let ts = filled.ts.clone().ok_or_else(missing)?;
    let (place, at) = (channel.clone(), ts.clone());
    let found = app
        .read(move |db| message::find(db, &place, &at))
        .await?
        .ok_or_else(missing)?;
    let press = filled.press(&found.body["blocks"])?;
    person_actions::press(&app, person, channel.clone(), ts, press).await?;
    Ok(back_to(
        &channel,
        filled.root.as_ref().unwrap_or(&found.root),
    ))
}

/// A plan as its form sends it: lists are lines.
#[derive(Deserialize)]
pub(super) struct EditedPlan {
    ts: MessageTs,
    root: MessageTs,
    request: RequestId,
    steps: String,
    #[serde(default)]
    criteria: String,
    #[serde(default)]
    files: String,
    complexity: Complexity,
    #[serde(default)]
    cap: String,
    #[serde(default)]
    model: String,
}

/// Approves a plan as it was changed on its card.
pub(super) async fn plan(
    Visit { app, person, .. }: Visit,
    Path(channel): Path<ChannelId>,
    Form(form): Form<EditedPlan>,
) -> Sent {
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    let cap = match form.cap.trim() {
        "" => None,
        text => Some(dollars(text).ok_or(Refusal::InvalidAmount)?),
    };
    let edit = PlanEdit {
        steps: lines(&form.steps),
        criteria: lines(&form.criteria),
        files: lines(&form.files),
        complexity: form.complexity,
        cap,
        model: Some(form.model).filter(|name| !name.is_empty()),
    };
    let place = (channel.clone(), form.ts);
    person_actions::approve_edited(&app, person, place, form.request, edit).await?;
    Ok(back_to(&channel, &form.root))
}

/// An amount as people type it.
fn dollars(text: &str) -> Option<Usd> {
    let (whole, cents) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let cents = match cents.len() {
        0 => 0,
        1 => cents.parse::<i64>().ok()? * 10,
        2 => cents.parse().ok()?,
        _ => return None,
    };
    let whole: i64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let all = whole.checked_mul(100)?.checked_add(cents)?;
    (whole >= 0 && cents >= 0 && all < 10_000_000).then(|| Usd::from_cents(all))
}

#[derive(Deserialize)]
pub(super) struct Reaction {
    ts: MessageTs,
    root: MessageTs,
    name: String,
}

/// Adds the person's reaction, or takes it back when it is there.
pub(super) async fn react(
    Visit { app, person, .. }: Visit,
    Path(channel): Path<ChannelId>,
    Form(reaction): Form<Reaction>,
) -> Sent {
    let (place, ts, name) = (channel.clone(), reaction.ts.clone(), reaction.name.clone());
    let user = person.id.clone();
    let there = app
        .read(move |db| react::has(db, &place, &ts, &name, &user))
        .await?;
    let Reaction { ts, root, name } = reaction;
    person_actions::react(&app, person, channel.clone(), ts, name, !there).await?;
    Ok(back_to(&channel, &root))
}

#[derive(Deserialize)]
pub(super) struct Note {
    ts: MessageTs,
    root: MessageTs,
}

/// Puts away a message that only this person sees.
pub(super) async fn dismiss(
    Visit { app, person, .. }: Visit,
    Path(channel): Path<ChannelId>,
    Form(note): Form<Note>,
) -> Sent {
    let (place, ts) = (channel.clone(), note.ts.clone());
    app.write(move |tx| ephemeral::dismiss(tx, &place, &ts, &person.id))
        .await?;
    Ok(if note.root == note.ts {
        Redirect::to(&format!("/c/{channel}"))
    } else {
        back_to(&channel, &note.root)
    })
}

/// Says "stop": everybody at work in the thread obeys it.
pub(super) async fn stop(
    Visit { app, person, .. }: Visit,
    Path((channel, root)): Path<(ChannelId, MessageTs)>,
) -> Sent {
    let form = MessageForm::words(channel.clone(), Some(root.clone()), "stop".to_owned());
    person_actions::say(&app, person, form).await?;
    Ok(back_to(&channel, &root))
}
