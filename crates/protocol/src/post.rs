//! The tag that our posts carry in Slack's message metadata. Slack allows only
//! strings, numbers and booleans (and flat objects of them) there, and every
//! member of the workspace can read it: it is small and holds no secret.

use serde_json::{Map, Value, json};

use crate::{BodyRef, DecisionKind, HandOverKind, Idem, ItemTag, RequestId, Role, Sha256Hex};

/// The `event_type` of our metadata.
pub(crate) const POST_EVENT_TYPE: &str = "codebutler_post";

/// What a post says about itself to the hub and to the other roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostTag {
    /// The same key gets the first answer again.
    pub idem: Idem,
    /// Who posts. The hub overwrites it from the token.
    pub from: Option<Role>,
    /// Who is addressed. Between agents only this counts, never the text.
    pub to: Vec<Role>,
    /// The last event of the thread that the sender knew of when it began what
    /// this post belongs to. The hub refuses what was begun before a stop.
    pub heard: Option<u64>,
    /// Set when the post is a hand-over.
    pub hand_over: Option<HandOverTag>,
    /// Set when the post is a decision card.
    pub card: Option<CardTag>,
    /// Set when the post opens the thread of an item.
    pub item: Option<ItemTag>,
    /// Set when the post says what was said in a recording: the id of its file.
    pub recording: Option<String>,
}

/// The pointer to a hand-over's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOverTag {
    /// What kind.
    pub kind: HandOverKind,
    /// Where the hub keeps the body.
    pub body: BodyRef,
    /// The body's hash.
    pub sha256: Sha256Hex,
}

/// What makes a post a decision card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardTag {
    /// Its id.
    pub request: RequestId,
    /// What is being decided.
    pub kind: DecisionKind,
    /// The hash of exactly what would happen.
    pub sha256: Sha256Hex,
    /// Where the hub keeps what it draws the card from ([`crate::CardBody`]).
    pub body: Option<BodyRef>,
}

/// Metadata that claims to be ours and is not well-formed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("post metadata: `{field}` is missing or not understood")]
pub struct TagError {
    /// Which field.
    pub field: &'static str,
}

impl PostTag {
    /// A plain message.
    #[must_use]
    pub fn message(idem: Idem, to: Vec<Role>) -> Self {
        Self {
            idem,
            from: None,
            to,
            heard: None,
            hand_over: None,
            card: None,
            item: None,
            recording: None,
        }
    }

    /// As Slack's `metadata` object.
    #[must_use]
    pub fn to_metadata(&self) -> Value {
        let mut payload = Map::new();
        payload.insert("v".into(), json!(1));
        payload.insert("idem".into(), json!(self.idem));
        if let Some(from) = self.from {
            payload.insert("from".into(), json!(from));
        }
        let to: Vec<&str> = self.to.iter().map(|role| role.as_str()).collect();
        payload.insert("to".into(), json!(to.join(",")));
        if let Some(heard) = self.heard {
            payload.insert("heard".into(), json!(heard));
        }
        if let Some(tag) = &self.hand_over {
            payload.insert("kind".into(), json!(tag.kind));
            payload.insert("ref".into(), json!(tag.body));
            payload.insert("sha256".into(), json!(tag.sha256));
        }
        if let Some(card) = &self.card {
            payload.insert("request".into(), json!(card.request));
            payload.insert("decision".into(), json!(card.kind));
            payload.insert("subject".into(), json!(card.sha256));
            if let Some(body) = &card.body {
                payload.insert("card".into(), json!(body));
            }
        }
        if let Some(item) = &self.item {
            payload.insert("run".into(), json!(item.run));
            payload.insert("item".into(), json!(item.number));
        }
        if let Some(file) = &self.recording {
            payload.insert("recording".into(), json!(file));
        }
        json!({"event_type": POST_EVENT_TYPE, "event_payload": payload})
    }

