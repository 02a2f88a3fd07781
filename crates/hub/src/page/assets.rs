//! The page's own files, built into the binary.

use axum::{
    extract::Path,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

/// Name, kind, text.
const FILES: &[(&str, &str, &str)] = &[
    ("style.css", CSS, include_str!("assets/style.css")),
    ("content.css", CSS, include_str!("assets/content.css")),
    ("page.js", JS, include_str!("assets/page.js")),
    ("live.js", JS, include_str!("assets/live.js")),
    ("swap.js", JS, include_str!("assets/swap.js")),
    ("forms.js", JS, include_str!("assets/forms.js")),
    ("composer.js", JS, include_str!("assets/composer.js")),
    ("keys.js", JS, include_str!("assets/keys.js")),
    ("clock.js", JS, include_str!("assets/clock.js")),
    ("views.css", CSS, include_str!("assets/views.css")),
    ("review.css", CSS, include_str!("assets/review.css")),
    ("log.js", JS, include_str!("assets/log.js")),
    ("notify.js", JS, include_str!("assets/notify.js")),
    ("sw.js", JS, include_str!("assets/sw.js")),
    ("palette.js", JS, include_str!("assets/palette.js")),
    ("permalink.js", JS, include_str!("assets/permalink.js")),
    ("work.js", JS, include_str!("assets/work.js")),
    ("zoom.js", JS, include_str!("assets/zoom.js")),
    ("chosen.js", JS, include_str!("assets/chosen.js")),
    ("work.css", CSS, include_str!("assets/work.css")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
    (
        "signs.svg",
        "image/svg+xml",
        include_str!("assets/signs.svg"),
    ),
    (
        "waiting.svg",
        "image/svg+xml",
        include_str!("assets/waiting.svg"),
    ),
];

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// The service worker; its reach is what lies below its own address.
pub(super) async fn service_worker() -> Response {
    serve(Path("sw.js".to_owned())).await
}

pub(super) async fn serve(Path(name): Path<String>) -> Response {
    let found = FILES.iter().find(|(known, _, _)| *known == name);
    let Some((_, kind, text)) = found else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, *kind),
        // A new binary brings new files under the same names.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, *text).into_response()
}
