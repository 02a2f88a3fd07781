//! What the helper takes from itself besides files: rights, life after its
//! parent, resources.

use rustix::{
    io::Errno,
    process::{
        DumpableBehavior, Pid, Resource, Rlimit, Signal, getppid, set_dumpable_behavior,
        set_parent_process_death_signal, setrlimit,
    },
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
        set_no_new_privs,
    },
};

use super::{Doing, Failed};
use crate::Limits;

/// Asks for `signal` when the parent dies, and makes sure it has not died before.
pub(super) fn die_with_parent(parent: Option<i32>, signal: Signal) -> Result<(), Failed> {
    set_parent_process_death_signal(Some(signal)).doing("ask to die with the caller")?;
    match parent {
        Some(parent) if getppid().map(Pid::as_raw_pid) != Some(parent) => {
            Err(Failed::new("ask to die with the caller", "it is gone"))
        }
        _ => Ok(()),
    }
}

/// When the machine runs out of memory, commands go before the daemon.
pub(super) fn first_to_go_when_memory_is_short() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// Nothing that is executed from here on gets a capability. Those held now stay,
/// for the mounts.
pub(super) fn no_new_rights() -> Result<(), Failed> {
    set_no_new_privs(true).doing("give up new privileges")?;
    drop_bounding_set()?;
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits).doing("lock capabilities")
}

/// Hides this process from the ones it starts.
pub(super) fn hide() -> Result<(), Failed> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).doing("hide the first process")
}

/// What exec could give back. Only who holds the right to may do this; who does
/// not gets nothing back either, because of no-new-privileges.
pub(super) fn drop_bounding_set() -> Result<(), Failed> {
    let _ = clear_ambient_capability_set();
    for number in 0..64 {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // Past the last one this kernel knows.
            Err(Errno::INVAL) => break,
            Err(Errno::PERM) => break,
            Err(error) => return Err(Failed::new("drop capabilities", error.to_string())),
        }
    }
    Ok(())
}

/// Gives up what is held now, for good after [`no_new_rights`].
pub(super) fn give_up_capabilities() -> Result<(), Failed> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).doing("drop capabilities")
}

/// Limits per process. What counts over all processes is in `proc` and `watch`.
pub(super) fn limit(limits: &Limits, count_processes: bool) -> Result<(), Failed> {
    let set = |what, most: u64| {
        let most = rustix::process::getrlimit(what)
            .maximum
            .map_or(most, |hard| hard.min(most));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(what, limit).doing("set resource limits")
    };
    set(Resource::Core, 0)?;
    set(Resource::Fsize, limits.file_bytes)?;
    set(Resource::Nofile, 65_536)?;
    if count_processes {
        set(Resource::Nproc, limits.processes.into())?;
    }
    Ok(())
}
