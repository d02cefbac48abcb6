//! Rules of Rust files. Looks at code with comments and literals blanked out, so that a sentence about a rule is no breach of it.

use super::files::File;

/// A file longer than this is asked why.
const LINES_MAX: usize = 700;

/// The longer files, each with its reason. A file that no longer is longer leaves the list.
const LONG_FILES: &[(&str, &str)] = &[];

/// The shortest sentence that can say what a module is for.
const OPENING_BYTES_MIN: usize = 24;

/// Crates in which nothing may stop the process: what their `lib.rs` denies.
const STEADY: [&str; 4] = ["crates/contract/", "crates/sign/", "crates/seal/", "crates/authority/"];
const STEADY_LINTS: [&str; 4] =
    ["clippy::expect_used", "clippy::panic", "clippy::indexing_slicing", "clippy::string_slice"];

/// Text that must not be in code, and why.
const BANNED: &[(&str, &str)] = &[
    ("#[ignore", "an ignored test tests nothing: mend it or remove it"),
    ("todo!(", "unfinished code is not committed"),
    ("unimplemented!(", "unfinished code is not committed"),
    ("[allow(", "an exception is `#[expect(lint, reason = \"…\")]`"),
];

/// What waits for a clock, and so makes a test slow or unsure.
const SLEEPS: [&str; 3] = ["sleep(", "sleep_until(", "sleep_ms("];

/// Every rule for one file.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let opening = text.lines().next().unwrap_or_default();
    if opening.strip_prefix("//! ").is_none_or(|sentence| sentence.trim().len() < OPENING_BYTES_MIN) {
        findings
            .push(format!("{path}:1: open the module with a `//!` sentence: what it is for and what it never does"));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX && !LONG_FILES.iter().any(|(long, _)| *long == path) {
        findings.push(format!(
            "{path}: {lines} lines; split it by meaning, or give its reason in LONG_FILES (xtask/src/tidy/rust.rs)"
        ));
    }
    let code = code_of(text);
    let mut in_tests = is_test_file(path);
    for (number, line) in code.lines().enumerate() {
        in_tests |= line.trim_start().starts_with("#[cfg(test)]");
        findings.extend(check_line(line, in_tests).map(|why| format!("{path}:{}: {why}", number + 1)));
    }
    if STEADY.iter().any(|home| path.strip_prefix(home) == Some("src/lib.rs")) {
        let denied = denied_by(&code);
        let missing = STEADY_LINTS.iter().filter(|lint| !denied.contains(*lint));
        findings.extend(missing.map(|lint| format!("{path}: this crate denies `{lint}` at its top")));
    }
    findings
}

/// A file on the list of long files that is gone, or no longer long.
pub(crate) fn stale_long_files(files: &[File]) -> Vec<String> {
    let is_long = |path: &str| {
        files
            .iter()
            .any(|file| file.path == path && file.text.as_ref().is_some_and(|text| text.lines().count() > LINES_MAX))
    };
    let stale = LONG_FILES.iter().filter(|(path, reason)| !is_long(path) || reason.is_empty());
    stale.map(|(path, _)| format!("{path}: no longer over {LINES_MAX} lines; take it off LONG_FILES")).collect()
}

fn check_line(line: &str, in_tests: bool) -> impl Iterator<Item = String> {
    let banned = BANNED.iter().filter(|(text, _)| line.contains(text)).map(|(_, why)| (*why).to_owned());
    let by_cfg = line.contains("cfg_attr(") && line.contains(" allow(");
    let by_cfg = by_cfg.then(|| "an exception is `expect(lint, reason = \"…\")`".to_owned());
    let asleep = in_tests && SLEEPS.iter().any(|sleep| line.contains(sleep));
    let asleep =
        asleep.then(|| "a test does not sleep: wait for the thing itself, or pass the time as a value".to_owned());
    banned.chain(by_cfg).chain(asleep)
}

/// Suites and test modules. The lab is a server that can hang on request, and no test.
fn is_test_file(path: &str) -> bool {
    let suite = path.starts_with("tests/") || path.contains("/tests/");
    (suite && !path.starts_with("tests/lab/")) || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// What a file's `#![deny(…)]` and `#![forbid(…)]` name.
fn denied_by(code: &str) -> String {
    let mut denied = String::new();
    for opening in ["#![deny(", "#![forbid("] {
        for after in code.split(opening).skip(1) {
            denied.push_str(after.split(")]").next().unwrap_or_default());
        }
    }
    denied
}

/// The text with comments and the insides of string and character literals made blank; lines stay where they are.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = comment(rest).or_else(|| raw_string(rest)).or_else(|| string(rest)).or_else(|| character(rest));
        // A name that ends in `r` or `b` is no prefix of a literal.
        let word = rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        if let Some(length) = skipped {
            code.extend(rest.get(..length).unwrap_or(rest).chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = rest.get(length..).unwrap_or_default();
        } else {
            let length = word.max(first.len_utf8());
            code.push_str(rest.get(..length).unwrap_or(rest));
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    code
}

/// The length of the comment `rest` begins with; block comments nest.
fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0_usize, 0_usize);
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if tail.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    Some(rest.len())
}

/// The length of the raw string `rest` begins with: `r"…"`, `br#"…"#`, `cr##"…"##`.
fn raw_string(rest: &str) -> Option<usize> {
    let tail = rest.strip_prefix("br").or_else(|| rest.strip_prefix("cr")).or_else(|| rest.strip_prefix('r'))?;
    let hashes = tail.len() - tail.trim_start_matches('#').len();
    let body = tail.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(rest.len() - body.len() + inside)
}

