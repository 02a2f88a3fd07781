//! The one way from a model's call to a running tool.
//!
//! [`Executor::judge`] repairs and checks the call and asks `policy`;
//! [`Executor::run`] takes the permit and runs the tool with deadline, cancel
//! and caps. Nothing else runs tools.

use std::{panic::AssertUnwindSafe, time::Duration};

use butler_policy::{Circumstances, Judgement, Permit, Refusal, surely_looks};
use butler_protocol::{CrashClass, Sha256Hex, Tier, ToolCall, ToolOutcome, ToolSpec};
use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;

use crate::{
    Registry, Tool, ToolContext,
    call::{fit, repair},
    content::clip,
    run::scripts,
};

/// How long a tool that was told to stop gets to say how far it came.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Judges and runs calls.
pub struct Executor {
    registry: Registry,
}

/// What the driver writes to the log before a call runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    pub crash: CrashClass,
    /// The hash of the arguments.
    pub sha256: Sha256Hex,
    /// What the tool needs to find out what happened.
    pub trace: Option<Value>,
}

impl Executor {
    /// An executor for these tools.
    pub fn new(registry: Registry) -> Self {
        Self { registry }
    }

    /// Its tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Whether a call runs, waits for a person, or is refused. Files that a
    /// command names are read beneath `c.root`.
    pub fn judge(&self, call: &ToolCall, c: &Circumstances<'_>) -> Judgement {
        let Some(tool) = self.registry.get(&call.name) else {
            return Judgement::Refuse(self.unknown(&call.name));
        };
        if let Some(problem) = &call.problem {
            return Judgement::Refuse(Refusal {
                rule: problem.clone(),
                instead: format!("send the call of {} again", call.name),
            });
        }
        let call = match self.fitted(call) {
            Ok(call) => call,
            Err(refusal) => return Judgement::Refuse(refusal),
        };
        let scripts = || match call.name.as_str() {
            "Bash" | "Screenshot" => scripts::bound_to(&call, c.root),
            _ => Vec::new(),
        };
        butler_policy::judge(&call, tool.tier_of(&call.arguments), scripts, c)
    }

    /// What is written to the log before the call runs; nothing for a call
    /// that cannot run.
    pub fn intent(&self, call: &ToolCall, context: &ToolContext) -> Option<Intent> {
        let tool = self.registry.get(&call.name)?;
        let fitted = self.fitted(call).ok()?;
        Some(Intent {
            crash: tool.crash(),
            sha256: Sha256Hex::of(call.arguments.to_string()),
            trace: tool.trace(&fitted.arguments, context),
        })
    }

    /// Runs a call that was permitted.
    pub fn run<'a>(
        &'a self,
        call: &'a ToolCall,
        permit: Permit,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let prepared = self.prepare(call, &permit);
            let (tool, input) = match prepared {
                Ok(prepared) => prepared,
                Err(outcome) => return outcome,
            };
            let own = context.for_call();
            let saved = match save_first(call, &permit, &own).await {
                Ok(saved) => saved,
                Err(outcome) => return outcome,
            };
            let deadline = tool.deadline(&input);
            let mut outcome =
                supervise(tool, deadline, &own, tool.run(&permit, &input, &own)).await;
            outcome.saved = saved;
            let mut outcome = own.described(outcome).await;
            let Some(spec) = self.registry.spec(&call.name) else {
                return outcome;
            };
            let strangers = repair::strangers(&spec.parameters, &call.arguments);
            if !strangers.is_empty() {
                let fields = fields(&spec.parameters);
                let text = outcome.text.trim_end();
                outcome.text = format!(
                    "{text}\nignored: {}; the fields are {fields}",
                    quoted(&strangers)
                );
            }
            outcome
        })
    }

    /// Runs the calls of one batch (see [`batches`](crate::batches)) at the same
    /// time; the outcomes come in the order of the calls.
    pub async fn run_batch(
        &self,
        calls: impl IntoIterator<Item = (&ToolCall, Permit)>,
        context: &ToolContext,
    ) -> Vec<ToolOutcome> {
        let runs = calls
            .into_iter()
            .map(|(call, permit)| self.run(call, permit, context));
        futures_util::future::join_all(runs).await
    }

    /// Finishes or reports a call that a crash interrupted.
    pub fn recover<'a>(
        &'a self,
        call: &'a ToolCall,
        permit: Permit,
        trace: Option<&'a Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let (tool, input) = match self.prepare(call, &permit) {
                Ok(prepared) => prepared,
                Err(outcome) => return outcome,
            };
            let own = context.for_call();
            let deadline = tool.deadline(&input);
            let work = tool.recover(&permit, &input, trace, &own);
            supervise(tool, deadline, &own, work).await
        })
    }

    fn prepare(&self, call: &ToolCall, permit: &Permit) -> Result<(&dyn Tool, Value), ToolOutcome> {
        let Some(tool) = self.registry.get(&call.name) else {
            return Err(ToolOutcome::error(self.unknown(&call.name).to_string()));
        };
        if permit.tool() != call.name || *permit.call() != call.id {
            return Err(ToolOutcome::error(
                "refused: the permit is for another call; this is a fault of the runtime",
            ));
        }
        match self.fitted(call) {
            Ok(call) => Ok((tool, call.arguments)),
            Err(refusal) => Err(ToolOutcome::error(refusal.to_string())),
        }
    }

    /// The call with its arguments as the tool's schema wants them.
    /// Fails: names everything that is wrong with them, and shows a call that is right.
    pub fn fitted(&self, call: &ToolCall) -> Result<ToolCall, Refusal> {
        let (Some(tool), Some(spec)) = (
            self.registry.get(&call.name),
            self.registry.spec(&call.name),
        ) else {
            return Err(self.unknown(&call.name));
        };
        let item = |field: &str, given: Value| tool.item(field, given);
        let fitted = fit::fit(&spec.parameters, &call.arguments, &item);
        fitted
            .map(|arguments| ToolCall {
                arguments,
                ..call.clone()
            })
            .map_err(|problems| misfit(call, spec, &problems))
    }

    fn unknown(&self, name: &str) -> Refusal {
        let near = self.registry.nearest(name);
        Refusal {
            rule: format!("there is no tool `{name}`"),
            instead: if near.is_empty() {
                "use one of the tools you were offered".to_owned()
            } else {
                format!("did you mean {}?", near.join(" or "))
            },
        }
    }
}

