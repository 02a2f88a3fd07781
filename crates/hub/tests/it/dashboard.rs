//! The dashboard file is what Grafana takes and Prometheus understands: panels that do not lie
//! on each other, expressions over metrics and labels that `/metrics` really has, variables
//! that are defined.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use butler_protocol::Role;
use serde_json::{Value, json};

use crate::{
    monitoring::{Scrape, file, judged, scrape, settled},
    world::World,
};

fn board() -> Value {
    serde_json::from_str(&file("packaging/monitoring/dashboard.json")).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().expect(key)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    let text = value[key].as_str().unwrap_or_default();
    assert!(!text.is_empty(), "{key} is missing in {value}");
    text
}

/// Every expression, with the panel that asks.
fn expressions(board: &Value) -> Vec<(String, String)> {
    let panels = list(board, "panels").iter();
    let asked = panels.flat_map(|panel| {
        let title = text(panel, "title").to_owned();
        let targets = list(panel, "targets").iter();
        targets.map(move |target| (title.clone(), text(target, "expr").to_owned()))
    });
    asked.collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// A hub at which a bit of everything happened, as it is scraped.
async fn scraped() -> Scrape {
    let world = World::start().await;
    let root = world.say("build it", None).await;
    let coder = world.control(Role::Coder);
    coder.records(&settled(&world, &root)).await.unwrap();
    let pm = world.web(Role::Pm);
    pm.call("auth.test", json!({})).await.unwrap();
    let _socket = world.socket(Role::Pm).await;
    let mut known = scrape(&world).await;
    // Told by Prometheus itself, and only with Slack.
    known.insert("up".to_owned(), Vec::new());
    known.insert("codebutler_slack_heard".to_owned(), Vec::new());
    known
}

#[test]
fn the_dashboard_has_the_shape_that_grafana_loads() {
    let board = board();
    assert!(board["schemaVersion"].as_u64().unwrap() >= 36);
    for key in ["title", "uid", "refresh"] {
        text(&board, key);
    }
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeMap::new());
    for panel in list(&board, "panels") {
        let title = text(panel, "title");
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: its id");
        assert!(["stat", "timeseries"].contains(&text(panel, "type")));
        assert!(panel["fieldConfig"]["defaults"].is_object(), "{title}");
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        let (x, y, w, h) = (at("x"), at("y"), at("w"), at("h"));
        assert!(x + w <= 24 && w > 0 && h > 0 && y < 100, "{title}");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            let other = cells.insert(cell, title);
            assert_eq!(other, None, "{title} lies on it");
        }
        let mut named = BTreeSet::new();
        for asks in list(panel, "targets").iter().chain([panel]) {
            assert_eq!(asks["datasource"]["uid"], "${datasource}", "{title}");
            assert_eq!(asks["datasource"]["type"], "prometheus", "{title}");
        }
        for target in list(panel, "targets") {
            assert!(named.insert(text(target, "refId")), "{title}");
        }
        assert!(!named.is_empty(), "{title} asks nothing");
    }
}

#[tokio::test]
async fn every_panel_asks_for_metrics_and_labels_that_there_are() {
    let (board, known) = (board(), scraped().await);
    let labels: BTreeSet<&str> = known
        .values()
        .flatten()
        .flat_map(|(labels, _)| labels.keys().map(String::as_str))
        .chain(["job"])
        .collect();
    let is_metric = |word: &&str| {
        let ours = ["codebutler_", "process_"];
        *word == "up" || ours.iter().any(|start| word.starts_with(start))
    };
    let mut asked = BTreeSet::new();
    for (title, expr) in expressions(&board) {
        let metrics: Vec<&str> = words(&expr).filter(is_metric).collect();
        assert!(!metrics.is_empty(), "{title}: {expr}");
        for metric in metrics {
            assert!(known.contains_key(metric), "{title}: no {metric}");
            asked.insert(metric.to_owned());
        }
        let grouped = expr.split("by (").skip(1);
        let grouped = grouped.flat_map(|rest| words(rest.split(')').next().unwrap()));
        let chosen = expr.split('{').skip(1);
        let chosen = chosen.filter_map(|rest| words(rest).next());
        for label in grouped.chain(chosen) {
            assert!(labels.contains(label), "{title}: no label {label}");
        }
    }
    // And what there is can be seen.
    let unseen: Vec<&String> = known.keys().filter(|name| !asked.contains(*name)).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

/// Read from the store, which several hubs share: each of them tells the same.
const TOLD_BY_EACH: [&str; 9] = [
    "codebutler_agent_connected",
    "codebutler_queue_age_seconds",
    "codebutler_deliveries_waiting",
    "codebutler_decisions_open",
    "codebutler_events_total",
    "codebutler_day_spent_dollars",
    "codebutler_day_cap_dollars",
    "codebutler_cost_nanodollars_total",
    "codebutler_messages",
];

#[test]
fn what_each_hub_of_a_store_tells_is_shown_once() {
    let mut shown = BTreeSet::new();
    for (title, expr) in expressions(&board()) {
        for metric in words(&expr).filter(|word| TOLD_BY_EACH.contains(word)) {
            assert!(expr.contains("max"), "{title}: {expr}");
            shown.insert(metric.to_owned());
        }
    }
    assert_eq!(shown.len(), TOLD_BY_EACH.len(), "{shown:?}");
}

#[tokio::test]
async fn every_variable_is_defined_and_asks_for_what_there_is() {
    let (board, known) = (board(), scraped().await);
    let mut defined = BTreeSet::new();
    for variable in list(&board["templating"], "list") {
        let name = text(variable, "name");
        assert!(defined.insert(name), "{name} twice");
        match text(variable, "type") {
            "datasource" => assert_eq!(variable["query"], "prometheus"),
            "query" => {
                assert_eq!(variable["datasource"]["uid"], "${datasource}");
                let query = text(&variable["query"], "query");
                let Some(("label_values", rest)) = query.split_once('(') else {
                    panic!("{name}: {query}");
                };
                let mut rest = words(rest);
                let (metric, label) = (rest.next().unwrap(), rest.next().unwrap());
                let has =
                    |(labels, _): &(BTreeMap<String, String>, f64)| labels.contains_key(label);
                assert!(known[metric].iter().any(has), "{name}: {query}");
            }
            other => panic!("{name} is a {other}"),
        }
    }
    let used = expressions(&board).into_iter().map(|(_, expr)| expr);
    for expr in used.chain(["${datasource}".to_owned()]) {
        for rest in expr.split('$').skip(1) {
            let name = words(rest).next().unwrap();
            assert!(defined.contains(name), "{expr}: ${name} is not defined");
        }
    }
}

#[test]
fn prometheus_understands_every_expression() {
    let rules = expressions(&board()).into_iter().enumerate();
    let rules: Vec<Value> = rules
        .map(|(number, (_, expr))| {
            let expr = expr.replace("$repo", ".*");
            json!({"record": format!("panel:{number}"), "expr": expr})
        })
        .collect();
    // JSON is YAML.
    let groups = json!({"groups": [{"name": "dashboard", "rules": rules}]});
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rules.yml");
    fs::write(&file, groups.to_string()).unwrap();
    judged(&["check", "rules", file.to_str().unwrap()], "");
}
