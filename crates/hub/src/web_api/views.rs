//! `views.*`: modals and home tabs.

use butler_protocol::UserId;
use serde_json::{Value, json};

use super::Call;
use crate::{
    error::{Refusal, Result, Trouble, refuse},
    workspace::{gate, modals},
};

fn view_of(call: &Call) -> Result<Value> {
    let view = call.args.json("view", Refusal::InvalidArguments)?;
    let Some(mut view) = view.filter(Value::is_object) else {
        let what = "missing required field: view [json-pointer:/view]";
        return Err(Trouble::Explained(
            Refusal::InvalidArguments,
            what.to_owned(),
        ));
    };
    gate::clean_value(&call.app.redactor, &mut view);
    Ok(view)
}

fn trigger_of(call: &Call) -> Result<String> {
    call.args.text("trigger_id").ok_or_else(|| {
        let what = "missing required field: trigger_id [json-pointer:/trigger_id]";
        Trouble::Explained(Refusal::InvalidArguments, what.to_owned())
    })
}

pub(super) async fn open(call: Call) -> Result<Value> {
    let view = view_of(&call)?;
    let trigger = trigger_of(&call)?;
    let agent = call.agent.clone();
    let write = call.app.write(move |tx| {
        let view = modals::open(tx, &agent, &trigger, &view)?;
        Ok(json!({"view": view}))
    });
    write.await
}

pub(super) async fn push(call: Call) -> Result<Value> {
    let view = view_of(&call)?;
    let trigger = trigger_of(&call)?;
    let agent = call.agent.clone();
    let write = call.app.write(move |tx| {
        let view = modals::push(tx, &agent, &trigger, &view)?;
        Ok(json!({"view": view}))
    });
    write.await
}

pub(super) async fn update(call: Call) -> Result<Value> {
    let view = view_of(&call)?;
    let (id, external) = (call.args.text("view_id"), call.args.text("external_id"));
    let hash = call.args.text("hash");
    let agent = call.agent.clone();
    let write = call.app.write(move |tx| {
        let id = match (id, external) {
            (Some(id), _) => id,
            (None, Some(name)) => modals::by_external_id(tx.db(), &agent, &name)?,
            (None, None) => return refuse(Refusal::InvalidArguments),
        };
        let view = modals::update(tx, &agent, &id, hash.as_deref(), &view)?;
        Ok(json!({"view": view}))
    });
    write.await
}

pub(super) async fn publish(call: Call) -> Result<Value> {
    let view = view_of(&call)?;
    let user = UserId::new(call.args.need("user_id", Refusal::UserNotFound)?);
    let hash = call.args.text("hash");
    let agent = call.agent.clone();
    let write = call.app.write(move |tx| {
        let view = modals::publish(tx, &agent, &user, hash.as_deref(), &view)?;
        Ok(json!({"view": view}))
    });
    write.await
}
