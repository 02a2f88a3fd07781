//! Where a hub's store is: in a file of its folder, or in a database that other hubs use
//! as well.

use std::path::{Path, PathBuf};

use butler_protocol::{Clock, Secret};

use crate::{
    error::HubError,
    store::{
        db::{Db, Engine},
        file::{STORE_FILE, StoreFile},
        postgres::Address,
        sql,
        versions::NEWEST,
    },
};

/// The folder of a hub, and the database in which its store is, if it is not there.
#[derive(Debug, Clone)]
pub struct StorePlace {
    folder: PathBuf,
    database: Option<Secret>,
}

impl StorePlace {
    /// The folder, and the database's address if there is one.
    #[must_use]
    pub fn new(folder: PathBuf, database: Option<Secret>) -> Self {
        Self { folder, database }
    }

    /// The database's address.
    #[must_use]
    pub fn database(&self) -> Option<Secret> {
        self.database.clone()
    }

    /// The folder, which a hub has also when its store is in a database.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether there may be a store; a database is made one by looking.
    pub(crate) fn exists(&self) -> bool {
        self.database.is_some() || self.folder.join(STORE_FILE).exists()
    }

    /// How to open it.
    pub(crate) fn with_clock(&self, clock: Clock) -> Result<Place, HubError> {
        let database = self.database.clone();
        #[cfg(debug_assertions)]
        let database = database.or_else(|| in_tests(&self.folder));
        Ok(match database {
            None => Place::File(StoreFile::in_folder(&self.folder, clock)?),
            Some(address) => {
                // The hub keeps its lock and its welcome there all the same.
                StoreFile::folder(&self.folder)?;
                let address = Address::parse(&address).map_err(|source| HubError::Database {
                    server: "hub.database".to_owned(),
                    source,
                })?;
                Place::Database(Box::new(address), clock)
            }
        })
    }
}

impl From<&Path> for StorePlace {
    fn from(folder: &Path) -> Self {
        Self::new(folder.to_owned(), None)
    }
}

impl From<&PathBuf> for StorePlace {
    fn from(folder: &PathBuf) -> Self {
        Self::from(folder.as_path())
    }
}

/// The whole test suite runs on the server that this variable names, each folder in a
/// schema of its own. Not in a release.
#[cfg(debug_assertions)]
fn in_tests(folder: &Path) -> Option<Secret> {
    let server = std::env::var("CODEBUTLER_TEST_DATABASE").ok()?;
    let folder = std::path::absolute(folder).ok()?;
    let hash = butler_protocol::Sha256Hex::of(folder.display().to_string());
    Some(Secret::new(format!(
        "{server}?schema=t_{}",
        &hash.as_str()[..16]
    )))
}

/// How to open a store.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    File(StoreFile),
    Database(Box<Address>, Clock),
}

impl Place {
    /// Opens it. One of a later version is left alone.
    pub(crate) fn open(&self) -> Result<Db, HubError> {
        let (address, clock) = match self {
            Self::File(file) => return file.open(),
            Self::Database(address, clock) => (address, clock),
        };
        let (pg, found) = address.open().map_err(|source| self.failed(source))?;
        if found > NEWEST {
            return Err(HubError::Newer {
                path: self.shown().into(),
                found,
                known: NEWEST,
            });
        }
        Ok(Db::new(Engine::Postgres(pg), clock.clone()))
    }

    /// Makes sure that what is deleted makes room; a database sees to that itself.
    pub(crate) fn can_shrink(&self) -> Result<(), HubError> {
        match self {
            Self::File(file) => file.can_shrink(),
            Self::Database(..) => Ok(()),
        }
    }

    fn failed(&self, source: sql::Error) -> HubError {
        HubError::Database {
            server: self.shown(),
            source,
        }
    }

    /// For people, without passwords.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::File(file) => file.path().display().to_string(),
            Self::Database(address, _) => address.shown(),
        }
    }

    /// The address that hubs share, where they do.
    pub(crate) fn shared(&self) -> Option<&Address> {
        match self {
            Self::File(_) => None,
            Self::Database(address, _) => Some(address),
        }
    }
}
