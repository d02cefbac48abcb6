//! Compares the threats that the threat model names with the tests that hold them. Believes no name: a test is there when its function is in the file, under a test attribute.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// threat-model/evidence.toml.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// By the threat's id.
    pub threat: BTreeMap<String, Claim>,
}

/// What holds one claim.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// `path/of/file.rs::name_of_test`.
    #[serde(default)]
    pub tests: Vec<String>,
    /// What is not defended; threats.md says so under the same id.
    #[serde(default)]
    pub remains: Option<String>,
}

impl Evidence {
    /// Reads the file's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| format!("evidence.toml: {}", error.message()))
    }

    /// Everything that is wrong between this, the threats' page and the sources below `root`; empty when nothing is.
    #[must_use]
    pub fn faults(&self, threats: &str, root: &Path) -> Vec<String> {
        let rows = rows(threats);
        let mut faults = Vec::new();
        for (id, row) in &rows {
            match self.threat.get(*id) {
                None => faults.push(format!("{id} is a threat without evidence")),
                Some(claim) => faults.extend(claim.faults(id, row, root)),
            }
        }
        let unknown = self.threat.keys().filter(|id| !rows.contains_key(id.as_str()));
        faults.extend(unknown.map(|id| format!("{id} has evidence and is no threat of threats.md")));
        faults
    }
}

impl Claim {
    fn faults(&self, id: &str, row: &str, root: &Path) -> Vec<String> {
        let mut faults: Vec<String> =
            self.tests.iter().filter_map(|test| fault_of(test, root)).map(|fault| format!("{id}: {fault}")).collect();
        if self.tests.is_empty() && self.remains.is_none() {
            faults.push(format!("{id} names no test and does not say that it remains"));
        }
        if row.contains("**Remains") != self.remains.is_some() {
            faults.push(format!("{id}: threats.md and evidence.toml differ on what remains"));
        }
        faults
    }
}

/// The rows of the page's table, by id.
fn rows(threats: &str) -> BTreeMap<&str, &str> {
    let rows = threats.lines().filter_map(|line| Some((line.strip_prefix("| ")?.split(" |").next()?, line)));
    rows.filter(|(id, _)| id.starts_with("T-")).collect()
}

/// What is wrong with one named test.
fn fault_of(test: &str, root: &Path) -> Option<String> {
    let Some((file, name)) = test.rsplit_once("::") else { return Some(format!("`{test}` is not `file::test`")) };
    let Ok(source) = std::fs::read_to_string(root.join(file)) else {
        return Some(format!("there is no file `{file}`"));
    };
    (!has_test(&source, name)).then(|| format!("`{file}` has no test `{name}`"))
}

/// Whether a function of this name stands under a test attribute, or in the macro that writes one test for each engine.
fn has_test(source: &str, name: &str) -> bool {
    let is_it = |line: &str| {
        line.trim_start_matches("async ")
            .strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let (mut under_attribute, mut on_both_engines) = (false, false);
    for line in source.lines() {
        if line.starts_with("on_both_engines! {") {
            on_both_engines = true;
        } else if line == "}" {
            on_both_engines = false;
        }
        let trimmed = line.trim();
        if trimmed.starts_with("#[test]") || trimmed.starts_with("#[tokio::test") {
            under_attribute = true;
        } else if trimmed.starts_with("fn ") || trimmed.starts_with("async fn ") {
            let directly_in_macro = on_both_engines && line.starts_with("    async fn ");
            if (under_attribute || directly_in_macro) && is_it(trimmed) {
                return true;
            }
            under_attribute = false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREATS: &str =
        "| id | who |\n|---|---|\n| T-ONE | x | y | refused |\n| T-TWO | x | y | **Remains**: somewhat |\n";

    fn faults(toml: &str) -> Vec<String> {
        Evidence::parse(toml).expect("parses").faults(THREATS, Path::new(env!("CARGO_MANIFEST_DIR")))
    }

    #[test]
    fn evidence_that_is_whole_has_no_fault() {
        let toml = "[threat.T-ONE]\ntests = [\"src/evidence.rs::evidence_that_is_whole_has_no_fault\"]\n[threat.T-TWO]\nremains = \"somewhat\"\n";
        assert_eq!(faults(toml), Vec::<String>::new());
    }

    #[test]
    fn a_test_for_each_engine_is_a_test_and_a_helper_beside_it_is_none() {
        let source = "async fn helper(x: u8) {}\non_both_engines! {\n    async fn one(world: World) {\n        async fn inner() {}\n    }\n}\nasync fn late(w: World) {}\n#[test]\nfn plain() {}\nfn plainer() {}\n";
        let found: Vec<&str> = ["helper", "one", "inner", "late", "plain", "plainer", "plai"]
            .into_iter()
            .filter(|name| has_test(source, name))
            .collect();
        assert_eq!(found, ["one", "plain"]);
    }

    /// The must-fail controls: each way in which the page and the tests can part.
    #[test]
    fn every_gap_is_a_fault() {
        let two = "[threat.T-TWO]\nremains = \"somewhat\"\n";
        let cases = [
            (two.to_owned(), "T-ONE is a threat without evidence"),
            (format!("{two}[threat.T-ONE]\n"), "names no test"),
            (
                format!("{two}[threat.T-ONE]\ntests = [\"src/evidence.rs::no_such_test\"]\n"),
                "has no test `no_such_test`",
            ),
            (format!("{two}[threat.T-ONE]\ntests = [\"src/evidence.rs::faults\"]\n"), "has no test `faults`"),
            (format!("{two}[threat.T-ONE]\ntests = [\"src/gone.rs::x\"]\n"), "no file"),
            (format!("{two}[threat.T-ONE]\nremains = \"all\"\n"), "differ on what remains"),
            (format!("{two}[threat.T-THREE]\n"), "is no threat"),
        ];
        for (toml, expected) in cases {
            assert!(faults(&toml).iter().any(|fault| fault.contains(expected)), "{expected}: {:?}", faults(&toml));
        }
    }
}
