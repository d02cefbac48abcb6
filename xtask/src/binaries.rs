//! Builds the released binaries that the demo, the process suites and the generated files run. Nothing is ever run from another build.

use crate::guard::Guard;
use crate::process::{Repo, Trouble, run};

/// Where the suites and the demo find the released binaries.
pub(crate) const VARIABLE: &str = "COLLIE_BIN_DIR";

/// The product's binaries and the lab: package and binary.
const PRODUCT: [(&str, &str); 3] =
    [("collie-broker", "collie-broker"), ("collie-client", "collie"), ("collie-lab", "collie-lab")];

/// The package of the demo driver and the bench.
pub(crate) const TESTS: &str = "collie-tests";

/// Builds the product's binaries and, of collie-tests, the programs named.
pub(crate) fn build(repo: &Repo, drivers: &[&str], guard: Option<&mut Guard>) -> Result<(), Trouble> {
    let mut arguments = vec!["build", "--release"];
    let wanted = PRODUCT.into_iter().chain(drivers.iter().map(|driver| (TESTS, *driver)));
    for (package, binary) in wanted {
        if !repo.has_binary(package, binary) {
            return Err(Trouble::new(
                format!("package `{package}` has no binary `{binary}`"),
                format!("add it to that package, or put its new name in {}", file!()),
            ));
        }
        arguments.extend(["-p", package, "--bin", binary]);
    }
    run(&mut repo.cargo(&arguments), guard)
}
