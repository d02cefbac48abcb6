//! Files that only the service's own user reads: made with O_EXCL and mode 0600, complete or not at all. Never replaces one silently.

use std::{
    fs, io,
    io::{Read as _, Write as _},
    path::Path,
};

/// Makes `directory` and its parents; a new one is readable by its owner alone.
pub(crate) fn make_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(directory)
}

/// Writes a new file of mode 0600. An existing one is an error of kind `AlreadyExists`.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Puts a file of mode 0600 in the place of `path`: written beside it, then renamed.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = Path::new(&beside);
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    create(beside, bytes)?;
    fs::rename(beside, path)
}

/// Reads a file of at most `bytes_max` bytes that nobody else may read.
pub(crate) fn read(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "other users may read this file; set its mode to 0600",
            ));
        }
    }
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is larger than it should be"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn private_files_are_private_and_not_replaced() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("keys/token.key");
        make_directory(path.parent().expect("parent")).expect("made");
        create(&path, b"one").expect("created");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(create(&path, b"two").expect_err("stands").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read(&path, 3).expect("read"), b"one");
        assert!(read(&path, 2).is_err());
        put(&path, b"new").expect("put");
        assert_eq!(read(&path, 3).expect("read"), b"new");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("opened up");
        assert_eq!(read(&path, 3).expect_err("others read it").kind(), io::ErrorKind::PermissionDenied);
    }
}
