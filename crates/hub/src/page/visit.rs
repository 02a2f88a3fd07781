//! Who asks for a page, and whether for all of it or for the parts that change.

use std::sync::Arc;

use axum::{Router, extract::FromRequestParts, http::request::Parts, routing::MethodRouter};
use maud::Markup;

use super::{Shown, Turned, layout::Around, look::Reader};
use crate::{hub::App, identity::Person, person_api::Somebody};

/// A request of somebody who is let in; others are shown the way in.
pub(crate) struct Visit {
    pub(crate) app: Arc<App>,
    pub(crate) person: Person,
    /// Only the parts that change: a page has a twin of them at `…/live`.
    pub(crate) live: bool,
}

impl FromRequestParts<Arc<App>> for Visit {
    type Rejection = Turned;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Turned> {
        let Somebody { app, person } = Somebody::from_request_parts(parts, app).await?;
        Ok(Self {
            app,
            person,
            live: parts.uri.path().ends_with("/live"),
        })
    }
}

impl Visit {
    pub(crate) fn reader(&self) -> Reader {
        Reader::new(&self.app, self.person.clone())
    }

    /// What was asked for of a view that holds everything.
    pub(crate) fn draw<V>(
        &self,
        view: &V,
        page: impl FnOnce(&V) -> Markup,
        parts: impl FnOnce(&V) -> Markup,
    ) -> Shown {
        Ok(if self.live { parts(view) } else { page(view) })
    }

    /// The same where only the whole page needs what stands around it.
    pub(crate) async fn within(
        &self,
        page: impl FnOnce(&Around) -> Markup,
        parts: impl FnOnce() -> Markup,
    ) -> Shown {
        if self.live {
            return Ok(parts());
        }
        let reader = self.reader();
        let around = self.app.read(move |db| reader.around(db, None)).await?;
        Ok(page(&around))
    }
}

/// A page and its twin.
pub(crate) fn with_twin(
    router: Router<Arc<App>>,
    (path, page): (&str, MethodRouter<Arc<App>>),
) -> Router<Arc<App>> {
    let twin = format!("{path}/live");
    router.route(path, page.clone()).route(&twin, page)
}