/// Tools that can delete or overwrite files of the worktree.
const CHANGING: [&str; 5] = ["Bash", "Write", "Edit", "RunChecks", "Screenshot"];

/// Saves the files before a call that may lose some; under which number they are.
/// What cannot be saved is not put at risk.
async fn save_first(
    call: &ToolCall,
    permit: &Permit,
    context: &ToolContext,
) -> Result<Option<u32>, ToolOutcome> {
    let Some(undo) = &context.undo else {
        if permit.must_save() {
            let text = "not run: the files cannot be saved here, so it could not be undone";
            return Err(ToolOutcome::error(text));
        }
        return Ok(None);
    };
    // The rules do not know all by which a program that looks can write.
    let looks =
        permit.tier() == Tier::Read && call.arguments["command"].as_str().is_none_or(surely_looks);
    if looks || !CHANGING.contains(&call.name.as_str()) {
        return Ok(None);
    }
    let about = ["command", "serve", "path", "file_path"];
    let about = about.iter().find_map(|name| call.arguments[*name].as_str());
    let about: String = about.unwrap_or_default().chars().take(80).collect();
    let why = format!("before {} {}", call.name, about.replace('\n', " "));
    match undo.save(why.trim(), context.cancel()).await {
        Ok(_) => Ok(undo.newest().await),
        Err(error) => {
            tracing::error!(%error, "the files could not be saved before a call");
            Err(ToolOutcome::error(format!(
                "not run: the files could not be saved first, so nothing could be undone: {error}"
            )))
        }
    }
}

/// Everything that is wrong with a call, and one that would be right.
fn misfit(call: &ToolCall, spec: &ToolSpec, problems: &[String]) -> Refusal {
    let strangers = repair::strangers(&spec.parameters, &call.arguments);
    let not = match strangers.as_slice() {
        [] => String::new(),
        strangers => format!(", not {}", quoted(strangers)),
    };
    let example = spec.description.rsplit_once("Example: ");
    let example = example.map_or_else(String::new, |(_, call)| format!("; as in {}", call.trim()));
    Refusal {
        rule: format!("bad input for {}: {}", call.name, problems.join("; ")),
        instead: format!("the fields are {}{not}{example}", fields(&spec.parameters)),
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn fields(schema: &Value) -> String {
    let Some(fields) = schema["properties"].as_object() else {
        return "none".to_owned();
    };
    let required = schema["required"].as_array();
    let names: Vec<String> = fields
        .keys()
        .map(|name| {
            let needed = required.is_some_and(|list| list.iter().any(|field| field == name));
            format!("`{name}`{}", if needed { "" } else { " (optional)" })
        })
        .collect();
    names.join(", ")
}

/// Waits for a tool within its deadline, and catches what should not happen.
async fn supervise(
    tool: &dyn Tool,
    deadline: Duration,
    context: &ToolContext,
    work: BoxFuture<'_, ToolOutcome>,
) -> ToolOutcome {
    let mut work = AssertUnwindSafe(work).catch_unwind();
    let name = tool.name();
    let stopped = tokio::select! {
        biased;
        done = &mut work => return finish(name, context, done),
        () = context.cancel().cancelled() => format!("stopped: {name} was stopped by a person or by the shutdown"),
        () = tokio::time::sleep(deadline) => format!("timed out: {name} did not finish within {} s; ask for less at once", deadline.as_secs()),
    };
    // Reaches child processes and walks; what they have so far is worth keeping.
    context.cancel().cancel();
    match tokio::time::timeout(LAST_WORDS, &mut work).await {
        Ok(Ok(last)) => finish(
            name,
            context,
            Ok(ToolOutcome {
                ok: false,
                text: format!("{stopped}\n{}", last.text),
                ..last
            }),
        ),
        Ok(Err(panic)) => finish(name, context, Err(panic)),
        Err(_) => ToolOutcome::error(stopped),
    }
}

fn finish(
    name: &str,
    context: &ToolContext,
    done: Result<ToolOutcome, Box<dyn std::any::Any + Send>>,
) -> ToolOutcome {
    match done {
        Ok(mut outcome) => {
            outcome.text =
                clip::head_and_tail(&outcome.text, context.result_bytes, "ask for less at once");
            outcome
        }
        Err(_) => {
            tracing::error!(tool = name, "a tool panicked");
            ToolOutcome::error(format!(
                "{name} failed inside CodeButler; this is a fault of the runtime, try another way"
            ))
        }
    }
}
