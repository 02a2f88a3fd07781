//! Images from a prompt, and images changed by one, as OpenAI's endpoints take
//! them. Never sends `response_format`: the image models always answer in
//! base64 and refuse the field.

use base64::{Engine, engine::general_purpose::STANDARD};
use butler_vocab::Usd;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{ErrorClass, ModelClient, ModelError, Trouble};

/// More images than an edit may take.
const MOST_SOURCES: usize = 16;

/// What is to be painted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageOrder {
    /// The model that paints.
    pub model: String,
    /// What to paint, or what to change.
    pub prompt: String,
    /// As in `1024x1024`; nothing lets the model choose.
    pub size: Option<String>,
    /// As in `low` or `high`; nothing lets the model choose.
    pub quality: Option<String>,
    /// Whether the background is to be see-through.
    pub transparent: bool,
    /// The images to change; none paints a new one.
    pub sources: Vec<Picture>,
}

/// An image as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The file's name; its ending says what it is.
    pub name: String,
    /// As in `image/png`.
    pub kind: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// What came of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Painted {
    /// The images.
    pub pictures: Vec<Picture>,
    /// What they cost.
    pub cost: Usd,
}

impl ModelClient {
    /// Paints, or changes what `order` brings along.
    ///
    /// # Errors
    /// As [`ModelClient::complete`]; [`ErrorClass::Malformed`] when no image came.
    pub async fn paint(
        &self,
        order: &ImageOrder,
        cancel: &CancellationToken,
    ) -> Result<Painted, ModelError> {
        if order.sources.len() > MOST_SOURCES {
            let detail = format!("at most {MOST_SOURCES} images can be changed at once");
            return Err(ErrorClass::Rejected.with(Trouble::new(&order.model, detail)));
        }
        let answer = if order.sources.is_empty() {
            let url = self.config().endpoint.url("images/generations");
            let body = Value::Object(fields(order).into_iter().collect());
            self.service(&order.model, cancel, || {
                self.http().post(url.clone()).json(&body)
            })
            .await?
        } else {
            let url = self.config().endpoint.url("images/edits");
            self.service(&order.model, cancel, || {
                self.http().post(url.clone()).multipart(form(order))
            })
            .await?
        };
        let pictures = pictures(&answer);
        if pictures.is_empty() {
            let detail = "the answer holds no image";
            return Err(ErrorClass::Malformed.with(Trouble::new(&order.model, detail)));
        }
        let cost = self.service_cost(&order.model, answer.get("usage"));
        Ok(Painted {
            pictures,
            cost: cost.unwrap_or(Usd::ZERO),
        })
    }
}

fn fields(order: &ImageOrder) -> Vec<(String, Value)> {
    let mut fields = vec![
        ("model".to_owned(), json!(order.model)),
        ("prompt".to_owned(), json!(order.prompt)),
        ("n".to_owned(), json!(1)),
        ("output_format".to_owned(), json!("png")),
    ];
    let chosen = [("size", &order.size), ("quality", &order.quality)];
    for (name, value) in chosen {
        if let Some(value) = value {
            fields.push((name.to_owned(), json!(value)));
        }
    }
    if order.transparent {
        fields.push(("background".to_owned(), json!("transparent")));
    }
    fields
}

fn form(order: &ImageOrder) -> Form {
    let mut form = Form::new();
    for (name, value) in fields(order) {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        form = form.text(name, text);
    }
    let name = if order.sources.len() == 1 {
        "image"
    } else {
        "image[]"
    };
    for source in &order.sources {
        let part = Part::bytes(source.bytes.clone()).file_name(source.name.clone());
        // A kind that is none would be refused; without one the name decides.
        let part = part
            .mime_str(&source.kind)
            .unwrap_or_else(|_| Part::bytes(source.bytes.clone()).file_name(source.name.clone()));
        form = form.part(name, part);
    }
    form
}

fn pictures(answer: &Value) -> Vec<Picture> {
    let format = answer.get("output_format").and_then(Value::as_str);
    let format = format.unwrap_or("png");
    let data = answer.get("data").and_then(Value::as_array);
    let texts = data.into_iter().flatten();
    texts
        .filter_map(|item| item.get("b64_json")?.as_str())
        .filter_map(|text| STANDARD.decode(text).ok())
        .enumerate()
        .map(|(number, bytes)| Picture {
            name: format!("image-{}.{format}", number + 1),
            kind: format!("image/{format}"),
            bytes,
        })
        .collect()
}
