//! Rules that tie several keys of one file together.

use std::path::Path;

use url::{Host, Url};

use crate::{
    file::{
        document::{Document, Field, Kind},
        problem::Problem,
    },
    machine::Machine,
};

/// Of the machine config: the default endpoint exists, no role has two, and
/// with several endpoints it is clear which one is asked.
pub(crate) fn machine(document: &Document) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report = |line, key: &str, what: &str, remedy: String| {
        let problem = Problem::with_file(&document.file, what, remedy);
        problems.push(problem.at(line, key));
    };
    let Some(models) = document.root.get("models").map(|field| &field.value) else {
        return problems;
    };
    let listed = models.get("endpoints");
    let endpoints = listed.map_or(&[][..], |field| field.value.fields());
    let mut names = vec!["openrouter", "openai"];
    names.retain(|name| document.root.get(name).is_some());
    names.splice(0..0, endpoints.iter().map(|one| one.key.as_str()));
    if let Some(default) = models.get("default")
        && let Kind::Text(name) = &default.value.kind
        && !names.contains(&name.as_str())
    {
        let remedy = format!("Name one of: {}", names.join(", "));
        report(default.line, "models.default", "names no endpoint", remedy);
    }
    let mut claimed: Vec<&str> = Vec::new();
    for endpoint in endpoints {
        for role in texts(endpoint.value.get("roles")) {
            if claimed.contains(&role) {
                let key = format!("models.endpoints.{}.roles", endpoint.key);
                let remedy = format!("Name {role} in one endpoint only");
                let what = "another endpoint has this role";
                report(endpoint.line, &key, what, remedy);
            }
            claimed.push(role);
        }
    }
    let is_free = |one: &&Field| texts(one.value.get("roles")).next().is_none();
    let free = endpoints.iter().filter(is_free);
    if free.count() > 1 && models.get("default").is_none() && !names.contains(&"openrouter") {
        let remedy = "Add \"default\" with the name of one".to_owned();
        let line = listed.map_or(models.line, |field| field.line);
        let what = "several endpoints and no default";
        report(line, "models.default", what, remedy);
    }
    problems
}

fn texts(field: Option<&Field>) -> impl Iterator<Item = &str> {
    let items = match field.map(|field| &field.value.kind) {
        Some(Kind::List(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter().filter_map(|item| match &item.kind {
        Kind::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// A key that travels in the clear is worth a word.
pub(crate) fn machine_notices(machine: &Machine, file: &Path) -> Vec<Problem> {
    let endpoints = machine.endpoints().into_iter();
    let clear = endpoints.filter(|(_, one)| one.api_key.is_some() && in_the_clear(&one.base_url));
    let models = clear.map(|(name, _)| format!("models.endpoints.{name}.baseUrl"));
    let search = &machine.search;
    let address = search.url.iter().filter(|_| search.api_key.is_some());
    let search = address.filter(|url| in_the_clear(url));
    let forges = machine.forges.iter();
    let forges = forges
        .filter(|(_, one)| one.token.is_some() && one.url.as_deref().is_some_and(in_the_clear));
    models
        .chain(search.map(|_| "search.url".to_owned()))
        .chain(forges.map(|(host, _)| format!("forges.{host}.url")))
        .map(|key| {
            let what = "the key travels over http, readable by everybody on the way";
            let problem = Problem::with_file(file, what, "Use https");
            Problem { key, ..problem }
        })
        .collect()
}

fn in_the_clear(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else {
        return false;
    };
    let loopback = match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.scheme() == "http" && !loopback
}
