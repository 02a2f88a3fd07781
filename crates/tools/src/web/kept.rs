//! Pages that were fetched a moment ago. A long page is read in parts, and several
//! questions of a thread lead to the same one: it is asked for once.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::Page;

/// After that a page is another one.
const FRESH: Duration = Duration::from_secs(15 * 60);
/// What all pages together may take.
const BYTES: usize = 24 << 20;
const PAGES: usize = 32;

/// The pages of one thread. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct KeptPages(Arc<Mutex<Vec<Kept>>>);

struct Kept {
    asked: String,
    at: Instant,
    page: Arc<Page>,
}

impl KeptPages {
    /// The page that was found under this address.
    pub(crate) fn find(&self, address: &str) -> Option<Arc<Page>> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|kept| kept.at.elapsed() < FRESH);
        let kept = pages.iter().find(|kept| kept.asked == address)?;
        Some(Arc::clone(&kept.page))
    }

    /// Keeps a page; the oldest make room.
    pub(crate) fn keep(&self, address: &str, page: &Arc<Page>) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|kept| kept.asked != address);
        pages.push(Kept {
            asked: address.to_owned(),
            at: Instant::now(),
            page: Arc::clone(page),
        });
        let size = |pages: &[Kept]| pages.iter().map(|kept| kept.page.body.len()).sum::<usize>();
        while pages.len() > PAGES || size(&pages) > BYTES {
            pages.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_pages_make_room() {
        let kept = KeptPages::default();
        let page = |bytes: usize| {
            Arc::new(Page {
                url: "https://a.example/".parse().unwrap(),
                media_type: "text/plain".into(),
                charset: None,
                body: vec![0; bytes],
                cut: false,
            })
        };
        for number in 0..40 {
            kept.keep(&number.to_string(), &page(1));
        }
        assert!(kept.find("7").is_none() && kept.find("8").is_some());
        kept.keep("large", &page(BYTES - 3));
        assert!(kept.find("36").is_none() && kept.find("37").is_some());
        assert!(kept.clone().find("large").is_some());
    }
}
