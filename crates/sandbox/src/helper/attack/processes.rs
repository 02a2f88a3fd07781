//! Attacks on processes: those of the host, and the one that guards us.

use std::fs::{self, File, OpenOptions};

use rustix::{
    process::{Pid, Resource, Rlimit, setrlimit, test_kill_process},
    thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities},
};

use super::{Attack, tried};
use crate::helper::sys::attempt;

pub(super) const ATTACKS: &[Attack] = &[
    ("signal the caller", |t| match Pid::from_raw(t.caller) {
        Some(pid) => tried(test_kill_process(pid)),
        None => Err("no such process".to_owned()),
    }),
    ("see processes of the host", |t| {
        let line = fs::read(format!("/proc/{}/cmdline", t.caller));
        tried(line)
    }),
    ("read the first process's environment", |_| {
        tried(fs::read("/proc/1/environ"))
    }),
    ("read the first process's memory", |_| {
        tried(File::open("/proc/1/mem"))
    }),
    ("enter the first process's root", |_| {
        tried(fs::read_dir("/proc/1/root/"))
    }),
    ("follow the first process's files", |_| {
        let open = fs::read_dir("/proc/1/fd").map_err(|error| error.to_string())?;
        let followed = open
            .flatten()
            .find_map(|entry| fs::read_link(entry.path()).ok());
        followed.map_or(Err("none can be followed".to_owned()), |to| {
            Ok(format!("found {}", to.display()))
        })
    }),
    ("trace a process", |_| attempt(libc::SYS_ptrace)),
    ("read another process's memory", |_| {
        attempt(libc::SYS_process_vm_readv)
    }),
    ("write another process's memory", |_| {
        attempt(libc::SYS_process_vm_writev)
    }),
    ("steal a descriptor", |_| attempt(libc::SYS_pidfd_getfd)),
    ("escape the memory killer", |_| {
        tried(
            OpenOptions::new()
                .write(true)
                .open("/proc/self/oom_score_adj"),
        )
    }),
    ("raise the file size limit", |_| {
        let all = Rlimit {
            current: None,
            maximum: None,
        };
        tried(setrlimit(Resource::Fsize, all))
    }),
    ("take capabilities", |_| {
        let mut wanted = CapabilitySets {
            effective: CapabilitySet::SYS_ADMIN,
            permitted: CapabilitySet::SYS_ADMIN,
            inheritable: CapabilitySet::empty(),
        };
        if let Ok(held) = capabilities(None) {
            wanted.permitted |= held.permitted;
        }
        tried(set_capabilities(None, wanted))
    }),
];
