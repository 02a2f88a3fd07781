//! Start: the PM's model chooses a workflow or a skill by its name, where no words
//! of the person did. What is started is what its own words would start. When
//! several fit, the person gets a menu, and a press starts what it names.

use butler_playbook::{ONE_ITEM, Shortcut};
use butler_policy::Permit;
use butler_protocol::{
    CallId, EventId, HandOver, Record, Role, Speaker, Then, ToolOutcome, ToolSpec,
};
use butler_tools::ToolContext;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{ChatTool, failed, spec};
use crate::{
    AgentError,
    decide::roadmap,
    develop::item,
    listen::{buttons, shortcut},
    thread::{context::ThreadContext, tool_session},
};

pub(crate) struct Start(pub ThreadContext);

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

    fn told() -> ToolSpec {
        spec::<Input>(
            Self::NAME,
            "Starts a workflow or skill of this team by its name, when a request means one in \
             other words. You get its steps and tools, or its role gets them and reports. With \
             `choices` the person presses one, and you are done. Example: {\"name\": \"explain\", \
             \"values\": [\"target: notes.sh\"]}",
        )
    }

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

    async fn act(&self, permit: &Permit, input: Input, context: &ToolContext) -> ToolOutcome {
        let name = Some(input.name.as_str()).filter(|name| !name.trim().is_empty());
        let values = &input.values;
        match (name, input.choices.as_slice()) {
            (Some(name), []) => self.begin(permit, name, values, context).await,
            (None, [name]) => self.begin(permit, name, values, context).await,
            (None, []) => ToolOutcome::error(
                "`name` is missing: the workflow or skill to start; or give `choices`, two or more for the person to choose from",
            ),
            (_, choices) => self.offer(permit.call(), choices).await,
        }
    }
}

impl Start {
    async fn begin(
        &self,
        permit: &Permit,
        name: &str,
        values: &[String],
        tool_context: &ToolContext,
    ) -> ToolOutcome {
        let context = &self.0;
        let playbook = context.agent.playbook().await;
        match playbook.shortcut_named(context.role(), name, values) {
            Err(problem) => ToolOutcome::error(format!("refused: {problem}")),
            Ok(Shortcut::PassOn { to, text }) => self.pass_on(permit.call(), to, text).await,
            // A choice of the model is no exact word of a person: the plan is approved.
            Ok(Shortcut::Build { plan }) => ToolOutcome::ok(shortcut::to_propose(&plan)),
            Ok(Shortcut::Own { note }) => {
                let tools = tool_session::offered_for(context, &note);
                if tools.len() > tool_session::offered(context).len() {
                    context.bring(tools);
                }
                let cancel = tool_context.cancel();
                let brought = match self.item(permit, name, values, cancel).await {
                    Ok(None) => roadmap::brought(context, &note, cancel).await,
                    item => item,
                };
                match brought {
                    Err(error) => failed("the roadmap could not be read", &error),
                    Ok(None) => ToolOutcome::ok(note),
                    Ok(Some(text)) => ToolOutcome::ok(format!("{note}\n\n{text}")),
                }
            }
            Ok(Shortcut::Menu { .. } | Shortcut::Open) => {
                ToolOutcome::error("refused: that is nothing to be started")
            }
        }
    }

    /// The item of the roadmap that the workflow for one builds; the log says from then
    /// on which one it is.
    async fn item(
        &self,
        permit: &Permit,
        name: &str,
        values: &[String],
        cancel: &CancellationToken,
    ) -> Result<Option<String>, AgentError> {
        if name.trim() != ONE_ITEM {
            return Ok(None);
        }
        let digits = values
            .iter()
            .flat_map(|value| value.split(|c: char| !c.is_ascii_digit()));
        let wanted = digits.filter_map(|number| number.parse().ok()).next();
        let (number, text) = item::told(wanted, &roadmap::now(&self.0, cancel).await?);
        if let Some(number) = number {
            self.0.write(Record::User {
                event: Some(EventId::item(number, permit.call().as_str())),
                ts: None,
                speaker: Speaker::Runtime,
                text: format!("This thread builds item {number} of the roadmap."),
                images: Vec::new(),
            });
        }
        Ok(Some(text))
    }

    async fn pass_on(&self, call: &CallId, to: Role, text: String) -> ToolOutcome {
        let context = &self.0;
        let body = HandOver::Question { to, text };
        let key = context.idem(call);
        match context.poster.hand_over(&context.thread, key, &body).await {
            Err(error) => failed("it was not handed over", &error),
            Ok(_) => {
                context.write(Record::Gave {
                    call: call.clone(),
                    hand_over: Box::new(body),
                });
                ToolOutcome::ok(format!("the {} has it", to.title())).then(Then::PassOn)
            }
        }
    }

    async fn offer(&self, call: &CallId, choices: &[String]) -> ToolOutcome {
        let context = &self.0;
        let playbook = context.agent.playbook().await;
        let (text, names) = match playbook.menu_of(choices) {
            Ok(menu) => menu,
            Err(problem) => return ToolOutcome::error(format!("refused: {problem}")),
        };
        let messages = match context.poster.web.replies(&context.thread).await {
            Ok(messages) => messages,
            Err(error) => return failed("the thread could not be read", &error),
        };
        let Some(key) = shortcut::menu_key(context, &messages, call) else {
            return ToolOutcome::error("refused: no person has said anything in this thread");
        };
        let buttons = buttons::menu(&names);
        let offered = context
            .poster
            .offer(&context.thread, key, &text, &buttons)
            .await;
        match offered {
            Err(error) => failed("the menu was not posted", &error),
            Ok(_) => {
                ToolOutcome::ok("the person chooses; what they press is started").then(Then::End)
            }
        }
    }
}
