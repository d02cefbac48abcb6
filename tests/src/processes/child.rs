//! One process: its output collected as it comes, its command line and environment read while it runs, ended when dropped. Waits for the process itself, never for a time to pass.

use crate::trouble::Trouble;
use serde_json::Value;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long any single wait may take before it is given up.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);

/// How long a process has to end after it was asked to.
const STOP_MAX: Duration = Duration::from_secs(15);

/// What everybody on the machine may see of a process while it runs: Linux shows the command line to all and the environment to its user.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The program's file name.
    pub program: String,
    /// `/proc/<pid>/cmdline`, raw.
    pub command_line: Vec<u8>,
    /// `/proc/<pid>/environ`, raw.
    pub environment: Vec<u8>,
}

impl Seen {
    /// What the process was given, where it ended before anybody could look.
    fn or_given(mut self, command: &Command) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        if self.command_line.is_empty() {
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            self.command_line = words.flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
            let given = command
                .get_envs()
                .filter_map(|(name, value)| Some([name.as_bytes(), b"=", value?.as_bytes(), b"\0"].concat()));
            self.environment = given.flatten().collect();
        }
        self
    }
}

/// A process that has ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Everything on standard output.
    pub stdout: Vec<u8>,
    /// Everything on standard error.
    pub stderr: Vec<u8>,
    /// What others could see of it.
    pub seen: Seen,
}

impl Finished {
    /// Standard output as text.
    #[must_use]
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    #[must_use]
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The one JSON document on standard output.
    pub fn json(&self) -> Result<Value, Trouble> {
        serde_json::from_slice(&self.stdout).map_err(|error| {
            Trouble::new(
                format!(
                    "`{}` did not print one JSON document ({error}); it said: {}",
                    self.seen.program,
                    self.err().trim()
                ),
                "run the command by hand and look",
            )
        })
    }
}

/// A process that runs. Dropping it ends it.
pub struct Running {
    child: Child,
    out: Pipe,
    err: Pipe,
    seen: Seen,
}

