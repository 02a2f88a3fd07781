//! System calls that rustix does not have, each wrapped so that nothing unsafe
//! leaves this file.
#![expect(
    unsafe_code,
    reason = "fork, signal waits and newer mount calls have no safe wrapper"
)]

use std::{
    ffi::CString,
    io, mem,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    time::Duration,
};

use rustix::process::Pid;

use super::Wires;

/// Moves output and report away from 1 and 2, closes whatever else was
/// inherited. Afterwards 1 and 2 are `/dev/null`.
pub(super) fn take_wires() -> io::Result<Wires> {
    close_all_others();
    let wires = Wires {
        output: rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?,
        report: rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3)?,
    };
    let null = null()?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(wires)
}

/// Moves standard input away, gives up whatever else was inherited. Afterwards 0,
/// 1 and 2 are `/dev/null`.
pub(super) fn take_line() -> io::Result<OwnedFd> {
    close_all_others();
    ignore_nothing();
    let line = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let null = null()?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(line)
}

fn close_all_others() {
    // SAFETY: closes descriptors nobody in this fresh process owns yet.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32);
    }
}

fn null() -> io::Result<std::fs::File> {
    let mut options = std::fs::File::options();
    options.read(true).write(true).open("/dev/null")
}

/// Marks everything above standard error to be closed at exec.
pub(super) fn close_on_exec() {
    // SAFETY: only sets a flag on descriptors.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

/// Forks. `None` in the child.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the helper has one thread, so the child may run any code.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Forks the first process of a new pid namespace, with `more` namespaces of its
/// own. `None` in the child.
pub(super) fn fork_first(more: libc::c_int) -> io::Result<Option<Pid>> {
    let flags = libc::CLONE_NEWPID | more | libc::SIGCHLD;
    let zero = 0usize;
    // SAFETY: without a stack and without shared memory this is a fork, and the
    // helper has one thread. The C library's fork makes no namespaces.
    match unsafe { libc::syscall(libc::SYS_clone, flags, zero, zero, zero, zero) } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(i32::try_from(pid).ok().and_then(Pid::from_raw)),
    }
}

