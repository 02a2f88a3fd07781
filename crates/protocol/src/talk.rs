//! The conversation with a model, in our own words. `turn` folds the log into
//! these, `model` puts them on the wire of whichever provider answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallId, TokenUsage, Usd};

/// One message of the conversation with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ModelMessage {
    /// The prompt. First, and only once.
    System { text: String },
    /// Whatever is said to the model: people, other roles, the runtime.
    User {
        /// Its text, speakers labelled.
        text: String,
        /// Pictures that belong to it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// What the model answered.
    Assistant {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// The provider's reasoning blocks, returned unchanged to the same model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<Value>,
    },
    /// The result of one tool call.
    Tool { call: CallId, text: String },
}

/// A picture for a model that can see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// As in `image/png`.
    pub media_type: String,
    /// The bytes in base64.
    pub base64: String,
}

impl Image {
    /// A picture from the bytes of its file.
    pub fn new(media_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.into(),
            base64: data_encoding::BASE64.encode(bytes),
        }
    }

    /// The bytes of its file; nothing when it is torn.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        data_encoding::BASE64.decode(self.base64.as_bytes()).ok()
    }
}

/// A tool call as it is stored and sent back: valid JSON, our own id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Made by us from the place of the call, not taken from the provider.
    pub id: CallId,
    pub name: String,
    /// Its arguments, always an object.
    pub arguments: Value,
    /// Set when what the model sent could not be read; the call is answered with
    /// this text and never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// What, when, when not, the shape of the result, one example.
    pub description: String,
    /// A flat JSON schema of type object.
    pub parameters: Value,
}

/// What a model answered, read and repaired.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// Text, when there was any that is not blank.
    pub text: Option<String>,
    /// Tool calls in order.
    pub calls: Vec<RepliedCall>,
    /// The provider's reasoning blocks, kept as they came.
    pub reasoning: Option<Value>,
    /// The output was cut at its limit.
    pub cut: bool,
    pub usage: TokenUsage,
    pub cost: Usd,
    pub model: String,
}

/// A tool call as a model sent it, before it gets an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepliedCall {
    /// The tool's name as sent.
    pub name: String,
    /// Its arguments, repaired; an empty object when they could not be.
    pub arguments: Value,
    /// Why they could not be read, for the model.
    pub problem: Option<String>,
}
