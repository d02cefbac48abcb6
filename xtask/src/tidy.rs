//! The rules of the tree that no compiler holds. Reads files and never changes one.

mod files;
mod manifests;
mod rust;
mod words;

use crate::process::{Repo, Trouble};
use crate::{floors, say};

use files::File;

pub(crate) const HELP: &str = "\
Usage: cargo xtask tidy

Rust files open with a `//!` sentence, keep to 700 lines, and hold no ignored test, no `todo!`, no `allow` attribute
and no sleep in a test; members take the workspace's lints; the two migration folders hold the same names; files keep
to 512 KiB; links between the documents lead somewhere; and the floors (who may use whom) hold over `cargo metadata`.";

pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<(), Trouble> {
    if !arguments.is_empty() {
        return Err(Trouble::new("tidy takes no arguments", "run `cargo xtask tidy --help`"));
    }
    check(repo)?;
    say::out("tidy: the tree keeps its rules and its floors");
    Ok(())
}

/// Fails with one line for each rule that a file breaks.
pub(crate) fn check(repo: &Repo) -> Result<(), Trouble> {
    let files = files::of_the_tree(repo)?;
    let mut findings = findings(&files);
    findings.extend(floors::broken(&repo.metadata));
    if findings.is_empty() {
        return Ok(());
    }
    Err(Trouble::new(
        format!("{} broken rules:\n{}", findings.len(), findings.join("\n")),
        "put each right; a rule that is wrong is changed in xtask/src/tidy, with its reason",
    ))
}

fn findings(files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files {
        findings.extend(files::too_large(file));
        let Some(text) = &file.text else { continue };
        findings.extend(words::check(&file.path, text));
        if file.path.ends_with(".rs") {
            findings.extend(rust::check(&file.path, text));
        }
        if file.path.ends_with("Cargo.toml") {
            findings.extend(manifests::check(&file.path, text));
        }
        if file.path.ends_with(".md") {
            findings.extend(words::dead_links(&file.path, text, files));
        }
    }
    findings.extend(rust::stale_long_files(files));
    findings.extend(manifests::migrations(files));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_tree_is_found_out_file_by_file() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            bytes: text.len() as u64,
            text: Some(text.to_owned()),
        };
        let bad = [
            file("broker/src/ops.rs", "fn main() {}\n"),
            file("broker/Cargo.toml", "[package]\nname = \"collie-broker\"\n"),
            file("migrations/sqlite/0001_first.sql", "SELECT 1;\n"),
            file("README.md", "See [the floors](NOWHERE.md).\n"),
        ];
        let found = findings(&bad);
        for start in
            ["broker/src/ops.rs:1: ", "broker/Cargo.toml: ", "migrations/postgres/0001_first.sql ", "README.md:1: "]
        {
            assert!(found.iter().any(|finding| finding.starts_with(start)), "{start} in {found:?}");
        }
    }

    #[test]
    fn this_tree_keeps_its_rules() {
        let repo = Repo::find().expect("a checkout");
        let found = findings(&files::of_the_tree(&repo).expect("a readable tree"));
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
