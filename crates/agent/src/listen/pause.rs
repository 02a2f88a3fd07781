//! `!pause`: the whole team of a repo is paused. Kept in a file, so that a restart
//! does not wake it; a call that is under way ends, the next one waits.

use std::{fs, io, path::PathBuf};

use tokio::sync::watch;

use crate::AgentError;

/// Whether the team rests.
#[derive(Debug)]
pub(crate) struct Pause {
    file: PathBuf,
    resting: watch::Sender<bool>,
}

impl Pause {
    /// As the file says.
    pub(crate) fn open(threads: &std::path::Path) -> Self {
        let file = threads.join("paused");
        let (resting, _) = watch::channel(file.exists());
        Self { file, resting }
    }

    /// Lies down. Every process writes the same file; the first one counts.
    pub(crate) fn begin(&self, by: &str) -> Result<(), AgentError> {
        let failed =
            |error: io::Error| AgentError::Missing(format!("the note of the pause: {error}"));
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&self.file, format!("paused by {by}\n")).map_err(failed)?;
        self.resting.send_replace(true);
        Ok(())
    }

    /// Gets up again.
    pub(crate) fn end(&self) -> Result<(), AgentError> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(AgentError::Missing(
                format!("the note of the pause: {error}"),
            )),
            _ => {
                self.resting.send_replace(false);
                Ok(())
            }
        }
    }

    /// Whether it rests now.
    pub(crate) fn is_on(&self) -> bool {
        *self.resting.borrow()
    }

    /// Waits until the team is up.
    pub(crate) async fn over(&self) {
        let mut resting = self.resting.subscribe();
        // The sender lives as long as the agent.
        let _ = resting.wait_for(|resting| !resting).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pause_outlives_the_process_and_ends_with_the_word() {
        let folder = tempfile::tempdir().unwrap();
        let pause = Pause::open(folder.path());
        assert!(!pause.is_on());
        pause.begin("ana").unwrap();
        let later = Pause::open(folder.path());
        assert!(later.is_on());
        later.end().unwrap();
        later.end().unwrap();
        later.over().await;
        assert!(!Pause::open(folder.path()).is_on());
    }
}
