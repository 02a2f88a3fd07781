//! GenerateImage and EditImage: a picture by the repository's image model, paid like any
//! other call, posted in the thread and put before a person with Accept, Change and
//! Discard. It is kept with the thread's files before it is settled: paid once.

use std::time::Duration;

use butler_model::{Drawing, ModelClient};
use butler_protocol::{
    Idem, Image, PictureSubject, RequestId, Reservation, ReserveId, Sha256Hex, Subject, TokenUsage,
    Usd,
};
use butler_tools::picture_type;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::{Answer, CallContext, ChatTool, OrFailed, decide, refuse};
use crate::{
    AgentError, Images,
    decide::cards::NewCard,
    thread::{
        side_call::{self, set_aside, settle},
        worker::attached,
    },
};

/// Longer than the client waits.
const DEADLINE: Duration = Duration::from_secs(300);
/// Endpoints take no more pictures at once.
const MOST_FROM: usize = 16;

pub(crate) struct GenerateImage;
pub(crate) struct EditImage;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Generate {
    /// What it shows, in which style, on what ground.
    prompt: String,
    /// Its file name, as empty-list.png.
    name: String,
    /// As 1024x1024 or 1536x1024.
    #[serde(default)]
    size: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Edit {
    /// What becomes different, and what stays.
    prompt: String,
    /// The file name of the result.
    name: String,
    /// Paths of the pictures that it is made from.
    from: Vec<String>,
}

impl ChatTool for GenerateImage {
    type Input = Generate;

    const NAME: &'static str = "GenerateImage";
    const DEADLINE: Duration = DEADLINE;

    const TOLD: &'static str = "Makes a picture, which costs money, shows it in the thread with Accept, Change and \
             Discard, and sleeps until a person chose. For an asset that no drawing in code can \
             be; icons and layouts are better as SVG or CSS. Accepted ones are kept in git. \
             Example: {\"prompt\": \"an empty tray, flat, two greys on white\", \"name\": \
             \"empty-list.png\", \"size\": \"1024x1024\"}";

    async fn act(context: &CallContext<'_>, input: Generate) -> Answer {
        let wanted = Wanted {
            prompt: input.prompt,
            name: input.name,
            size: input.size.filter(|size| !size.trim().is_empty()),
            from: Vec::new(),
        };
        make(context, wanted).await
    }
}

impl ChatTool for EditImage {
    type Input = Edit;

    const NAME: &'static str = "EditImage";
    const DEADLINE: Duration = DEADLINE;

    const TOLD: &'static str = "Makes a picture from others, as GenerateImage does from words alone. Example: \
             {\"prompt\": \"the same tray, blue instead of grey\", \"name\": \"empty-list.png\", \
             \"from\": [\".codebutler/artist/assets/empty-list.png\"]}";

    async fn act(context: &CallContext<'_>, input: Edit) -> Answer {
        if input.from.is_empty() || input.from.len() > MOST_FROM {
            return refuse(format!(
                "`from` is missing: 1 to {MOST_FROM} pictures; without one use GenerateImage"
            ));
        }
        let mut from = Vec::new();
        for path in &input.from {
            match context.tools.outgoing(None, path) {
                Ok(file) if picture_type(&file.1).is_some() => from.push(file),
                Ok(_) => return refuse(format!("failed: `{path}` is no picture")),
                Err(why) => return refuse(format!("failed: {why}")),
            }
        }
        let wanted = Wanted {
            prompt: input.prompt,
            name: input.name,
            size: None,
            from,
        };
        make(context, wanted).await
    }
}

struct Wanted {
    prompt: String,
    name: String,
    size: Option<String>,
    from: Vec<(String, Vec<u8>)>,
}

/// A picture that was paid.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Made {
    picture: Image,
    cost: Usd,
    usage: TokenUsage,
}

async fn make(context: &CallContext<'_>, wanted: Wanted) -> Answer {
    let rules = context.agent.rules();
    let Some(images) = &rules.models.images else {
        return refuse(
            "failed: no model makes pictures here (`models.artist.imageModel` in \
             `.codebutler/config.json`); describe it, or draw it as SVG",
        );
    };
    if wanted.prompt.trim().is_empty() {
        return refuse("`prompt` is missing: what the picture shows");
    }
    let paid = paid(context, images, &wanted).await;
    let made = paid
        .or_failed("the picture could not be made")?
        .or_else(|problem| refuse(format!("failed: {problem}")))?;
    show(context, images, wanted, made).await
}

