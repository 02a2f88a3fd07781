//! The helper that waits: it has left the host and built the ground (see
//! `spec::Ground`), because that half of the cost is the same for every command.
//! It knows no command yet, and goes when this process goes.
//!
//! It is used only for the very ground it built, and only while the files it
//! shows are still the host's: a folder that was replaced meanwhile (an updated
//! toolchain, a new `/etc/passwd`) makes the next command start from nothing.

use std::{
    io::{self, PipeWriter, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    Network,
    spawn::{Prepared, Started, line, spawn},
    spec::{Ground, Request},
    view::Step,
};

/// At most one helper that waits.
#[derive(Default)]
pub(crate) struct Waiting(Option<Ready>);

struct Ready {
    helper: PathBuf,
    ground: Ground,
    shown: Vec<Identity>,
    started: Started,
    input: PipeWriter,
}

/// Which file a path leads to: device and number.
type Identity = Option<(u64, u64)>;

impl Waiting {
    /// Hands the command to the waiting helper. Nothing when none waits, when it
    /// waits on another ground, or when it died meanwhile.
    pub(crate) fn give(&mut self, helper: &Path, prepared: &Prepared) -> Option<Started> {
        let ready = self.0.as_ref()?;
        if ready.helper != helper || prepared.ground.as_ref() != Some(&ready.ground) {
            return None;
        }
        let mut ready = self.0.take()?;
        if ready.shown != identities(&ready.ground) {
            return None;
        }
        let line = line(&prepared.run).ok()?;
        ready.input.write_all(&line).ok()?;
        ready.input.write_all(&prepared.stdin).ok()?;
        Some(ready.started)
    }

    /// Starts the next one on the same ground, if it is one that comes again.
    /// Without it the next command only takes longer.
    pub(crate) fn refill(&mut self, helper: &Path, ground: Ground) {
        let suits = |ready: &Ready| ready.helper == helper && ready.ground == ground;
        let steps = &ground.steps;
        let writes =
            |step: &Step| !matches!(step, Step::Link { .. } | Step::Show { write: false, .. });
        // With a network of the host, or something to write in it, the ground is
        // this command's own.
        if ground.network == Network::Host
            || steps.iter().any(writes)
            || self.0.as_ref().is_some_and(suits)
        {
            return;
        }
        match start(helper, ground) {
            Ok(ready) => self.0 = Some(ready),
            Err(error) => tracing::debug!(%error, "no jail helper waits"),
        }
    }
}

fn start(helper: &Path, ground: Ground) -> io::Result<Ready> {
    let shown = identities(&ground);
    let (end, mut input) = io::pipe()?;
    let started = spawn(helper, end.into())?;
    let request = Request::Ground(Box::new(ground));
    input.write_all(&line(&request)?)?;
    let Request::Ground(ground) = request else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    Ok(Ready {
        helper: helper.to_owned(),
        ground: *ground,
        shown,
        started,
        input,
    })
}

fn identities(ground: &Ground) -> Vec<Identity> {
    let shown = ground.steps.iter().filter_map(|step| match step {
        Step::Show { path, .. } => Some(path.path()),
        _ => None,
    });
    shown
        .map(|path| {
            let found = path.symlink_metadata().ok()?;
            Some((found.dev(), found.ino()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_place_that_was_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let tools = folder.path().join("tools");
        std::fs::create_dir(&tools).unwrap();
        let ground = Ground {
            version: 0,
            caller: 0,
            network: Network::Loopback,
            steps: vec![Step::Show {
                path: tools.as_path().into(),
                write: false,
            }],
            memory_bytes: 0,
            processes: 0,
        };
        let before = identities(&ground);
        std::fs::write(tools.join("new"), "").unwrap();
        assert_eq!(identities(&ground), before, "its content may change");
        std::fs::rename(&tools, folder.path().join("old")).unwrap();
        assert_ne!(identities(&ground), before, "gone");
        std::fs::create_dir(&tools).unwrap();
        assert_ne!(identities(&ground), before, "another one");
    }
}
