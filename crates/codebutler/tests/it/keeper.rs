//! A process of ours that is started again whenever it dies, as `up` does it,
//! without the other five roles.

use std::{
    fs::File,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Ends with the test, whatever ends that: children hold a pipe from us.
pub(crate) struct Keeper {
    stopped: Arc<AtomicBool>,
    deaths: Arc<AtomicU32>,
    child: Arc<Mutex<Option<Child>>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts what `make` makes, with its log below `folder`.
    pub(crate) fn start(
        name: &str,
        folder: &Path,
        make: impl Fn() -> Command + Send + 'static,
    ) -> Self {
        let log = folder.join(format!("{name}.log"));
        let (stopped, deaths) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU32::new(0)),
        );
        let child = Arc::new(Mutex::new(None));
        let (stop, died, slot) = (
            Arc::clone(&stopped),
            Arc::clone(&deaths),
            Arc::clone(&child),
        );
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                let log = File::options()
                    .create(true)
                    .append(true)
                    .open(&log)
                    .unwrap();
                let mut command = make();
                command
                    .env("CODEBUTLER_SUPERVISED", "1")
                    .stdin(Stdio::piped())
                    .stdout(log.try_clone().unwrap())
                    .stderr(log);
                *lock(&slot) = Some(command.spawn().unwrap());
                while lock(&slot)
                    .as_mut()
                    .is_some_and(|child| child.try_wait().unwrap().is_none())
                {
                    thread::sleep(Duration::from_millis(10));
                }
                died.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self {
            stopped,
            deaths,
            child,
            thread: Some(thread),
        }
    }

    /// How often it had to be started again.
    pub(crate) fn deaths(&self) -> u32 {
        self.deaths.load(Ordering::SeqCst)
    }

    /// Its process now.
    pub(crate) fn pid(&self) -> Option<u32> {
        lock(&self.child).as_ref().map(Child::id)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(child) = lock(&self.child).as_mut() {
            let _ = child.kill();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(child) = lock(&self.child).as_mut() {
            // Started between the two looks.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