/// The picture, from an earlier try where it was paid then.
async fn paid(
    context: &CallContext<'_>,
    images: &Images,
    wanted: &Wanted,
) -> Result<Result<Made, String>, AgentError> {
    let short = context.thread.short();
    let id = ReserveId::new(format!(
        "{short}-{}-picture-{}",
        context.role(),
        context.id()
    ));
    let folder = attached::folder_of(&context.agent, &short);
    let (kept, name) = (context.id().to_string(), "made.json");
    if let Some(made) = side_call::kept::<Made>(&folder, &kept, name).await {
        let paid = (made.cost, made.usage, images.model.clone());
        context.write(settle(context, id, paid).await?);
        return Ok(Ok(made));
    }
    let worst = Reservation {
        id: id.clone(),
        thread: context.thread.clone(),
        person: None,
        amount: images.worst_case(),
        heard: context.poster.heard,
    };
    if let Err(reason) = set_aside(&context.poster, &worst).await? {
        return Ok(Err(reason));
    }
    let (made, cost, usage) = match drawn(images, wanted).await {
        Ok(made) => {
            let (cost, usage) = (made.cost, made.usage);
            (Ok(made), cost, usage)
        }
        Err((problem, cost)) => (Err(problem), cost, TokenUsage::default()),
    };
    if let Ok(made) = &made {
        side_call::keep(folder, &kept, name, made).await;
    }
    let paid = (cost, usage, images.model.clone());
    context.write(settle(context, id, paid).await?);
    Ok(made)
}

async fn drawn(images: &Images, wanted: &Wanted) -> Result<Made, (String, Usd)> {
    let told = |problem: String| (problem, Usd::ZERO);
    let client = ModelClient::new(images.client.clone()).map_err(|e| told(e.to_string()))?;
    let drawing = Drawing {
        model: &images.model,
        prompt: wanted.prompt.trim(),
        size: wanted.size.as_deref(),
        from: &wanted.from,
    };
    let cancel = tokio_util::sync::CancellationToken::new();
    let drawn = client.draw(drawing, &cancel).await;
    let drawn = drawn.map_err(|error| (error.to_string(), error.spent()))?;
    let cost = images.cost(drawn.billed, &drawn.usage);
    let Some(kind) = picture_type(&drawn.bytes) else {
        return Err((
            "what came is no whole PNG, JPEG or WebP picture".to_owned(),
            cost,
        ));
    };
    Ok(Made {
        picture: Image::new(kind, &drawn.bytes),
        cost,
        usage: drawn.usage,
    })
}

/// In the thread, and before a person.
async fn show(context: &CallContext<'_>, images: &Images, wanted: Wanted, made: Made) -> Answer {
    let name = file_name(&wanted.name, &made.picture.media_type);
    let bytes = made.picture.bytes().unwrap_or_default();
    let sha256 = Sha256Hex::of(&bytes);
    let idem = Idem::new(format!("{}-picture", context.idem(context.id())));
    let text = format!("`{name}`, made by `{}`, {}", images.model, made.cost);
    let files = vec![(name.clone(), bytes)];
    let poster = &context.poster;
    let shown = poster.show(&context.thread, idem, &text, Vec::new(), files);
    let (_, ids) = shown.await.or_failed("the picture was not posted")?;
    let subject = PictureSubject {
        name,
        prompt: wanted.prompt.trim().to_owned(),
        made_from: wanted.from.into_iter().map(|(name, _)| name).collect(),
        model: images.model.clone(),
        cost: made.cost,
        file: ids.into_iter().next().unwrap_or_default(),
        sha256,
    };
    let card = NewCard::new(
        RequestId::of(context.id()),
        Subject::Picture(Box::new(subject)),
    );
    let said = "the picture is in the thread and waits for a person; you see it below";
    let outcome = decide(context, card, said).await?;
    Ok(outcome.showing(made.picture))
}

/// Plain letters, and the ending that its bytes have.
fn file_name(wanted: &str, media_type: &str) -> String {
    let stem = wanted.rsplit_once('.').map_or(wanted, |(stem, _)| stem);
    let plain = stem.to_lowercase();
    let plain = plain.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let plain: String = plain.trim_matches('-').chars().take(60).collect();
    let ending = match media_type {
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        _ => "png",
    };
    match plain.is_empty() {
        true => format!("picture.{ending}"),
        false => format!("{plain}.{ending}"),
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn a_name_stays_in_its_folder() {
        assert_eq!(file_name("Empty List.PNG", "image/png"), "empty-list.png");
        assert_eq!(file_name("../../etc/x.sh", "image/jpeg"), "etc-x.jpg");
        assert_eq!(file_name("...", "image/webp"), "picture.webp");
    }
}
