//! Which address is answered by whom.

use std::sync::Arc;

use axum::{
    Router, middleware,
    routing::{any, get, post},
};

use crate::{
    agent_api::{
        self, live_log,
        webhooks::{self, Webhooks},
    },
    hub::{App, cut_off, ready},
    log::socket_mode,
    metrics, page,
    person_api::{self, edits, guard, view_api},
    web_api::{self, file_transfer, response_url},
};

/// Agents come by token and need no guard; what people call checks host and origin.
pub(super) fn router(app: Arc<App>, webhooks: Webhooks) -> Router {
    let people = Router::new()
        .merge(person_api::routes())
        .merge(view_api::routes())
        .merge(edits::routes())
        .merge(person_api::views::routes())
        .merge(person_api::people::routes())
        .merge(live_log::person_routes())
        .merge(page::routes())
        .route("/metrics", get(metrics::handle))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            guard::check_host,
        ));
    Router::new()
        .route("/api/{method}", any(web_api::handle))
        .route("/link", get(socket_mode::handle))
        .route("/link/", get(socket_mode::handle))
        .merge(agent_api::routes())
        .merge(webhooks::routes(webhooks))
        .merge(live_log::agent_routes())
        .merge(file_transfer::routes())
        .route("/respond/{key}", post(response_url::handle))
        .route("/healthz", get(ready::health))
        .route("/readyz", get(ready::ready))
        .route("/readyz/store", get(ready::for_balancer))
        .merge(people)
        .fallback(page::nowhere)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            cut_off::send_away,
        ))
        .with_state(app)
}
