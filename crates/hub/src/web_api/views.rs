//! `views.*`: modals and home tabs.

use butler_protocol::UserId;
use serde_json::{Value, json};

use super::Call;
use crate::{
    error::{Refusal, Result, Trouble, refuse},
    store::Tx,
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

pub(super) fn open(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let (view, trigger) = (view_of(call)?, trigger_of(call)?);
    Ok(json!({"view": modals::open(tx, &call.agent, &trigger, &view)?}))
}

pub(super) fn push(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let (view, trigger) = (view_of(call)?, trigger_of(call)?);
    Ok(json!({"view": modals::push(tx, &call.agent, &trigger, &view)?}))
}

pub(super) fn update(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let (view, hash) = (view_of(call)?, call.args.text("hash"));
    let id = match (call.args.text("view_id"), call.args.text("external_id")) {
        (Some(id), _) => id,
        (None, Some(name)) => modals::by_external_id(tx.db(), &call.agent, &name)?,
        (None, None) => return refuse(Refusal::InvalidArguments),
    };
    Ok(json!({"view": modals::update(tx, &call.agent, &id, hash.as_deref(), &view)?}))
}

pub(super) fn publish(tx: &mut Tx<'_>, call: &Call) -> Result<Value> {
    let (view, hash) = (view_of(call)?, call.args.text("hash"));
    let user = UserId::new(call.args.need("user_id", Refusal::UserNotFound)?);
    Ok(json!({"view": modals::publish(tx, &call.agent, &user, hash.as_deref(), &view)?}))
}
