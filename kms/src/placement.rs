//! Where a key file lies with respect to what it protects. One backup of one folder must not hold both; says so, and moves nothing.

use std::path::{Path, PathBuf};

/// What kind of installation this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surroundings {
    /// People rely on it.
    Production,
    /// A laptop, a demo or a test.
    Development,
}

/// Where the key file lies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a key file beside its database is said to the person who runs the service"]
pub enum Placement {
    /// In a folder of its own.
    Apart,
    /// Inside a database's folder: whoever copies the folder has both. To be warned about.
    Beside(KekBesideDatabase),
}

/// The key file lies inside a database's folder (B3).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the key file `{key}` lies inside `{database}`, the folder of the database, so that one backup holds both; move it to a folder with a backup of its own and name it in the configuration",
    key = key.display(),
    database = database.display()
)]
pub struct KekBesideDatabase {
    /// The key file.
    pub key: PathBuf,
    /// The folder of a database.
    pub database: PathBuf,
}

/// Looks where `key` lies. Inside one of `database_folders`, at any depth, it is refused in production and reported elsewhere.
pub fn check_placement(
    key: &Path,
    database_folders: &[&Path],
    surroundings: Surroundings,
) -> Result<Placement, KekBesideDatabase> {
    let real_key = real(key);
    let Some(folder) = database_folders.iter().find(|folder| real_key.starts_with(real(folder))) else {
        return Ok(Placement::Apart);
    };
    let beside = KekBesideDatabase { key: key.to_owned(), database: (*folder).to_owned() };
    match surroundings {
        Surroundings::Production => Err(beside),
        Surroundings::Development => Ok(Placement::Beside(beside)),
    }
}

/// The path without links; of a file that is not there yet, that of the nearest folder that is.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => real(parent).join(name),
        (Some(_), Some(name)) => real(Path::new(".")).join(name),
        (_, _) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b3_a_key_beside_the_database_is_refused_in_production() {
        let root = tempfile::tempdir().expect("a folder");
        let (database, apart) = (root.path().join("state"), root.path().join("keys"));
        for folder in [&database, &apart, &database.join("keys")] {
            std::fs::create_dir_all(folder).expect("made");
        }
        let check = |key: &Path, surroundings| check_placement(key, &[&database], surroundings);
        assert_eq!(check(&apart.join("kek.key"), Surroundings::Production), Ok(Placement::Apart));
        // A name that only begins alike is another folder.
        assert_eq!(check(&root.path().join("state-keys/kek.key"), Surroundings::Production), Ok(Placement::Apart));
        for inside in [database.join("kek.key"), database.join("keys/kek.key"), apart.join("../state/kek.key")] {
            let refused = check(&inside, Surroundings::Production).expect_err("must refuse");
            assert!(refused.to_string().contains("move it"), "{refused}");
            assert!(matches!(check(&inside, Surroundings::Development), Ok(Placement::Beside(_))), "{inside:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn b3_a_link_does_not_hide_where_a_key_is() {
        let root = tempfile::tempdir().expect("a folder");
        let database = root.path().join("state");
        std::fs::create_dir(&database).expect("made");
        std::fs::write(database.join("kek.key"), [7; 32]).expect("written");
        let link = root.path().join("apart.key");
        std::os::unix::fs::symlink(database.join("kek.key"), &link).expect("linked");
        assert!(check_placement(&link, &[&database], Surroundings::Production).is_err());
    }
}
