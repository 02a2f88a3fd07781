//! What is asked of a model, in our own words.

use std::sync::Arc;

use butler_protocol::{ModelMessage, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The id of the model, as the endpoint's list spells it.
    pub model: String,
    /// Answers when `model` fails after its retries, or when its breaker is open.
    pub fallback: Option<String>,
    /// The conversation, the prompt first. Shared, so that a long one is neither
    /// copied nor compared word by word for every turn.
    pub messages: Vec<Arc<ModelMessage>>,
    /// The tools, in their fixed order; they are part of the cached prefix. Shared, as
    /// the messages are.
    pub tools: Arc<[ToolSpec]>,
    /// The most tokens the answer may have, reasoning included.
    pub max_tokens: u32,
    /// Keeps a conversation at one provider, so that its cache is hit: one per role and thread.
    pub session: Option<String>,
    /// A stable pseudonym of the person, so that a provider's block hits nobody else.
    pub user: Option<String>,
    /// How long a cached prefix should live.
    pub cache: CacheLife,
    /// How much to think, where the provider lets us choose.
    pub effort: Option<Effort>,
    /// OpenRouter's `provider` object (privacy, price limits), from configuration.
    pub routing: Option<Value>,
    /// Whether to stream; not streaming is for peers that cannot.
    pub stream: bool,
}

impl ModelRequest {
    /// A streaming request with 8K tokens of output and nothing else.
    pub fn new<M: Into<Arc<ModelMessage>>>(
        model: impl Into<String>,
        messages: impl IntoIterator<Item = M>,
    ) -> Self {
        Self {
            model: model.into(),
            fallback: None,
            messages: messages.into_iter().map(Into::into).collect(),
            tools: Arc::default(),
            max_tokens: 8192,
            session: None,
            user: None,
            cache: CacheLife::Off,
            effort: None,
            routing: None,
            stream: true,
        }
    }
}

/// How long the provider should keep the prefix, where it has to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheLife {
    /// A single question: writing the cache would cost more than it saves.
    #[default]
    Off,
    /// Five minutes, refreshed by use: a working agent.
    Short,
    /// An hour: a person answers in between.
    Long,
}

/// How much a reasoning model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// As little as the model allows.
    Minimal,
    /// A little.
    Low,
    /// The usual.
    Medium,
    /// A lot.
    High,
}

/// What is heard of an answer while it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    /// The next piece of text.
    Text(&'a str),
    /// The attempt failed and what was heard is void; another one follows.
    Again,
}

/// Listens to an answer while it comes.
pub(crate) type OnText<'a> = &'a (dyn Fn(Heard<'_>) + Send + Sync);