impl Running {
    /// Starts `command` with pipes, and writes `stdin` to it, after which its standard input ends.
    pub fn start(command: &mut Command, stdin: &[u8]) -> Result<Self, Trouble> {
        let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed =
            |error: std::io::Error| Trouble::new(format!("`{program}` did not start: {error}"), "look at its folder");
        let mut child = live::spawn(command).map_err(failed)?;
        // Read before anything is written to it, so that a secret on the command line cannot hide behind a quick end.
        let seen = look(&program, child.id()).or_given(command);
        let (out, err) = (Pipe::collect(child.stdout.take()), Pipe::collect(child.stderr.take()));
        if let Some(mut pipe) = child.stdin.take() {
            // A program that does not read its input is not wrong for that.
            let _ = pipe.write_all(stdin);
        }
        Ok(Self { child, out, err, seen })
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What others can see of it now.
    #[must_use]
    pub fn look(&self) -> Seen {
        look(&self.seen.program, self.child.id())
    }

    /// What it has written to standard output so far.
    #[must_use]
    pub fn out_so_far(&self) -> Vec<u8> {
        self.out.so_far()
    }

    /// What it has written to standard error so far.
    #[must_use]
    pub fn err_so_far(&self) -> Vec<u8> {
        self.err.so_far()
    }

    /// Waits until `find` finds something in standard output; `None` when the output ended without it.
    pub fn wait_out<T>(&self, find: impl FnMut(&str) -> Option<T>) -> Option<T> {
        self.out.wait_for(find)
    }

    /// Waits until `find` finds something in standard error; `None` when the output ended without it.
    pub fn wait_err<T>(&self, find: impl FnMut(&str) -> Option<T>) -> Option<T> {
        self.err.wait_for(find)
    }

    /// Waits until the process ends by itself.
    pub fn finish(mut self) -> Result<Finished, Trouble> {
        if !(self.out.wait_end(WAIT_MAX) && self.err.wait_end(WAIT_MAX)) {
            let said = format!("{}{}", text(&self.out), text(&self.err));
            return Err(Trouble::new(
                format!(
                    "`{}` did not end within {} s; it said: {}",
                    self.seen.program,
                    WAIT_MAX.as_secs(),
                    said.trim()
                ),
                "look what it waits for",
            ));
        }
        let status = self.child.wait().map_err(|error| Trouble::new(error.to_string(), "run it again"))?;
        Ok(Finished {
            code: status.code(),
            stdout: self.out.so_far(),
            stderr: self.err.so_far(),
            seen: self.seen.clone(),
        })
    }

    /// Asks the process to end, as a service manager or Ctrl-C does, and waits until it has.
    pub fn stop(mut self, signal: &str) -> Result<Finished, Trouble> {
        send(signal, self.child.id());
        if !self.out.wait_end(STOP_MAX) {
            let _ = self.child.kill();
        }
        let status = self.child.wait().map_err(|error| Trouble::new(error.to_string(), "run it again"))?;
        self.err.wait_end(STOP_MAX);
        Ok(Finished {
            code: status.code(),
            stdout: self.out.so_far(),
            stderr: self.err.so_far(),
            seen: self.seen.clone(),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        live::forget(self.child.id());
    }
}

/// Ends every process that runs, and starts none any more: for a driver that is told to end.
pub fn end_all() {
    for process in live::close() {
        send("KILL", process);
    }
}

/// The processes that run, for the one moment in which all of them have to end.
mod live {
    use std::collections::BTreeSet;
    use std::io;
    use std::process::{Child, Command};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// `None` once the driver ends.
    static LIVE: Mutex<Option<BTreeSet<u32>>> = Mutex::new(Some(BTreeSet::new()));

    pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
        let mut live = lock();
        let Some(processes) = live.as_mut() else { return Err(io::Error::other("everything is being ended")) };
        let child = command.spawn()?;
        processes.insert(child.id());
        Ok(child)
    }

    pub(super) fn forget(process: u32) {
        if let Some(processes) = lock().as_mut() {
            processes.remove(&process);
        }
    }

    pub(super) fn close() -> BTreeSet<u32> {
        lock().take().unwrap_or_default()
    }

    fn lock() -> MutexGuard<'static, Option<BTreeSet<u32>>> {
        LIVE.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends a signal by the system's own program: this crate has no unsafe code to do it by itself.
pub(crate) fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    kill.args([&format!("-{signal}"), &process.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = kill.status();
}

fn look(program: &str, process: u32) -> Seen {
    let read = |name: &str| std::fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
    Seen { program: program.to_owned(), command_line: read("cmdline"), environment: read("environ") }
}

fn text(pipe: &Pipe) -> String {
    String::from_utf8_lossy(&pipe.so_far()).into_owned()
}

/// One output of a process, read by a thread of its own so that the process never waits for us.
struct Pipe(Arc<(Mutex<Collected>, Condvar)>);

#[derive(Default)]
struct Collected {
    bytes: Vec<u8>,
    ended: bool,
}

impl Pipe {
    fn collect(source: Option<impl Read + Send + 'static>) -> Self {
        let shared = Arc::new((Mutex::new(Collected::default()), Condvar::new()));
        let ours = Arc::clone(&shared);
        std::thread::spawn(move || {
            let mut chunk = [0; 16 * 1024];
            if let Some(mut source) = source {
                while let Ok(count @ 1..) = source.read(&mut chunk) {
                    lock(&ours.0).bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
                    ours.1.notify_all();
                }
            }
            lock(&ours.0).ended = true;
            ours.1.notify_all();
        });
        Self(shared)
    }

    fn so_far(&self) -> Vec<u8> {
        lock(&self.0.0).bytes.clone()
    }

    fn wait_for<T>(&self, mut find: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let mut collected = lock(&self.0.0);
        loop {
            if let Some(found) = find(&String::from_utf8_lossy(&collected.bytes)) {
                return Some(found);
            }
            if collected.ended {
                return None;
            }
            let length = collected.bytes.len();
            let waited =
                self.0.1.wait_timeout_while(collected, WAIT_MAX, |now| !now.ended && now.bytes.len() == length);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return None;
            }
            collected = guard;
        }
    }

    fn wait_end(&self, at_most: Duration) -> bool {
        let waited = self.0.1.wait_timeout_while(lock(&self.0.0), at_most, |now| !now.ended);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

fn lock(mutex: &Mutex<Collected>) -> MutexGuard<'_, Collected> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_code_and_command_line_are_kept() {
        let mut command = Command::new("sh");
        command.args(["-c", "read line; echo \"got $line\"; echo no >&2; exit 7"]).env_clear().env("MARK", "seen");
        let finished = Running::start(&mut command, b"this\n").expect("starts").finish().expect("ends");
        assert_eq!((finished.code, finished.out().as_str(), finished.err().as_str()), (Some(7), "got this\n", "no\n"));
        assert!(finished.seen.command_line.starts_with(b"sh\0-c\0"));
        assert!(finished.seen.environment.starts_with(b"MARK=seen"));
    }

    #[test]
    fn a_line_is_awaited_and_a_dropped_process_is_gone() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo ready; exec sleep 600"]);
        let running = Running::start(&mut command, b"").expect("starts");
        running.wait_out(|text| text.contains("ready").then_some(())).expect("it says so");
        let process = running.id();
        drop(running);
        assert!(!Path::new(&format!("/proc/{process}")).exists());
    }

    #[test]
    fn a_process_that_is_asked_to_stop_may_say_goodbye() {
        let mut command = Command::new("sh");
        command.args(["-c", "trap 'echo bye; exit 3' TERM; echo ready; while :; do :; done"]);
        let running = Running::start(&mut command, b"").expect("starts");
        running.wait_out(|text| text.contains("ready").then_some(())).expect("it says so");
        let finished = running.stop("TERM").expect("stops");
        assert_eq!((finished.code, finished.out().as_str()), (Some(3), "ready\nbye\n"));
    }
}
