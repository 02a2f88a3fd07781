//! Commands that run on while the model works: their output is kept (capped),
//! shown on request, and all of them end with the context that started them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use butler_sandbox::{Command, Profile, Sandbox};
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::{content::clip, run::confine};

/// Running at a time.
const MOST: usize = 6;

/// Output kept of each.
const KEPT: usize = 256 * 1024;

/// The background commands of one context.
pub struct Jobs {
    jobs: Mutex<BTreeMap<u32, Job>>,
    tasks: TaskTracker,
    life: CancellationToken,
    /// Ends all of them when the last context is gone.
    _end: DropGuard,
}

struct Job {
    command: String,
    cancel: CancellationToken,
    shared: Arc<Mutex<Shared>>,
}

/// What the task of a job writes and the tool reads.
#[derive(Default)]
struct Shared {
    output: Vec<u8>,
    /// Bytes that were dropped from the front.
    dropped: u64,
    /// Bytes, counted from the first, that the model has seen.
    seen: u64,
    ended: Option<String>,
}

impl Jobs {
    pub(crate) fn new(parent: &CancellationToken) -> Self {
        let life = parent.child_token();
        Self {
            jobs: Mutex::default(),
            tasks: TaskTracker::new(),
            _end: life.clone().drop_guard(),
            life,
        }
    }

    /// Ends every job and waits until its processes are gone.
    pub async fn stop_all(&self) {
        self.life.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Starts a command; its number, or why not.
    pub(crate) fn start(
        &self,
        sandbox: Arc<Sandbox>,
        command: Command,
        profile: Profile,
        unconfined: bool,
        text: &str,
    ) -> Result<u32, String> {
        let mut jobs = self.lock();
        let running = jobs.values().filter(|job| job.is_running()).count();
        if running >= MOST {
            return Err(format!(
                "refused: {MOST} jobs run already; end one with `job stop <number>`"
            ));
        }
        let number = jobs.last_key_value().map_or(1, |(last, _)| last + 1);
        let shared = Arc::<Mutex<Shared>>::default();
        let cancel = self.life.child_token();
        self.tasks.spawn(attend(
            sandbox,
            command,
            (profile, unconfined),
            cancel.clone(),
            shared.clone(),
        ));
        jobs.insert(
            number,
            Job {
                command: text.to_owned(),
                cancel,
                shared,
            },
        );
        Ok(number)
    }

    /// One line per job.
    pub(crate) fn list(&self) -> String {
        let jobs = self.lock();
        if jobs.is_empty() {
            return "there are no jobs; start one with `background`".to_owned();
        }
        let lines: Vec<String> = jobs
            .iter()
            .map(|(number, job)| {
                let state = job
                    .shared()
                    .ended
                    .clone()
                    .unwrap_or_else(|| "running".to_owned());
                format!("job {number}: {state}: {}", clip::line(&job.command))
            })
            .collect();
        lines.join("\n")
    }

    /// What a job wrote since it was last asked.
    pub(crate) fn output(&self, number: u32) -> Result<String, String> {
        let jobs = self.lock();
        let job = jobs.get(&number).ok_or_else(|| unknown(number, &jobs))?;
        let mut shared = job.shared();
        let state = shared.ended.clone().unwrap_or_else(|| "running".to_owned());
        let from = shared.seen.saturating_sub(shared.dropped);
        let lost = shared.dropped.saturating_sub(shared.seen);
        let from = usize::try_from(from)
            .unwrap_or(usize::MAX)
            .min(shared.output.len());
        let new = clip::plain(&shared.output[from..]);
        shared.seen = shared.dropped + shared.output.len() as u64;
        let lost = match lost {
            0 => String::new(),
            lost => format!("[… {lost} bytes left out]\n"),
        };
        let new = if new.is_empty() {
            "(nothing new)".to_owned()
        } else {
            new
        };
        Ok(format!(
            "job {number}: {state}\n{lost}{}",
            clip::head_and_tail(&new, clip::RESULT_BYTES, "")
        ))
    }

    pub(crate) fn stop(&self, number: u32) -> Result<String, String> {
        let jobs = self.lock();
        let job = jobs.get(&number).ok_or_else(|| unknown(number, &jobs))?;
        if !job.is_running() {
            return Ok(format!("job {number} had ended already"));
        }
        job.cancel.cancel();
        Ok(format!("job {number} is being stopped"))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    fn shared(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_running(&self) -> bool {
        self.shared().ended.is_none()
    }
}

fn unknown(number: u32, jobs: &BTreeMap<u32, Job>) -> String {
    let known: Vec<String> = jobs.keys().map(u32::to_string).collect();
    match known.as_slice() {
        [] => format!("refused: there is no job {number}; none was started"),
        known => format!(
            "refused: there is no job {number}; there are {}",
            known.join(", ")
        ),
    }
}

/// Runs one job to its end and keeps what it writes.
async fn attend(
    sandbox: Arc<Sandbox>,
    command: Command,
    (profile, unconfined): (Profile, bool),
    cancel: CancellationToken,
    shared: Arc<Mutex<Shared>>,
) {
    let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(16);
    let keep = async {
        while let Some(bytes) = receiver.recv().await {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.output.extend_from_slice(&bytes);
            let over = shared.output.len().saturating_sub(KEPT);
            shared.output.drain(..over);
            shared.dropped += over as u64;
        }
    };
    let run = match unconfined {
        true => sandbox.run_unconfined(&command, &profile, &cancel, Some(sender)),
        false => sandbox.run(&command, &profile, &cancel, Some(sender)),
    };
    let (exit, ()) = tokio::join!(run, keep);
    let ended = match exit {
        Ok(exit) => confine::verdict(&exit),
        Err(error) => format!("failed: {error}"),
    };
    shared.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(ended);
}
