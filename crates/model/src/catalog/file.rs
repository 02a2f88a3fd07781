//! The model list on disk, so that a start needs no network and prices are
//! known before the first call. A file that cannot be read counts as absent:
//! it is only a copy.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use butler_protocol::fault;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::{ModelClient, ModelError, ModelInfo};

/// A list that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the model list {path}")]
pub struct CatalogWriteError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// An endpoint's models, and when they were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    /// The endpoint's base address: a list never serves another endpoint.
    pub endpoint: String,
    pub fetched: Timestamp,
    pub models: Vec<ModelInfo>,
}

impl Catalog {
    /// Reads a kept list.
    pub fn load(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        match serde_json::from_str(&text) {
            Ok(catalog) => Some(catalog),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the kept model list is unreadable");
                None
            }
        }
    }

    /// Keeps the list: whole or not at all.
    /// Errors: [`CatalogWriteError`] naming the file.
    pub fn save(&self, path: &Path) -> Result<(), CatalogWriteError> {
        let write = || -> io::Result<()> {
            let folder = path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.as_file().sync_all()?;
            fault("model.before-catalog");
            file.persist(path)?;
            fault("model.after-catalog");
            Ok(())
        };
        write().map_err(|source| CatalogWriteError {
            path: path.to_owned(),
            source,
        })
    }

    /// Whether it is from this endpoint and not older than `age`.
    pub fn is_fresh(&self, endpoint: &str, now: Timestamp, age: Duration) -> bool {
        let since = now.duration_since(self.fetched);
        let young = Duration::try_from(since).is_ok_and(|since| since <= age);
        self.endpoint == endpoint && young
    }
}

impl ModelClient {
    /// The models of the endpoint, from `path` when that copy is not older than
    /// `age`, else from the endpoint, and then kept. When the endpoint cannot be
    /// reached an old copy is better than none.
    /// Errors: as [`ModelClient::models`], when there is no copy either.
    pub async fn models_kept(
        &self,
        path: &Path,
        now: Timestamp,
        age: Duration,
    ) -> Result<Catalog, ModelError> {
        let endpoint = self.config().endpoint.base_url.to_string();
        let file = path.to_owned();
        let kept = spawn_blocking(move || Catalog::load(&file)).await;
        let kept = kept.ok().flatten().filter(|kept| kept.endpoint == endpoint);
        if let Some(kept) = &kept
            && kept.is_fresh(&endpoint, now, age)
        {
            self.learn(&kept.models);
            return Ok(kept.clone());
        }
        match self.models().await {
            Ok(models) => {
                let catalog = Catalog {
                    endpoint,
                    fetched: now,
                    models,
                };
                let (file, copy) = (path.to_owned(), catalog.clone());
                if let Ok(Err(error)) = spawn_blocking(move || copy.save(&file)).await {
                    tracing::warn!(%error, cause = %error.source, "the model list is not kept");
                }
                Ok(catalog)
            }
            Err(error) => {
                let old = kept.ok_or_else(|| error.clone())?;
                tracing::warn!(%error, fetched = %old.fetched, "using an old model list");
                self.learn(&old.models);
                Ok(old)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_list_is_kept_whole_and_belongs_to_its_endpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/models.json");
        assert_eq!(Catalog::load(&path), None);
        let catalog = Catalog {
            endpoint: "http://a/v1".into(),
            fetched: at("2026-01-01T00:00:00Z"),
            models: Vec::new(),
        };
        catalog.save(&path).unwrap();
        assert_eq!(Catalog::load(&path), Some(catalog.clone()));
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1
        );

        let hour = Duration::from_secs(3600);
        assert!(catalog.is_fresh("http://a/v1", at("2026-01-01T01:00:00Z"), hour));
        assert!(!catalog.is_fresh("http://a/v1", at("2026-01-01T01:00:01Z"), hour));
        assert!(
            !catalog.is_fresh("http://a/v1", at("2025-12-31T00:00:00Z"), hour),
            "a clock that went back"
        );
        assert!(!catalog.is_fresh("http://b/v1", at("2026-01-01T00:00:00Z"), hour));

        std::fs::write(&path, "{").unwrap();
        assert_eq!(Catalog::load(&path), None);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let path = file.join("models.json");
        let catalog = Catalog {
            endpoint: String::new(),
            fetched: Timestamp::UNIX_EPOCH,
            models: Vec::new(),
        };
        let error = catalog.save(&path).unwrap_err();
        assert!(error.to_string().contains("models.json"), "{error}");
    }
}
