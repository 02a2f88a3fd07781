//! One file by itself: a long text from its beginning, a table, a picture, a recording.
//! It shows what the browser may see and leads to the rest.

use std::sync::Arc;

use axum::{Router, extract::Path, routing::get};
use butler_protocol::ChannelId;
use maud::{Markup, html};

use crate::{
    hub::App,
    page::{
        Here, Live, Shown, layout,
        render::attached::{self, size},
        visit::Visit,
    },
    web_api::file_transfer,
    workspace::files::{self, File},
};

/// How much of a text is shown; the rest is saved and read elsewhere.
const LINES: usize = 2_000;
const BYTES: usize = 200_000;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/f/{id}", get(page))
}

async fn page(visit: Visit, Path(id): Path<String>) -> Shown {
    let reader = file_transfer::Reader::Person(visit.person.id.as_str().to_owned());
    let (file, bytes) = file_transfer::fetched(&visit.app, reader, id).await?;
    let here = file.channel.as_ref().map_or(Here::Needs, Here::Channel);
    let content = content(&file, &bytes);
    let live = Live::default();
    let page = |around: &_| layout::page(&file.name, here, around, &live, &content);
    visit.within(page, || content.clone()).await
}

fn content(file: &File, bytes: &[u8]) -> Markup {
    let link = format!("/files/{}", file.id);
    let back = file.channel.as_ref().map(ChannelId::as_str);
    html! {
        header.top {
            h1 { (file.title) }
            p.soft { (size(file.length)) " · "
                a href={ (link) "?download=1" } download { "Download" }
                @if let Some(channel) = back { " · " a href={ "/c/" (channel) } { "Back to the channel" } } }
            @if files::misnamed(&file.name, file.mimetype) { p { span.chip { "not what its name says" } } }
        }
        div.page.one-file {
            @if files::is_text(file.mimetype) {
                (text(file, bytes))
            } @else if file.mimetype.starts_with("audio/") {
                audio controls src=(link) aria-label={ "Recording " (file.title) } {}
            } @else if files::is_shown_in_place(file.mimetype) {
                a.zoom href=(link) { img src=(link) alt=(file.title); }
            } @else if file.mimetype == "application/pdf" {
                p { a href=(link) target="_blank" rel="noopener" { "Open it in the browser" } }
            } @else {
                p { "Files of this kind are not shown here; they can be saved." }
            }
        }
    }
}

/// The beginning of a text, whole lines of it.
fn text(file: &File, bytes: &[u8]) -> Markup {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(BYTES)]);
    let lines = head.split_inclusive('\n').count().min(LINES);
    let mut shown: String = head.split_inclusive('\n').take(lines).collect();
    let whole = shown.len() >= bytes.len();
    if !whole && let Some(end) = shown.rfind('\n') {
        shown.truncate(end + 1);
    }
    html! {
        @if !whole {
            p.soft { "Its beginning, " (shown.lines().count()) " lines. Download it to read on." }
        }
        (attached::body(&shown, &file.name))
    }
}
