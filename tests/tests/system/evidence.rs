//! Every threat of the threat model is held by tests that exist, or says that it remains.

use collie_tests::evidence::Evidence;
use std::path::Path;

#[test]
fn every_threat_is_held_by_tests_that_exist_or_remains() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the checkout");
    let read = |name: &str| std::fs::read_to_string(root.join("threat-model").join(name)).expect("the page is there");
    let faults = Evidence::parse(&read("evidence.toml")).expect("it is read").faults(&read("threats.md"), root);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
