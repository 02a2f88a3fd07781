//! Start: the PM's model chooses a workflow or a skill by its name, where no words
//! of the person did. What is started is what its own words would start. When
//! several fit, the person gets a menu, and a press starts what it names.

use butler_playbook::{ONE_ITEM, Shortcut};
use butler_protocol::{EventId, HandOver, Record, Speaker, Then, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::tools::{Answer, CallContext, ChatTool, OrFailed, refuse};
use crate::{
    AgentError,
    decide::roadmap,
    develop::item,
    listen::{buttons, shortcut},
    thread::tool_session,
};

pub(crate) struct Start;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The workflow or skill.
    #[serde(default)]
    name: String,
    /// What a skill needs, as "target: notes.sh".
    #[serde(default)]
    values: Vec<String>,
    /// Instead of `name`, when you are unsure: two to five that fit.
    #[serde(default)]
    choices: Vec<String>,
}

impl ChatTool for Start {
    type Input = Input;

    const NAME: &'static str = "Start";
    const TOLD: &'static str = "Starts a workflow or skill of this team by its name, when a request means one in \
             other words. You get its steps and tools, or its role gets them and reports. With \
             `choices` the person presses one, and you are done. Example: {\"name\": \"explain\", \
             \"values\": [\"target: notes.sh\"]}";

    /// Values come as an object too, one or several in it.
    fn item(field: &str, given: Value) -> Value {
        match (field, given) {
            ("values", Value::Object(map)) if map.len() == 1 => {
                let pair = map.into_iter().next();
                pair.map_or(Value::Null, |(name, value)| match value {
                    Value::String(value) => Value::String(format!("{name}: {value}")),
                    value => Value::String(format!("{name}: {value}")),
                })
            }
            (_, given) => given,
        }
    }

    async fn act(context: &CallContext<'_>, input: Input) -> Answer {
        let name = Some(input.name.as_str()).filter(|name| !name.trim().is_empty());
        match (name, input.choices.as_slice()) {
            (Some(name), []) => begin(context, name, &input.values).await,
            (None, [name]) => begin(context, name, &input.values).await,
            (None, []) => refuse(
                "`name` is missing: the workflow or skill to start; or give `choices`, two or more for the person to choose from",
            ),
            (_, choices) => offer(context, choices).await,
        }
    }
}

async fn begin(context: &CallContext<'_>, name: &str, values: &[String]) -> Answer {
    let playbook = context.agent.playbook().await;
    let shortcut = playbook.shortcut_named(context.role(), name, values);
    match shortcut.or_else(|problem| refuse(format!("refused: {problem}")))? {
        Shortcut::PassOn { to, text } => {
            let (call, body) = (context.id(), HandOver::Question { to, text });
            let given = context.give(call, context.idem(call), body).await;
            given.or_failed("it was not handed over")?;
            Ok(ToolOutcome::ok(format!("the {} has it", to.title())).then(Then::PassOn))
        }
        // A choice of the model is no exact word of a person: the plan is approved.
        Shortcut::Build { plan } => Ok(ToolOutcome::ok(shortcut::to_propose(&plan))),
        Shortcut::Own { note } => {
            let tools = tool_session::offered_for(context, &note);
            if tools.len() > tool_session::offered(context).len() {
                context.bring(tools);
            }
            let brought = match item(context, name, values).await {
                Ok(None) => roadmap::brought(context, &note).await,
                item => item,
            };
            let brought = brought.or_failed("the roadmap could not be read")?;
            Ok(ToolOutcome::ok(match brought {
                None => note,
                Some(text) => format!("{note}\n\n{text}"),
            }))
        }
        Shortcut::Menu { .. } | Shortcut::Open => refuse("refused: that is nothing to be started"),
    }
}

/// The item of the roadmap that the workflow for one builds; the log says from then
/// on which one it is.
async fn item(
    context: &CallContext<'_>,
    name: &str,
    values: &[String],
) -> Result<Option<String>, AgentError> {
    if name.trim() != ONE_ITEM {
        return Ok(None);
    }
    let digits = values
        .iter()
        .flat_map(|value| value.split(|c: char| !c.is_ascii_digit()));
    let wanted = digits.filter_map(|number| number.parse().ok()).next();
    let (number, text) = item::told(wanted, &roadmap::now(context).await?);
    if let Some(number) = number {
        context.write(Record::User {
            event: Some(EventId::item(number, context.id().as_str())),
            ts: None,
            speaker: Speaker::Runtime,
            text: format!("This thread builds item {number} of the roadmap."),
            images: Vec::new(),
        });
    }
    Ok(Some(text))
}

async fn offer(context: &CallContext<'_>, choices: &[String]) -> Answer {
    let playbook = context.agent.playbook().await;
    let menu = playbook.menu_of(choices);
    let (text, names) = menu.or_else(|problem| refuse(format!("refused: {problem}")))?;
    let messages = context.poster.web.replies(&context.thread).await;
    let messages = messages.or_failed("the thread could not be read")?;
    let Some(key) = shortcut::menu_key(context, &messages, context.id()) else {
        return refuse("refused: no person has said anything in this thread");
    };
    let buttons = buttons::menu(&names);
    let offered = context.poster.offer(&context.thread, key, &text, &buttons);
    offered.await.or_failed("the menu was not posted")?;
    Ok(ToolOutcome::ok("the person chooses; what they press is started").then(Then::End))
}