    /// Reads Slack's `metadata` object; `None` when it is not ours.
    ///
    /// # Errors
    /// When it carries our event type and a field is missing or unreadable.
    pub fn from_metadata(metadata: &Value) -> Result<Option<Self>, TagError> {
        if metadata.get("event_type").and_then(Value::as_str) != Some(POST_EVENT_TYPE) {
            return Ok(None);
        }
        let payload = metadata.get("event_payload").unwrap_or(&Value::Null);
        let to = match payload.get("to").and_then(Value::as_str) {
            None | Some("") => Vec::new(),
            Some(words) => words
                .split(',')
                .map(|word| word.parse().map_err(|_| TagError { field: "to" }))
                .collect::<Result<_, _>>()?,
        };
        let hand_over = if payload.get("kind").is_some() {
            Some(HandOverTag {
                kind: read(payload, "kind")?,
                body: read(payload, "ref")?,
                sha256: read(payload, "sha256")?,
            })
        } else {
            None
        };
        let card = if payload.get("request").is_some() {
            Some(CardTag {
                request: read(payload, "request")?,
                kind: read(payload, "decision")?,
                sha256: read(payload, "subject")?,
                body: payload
                    .get("card")
                    .map(|_| read(payload, "card"))
                    .transpose()?,
            })
        } else {
            None
        };
        let item = if payload.get("run").is_some() {
            Some(ItemTag {
                run: read(payload, "run")?,
                number: read(payload, "item")?,
            })
        } else {
            None
        };
        Ok(Some(Self {
            idem: read(payload, "idem")?,
            from: payload
                .get("from")
                .map(|_| read(payload, "from"))
                .transpose()?,
            to,
            heard: payload.get("heard").and_then(Value::as_u64),
            hand_over,
            card,
            item,
            recording: payload
                .get("recording")
                .map(|_| read(payload, "recording"))
                .transpose()?,
        }))
    }
}

fn read<T: serde::de::DeserializeOwned>(
    payload: &Value,
    field: &'static str,
) -> Result<T, TagError> {
    payload
        .get(field)
        .and_then(|value| T::deserialize(value).ok())
        .ok_or(TagError { field })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_survives_slack() {
        let tag = PostTag {
            idem: Idem::new("abc"),
            from: Some(Role::Pm),
            to: vec![Role::Coder, Role::Lead],
            heard: Some(7),
            hand_over: Some(HandOverTag {
                kind: HandOverKind::Task,
                body: BodyRef::new("b1"),
                sha256: Sha256Hex::of("x"),
            }),
            card: Some(CardTag {
                request: RequestId::new("r1"),
                kind: DecisionKind::Plan,
                sha256: Sha256Hex::of("y"),
                body: Some(BodyRef::new("b2")),
            }),
            item: Some(ItemTag {
                run: RequestId::new("r2"),
                number: 3,
            }),
            recording: Some("F1".to_owned()),
        };
        let metadata = tag.to_metadata();
        assert_eq!(PostTag::from_metadata(&metadata), Ok(Some(tag)));
        let flat = metadata["event_payload"].as_object().unwrap();
        assert!(
            flat.values()
                .all(|v| v.is_string() || v.is_number() || v.is_boolean())
        );
    }

    #[test]
    fn foreign_metadata_is_not_ours_and_broken_metadata_names_the_field() {
        assert_eq!(
            PostTag::from_metadata(&json!({"event_type": "other"})),
            Ok(None)
        );
        assert_eq!(PostTag::from_metadata(&Value::Null), Ok(None));
        let broken = json!({"event_type": POST_EVENT_TYPE, "event_payload": {"to": "pm"}});
        assert_eq!(
            PostTag::from_metadata(&broken),
            Err(TagError { field: "idem" })
        );
        let broken =
            json!({"event_type": POST_EVENT_TYPE, "event_payload": {"idem": "a", "to": "boss"}});
        assert_eq!(
            PostTag::from_metadata(&broken),
            Err(TagError { field: "to" })
        );
    }
}
