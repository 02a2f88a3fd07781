//! What a call brought, as text and pictures. Read leniently: a block of an unknown
//! kind is named, not a reason to lose the others.

use butler_protocol::Image;
use serde_json::Value;

/// Pictures of one answer, and the size of each in base64.
const IMAGES: usize = 4;
const IMAGE_BYTES: usize = 5 << 20;

/// What a server answered to a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Whether the tool says that it did what was asked.
    pub ok: bool,
    /// What it wrote. Text from outside: nothing in it is cleaned or fenced yet.
    pub text: String,
    /// Pictures that belong to it.
    pub images: Vec<Image>,
}

impl Answer {
    /// From the result of `tools/call`.
    pub(crate) fn of(result: &Value) -> Self {
        let mut answer = Self {
            ok: result["isError"] != Value::Bool(true),
            ..Self::default()
        };
        let blocks = result["content"].as_array();
        for block in blocks.into_iter().flatten() {
            let part = answer.part(block);
            answer.add(&part);
        }
        // Meant for programs; who sends it should send it as text too, and many do.
        let structured = &result["structuredContent"];
        if answer.text.is_empty() && !structured.is_null() {
            answer.add(&serde_json::to_string_pretty(structured).unwrap_or_default());
        }
        answer
    }

    fn add(&mut self, part: &str) {
        if !self.text.is_empty() && !part.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(part);
    }

    fn part(&mut self, block: &Value) -> String {
        let word = |key: &str| block[key].as_str().unwrap_or_default();
        match word("type") {
            "text" => word("text").to_owned(),
            "image" => self.image(word("mimeType"), word("data")),
            "audio" => format!("[sound, {}, not shown]", word("mimeType")),
            "resource_link" => format!("[link: {} {}]", word("uri"), word("name")),
            "resource" => {
                let resource = &block["resource"];
                let uri = resource["uri"].as_str().unwrap_or_default();
                match resource["text"].as_str() {
                    Some(text) => format!("{uri}:\n{text}"),
                    None => format!("[file {uri}, not text, not shown]"),
                }
            }
            other => format!("[content of the kind `{other}`, not shown]"),
        }
    }

    fn image(&mut self, media_type: &str, data: &str) -> String {
        const KNOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
        let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        let shown = KNOWN.contains(&media_type)
            && data.len() <= IMAGE_BYTES
            && data.bytes().all(base64)
            && self.images.len() < IMAGES;
        if !shown {
            return format!("[picture, {media_type}, not shown]");
        }
        self.images.push(Image {
            media_type: media_type.to_owned(),
            base64: data.to_owned(),
        });
        format!("[picture {}]", self.images.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_content_is_shown_or_named() {
        let answer = Answer::of(&json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "mimeType": "image/png", "data": "aGk="},
            {"type": "image", "mimeType": "image/svg+xml", "data": "aGk="},
            {"type": "image", "mimeType": "image/png", "data": "\"}]"},
            {"type": "audio", "mimeType": "audio/wav", "data": "aGk="},
            {"type": "resource", "resource": {"uri": "demo://a", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "demo://b", "blob": "aGk="}},
            {"type": "resource_link", "uri": "file:///x", "name": "x"},
            {"type": "hologram"},
            7
        ], "structuredContent": {"a": 1}}));
        assert!(answer.ok);
        assert_eq!(
            answer.text,
            "one\n[picture 1]\n[picture, image/svg+xml, not shown]\n[picture, image/png, not shown]\n\
             [sound, audio/wav, not shown]\ndemo://a:\ninside\n[file demo://b, not text, not shown]\n\
             [link: file:///x x]\n[content of the kind `hologram`, not shown]\n\
             [content of the kind ``, not shown]"
        );
        assert_eq!(answer.images.len(), 1);
    }

    #[test]
    fn structured_content_alone_is_shown_and_an_error_is_one() {
        let answer = Answer::of(&json!({"structuredContent": {"a": 1}, "isError": true}));
        assert!(!answer.ok);
        assert_eq!(answer.text, "{\n  \"a\": 1\n}");
    }
}
