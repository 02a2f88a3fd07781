//! `!pause`: the whole team of a repo rests. Kept in a file, so that a restart
//! does not wake it; a call that is under way ends, the next one waits.

use std::{fs, io, path::PathBuf};

use tokio::sync::watch;

use crate::TeamError;

/// Whether the team rests.
#[derive(Debug)]
pub struct Rest {
    file: PathBuf,
    resting: watch::Sender<bool>,
}

impl Rest {
    /// As the file says.
    pub fn open(threads: &std::path::Path) -> Self {
        let file = threads.join("paused");
        let (resting, _) = watch::channel(file.exists());
        Self { file, resting }
    }

    /// Lies down. Every process writes the same file; the first one counts.
    pub fn begin(&self, by: &str) -> Result<(), TeamError> {
        let failed =
            |error: io::Error| TeamError::Missing(format!("the note of the pause: {error}"));
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&self.file, format!("paused by {by}\n")).map_err(failed)?;
        self.resting.send_replace(true);
        Ok(())
    }

    /// Gets up again.
    pub fn end(&self) -> Result<(), TeamError> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(TeamError::Missing(
                format!("the note of the pause: {error}"),
            )),
            _ => {
                self.resting.send_replace(false);
                Ok(())
            }
        }
    }

    /// Whether it rests now.
    pub fn is_resting(&self) -> bool {
        *self.resting.borrow()
    }

    /// Waits until the team is up.
    pub async fn over(&self) {
        let mut resting = self.resting.subscribe();
        // The sender lives as long as the office.
        let _ = resting.wait_for(|resting| !resting).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pause_outlives_the_process_and_ends_with_the_word() {
        let folder = tempfile::tempdir().unwrap();
        let rest = Rest::open(folder.path());
        assert!(!rest.is_resting());
        rest.begin("ana").unwrap();
        let later = Rest::open(folder.path());
        assert!(later.is_resting());
        later.end().unwrap();
        later.end().unwrap();
        later.over().await;
        assert!(!Rest::open(folder.path()).is_resting());
    }
}