/// Starts a child that becomes another program at once, or ends with the code
/// that `child` returns. Until then it shares this process's memory, which stands
/// still meanwhile: nothing is copied, and no page has to be fetched again. What
/// it opens, where it is, its signals and its limits are its own.
pub(super) fn spawn(mut child: &mut dyn FnMut() -> i32) -> io::Result<Option<Pid>> {
    type Child<'a> = &'a mut dyn FnMut() -> i32;
    extern "C" fn enter(child: *mut libc::c_void) -> libc::c_int {
        // SAFETY: what is passed below, by somebody who waits until we are gone.
        let child = unsafe { &mut *child.cast::<Child<'_>>() };
        child()
    }
    // Not written to: pages that the child does not use are not even fetched.
    let mut stack = Vec::<u128>::with_capacity(STACK / mem::size_of::<u128>());
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
    let argument: *mut Child<'_> = &raw mut child;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: with CLONE_VFORK this returns when the child has executed or ended,
    // so stack and argument outlive its use of them. The helper has one thread:
    // nobody else runs on the shared memory. The child ends behind `enter`, by the
    // bare call, and never comes back into our frames.
    let pid = unsafe {
        // The child leaves behind what it set for its program.
        let _own = Environment::kept();
        libc::clone(enter, top.cast(), flags, argument.cast())
    };
    if pid == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(Pid::from_raw(pid))
}

/// A program with all that the kernel wants to know of it.
pub(super) struct Program {
    /// What the lists point into.
    _words: [Vec<CString>; 3],
    /// Tried first, unless empty.
    direct: Vec<*const libc::c_char>,
    argv: Vec<*const libc::c_char>,
    env: Vec<*const libc::c_char>,
}

impl Program {
    pub(super) fn new(direct: Vec<CString>, argv: Vec<CString>, env: Vec<CString>) -> Self {
        let list = |words: &[CString]| {
            let words = words.iter().map(|word| word.as_ptr());
            words.chain([std::ptr::null()]).collect()
        };
        Self {
            direct: list(&direct),
            argv: list(&argv),
            env: list(&env),
            _words: [direct, argv, env],
        }
    }

    /// Becomes it: looked for along the `PATH` of its own environment, as a shell
    /// does. Comes back only with the reason why not.
    pub(super) fn execute(&self) -> io::Error {
        // SAFETY: all lists end with null and point to words that we hold. There
        // is one thread, so nobody else reads the environment meanwhile.
        unsafe {
            let _before = Environment::changed_to(&self.env);
            if !self.direct[0].is_null() {
                libc::execvp(self.direct[0], self.direct.as_ptr());
            }
            libc::execvp(self.argv[0], self.argv.as_ptr());
            io::Error::last_os_error()
        }
    }
}

unsafe extern "C" {
    static mut environ: *const *const libc::c_char;
}

/// Gives this process its environment back when dropped.
struct Environment(*const *const libc::c_char);

impl Environment {
    /// # Safety
    /// There is one thread.
    unsafe fn kept() -> Self {
        // SAFETY: nobody changes it meanwhile.
        Self(unsafe { environ })
    }

    /// # Safety
    /// There is one thread, and `list` ends with null and outlives the result.
    unsafe fn changed_to(list: &[*const libc::c_char]) -> Self {
        // SAFETY: as said.
        unsafe {
            let before = Self::kept();
            environ = list.as_ptr();
            before
        }
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: made only where there is one thread.
        unsafe { environ = self.0 }
    }
}

/// Enough for the last steps before a program, and little enough to come from
/// memory that is there already.
const STACK: usize = 64 << 10;

/// Ends this process at once. Whatever would run at its end belongs to the helper
/// it was forked from.
pub(super) fn leave() -> ! {
    // SAFETY: a plain call that does not return.
    unsafe { libc::_exit(0) }
}

/// Whether anybody else is in this pid namespace, whose first process this is. Orphans
/// become its children, so when there are no children left there is nobody left.
pub(super) fn others_are_left() -> bool {
    use rustix::process::{WaitOptions, wait};
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Kills and collects every other process of this pid namespace.
pub(super) fn end_all_others() {
    use rustix::process::{WaitOptions, wait};
    while others_are_left() {
        // Only now: for this the kernel looks at every process of the machine.
        // SAFETY: a plain call. The kernel spares the caller.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        let _ = wait(WaitOptions::empty());
    }
}

/// Keeps `signals` from being delivered, so that [`wait_signal`] sees them.
pub(super) fn block(signals: &[i32]) {
    // SAFETY: plain calls on a local set.
    unsafe {
        let set = signal_set(signals);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

/// Ignores no signal that the caller's parent may have had ignored, but for the
/// one that the Rust runtime ignores. Once, for everything that is forked later.
fn ignore_nothing() {
    for signal in (1..=64).filter(|signal| *signal != libc::SIGPIPE) {
        // SAFETY: a default disposition. Refused for the two that cannot be
        // ignored and the C library's own two.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Gives a command the signals that every program starts with: none blocked,
/// none ignored.
pub(super) fn reset_signals() {
    // SAFETY: plain calls on a local set, and a default disposition.
    unsafe {
        let set = signal_set(&[]);
        libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// Waits for one of the blocked `signals`, at most so long.
pub(super) fn wait_signal(signals: &[i32], at_most: Option<Duration>) -> Option<i32> {
    let set = signal_set(signals);
    let time = at_most.map(|time| libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: set and time live across the call; no information is asked for.
    let signal = unsafe { libc::sigtimedwait(&set, std::ptr::null_mut(), time) };
    (signal > 0).then_some(signal)
}

fn signal_set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the set before it is used.
    unsafe {
        let mut set = mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, *signal);
        }
        set
    }
}

/// A descriptor that can be read when one of the blocked `signals` waits.
pub(super) fn signals(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = signal_set(signals);
    // SAFETY: a set that lives across the call; what comes back is ours alone.
    unsafe {
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            new => Ok(OwnedFd::from_raw_fd(new)),
        }
    }
}

/// Whether a mount hears of later mounts in the place it was cloned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Propagation {
    Same,
    None,
}

/// Sets attributes of a mount, and of all mounts below it.
pub(super) fn set_mount_attributes(
    mount: impl AsFd,
    set: u64,
    propagation: Propagation,
    recursive: bool,
) -> io::Result<()> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attr = MountAttr {
        set,
        clear: 0,
        propagation: match propagation {
            Propagation::Same => 0,
            Propagation::None => libc::MS_PRIVATE,
        },
        user_namespace: 0,
    };
    let deep = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: an empty path with AT_EMPTY_PATH, and a structure of the given size.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | deep,
            &raw const attr,
            mem::size_of::<MountAttr>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Brings the loopback device of this network namespace up.
pub(super) fn loopback_up() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketType, socket};
    let socket: OwnedFd = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all-zero is a valid request; name and flags are set before the call.
    unsafe {
        let mut request: libc::ifreq = mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        if libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        ) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Leaves namespaces of the caller.
pub(super) fn unshare(flags: rustix::thread::UnshareFlags) -> io::Result<()> {
    // SAFETY: the helper has one thread, and the descriptor table is not among the flags.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(Into::into)
}

/// The version of Landlock this kernel speaks; 0 when it does not.
pub(super) fn landlock_version() -> i32 {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: no structure is passed, only the version is asked for.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, VERSION) };
    version.max(0) as i32
}

/// Whether the process limit of an ordinary user counts only processes of its
/// own user namespace (Linux 5.14); before, it would count all of the person's.
pub(super) fn counts_processes_per_namespace() -> bool {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    let mut parts = release
        .split(['.', '-'])
        .map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (5, 14)
}

/// Makes a call with nothing but zeros, to see whether it is let through.
pub(super) fn attempt(call: libc::c_long) -> Result<String, String> {
    attempt_with(call, 0)
}

/// The same with a first argument.
pub(super) fn attempt_with(call: libc::c_long, first: i32) -> Result<String, String> {
    let zero = 0usize;
    // SAFETY: every pointer argument is null, which the kernel refuses to follow,
    // and no number given here does anything to this process that it relies on.
    let result = unsafe { libc::syscall(call, first, zero, zero, zero, zero, zero) };
    judge(result)
}

/// Tries a request on standard input.
pub(super) fn attempt_ioctl(request: libc::c_ulong) -> Result<String, String> {
    // SAFETY: the pointer is null, and descriptor 0 is open.
    judge(unsafe { libc::syscall(libc::SYS_ioctl, 0, request, 0usize) })
}

fn judge(result: libc::c_long) -> Result<String, String> {
    if result >= 0 {
        return Ok("it worked".to_owned());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => Err(error.to_string()),
        _ => Ok(format!("the call got through: {error}")),
    }
}
