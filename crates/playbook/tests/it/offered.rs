//! Which tools a role is really offered: policy's list, filtered by the tools
//! that exist. The native ones come from their registry. The chat tools need a
//! running agent, so their names are read from the sources of `team`; that way
//! a new one is noticed here on the day it is added.

use std::{fs, path::Path};

use butler_policy::default_tools;
use butler_toolbox::{Hit, Registry, Search, Web};
use butler_vocab::Role;
use futures_util::future::BoxFuture;

/// Stands for a configured search engine; nothing here searches.
struct Engine;

impl Search for Engine {
    fn search<'a>(
        &'a self,
        _query: &'a str,
        _limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

pub fn native() -> Registry {
    Registry::native_with(Web::default(), Some(Box::new(Engine)))
}

fn team_tools() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../team/src/tools")
}

/// The chat tools by name.
pub fn chat() -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(team_tools()).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        for body in source.split("fn name(&self) -> &'static str {").skip(1) {
            names.extend(body.split('"').nth(1).map(str::to_owned));
        }
    }
    names.sort();
    names
}

/// The kinds of hand-over that the tool takes.
pub fn hand_over_kinds() -> Vec<String> {
    let source = fs::read_to_string(team_tools().join("hand_over.rs")).unwrap();
    let body = source.split("enum Kind {").nth(1).unwrap();
    let body = body.split('}').next().unwrap();
    let variants = body
        .lines()
        .filter_map(|line| line.trim().strip_suffix(','));
    variants.map(snake).collect()
}

fn snake(variant: &str) -> String {
    let mut out = String::new();
    for letter in variant.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

/// Every tool there is.
pub fn existing() -> Vec<String> {
    let native = native();
    native.names().map(str::to_owned).chain(chat()).collect()
}

/// What a role is offered, in order.
pub fn offered(role: Role) -> Vec<String> {
    let existing = existing();
    let names = default_tools(role).iter().map(|name| (*name).to_owned());
    names.filter(|name| existing.contains(name)).collect()
}

#[test]
fn the_sources_of_the_chat_tools_are_understood() {
    let chat = chat();
    for name in [
        "SendMessage",
        "AskUser",
        "HandOver",
        "ProposePlan",
        "ProposeMerge",
    ] {
        assert!(
            chat.iter().any(|found| found == name),
            "{name} is not in {chat:?}"
        );
    }
    let kinds = hand_over_kinds();
    assert!(
        kinds.iter().any(|kind| kind == "ready_for_review"),
        "{kinds:?}"
    );
}
