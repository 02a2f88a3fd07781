//! The hub on another machine, where this repository has joined one.

use crate::commands::setup::doctor::{Finding, Place};
use crate::{
    hub_access::joining::{self, titles},
    process, wiring,
};

const NAME: &str = "hub";

pub(crate) fn examine(place: &Place) -> Vec<Finding> {
    let Some(settings) = &place.settings else {
        return Vec::new();
    };
    let Some(joined) = settings.joined() else {
        return Vec::new();
    };
    let asked = process::run_on_one_thread(async |_| {
        joining::greet(&wiring::hub(settings)?).await?;
        Ok(joining::was_sent_away(settings).await)
    });
    let url = &joined.url;
    vec![match asked {
        Ok(false) => Finding::ok(
            NAME,
            format!("{url} knows this machine as {}", titles(&joined.roles())),
        ),
        Ok(true) => Finding::failed(
            NAME,
            format!("{url} sent this machine away"),
            "`codebutler hub invite`, beside the hub, prints a link; `codebutler init --join LINK` takes it",
        ),
        Err(error) => {
            let fix = "`codebutler worker` goes on as soon as it answers";
            Finding::failed(NAME, error.plain(), fix)
        }
    }]
}
