//! A private PostgreSQL for one run: own folder, unix socket only, no port, no password, gone at the end. Never touches
//! another cluster on the machine.

use std::ffi::OsString;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};

use crate::guard::{Guard, Server};
use crate::process::{Trouble, output_of, which};
use crate::{say, tools};

/// The variable the suites read. A value that is already set names a server of the person's own, and is used.
pub(crate) const VARIABLE: &str = "COLLIE_TEST_POSTGRES";

/// A unix socket's path has at most 107 bytes, of which PostgreSQL's file name takes 15.
const FOLDER_BYTES_MAX: usize = 80;

/// How often a folder name may be taken already.
const FOLDER_TRIES_MAX: u32 = 64;

/// Starts a server, tells the guard to stop it, and returns its URL.
pub(crate) fn start(guard: &mut Guard) -> Result<OsString, Trouble> {
    if let Some(url) = std::env::var_os(VARIABLE).filter(|url| !url.is_empty()) {
        say::note(&format!("{VARIABLE} is set: using that server"));
        return Ok(url);
    }
    let programs = find_or_install()?;
    let user = server_user()?;
    let folder = make_folder()?;
    if let Some((user, group)) = user {
        chown(&folder, Some(user), Some(group))
            .map_err(|error| cannot("give the folder to the server's user", &error))?;
    }
    let server = Server { user, pg_ctl: programs.join("pg_ctl"), folder };
    // Owed before anything runs in it, so that no failure leaves the folder behind.
    guard.owe(&server);
    let data = server.folder.join("data");

    let mut initdb = server.command(&programs.join("initdb"));
    initdb.arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8"]);
    output_of(&mut initdb)?;

    let log = server.folder.join("log");
    let mut pg_ctl = server.command(&server.pg_ctl);
    pg_ctl.arg("-D").arg(&data).arg("-l").arg(&log).args(["-w", "-t", "60", "-o"]);
    pg_ctl.arg(settings(&server.folder)).arg("start");
    // The server keeps the descriptors it is started with, so it is given none of ours to hold open.
    pg_ctl.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let started = pg_ctl.status().map_err(|error| cannot("start pg_ctl", &error))?;
    if !started.success() {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        return Err(Trouble::new(format!("PostgreSQL did not start:\n{}", said.trim_end()), "put right what it names"));
    }
    say::note(&format!("PostgreSQL is up in {}", server.folder.display()));
    Ok(url_of(&server.folder).into())
}

/// The server's command line: durable enough for a test, and many connections, since each test is a process.
fn settings(folder: &Path) -> String {
    format!(
        "-c listen_addresses='' -c unix_socket_directories='{}' -c max_connections=300 -c fsync=off \
         -c full_page_writes=off -c shared_buffers=64MB -c max_pred_locks_per_transaction=256",
        folder.display()
    )
}

/// The URL as sqlx reads it: a host that begins with `/` is a socket's folder.
fn url_of(folder: &Path) -> String {
    format!("postgres://postgres@localhost/postgres?host={}", folder.display())
}

fn find_or_install() -> Result<PathBuf, Trouble> {
    if let Some(programs) = find() {
        return Ok(programs);
    }
    tools::apt_install(&["postgresql"], "PostgreSQL")?;
    find().ok_or_else(|| {
        Trouble::new("PostgreSQL was installed and its initdb is nowhere", "put the folder of initdb in PATH")
    })
}

/// The folder that holds both `initdb` and `pg_ctl`: PATH first, then the newest under `/usr/lib/postgresql`.
fn find() -> Option<PathBuf> {
    let both = |folder: &Path| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file();
    if let Some(folder) =
        which("initdb").and_then(|file| file.parent().map(Path::to_path_buf)).filter(|folder| both(folder))
    {
        return Some(folder);
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let numbered =
        versions.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin"))));
    numbered.filter(|(_, folder)| both(folder)).max().map(|(_, folder)| folder)
}

/// PostgreSQL refuses to run as root: then it runs as `postgres`, or else as `nobody`.
fn server_user() -> Result<Option<(u32, u32)>, Trouble> {
    if !tools::is_root() {
        return Ok(None);
    }
    let passwd = std::fs::read_to_string("/etc/passwd").map_err(|error| cannot("read /etc/passwd", &error))?;
    let user = tools::user_named(&passwd, "postgres").or_else(|| tools::user_named(&passwd, "nobody"));
    user.map(Some).ok_or_else(|| {
        Trouble::new("PostgreSQL does not run as root and there is no user `postgres`", "run this as another user")
    })
}

/// A new folder that only its owner may enter. A name that exists is never used.
fn make_folder() -> Result<PathBuf, Trouble> {
    let mut base = std::env::temp_dir();
    if base.as_os_str().len() > FOLDER_BYTES_MAX - 30 || !base.is_absolute() {
        base = PathBuf::from("/tmp");
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
    if !base.as_os_str().as_encoded_bytes().iter().all(plain) {
        base = PathBuf::from("/tmp");
    }
    for attempt in 0..FOLDER_TRIES_MAX {
        let folder = base.join(format!("collie-pg-{}-{attempt}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot(&format!("make {}", folder.display()), &error)),
        }
    }
    Err(Trouble::new(format!("{} is full of old collie-pg folders", base.display()), "remove them"))
}

fn cannot(step: &str, error: &std::io::Error) -> Trouble {
    Trouble::new(
        format!("cannot {step}: {error}"),
        "put right what it names, or set COLLIE_TEST_POSTGRES to a server of your own",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_names_the_socket_and_no_port() {
        let url = url_of(Path::new("/tmp/collie-pg-7-0"));
        assert_eq!(url, "postgres://postgres@localhost/postgres?host=/tmp/collie-pg-7-0");
        assert!(settings(Path::new("/tmp/x")).starts_with("-c listen_addresses='' "));
    }

    #[test]
    fn a_folder_is_new_private_and_short() {
        use std::os::unix::fs::PermissionsExt;
        let (first, second) = (make_folder().expect("a folder"), make_folder().expect("another"));
        assert_ne!(first, second);
        assert_eq!(std::fs::metadata(&first).expect("it exists").permissions().mode() & 0o777, 0o700);
        assert!(first.as_os_str().len() <= FOLDER_BYTES_MAX);
        for folder in [first, second] {
            std::fs::remove_dir(folder).expect("it is empty");
        }
    }
}
