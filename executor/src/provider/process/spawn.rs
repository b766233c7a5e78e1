//! Starts one detached process; the only file of this provider with unsafe code.
//!
//! `posix_spawn` shares the caller's memory until the program is executed, so its cost does not grow with the
//! driver's heap as that of `fork` does. Each process leads a session and a group of its own, starts with every
//! signal at its default and none blocked, reads from `/dev/null`, and inherits no other descriptor.
//!
//! Not here: what to start (`prepare`), on which thread (`spawners`), and who it is afterwards (`identity`).
#![expect(unsafe_code, reason = "posix_spawn and registering a pidfd have no safe interface")]

use std::{
    ffi::{CStr, CString, c_char, c_int},
    io,
    mem::MaybeUninit,
    os::fd::OwnedFd,
    ptr,
    sync::{Arc, OnceLock},
};

use rustix::process::Pid;
use tokio::io::{Interest, unix::AsyncFd};

/// Everything that a new process is made of. Its environment may hold secrets, so it is never shown.
pub(super) struct Launch {
    /// The program, as a path.
    pub(super) program: CString,
    /// Its arguments; the first is the name that it sees.
    pub(super) argv: Vec<CString>,
    /// Its whole environment, as `NAME=value`.
    pub(super) env: Vec<CString>,
    /// The directory that it starts in.
    pub(super) workdir: CString,
    /// The file that its standard output is appended to.
    pub(super) stdout: CString,
    /// The file that its standard error is appended to.
    pub(super) stderr: CString,
}

/// Waits for readiness of a pidfd without blocking a thread.
///
/// # Errors
/// Gives the descriptor back if the reactor cannot take it.
pub(super) fn watchable(fd: Arc<OwnedFd>) -> Result<AsyncFd<Arc<OwnedFd>>, Arc<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open for as long as it lives and always names the same descriptor; the
    // `AsyncFd` holds a share of it until it is out of the reactor.
    let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    registered.map_err(|error| {
        let (fd, error) = error.into_parts();
        tracing::warn!(%error, "the reactor takes no more descriptors");
        fd
    })
}

/// Gives the calling thread a table of descriptors of its own, with nothing in it but standard input, output and
/// error.
///
/// A new process begins with a copy of its parent's table, so that a driver that watches a thousand nodes would
/// copy and close a thousand descriptors at each start. The thread must use no descriptor that another one
/// opened, for there is none here; it takes no signal either, since handlers write to descriptors. A system that
/// cannot do so leaves the thread with everybody's table, and starts that cost more.
pub(super) fn leave_descriptors() {
    let mut all = MaybeUninit::uninit();
    // SAFETY: the set is initialised before it is read; neither call touches anything but this thread's mask.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), ptr::null_mut());
    }
    let first: libc::c_uint = 3;
    // SAFETY: a plain call with three numbers. It closes descriptors of this thread's new table only: those that
    // others hold stay open in theirs.
    unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_UNSHARE);
    }
}

/// Starts a process and returns its id, which is that of its group and session too.
///
/// # Errors
/// Gives the error of whatever failed up to and including the execution of the program.
pub(super) fn spawn(launch: &Launch) -> io::Result<Pid> {
    let attributes = Attributes::new()?;
    let actions = Actions::new(launch)?;
    let argv = pointers(&launch.argv);
    let env = pointers(&launch.env);
    let mut pid: libc::pid_t = 0;
    // SAFETY: both objects were initialised; `argv` and `env` are arrays of pointers to strings that end in
    // NUL, borrowed from `launch` and ended by a null pointer; `posix_spawn` writes to none of them.
    let code = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            launch.program.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            argv.as_ptr(),
            env.as_ptr(),
        )
    };
    check(code)?;
    Pid::from_raw(pid).ok_or_else(|| io::Error::other("the system gave no process id"))
}

