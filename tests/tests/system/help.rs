//! What the pages tell people to type exists: every command, and every flag beside it.

use collie_tests::processes::Binaries;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Pages with commands in them.
const PAGES: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "threat-model/README.md", "threat-model/threats.md"];

fn help(arguments: &[&str]) -> String {
    let binaries = Binaries::find().expect("the programs are built");
    let (program, rest) = arguments.split_first().expect("a program");
    let mut command = Command::new(binaries.program(program));
    let output = command.args(rest).arg("--help").env_clear().output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Names that a help page lists under `Commands:`.
fn commands(help: &str) -> BTreeSet<String> {
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Every `collie online …` and `collie-broker …` in code of a page: the command and the flags after it.
fn lines_in(page: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in page.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let pieces: Vec<&str> = if fenced { vec![line] } else { line.split('`').skip(1).step_by(2).collect() };
        for piece in pieces {
            let piece = piece.split(" #").next().unwrap_or_default();
            for command in piece.split(['|', ';', '&']) {
                let words: Vec<String> = command
                    .split_whitespace()
                    .map(|word| word.trim_start_matches("./target/release/").to_owned())
                    .collect();
                if words.first().is_some_and(|word| word == "collie" || word == "collie-broker") {
                    found.push(words);
                }
            }
        }
    }
    found
}

/// What is wrong with a line, if anything.
fn fault_of(words: &[String], online: &BTreeSet<String>) -> Option<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (path, rest): (Vec<&str>, &[&str]) = match words.as_slice() {
        ["collie", "online", command, rest @ ..] if online.contains(*command) => {
            (vec!["collie", "online", command], rest)
        }
        ["collie", "online", command, ..] if !command.starts_with('-') && !command.starts_with('…') => {
            return Some(format!("no command `{command}`"));
        }
        ["collie", "online", rest @ ..] => (vec!["collie", "online"], rest),
        ["collie-broker", "admin", "owner-link", rest @ ..] => (vec!["collie-broker", "admin", "owner-link"], rest),
        ["collie-broker", rest @ ..] => (vec!["collie-broker"], rest),
        _ => return None,
    };
    let help = help(&path);
    let flags = rest.iter().filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap_or(word));
    flags
        .map(|flag| flag.trim_end_matches([',', '.', ')']))
        .find(|flag| !help.contains(flag))
        .map(|flag| format!("`{}` has no flag `{flag}`", path.join(" ")))
}

#[test]
fn the_pages_name_only_commands_and_flags_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the checkout");
    let online = commands(&help(&["collie", "online"]));
    assert!(online.contains("share-mcp") && online.contains("key-import"), "{online:?}");
    let mut seen = 0;
    for page in PAGES {
        let text = std::fs::read_to_string(root.join(page)).expect("the page is there");
        for words in lines_in(&text) {
            seen += 1;
            assert_eq!(fault_of(&words, &online), None, "{page}: {}", words.join(" "));
        }
    }
    assert!(seen >= 5, "the pages are not read as they should be: {seen}");
}

/// The must-fail control of the test above.
#[test]
fn a_command_or_flag_that_does_not_exist_is_found() {
    let online = commands(&help(&["collie", "online"]));
    let page = "Type `collie online share-mcp NAME --url U --no-such-flag`.\n```sh\ncollie online no-such-command --json   # a remark\n```\n";
    let faults: Vec<_> = lines_in(page).iter().map(|words| fault_of(words, &online)).collect();
    assert_eq!(faults.len(), 2);
    assert!(faults[0].as_deref().is_some_and(|fault| fault.contains("--no-such-flag")), "{faults:?}");
    assert!(faults[1].as_deref().is_some_and(|fault| fault.contains("no-such-command")), "{faults:?}");
}

#[test]
fn every_command_explains_itself_without_state_or_service() {
    for command in commands(&help(&["collie", "online"])) {
        let text = help(&["collie", "online", &command]);
        assert!(text.contains(&format!("Usage: collie online {command}")), "{command}: {text}");
        assert!(text.contains("--json"), "{command}");
    }
}
