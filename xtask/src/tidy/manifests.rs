//! Rules of `Cargo.toml` files and of the two migration folders. Reads their text; runs nothing.

use super::files::File;

const ENGINES: [&str; 2] = ["migrations/sqlite/", "migrations/postgres/"];

/// A member takes the workspace's lints; the workspace's own manifest declares them.
pub(crate) fn check(path: &str, text: &str) -> Option<String> {
    let (section, wanted) = if path == "Cargo.toml" {
        ("[workspace.lints.rust]", "unsafe_code = \"forbid\"")
    } else {
        ("[lints]", "workspace = true")
    };
    let mut inside = false;
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if line.starts_with('[') {
            inside = line == section;
        } else if inside && line == wanted {
            return None;
        }
    }
    Some(format!("{path}: section `{section}` must say `{wanted}`"))
}

/// Both engines have the same migrations: same names, numbered from 0001 without a gap.
pub(crate) fn migrations(files: &[File]) -> Vec<String> {
    let named = |folder: &str| -> Vec<String> {
        let in_folder = files.iter().filter_map(|file| file.path.strip_prefix(folder));
        let mut names: Vec<String> = in_folder.filter(|name| name.ends_with(".sql")).map(str::to_owned).collect();
        names.sort();
        names
    };
    let [sqlite, postgres] = ENGINES.map(named);
    let mut findings = Vec::new();
    for (folder, own, other) in [(ENGINES[0], &sqlite, &postgres), (ENGINES[1], &postgres, &sqlite)] {
        findings
            .extend(other.iter().filter(|name| !own.contains(name)).map(|name| format!("{folder}{name} is missing")));
        for (index, name) in own.iter().enumerate() {
            let expected = format!("{:04}_", index + 1);
            let rest = name.strip_prefix(&expected).unwrap_or_default().trim_end_matches(".sql");
            let plain = !rest.is_empty()
                && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
            if !plain {
                findings.push(format!(
                    "{folder}{name}: the name must be {expected}, words in lower case joined by `_`, .sql"
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lints_are_taken_from_the_workspace() {
        let member = "[package]\nname = \"x\"\n[lints]\nworkspace = true   # all of them\n[dependencies]\n";
        assert_eq!(check("broker/Cargo.toml", member), None);
        for bad in [
            "[package]\nname = \"x\"\n",
            "[lints]\nworkspace = false\n",
            "[lints]\n# workspace = true\n",
            "[package]\nworkspace = true\n",
            "[lints.rust]\nworkspace = true\n",
        ] {
            assert!(check("broker/Cargo.toml", bad).is_some(), "{bad}");
        }
        assert!(check("Cargo.toml", "[workspace.lints.rust]\nunsafe_code = \"warn\"\n").is_some());
    }

    fn tree(paths: &[&str]) -> Vec<File> {
        paths.iter().map(|path| File { path: (*path).to_owned(), bytes: 0, text: None }).collect()
    }

    #[test]
    fn both_engines_have_the_same_migrations() {
        let good = ["migrations/sqlite/0001_first.sql", "migrations/postgres/0001_first.sql", "migrations/README.md"];
        assert_eq!(migrations(&tree(&good)), Vec::<String>::new());
        let missing = ["migrations/sqlite/0001_first.sql"];
        assert_eq!(migrations(&tree(&missing)), ["migrations/postgres/0001_first.sql is missing"]);
        let renamed = ["migrations/sqlite/0001_first.sql", "migrations/postgres/0001_other.sql"];
        assert_eq!(migrations(&tree(&renamed)).len(), 2);
        let gap = ["migrations/sqlite/0002_first.sql", "migrations/postgres/0002_first.sql"];
        assert_eq!(migrations(&tree(&gap)).len(), 2);
        let twice = [
            "migrations/sqlite/0001_a.sql",
            "migrations/sqlite/0001_b.sql",
            "migrations/postgres/0001_a.sql",
            "migrations/postgres/0001_b.sql",
        ];
        assert_eq!(migrations(&tree(&twice)).len(), 2);
    }
}