fn pointers(texts: &[CString]) -> Vec<*mut c_char> {
    texts.iter().map(|text| text.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
}

/// The `posix_spawn` family returns its error instead of setting `errno`.
fn check(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: `posix_spawnattr_init` only writes to the object it is given.
        check(unsafe { libc::posix_spawnattr_init(raw.as_mut_ptr()) })?;
        // SAFETY: it was initialised by the successful call above.
        let mut attributes = Self(unsafe { raw.assume_init() });
        attributes.fill()?;
        Ok(attributes)
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut none = MaybeUninit::uninit();
        let mut all = MaybeUninit::uninit();
        // SAFETY: both calls initialise the set that they are given and cannot fail for a valid pointer.
        let (none, all) = unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigfillset(all.as_mut_ptr());
            (none.assume_init(), all.assume_init())
        };
        let flags = libc::POSIX_SPAWN_SETSID | SIGNAL_FLAG_MASK | SIGNAL_FLAG_DEFAULT;
        // SAFETY: `self.0` was initialised; the sets live until the calls return, which copy them.
        unsafe {
            check(libc::posix_spawnattr_setflags(&raw mut self.0, flags))?;
            check(libc::posix_spawnattr_setsigmask(&raw mut self.0, &raw const none))?;
            check(libc::posix_spawnattr_setsigdefault(&raw mut self.0, &raw const all))
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "both flags are small; the call takes a short")]
const SIGNAL_FLAG_MASK: i16 = libc::POSIX_SPAWN_SETSIGMASK as i16;
#[expect(clippy::cast_possible_truncation, reason = "both flags are small; the call takes a short")]
const SIGNAL_FLAG_DEFAULT: i16 = libc::POSIX_SPAWN_SETSIGDEF as i16;

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: `self.0` was initialised and is destroyed once.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new(launch: &Launch) -> io::Result<Self> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: `posix_spawn_file_actions_init` only writes to the object it is given.
        check(unsafe { libc::posix_spawn_file_actions_init(raw.as_mut_ptr()) })?;
        // SAFETY: it was initialised by the successful call above.
        let mut actions = Self(unsafe { raw.assume_init() });
        let append = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW;
        actions.open(libc::STDIN_FILENO, c"/dev/null", libc::O_RDONLY)?;
        actions.open(libc::STDOUT_FILENO, &launch.stdout, append)?;
        actions.open(libc::STDERR_FILENO, &launch.stderr, append)?;
        // SAFETY: `actions.0` is initialised; the call copies the path.
        check(unsafe {
            libc::posix_spawn_file_actions_addchdir_np(&raw mut actions.0, launch.workdir.as_ptr())
        })?;
        actions.close_rest()?;
        Ok(actions)
    }

    fn open(&mut self, fd: c_int, path: &CStr, flags: c_int) -> io::Result<()> {
        // SAFETY: `self.0` is initialised; the call copies the path.
        check(unsafe {
            libc::posix_spawn_file_actions_addopen(&raw mut self.0, fd, path.as_ptr(), flags, 0o600)
        })
    }

    /// Our own descriptors close by themselves; those that we inherited from whoever started us might not, and
    /// a node that keeps a pipe of its driver's parent open keeps that parent waiting.
    fn close_rest(&mut self) -> io::Result<()> {
        let Some(close_from) = close_from() else { return Ok(()) };
        // SAFETY: `self.0` is initialised, and `close_from` has exactly this signature.
        check(unsafe { close_from(&raw mut self.0, 3) })
    }
}

type CloseFrom = unsafe extern "C" fn(*mut libc::posix_spawn_file_actions_t, c_int) -> c_int;

/// Looked up at run time, because a C library older than glibc 2.34 does not have it.
fn close_from() -> Option<CloseFrom> {
    static FOUND: OnceLock<Option<CloseFrom>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let name = c"posix_spawn_file_actions_addclosefrom_np";
        // SAFETY: `dlsym` takes any string that ends in NUL.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        // SAFETY: a symbol of this name is this function of the C library; null becomes `None`, since an
        // optional function pointer has the size of a pointer and null as its empty value.
        unsafe { std::mem::transmute::<*mut libc::c_void, Option<CloseFrom>>(symbol) }
    })
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: `self.0` was initialised and is destroyed once.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}
