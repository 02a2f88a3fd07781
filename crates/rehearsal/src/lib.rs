//! A model server that plays a scenario instead of thinking.
//!
//! It speaks the chat-completions API, streaming and not, and it says that it
//! is a rehearsal: the models are called `rehearsal/<role>`. Everything around
//! it is real, so it drives the demo, the end-to-end tests and the benches.
//!
//! # The scenario file
//!
//! YAML, one file per story. `scenario.schema.json` beside this crate is its JSON
//! Schema ([`Scenario::schema`]), for editors; [`Scenario::parse`] reads it, and
//! [`Scenario::check`] finds tools and fields that do not exist.
//!
//! ```yaml
//! title: add a --shout flag
//! price: { input: 1.00, output: 4.00 }       # dollars per million tokens
//! roles:
//!   pm:
//!     - call: [{ tool: Grep, with: { pattern: "fn main" } }]
//!       say: Let me look.                    # text beside calls is progress
//!     - when: { tool_result_contains: "no matches" }
//!       say: I cannot find the program. Where is it?
//!     - capture: { file: { from: tool_result, regex: '(\S+\.rs):\d+' } }
//!       call: [{ tool: ProposePlan, with: { summary: "edit ${file}" } }]
//!   coder:
//!     - when: { interrupted: true }          # an emergency exit, see below
//!       call: [{ tool: Bash, with: { command: "git status --short" } }]
//! ```
//!
//! # How a step is chosen
//!
//! From the messages of the request alone, so that a killed and restarted agent
//! gets the same answer to the same history:
//!
//! 1. The answers in the history are matched, in order, with the role's steps.
//!    A step is *played* when its answer appears as often as its `repeat` says
//!    (once). A step without `when` also counts as passed when a later one
//!    without `when` appears, so a shortened history does not start over.
//! 2. If the newest tool results say "interrupted", the first unplayed step
//!    with `interrupted: true` is given, wherever it stands in the list.
//! 3. Otherwise the first step that is neither played nor passed, and whose
//!    `when` holds, is given. So a branch stands before the step it replaces.
//! 4. If that step has an `expect` that does not hold, the request is off the
//!    script; so is one for which no step is left. People get a friendly text;
//!    in strict mode the answer is HTTP 400 with what came and what was expected.
//! 5. A request that offers no tools (a summary for compaction, a ping, a draft)
//!    gets only steps with `tools_offered: false`, else a built-in summary, or a
//!    person's notes back as they are.
//! 6. An answer whose calls a person stopped does not count: it is given again.
//!
//! # People who do not keep to the script
//!
//! `person_said` holds when a person spoke since the last answer; the words that
//! open the story do not count. `since` looks at what was heard since a tool was
//! called last. With an `aside`, a role that is spoken to while it works says it
//! along with its next step (SendMessage). [`Scenario::with_shared`] adds branches
//! that several stories share, [`Scenario::paced`] makes answers take their time.
//!
//! Conditions look at messages and tool results, never at the system prompt.
//!
//! The one thing that is remembered between requests is how often a fault was
//! already played at the same place of a conversation (`times`, once): the
//! retry of a request that met a 429 has the same history as the request itself.

mod answer;
mod check;
mod fault;
mod history;
mod manual_model;
mod manual_request;
mod off_script;
mod play;
mod render;
mod scenario;
mod script;
mod server;
mod unify;

pub use manual_model::{ManualModel, manual_model};
pub use off_script::OffScript;
pub use play::Played;
pub use scenario::{Scenario, ScenarioError};
pub use server::Rehearsal;

pub(crate) use fault::{Fault, FaultKind};
pub(crate) use play::PlayedCall;
pub(crate) use script::{Call, Script, Source, Step, When};
