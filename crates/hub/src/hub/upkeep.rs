//! Keeps the store small, round by round. One hub of a store does it.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;
use tracing::{debug, warn};

use crate::{
    hub::App,
    store::retention::{self, Round},
};

/// After the start: agents that come back have more urgent wishes.
const FIRST: Duration = Duration::from_secs(60);
/// Between two steps, so that others get their turn.
const BREATH: Duration = Duration::from_millis(20);

/// Looks after the store until the hub stops.
pub(crate) async fn keep_tidy(app: Arc<App>) {
    let every = app.operation.retention.every;
    let mut pause = FIRST.min(every);
    loop {
        tokio::select! {
            () = app.cancel.cancelled() => return,
            () = sleep(pause) => {}
        }
        let mut next = Some(Round::default());
        while let Some(round) = next.take() {
            let retention = app.operation.retention;
            let step = move |tx: &mut crate::store::tx::Tx<'_>| {
                retention::step(tx.db(), &retention, round)
            };
            match app.write(step).await {
                Ok(rest) => next = rest,
                Err(error) => warn!(%error, "the store could not be tidied"),
            }
            if app.cancel.is_cancelled() {
                return;
            }
            sleep(BREATH).await;
        }
        debug!("the store is tidy");
        pause = every;
    }
}
