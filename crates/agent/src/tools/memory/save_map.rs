//! SaveMap: a role's project map, in one form. Every file and every name of code in it
//! is looked up in the tree first. The Lead's map is the one for all; with it the maps
//! of the others go before a person, on one card.

use std::time::Duration;

use butler_playbook::{ProjectMap, all_lines, builtin_file, map_in, role_file};
use butler_policy::Duty;
use butler_protocol::{
    HandOver, MapChange, MapsSubject, RequestId, Role, Subject, Then, ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::propose_learnings::let_go;
use crate::tools::{Answer, CallContext, ChatTool, OrFailed, SLOW, decide, refuse};
use crate::{AgentError, ThreadContext, decide::cards::NewCard, upkeep::tree::Tree};

/// A map is read in every prompt.
const MOST_PLACES: usize = 40;
const MOST_FACTS: usize = 12;

pub(crate) struct SaveMap;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Each with `path` (a file or folder) and `what` (one line); an empty `what` takes it out.
    #[serde(default)]
    places: Vec<Place>,
    /// What holds for the whole, a line each; given ones replace the old ones.
    #[serde(default)]
    facts: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Place {
    path: String,
    #[serde(default)]
    what: String,
}

impl ChatTool for SaveMap {
    type Input = Input;

    const NAME: &'static str = "SaveMap";
    const DEADLINE: Duration = SLOW;

    const TOLD: &'static str = "Saves your project map, and ends your part. Code and files that it names must exist; \
             places that you do not name stay as they were. The Lead's map is for everybody, and \
             brings all maps before the person on one card. Example: {\"places\": [{\"path\": \
             \"src/list.py\", \"what\": \"reads and prints notes, `main()`\"}], \"facts\": [\"the \
             tests run with `pytest`\"]}";

    /// Places come as `path: what` too.
    fn item(field: &str, given: Value) -> Value {
        match (field, given) {
            ("places", Value::String(text)) => {
                let (path, what) = text.split_once(": ").unwrap_or((text.as_str(), ""));
                serde_json::json!({"path": path.trim_matches(['-', ' ', '`']), "what": what})
            }
            (_, given) => given,
        }
    }

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let made = made(context, input)
            .await
            .or_failed("the map could not be checked")?;
        let change = made.or_else(refuse)?;
        if !Duty::Remember.is_of(context.role()) {
            let (from, call) = (context.role(), context.id());
            let body = HandOver::Map { from, change };
            let given = context.give(call, context.idem(call), body).await;
            given.or_failed("the map was not handed over")?;
            return Ok(ToolOutcome::ok("the Lead has your map").then(Then::PassOn));
        }
        let shown = show(context, change).await;
        let_go(context, context.tools.workplace().root()).await?;
        shown
    }
}

/// The file whose map a role makes: the Lead's is for all.
fn file_of(role: Role) -> &'static str {
    match role {
        Role::Lead => "global.md",
        role => role_file(role).name,
    }
}

/// What becomes of the role's map, or what is wrong with it.
async fn made(
    context: &ThreadContext,
    input: Input,
) -> Result<Result<MapChange, String>, AgentError> {
    let agent = &context.agent;
    let file = file_of(context.role());
    let (head, texts) = agent.repo.memory_files(&[file], &context.cancel).await?;
    let shipped = || builtin_file(file).map_or("", |file| file.text).to_owned();
    let text = texts.into_iter().next().flatten().unwrap_or_else(shipped);
    let before = map_in(&text);
    let mut map = ProjectMap::parse(&before);
    let places = input.places.into_iter();
    let places: Vec<_> = places
        .map(|place| (agent.clean(&place.path), agent.clean(&place.what)))
        .collect();
    let facts: Vec<_> = input.facts.iter().map(|fact| agent.clean(fact)).collect();
    map.take(&places, &facts);
    map.at = head.as_str().chars().take(12).collect();
    if let Some(wrong) = size(&map) {
        return Ok(Err(wrong));
    }
    let tree = Tree::at(&agent.repo, &head).await?;
    let lacking = tree.lacking(&agent.repo, &head, &map).await?;
    if !lacking.is_empty() {
        return Ok(Err(format!(
            "refused: this is not in the tree at {}: {}. Look each up with Glob or Grep, correct it \
             or leave it out, and save again",
            map.at,
            lacking.join(", ")
        )));
    }
    Ok(Ok(MapChange {
        file: file.to_owned(),
        diff: all_lines(&before, &map.render()),
    }))
}

fn size(map: &ProjectMap) -> Option<String> {
    let (places, facts) = (map.places.len(), map.facts.len());
    if places == 0 && facts == 0 {
        return Some("`places` and `facts` are empty: what should be on the map?".to_owned());
    }
    (places > MOST_PLACES || facts > MOST_FACTS).then(|| {
        format!(
            "refused: {places} places and {facts} facts are more than a prompt should carry; keep \
             the {MOST_PLACES} places and {MOST_FACTS} facts that a newcomer needs most"
        )
    })
}

async fn show(context: &CallContext<'_>, own: MapChange) -> Answer {
    let mut files = vec![own];
    files.extend(context.facts().cards.maps.iter().cloned());
    files.retain(|change| change.before() != change.after());
    if files.is_empty() {
        let same = "the maps are as they were, so there is nothing to accept";
        return Ok(ToolOutcome::ok(same));
    }
    let subject = Subject::Maps(Box::new(MapsSubject { files }));
    let card = NewCard::new(RequestId::of(context.id()), subject);
    decide(context, card, "the project maps are waiting for the person").await
}
