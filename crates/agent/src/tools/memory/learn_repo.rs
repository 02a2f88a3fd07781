//! LearnRepo: the Lead's way to have the project maps made. Code finds what changed
//! since each map, and only the roles whose map that touches are asked, at once.

use std::{fmt::Write, time::Duration};

use butler_playbook::{ProjectMap, map_in, role_file};
use butler_policy::Duty;
use butler_protocol::{HandOver, Role, ToolOutcome, Waiting, count_of};
use schemars::JsonSchema;
use serde::Deserialize;

use super::propose_learnings::let_go;
use crate::{
    AgentError, ThreadContext,
    thread::context::request_nth,
    tools::{Answer, CallContext, ChatTool, OrFailed, SLOW, cards::park},
    upkeep::tree::{Changed, Tree},
};

/// Who explores, and what each looks for.
const VIEWS: [(Role, &str); 4] = [
    (
        Role::Pm,
        "what people can do with it: features, where each begins (commands, pages, routes, public functions), what it depends on outside",
    ),
    (
        Role::Coder,
        "how it is built: parts and what each is for, how data flows, conventions, how to build it and run the tests, and one test",
    ),
    (
        Role::Reviewer,
        "what can go wrong: what the tests cover and what not, linters and checks, fragile or security-relevant places, what must never break",
    ),
    (
        Role::Artist,
        "what people see: screens, output formats, styles, components, texts, assets. If people see nothing of it, one fact that says so",
    ),
];

/// More of a diff is read with GitDiff.
const DIFF_CHARS: usize = 6_000;

pub(crate) struct LearnRepo;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// true: also where nothing changed since the last map.
    #[serde(default)]
    everything: bool,
}

impl ChatTool for LearnRepo {
    type Input = Input;

    const NAME: &'static str = "LearnRepo";
    const DEADLINE: Duration = SLOW;

    const TOLD: &'static str = "Asks PM, Coder, Reviewer and Artist for their project maps, all at once, and sleeps until \
             they are there. Who has a map is asked only when the code it names has changed, and told \
             what. Then write the map of what all should know with SaveMap. Example: {}";

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let wanted = wanted(context, input.everything)
            .await
            .or_failed("the tree could not be read")?;
        if wanted.is_empty() {
            let root = context.tools.workplace().root();
            let gone = match let_go(context, root).await? {
                0 => String::new(),
                count => format!("; {} may go, each on a card", count_of(count, "learning")),
            };
            return Ok(ToolOutcome::ok(format!(
                "nothing that the project maps name has changed since they were made{gone}: say so, \
                 and that `learn everything` makes them anew"
            )));
        }
        for (number, (role, text)) in (0..).zip(&wanted) {
            let (to, text) = (*role, text.clone());
            let key = context.idem_for(&request_nth(context.id(), number), "map");
            let asked = context.give(context.id(), key, HandOver::MapWanted { to, text });
            asked.await.or_failed("a role was not asked")?;
        }
        let from: Vec<Role> = wanted.into_iter().map(|(role, _)| role).collect();
        let names: Vec<&str> = from.iter().map(|role| role.title()).collect();
        let said = format!("asked: {}; their maps come together", names.join(", "));
        let deadline_ms = context.agent.answer_by_ms();
        Ok(park(said, Waiting::Replies { deadline_ms, from }))
    }
}

/// Who is asked, and what each is told.
async fn wanted(
    context: &ThreadContext,
    everything: bool,
) -> Result<Vec<(Role, String)>, AgentError> {
    let repo = &context.agent.repo;
    let names = VIEWS.map(|(role, _)| role_file(role).name);
    let (head, texts) = repo.memory_files(&names, &context.cancel).await?;
    let tree = Tree::at(repo, &head).await?;
    let mut wanted = Vec::new();
    for ((role, view), text) in VIEWS.into_iter().zip(texts) {
        let map = ProjectMap::parse(&map_in(&text.unwrap_or_default()));
        let since = match map.at.as_str() {
            "" => None,
            at => Changed::between(repo, at, &head).await?,
        };
        match since.filter(|_| !everything) {
            None => wanted.push((role, whole(view, &tree, map.at.is_empty()))),
            Some(changed) => {
                let own = changed.touching(&map.paths(), Duty::Build.is_of(role));
                let gone = tree.lacks(&map.paths());
                if !own.is_empty() || !gone.is_empty() {
                    let diff = changed.diff(repo, &own, &head, DIFF_CHARS).await?;
                    wanted.push((role, news(&own, &gone, &diff)));
                }
            }
        }
    }
    Ok(wanted)
}

/// What a role without a map is told.
fn whole(view: &str, tree: &Tree, first: bool) -> String {
    let again = if first {
        ""
    } else {
        " Your old map is in your instructions: a place that is not worth naming any more gets an empty `what`."
    };
    format!(
        "The team gets to know this repository. Make your project map: {view}.{again}\n\n\
         Two turns are enough: in the first read what you need with several calls at once (README, \
         manifests, entry points, then what your view needs); in the second call `SaveMap`. Name \
         files and code as they are: what is not in the tree is refused. 8 to 20 places that a \
         newcomer needs; not what every name says by itself.\n\n{}",
        tree.listing()
    )
}

/// What a role is told whose map is not of this tree any more.
fn news(own: &[String], gone: &[String], diff: &str) -> String {
    let mut text =
        "The code has changed since your project map was made. Look only at what changed, \
        then call `SaveMap` with the places that are new or different; what you do not name stays. \
        The diff below is usually enough: one turn.\n"
            .to_owned();
    if !gone.is_empty() {
        let _ = write!(
            text,
            "\nYour map names, and the tree has no more: {}. Give each place an empty `what`, or \
             its new words under the new path.\n",
            gone.join(", ")
        );
    }
    if !own.is_empty() {
        let _ = write!(text, "\nChanged:\n- {}\n\n{diff}", own.join("\n- "));
    }
    text
}
