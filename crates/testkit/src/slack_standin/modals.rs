//! Modals: opened with a trigger, once, and sent by the person who has one open.

use serde_json::{Value, json};

use super::{
    SlackStandIn,
    state::{APP, State, TEAM},
    web::{Answer, Args, no},
};

pub(super) fn open(state: &mut State, args: &Args) -> Answer {
    let trigger = args.text("trigger_id").unwrap_or_default();
    if state.mishaps.late_triggers {
        return no("expired_trigger_id");
    }
    let Some(user) = state.triggers.remove(&trigger) else {
        return no("invalid_trigger_id");
    };
    let Some(mut view) = args
        .get("view")
        .filter(|view| view["type"] == "modal")
        .cloned()
    else {
        return no("invalid_arguments");
    };
    view["id"] = json!(state.fresh("V"));
    view["state"] = json!({"values": {}});
    state.modals.insert(user, view.clone());
    Ok(json!({"view": view}))
}

impl SlackStandIn {
    /// From now on triggers are too old when they are used, or in time again.
    pub fn late_triggers(&self, late: bool) {
        self.shared.lock().mishaps.late_triggers = late;
    }

    /// The modal that a person has open.
    #[must_use]
    pub fn modal(&self, user: &str) -> Option<Value> {
        self.shared.lock().modals.get(user).cloned()
    }

    /// A person sends their modal, filled in with `state.values`; false as with
    /// [`SlackStandIn::click`], or when they have none open.
    pub fn submit(&self, user: &str, values: &Value) -> bool {
        let mut state = self.shared.lock();
        let Some(mut view) = state.modals.remove(user) else {
            return false;
        };
        view["state"] = json!({"values": values});
        let trigger = state.fresh("trigger-");
        let payload = json!({"type": "view_submission", "team": {"id": TEAM}, "api_app_id": APP,
            "user": {"id": user, "team_id": TEAM}, "trigger_id": trigger, "view": view,
            "response_urls": []});
        state.send("interactive", payload, true)
    }
}
