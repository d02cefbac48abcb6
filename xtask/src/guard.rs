//! Undoes what a run started, however the run ends: a second process that waits for the end of this one. Never outlives it.
//!
//! It is started in its own process group, so that Ctrl-C in the terminal does not reach it, and reads a pipe that only
//! this process holds open. When the pipe closes (at the end, at a failure, at Ctrl-C, at SIGKILL) it ends the program
//! that was running, stops PostgreSQL and removes its folder. The ordinary end takes the same way, so that it is tried each time.

use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

use crate::process::Trouble;

/// The hidden command under which xtask starts itself as the guard.
pub(crate) const COMMAND: &str = "__guard";

/// The running guard. Dropping it undoes everything and waits until that is done.
pub(crate) struct Guard {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    pub(crate) fn start() -> Result<Self, Trouble> {
        let program = std::env::current_exe()
            .map_err(|error| Trouble::new(format!("cannot name this program: {error}"), "run it as `cargo xtask …`"))?;
        let mut child = Command::new(program)
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| {
                Trouble::new(format!("cannot start the guard process: {error}"), "look at `ulimit -u` and memory")
            })?;
        let pipe = child.stdin.take();
        Ok(Self { child, pipe })
    }

    /// A program that must not outlive this run.
    pub(crate) fn follow(&mut self, process: u32) {
        self.tell(&format!("child\t{process}"));
    }

    /// That program has ended.
    pub(crate) fn unfollow(&mut self) {
        self.tell("child\t0");
    }

    /// A PostgreSQL that must be stopped, and its folder removed.
    pub(crate) fn owe(&mut self, server: &Server) {
        self.tell(&server.to_line());
    }

    fn tell(&mut self, line: &str) {
        if let Some(pipe) = &mut self.pipe {
            let _ = writeln!(pipe, "{line}");
            let _ = pipe.flush();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.child.wait();
    }
}

/// A private PostgreSQL: who it runs as, the program that stops it, and its folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// User and group, when that is not who we are.
    pub(crate) user: Option<(u32, u32)>,
    pub(crate) pg_ctl: PathBuf,
    /// Holds the cluster in `data` and the socket; removed at the end.
    pub(crate) folder: PathBuf,
}

impl Server {
    fn to_line(&self) -> String {
        let (user, group) = self.user.map_or((String::new(), String::new()), |(u, g)| (u.to_string(), g.to_string()));
        format!("postgres\t{user}\t{group}\t{}\t{}", self.pg_ctl.display(), self.folder.display())
    }

    fn from_line(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        if fields.next() != Some("postgres") {
            return None;
        }
        let (user, group) = (fields.next()?, fields.next()?);
        let user = user.parse().ok().zip(group.parse().ok());
        Some(Self { user, pg_ctl: fields.next()?.into(), folder: fields.next()?.into() })
    }

    /// A command of PostgreSQL's, as the server's user, in its folder.
    pub(crate) fn command(&self, program: &std::path::Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).stdin(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    fn undo(&self) {
        let mut stop = self.command(&self.pg_ctl);
        stop.arg("-D").arg(self.folder.join("data")).args(["-m", "immediate", "-w", "-t", "20", "stop"]);
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The guard's own process.
pub(crate) fn watch() -> ExitCode {
    undo_at_the_end_of(std::io::stdin().lock());
    ExitCode::SUCCESS
}

/// Waits until the pipe closes, then undoes what is still owed.
fn undo_at_the_end_of(pipe: impl BufRead) {
    let mut running = 0_u32;
    let mut owed = Vec::new();
    for line in pipe.lines().map_while(Result::ok) {
        if let Some(process) = line.strip_prefix("child\t") {
            running = process.parse().unwrap_or(0);
        } else if let Some(server) = Server::from_line(&line) {
            owed.push(server);
        }
    }
    if running > 1 {
        let _ = Command::new("kill").args(["-TERM", &running.to_string()]).stderr(Stdio::null()).status();
    }
    for server in owed {
        server.undo();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_survives_the_pipe() {
        for user in [None, Some((101, 104))] {
            let server = Server { user, pg_ctl: "/usr/lib/x y/pg_ctl".into(), folder: "/tmp/collie-pg-1".into() };
            assert_eq!(Server::from_line(&server.to_line()), Some(server));
        }
        assert_eq!(Server::from_line("child\t12"), None);
    }

    #[test]
    fn when_the_pipe_closes_the_program_ends_and_the_folder_is_gone() {
        use std::os::unix::process::ExitStatusExt;
        let folder = std::env::temp_dir().join(format!("collie-guard-test-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("data")).expect("a folder");
        let server = Server { user: None, pg_ctl: "true".into(), folder: folder.clone() };
        let mut child = Command::new("sleep").arg("600").spawn().expect("it starts");
        undo_at_the_end_of(format!("{}\nchild\t{}\n", server.to_line(), child.id()).as_bytes());
        assert_eq!(child.wait().expect("it ended").signal(), Some(15));
        assert!(!folder.exists());
    }

    #[test]
    fn a_program_that_has_ended_is_left_alone() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("it starts");
        undo_at_the_end_of(format!("child\t{}\nchild\t0\n", child.id()).as_bytes());
        assert_eq!(child.try_wait().expect("it runs"), None);
        child.kill().expect("it runs");
        child.wait().expect("it ended");
    }
}
