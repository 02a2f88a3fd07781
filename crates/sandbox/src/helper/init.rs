//! The first process inside: waits for the command, collects orphans, and looks
//! every few milliseconds whether a limit that the kernel does not keep was
//! passed. When it ends, the kernel ends everything else in the namespace.

use std::{
    os::fd::AsFd,
    path::Path,
    time::{Duration, Instant},
};

use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

use super::{sys, watch::Watch};
use crate::{Limits, spec::Report};

/// How often limits are looked at.
const TICK: Duration = Duration::from_millis(50);

/// Which processes belong to the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Members {
    /// All in this pid namespace, which may have sockets of its own.
    Namespace { own_network: bool },
    /// The descendants of this process, which collects orphans.
    Descendants,
}

/// Waits until the command ends or must be ended. How it ended, if anybody listens.
pub(super) fn run<'a>(
    command: Pid,
    limits: &Limits,
    places: impl Iterator<Item = &'a Path>,
    members: Members,
    report: impl AsFd,
) -> Option<Report> {
    let watch = Watch::new(*limits, members, places);
    let mut next = Instant::now() + TICK;
    loop {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == command {
                return Some(ended(status));
            }
        }
        let rest = next.saturating_duration_since(Instant::now());
        let signal = sys::wait_signal(&[libc::SIGCHLD, libc::SIGTERM], Some(rest));
        if signal == Some(libc::SIGTERM) && members == Members::Descendants {
            return None;
        }
        if Instant::now() >= next {
            if let Some(why) = watch.look() {
                return Some(Report::Stopped(why));
            }
            if !somebody_listens(report.as_fd()) {
                return None;
            }
            next = Instant::now() + TICK;
        }
    }
}

fn ended(status: WaitStatus) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exited(code),
        (None, Some(signal)) => Report::Signalled(signal),
        (None, None) => Report::Exited(-1),
    }
}

/// A second way to notice that the caller died: nobody reads the report.
fn somebody_listens(report: std::os::fd::BorrowedFd<'_>) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::from_borrowed_fd(report, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut polled, Some(&now)).is_err() || !polled[0].revents().contains(PollFlags::ERR)
}
