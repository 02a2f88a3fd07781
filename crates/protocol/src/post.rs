//! The tag that our posts carry in Slack's message metadata. Slack allows only
//! strings, numbers and booleans (and flat objects of them) there, and every
//! member of the workspace can read it: it is small and holds no secret.

use serde::de::DeserializeOwned;
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
    pub kind: HandOverKind,
    /// Where the hub keeps the body.
    pub body: BodyRef,
    pub sha256: Sha256Hex,
}

/// What makes a post a decision card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardTag {
    pub request: RequestId,
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
    pub field: &'static str,
}

impl PostTag {
    /// A plain message.
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
    pub fn to_metadata(&self) -> Value {
        let to: Vec<&str> = self.to.iter().map(|role| role.as_str()).collect();
        let hand_over = self.hand_over.as_ref();
        let (card, item) = (self.card.as_ref(), self.item.as_ref());
        let fields = [
            ("v", json!(1)),
            ("idem", json!(self.idem)),
            ("from", json!(self.from)),
            ("to", json!(to.join(","))),
            ("heard", json!(self.heard)),
            ("kind", json!(hand_over.map(|tag| tag.kind))),
            ("ref", json!(hand_over.map(|tag| &tag.body))),
            ("sha256", json!(hand_over.map(|tag| &tag.sha256))),
            ("request", json!(card.map(|card| &card.request))),
            ("decision", json!(card.map(|card| card.kind))),
            ("subject", json!(card.map(|card| &card.sha256))),
            ("card", json!(card.and_then(|card| card.body.as_ref()))),
            ("run", json!(item.map(|item| &item.run))),
            ("item", json!(item.map(|item| item.number))),
            ("recording", json!(self.recording)),
        ];
        let said = fields.into_iter().filter(|(_, value)| !value.is_null());
        let payload: Map<String, Value> = said.map(|(name, value)| (name.into(), value)).collect();
        json!({"event_type": POST_EVENT_TYPE, "event_payload": payload})
    }

    /// Reads Slack's `metadata` object; `None` when it is not ours.
    /// Fails when it carries our event type and a field is missing or unreadable.
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
        let mut hand_over = None;
        if let Some(kind) = given(payload, "kind")? {
            let (body, sha256) = (read(payload, "ref")?, read(payload, "sha256")?);
            hand_over = Some(HandOverTag { kind, body, sha256 });
        }
        let mut card = None;
        if let Some(request) = given(payload, "request")? {
            card = Some(CardTag {
                request,
                kind: read(payload, "decision")?,
                sha256: read(payload, "subject")?,
                body: given(payload, "card")?,
            });
        }
        let mut item = None;
        if let Some(run) = given(payload, "run")? {
            let number = read(payload, "item")?;
            item = Some(ItemTag { run, number });
        }
        Ok(Some(Self {
            idem: read(payload, "idem")?,
            from: given(payload, "from")?,
            to,
            heard: payload.get("heard").and_then(Value::as_u64),
            hand_over,
            card,
            item,
            recording: given(payload, "recording")?,
        }))
    }
}

fn read<T: DeserializeOwned>(payload: &Value, field: &'static str) -> Result<T, TagError> {
    given(payload, field)?.ok_or(TagError { field })
}

/// A field that may be missing, but not be something else.
fn given<T: DeserializeOwned>(payload: &Value, field: &'static str) -> Result<Option<T>, TagError> {
    let read = |value: &Value| T::deserialize(value).map_err(|_| TagError { field });
    payload.get(field).map(read).transpose()
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
