//! A check of the sources: nobody else calls the MCP transport. Nothing here is product code.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("lists").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
}

/// Files of the client that hold one of these words.
fn holding(words: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 30, "the sources are found");
    let mut holding: Vec<String> = files
        .iter()
        .filter(|file| {
            let text = std::fs::read_to_string(file).expect("reads");
            words.iter().any(|word| text.contains(word))
        })
        .map(|file| file.strip_prefix(&root).expect("inside").display().to_string())
        .collect();
    holding.sort();
    holding
}

// Invariant: only a permit runs. The transport is called in one file, and that file takes a spent permit for it.
#[test]
fn the_transport_is_called_in_one_place() {
    let call = ["call_", "tool("].concat();
    assert_eq!(holding(&[&call]), ["endpoint.rs"]);
    let grant = ["mint_from_", "own_yes("].concat();
    assert_eq!(holding(&[&grant]), ["endpoint.rs"], "a grant is minted where the person's own yes arrives");
    let text = include_str!("../endpoint.rs");
    assert_eq!(text.matches(call.as_str()).count(), 1);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("async fn send( upstream: &mut Upstream, spent: Spent,"), "the caller takes a spent permit");
}