/// The length of the string `rest` begins with: `"…"`, `b"…"`, `c"…"`.
fn string(rest: &str) -> Option<usize> {
    let tail = rest.strip_prefix('b').or_else(|| rest.strip_prefix('c')).unwrap_or(rest);
    let body = tail.strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        if c == '"' && !escaped {
            return Some(rest.len() - body.len() + at + 1);
        }
        escaped = c == '\\' && !escaped;
    }
    Some(rest.len())
}

/// The length of the character literal `rest` begins with; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let tail = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('\'')?;
    let mut chars = tail.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        let closing = tail.char_indices().skip(2).find(|(_, c)| *c == '\'')?;
        return Some(rest.len() - tail.len() + closing.0 + 1);
    }
    let (at, second) = chars.next()?;
    (second == '\'').then(|| rest.len() - tail.len() + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "//! Sorts letters by their weight; never opens one.\n\n/// Says `todo!()` and \"sleep(\".\npub fn sort() {}\n";

    fn with(line: &str) -> String {
        format!("{GOOD}{line}\n")
    }

    #[test]
    fn a_good_file_passes() {
        assert_eq!(check("broker/src/ops.rs", GOOD), Vec::<String>::new());
    }

    #[test]
    fn the_opening_is_a_sentence_on_the_first_line() {
        for bad in [
            "",
            "\n//! Sorts letters by their weight; never opens one.\n",
            "use std::fs;\n",
            "//! placeholder\n",
            "// Sorts letters by weight, opens none.\n",
        ] {
            assert_eq!(check("broker/src/ops.rs", bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn each_banned_word_is_found_in_code() {
        for bad in [
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "fn f() { todo!() }",
            "fn f() { unimplemented!() }",
            "#[allow(dead_code)]",
            "#![allow(dead_code)]",
            "#[cfg_attr(test, allow(dead_code))]",
        ] {
            let found = check("broker/src/ops.rs", &with(bad));
            assert_eq!(found.len(), 1, "{bad}: {found:?}");
            assert!(found.iter().all(|finding| finding.starts_with("broker/src/ops.rs:5: ")), "{found:?}");
        }
    }

    #[test]
    fn words_in_comments_and_literals_are_no_breach() {
        for good in [
            "// #[ignore] todo!() [allow(",
            "/* todo!() /* sleep( */ #[ignore] */",
            "const A: &str = \"todo!() \\\" #[ignore]\";",
            "const A: &str = r#\"todo!() \" #[ignore]\"#;",
            "const A: &[u8] = b\"todo!()\"; const B: char = '\"'; const C: char = '\\''; fn f<'a>(_: &'a str) {}",
            "fn f(policy: &Policy) { policy.allow(1) }",
        ] {
            assert_eq!(check("tests/suite.rs", &with(good)), Vec::<String>::new(), "{good}");
        }
        let after = "const A: char = '\"'; fn f<'a>(_: &'a str) { todo!() }";
        assert_eq!(check("broker/src/ops.rs", &with(after)).len(), 1, "a quote as a character opens no string");
        let after = "fn bar() { let r = 1; todo!() } // bar\" r\"";
        assert_eq!(check("broker/src/ops.rs", &with(after)).len(), 1);
    }

    #[test]
    fn tests_do_not_sleep_and_servers_may() {
        for sleep in ["std::thread::sleep(d);", "tokio::time::sleep(d).await;", "sleep_until(d).await;"] {
            let line = format!("fn f() {{ {sleep} }}");
            assert_eq!(check("tests/src/harness.rs", &with(&line)).len(), 1, "{sleep}");
            assert_eq!(check("crates/store/tests/races.rs", &with(&line)).len(), 1, "{sleep}");
            assert_eq!(check("broker/src/ops/tests.rs", &with(&line)).len(), 1, "{sleep}");
            assert_eq!(check("broker/src/ops_tests.rs", &with(&line)).len(), 1, "{sleep}");
            assert_eq!(check("broker/src/ops.rs", &with(&format!("#[cfg(test)]\nmod tests {{ {line} }}"))).len(), 1);
            assert_eq!(check("broker/src/jobs.rs", &with(&line)), Vec::<String>::new());
            assert_eq!(check("tests/lab/src/main.rs", &with(&line)), Vec::<String>::new());
        }
    }

    #[test]
    fn a_long_file_is_asked_why() {
        let long = with(&"// More.\n".repeat(LINES_MAX));
        assert_eq!(check("broker/src/ops.rs", &long).len(), 1);
        let longest = "// More.\n".repeat(LINES_MAX - GOOD.lines().count());
        assert_eq!(check("broker/src/ops.rs", &format!("{GOOD}{longest}")), Vec::<String>::new());
    }

    #[test]
    fn steady_crates_deny_what_stops_the_process() {
        let denied = format!("//! Seals and opens what a person keeps.\n#![deny({})]\n", STEADY_LINTS.join(", "));
        assert_eq!(check("crates/seal/src/lib.rs", &denied), Vec::<String>::new());
        for lint in STEADY_LINTS {
            assert_eq!(check("crates/seal/src/lib.rs", &denied.replace(lint, "clippy::todo")).len(), 1, "{lint}");
        }
        let in_a_comment =
            format!("//! Seals and opens what a person keeps.\n// #![deny({})]\n", STEADY_LINTS.join(", "));
        assert_eq!(check("crates/seal/src/lib.rs", &in_a_comment).len(), 4);
        assert_eq!(check("broker/src/lib.rs", GOOD), Vec::<String>::new());
    }
}
