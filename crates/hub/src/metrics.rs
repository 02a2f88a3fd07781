//! `/metrics` in Prometheus' text form: what the store can count by itself.

use std::{fmt::Write as _, sync::Arc};

use axum::extract;

use crate::{
    error::{Refused, Trouble},
    hub::app::App,
    relay::hearing::State,
    store::db::Db,
};

pub(crate) async fn handle(
    extract::State(app): extract::State<Arc<App>>,
) -> Result<String, Refused> {
    let mut out = app.store.read(render).await?;
    if let Some(slack) = app.slack() {
        let heard = u8::from(slack.state == State::Connected);
        let _ = writeln!(
            out,
            "# HELP codebutler_slack_heard Whether what people say in Slack arrives\n\
             # TYPE codebutler_slack_heard gauge\ncodebutler_slack_heard {heard}"
        );
    }
    Ok(out)
}

fn render(db: &Db) -> Result<String, Trouble> {
    let mut out = String::new();
    let counts = [
        (
            "messages",
            "gauge",
            "Messages in the workspace",
            "SELECT count(*) FROM messages",
        ),
        (
            "events_total",
            "counter",
            "Events written to the log",
            "SELECT coalesce(max(seq), 0) FROM events",
        ),
        (
            "deliveries_waiting",
            "gauge",
            "Envelopes not yet acknowledged",
            "SELECT count(*) FROM deliveries",
        ),
        (
            "decisions_open",
            "gauge",
            "Cards that wait for a person",
            "SELECT count(*) FROM cards WHERE choice IS NULL",
        ),
        (
            "cost_nanodollars_total",
            "counter",
            "Settled cost of model calls",
            "SELECT coalesce(sum(cost), 0) FROM reservations",
        ),
    ];
    for (name, kind, help, sql) in counts {
        let value: i64 = db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        let _ = writeln!(
            out,
            "# HELP codebutler_{name} {help}\n# TYPE codebutler_{name} {kind}\ncodebutler_{name} {value}"
        );
    }
    Ok(out)
}
