//! Which tools a role is really offered: policy's list, filtered by the tools
//! that exist, native ones and those of `team`.

use butler_policy::{Right, default_tools, right};
use butler_protocol::Role;
use butler_tools::Registry;

pub(crate) fn native() -> Registry {
    Registry::native()
}

/// The chat tools by name.
pub(crate) fn chat() -> Vec<String> {
    let specs = butler_agent::chat_specs(None).into_iter();
    specs.map(|spec| spec.name).collect()
}

/// The kinds of hand-over that the tool takes.
pub(crate) fn hand_over_kinds() -> Vec<String> {
    let mut specs = butler_agent::chat_specs(None).into_iter();
    let spec = specs.find(|spec| spec.name == "HandOver").unwrap();
    let kinds = &spec.parameters["properties"]["kind"]["enum"];
    serde_json::from_value(kinds.clone()).unwrap()
}

/// Every tool there is.
pub(crate) fn existing() -> Vec<String> {
    let native = native();
    native.names().map(str::to_owned).chain(chat()).collect()
}

/// What a role is offered, in order.
pub(crate) fn offered(role: Role) -> Vec<String> {
    let existing = existing();
    let names = default_tools(role).iter().map(|name| (*name).to_owned());
    names.filter(|name| existing.contains(name)).collect()
}

/// What a skill of a role may name: what it is offered, and what it gets when the
/// skill asks for it.
pub(crate) fn for_skill(role: Role) -> Vec<String> {
    let may = |name: &String| right(role, name) != Right::No;
    let mut names = offered(role);
    let more = existing().into_iter().filter(may);
    let more: Vec<String> = more.filter(|name| !names.contains(name)).collect();
    names.extend(more);
    names
}

#[test]
fn the_chat_tools_and_their_kinds_are_found() {
    assert!(chat().contains(&"HandOver".to_owned()), "{:?}", chat());
    let kinds = hand_over_kinds();
    assert!(kinds.contains(&"ready_for_review".to_owned()), "{kinds:?}");
}
