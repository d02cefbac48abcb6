//! The files that are the project: tracked by git, or about to be. Never follows a link out of the tree.

use std::path::Path;
use std::process::Command;

use crate::process::{Repo, Trouble, output_of};

/// The largest file the repository takes.
pub(crate) const FILE_BYTES_MAX: u64 = 512 * 1024;

/// Folders that are never part of the project.
const OUTSIDE: [&str; 3] = ["target", ".git", "node_modules"];

/// One file, by its path from the root with `/`. `text` is absent when it is not UTF-8 or larger than a file may be.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) text: Option<String>,
}

/// Every file git tracks or would take; in a tree without git, every file outside the build's folders.
pub(crate) fn of_the_tree(repo: &Repo) -> Result<Vec<File>, Trouble> {
    let mut git = Command::new("git");
    git.current_dir(&repo.root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut paths: Vec<String> = match output_of(&mut git) {
        Ok(listed) => listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect(),
        Err(_) => walk(&repo.root)?,
    };
    paths.sort();
    paths.dedup();
    // A tracked file that was removed and not yet committed is no longer part of the tree.
    Ok(paths.into_iter().filter_map(|path| read(&repo.root, path)).collect())
}

/// Says so when a file is larger than the repository takes.
pub(crate) fn too_large(file: &File) -> Option<String> {
    let large = file.bytes > FILE_BYTES_MAX;
    large.then(|| format!("{}: {} bytes; a file has at most {FILE_BYTES_MAX}", file.path, file.bytes))
}

fn read(root: &Path, path: String) -> Option<File> {
    let place = root.join(&path);
    let metadata = std::fs::symlink_metadata(&place).ok()?;
    if !metadata.is_file() {
        return None;
    }
    let bytes = metadata.len();
    let text = if bytes > FILE_BYTES_MAX { None } else { std::fs::read_to_string(&place).ok() };
    Some(File { path, bytes, text })
}

fn walk(root: &Path) -> Result<Vec<String>, Trouble> {
    let unreadable = |folder: &Path, error: &std::io::Error| {
        Trouble::new(format!("cannot read {}: {error}", folder.display()), "look at its permissions")
    };
    let (mut paths, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?.flatten() {
            let (place, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().map_err(|error| unreadable(&place, &error))?;
            if kind.is_dir() && !OUTSIDE.iter().any(|outside| name == *outside) {
                folders.push(place);
            } else if kind.is_file()
                && let Ok(path) = place.strip_prefix(root)
            {
                paths.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_refused_and_the_largest_allowed_is_not() {
        let file = |bytes| File { path: "x.bin".to_owned(), bytes, text: None };
        assert!(too_large(&file(FILE_BYTES_MAX)).is_none());
        assert!(too_large(&file(FILE_BYTES_MAX + 1)).is_some_and(|said| said.starts_with("x.bin: 524289 bytes")));
    }

    #[test]
    fn the_walk_finds_what_git_finds_here() {
        let repo = Repo::find().expect("a checkout");
        let walked = walk(&repo.root).expect("a readable tree");
        assert!(walked.iter().any(|path| path == "xtask/src/tidy/files.rs"));
        assert!(!walked.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
    }
}
