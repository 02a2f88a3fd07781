//! Puts single objects and a name into the clone's own store, as git itself does: for
//! a save that is made before every other command a process is too slow.
//!
//! Only where the clone keeps objects and refs in the usual way; everywhere else git
//! does it.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use data_encoding::HEXLOWER;
use flate2::{Compression, write::ZlibEncoder};
use sha1::{Digest, Sha1};

/// The name of an object.
pub(super) type Id = [u8; 20];

/// Config that says that objects or refs are kept in another way.
const UNUSUAL: [&str; 3] = ["objectformat", "refstorage", "compatobjectformat"];

/// The store of a clone.
#[derive(Debug, Clone)]
pub(super) struct Store {
    common: PathBuf,
}

impl Store {
    /// Nothing where this is not the usual store.
    pub(super) fn of(common: &Path) -> Option<Self> {
        let config = fs::read_to_string(common.join("config")).ok()?;
        let config = config.to_ascii_lowercase();
        let usual = !UNUSUAL.iter().any(|key| config.contains(key));
        usual.then(|| Self {
            common: common.to_owned(),
        })
    }

    /// Keeps an object, unless it is there.
    pub(super) fn put(&self, kind: &str, content: &[u8]) -> io::Result<Id> {
        let head = format!("{kind} {}\0", content.len());
        let mut sum = Sha1::new();
        sum.update(head.as_bytes());
        sum.update(content);
        let id: Id = sum.finalize().into();
        let place = self.place(&id);
        if is_there(&place) {
            return Ok(id);
        }
        let folder = place.parent().unwrap_or(&self.common);
        fs::create_dir_all(folder)?;
        let file = half(folder)?;
        let mut packed = ZlibEncoder::new(&file, Compression::fast());
        packed.write_all(head.as_bytes())?;
        packed.write_all(content)?;
        packed.finish()?;
        file.persist(&place)?;
        Ok(id)
    }

    /// Keeps a file of this length that is not to be held in memory.
    pub(super) fn put_large(&self, mut from: impl Read, length: u64) -> io::Result<Id> {
        let head = format!("blob {length}\0");
        let mut sum = Sha1::new();
        sum.update(head.as_bytes());
        let file = half(&self.common.join("objects"))?;
        let mut packed = ZlibEncoder::new(&file, Compression::fast());
        packed.write_all(head.as_bytes())?;
        let (mut left, mut space) = (length, vec![0; 1 << 16]);
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(space.len());
            let read = from.read(&mut space[..most])?;
            if read == 0 {
                return Err(io::Error::other("it became shorter while it was read"));
            }
            sum.update(&space[..read]);
            packed.write_all(&space[..read])?;
            left -= read as u64;
        }
        packed.finish()?;
        let id: Id = sum.finalize().into();
        let place = self.place(&id);
        if !is_there(&place) {
            fs::create_dir_all(place.parent().unwrap_or(&self.common))?;
            file.persist(&place)?;
        }
        Ok(id)
    }

    fn place(&self, id: &Id) -> PathBuf {
        let text = hex(id);
        let objects = self.common.join("objects");
        objects.join(&text[..2]).join(&text[2..])
    }

    /// Whether nothing has this name.
    pub(super) fn is_free(&self, name: &str) -> bool {
        let packed = fs::read(self.common.join("packed-refs")).unwrap_or_default();
        let line = format!(" {name}\n");
        !self.common.join(name).exists()
            && !packed.windows(line.len()).any(|one| one == line.as_bytes())
    }

    /// Gives an object a name that nothing has yet.
    pub(super) fn name(&self, name: &str, id: &Id) -> io::Result<()> {
        let place = self.common.join(name);
        let lock = self.common.join(format!("{name}.lock"));
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::File::create_new(&lock)?;
        let written = if self.is_free(name) {
            let line = format!("{}\n", hex(id));
            file.write_all(line.as_bytes())
                .and_then(|()| fs::rename(&lock, &place))
        } else {
            Err(io::ErrorKind::AlreadyExists.into())
        };
        if written.is_err() {
            let _ = fs::remove_file(&lock);
        }
        written
    }
}

/// Whether the object is kept already. Git deletes what is old and unused, so what is used
/// again must look young.
fn is_there(place: &Path) -> bool {
    fs::File::open(place).is_ok_and(|file| file.set_modified(SystemTime::now()).is_ok())
}

/// A file by whose name git knows what a crash left behind.
fn half(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix("tmp_obj_")
        .permissions(fs::Permissions::from_mode(0o444))
        .tempfile_in(folder)
}

pub(super) fn hex(id: &Id) -> String {
    HEXLOWER.encode(id)
}

pub(super) fn of_hex(text: &str) -> Option<Id> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}
