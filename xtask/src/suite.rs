//! `test` and `ci`: the order of the steps, what each needs, and the summary. A step that cannot run never counts as passed.

use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use crate::guard::Guard;
use crate::process::{Repo, Trouble, answers, in_ci, run, which};
use crate::{binaries, generated, peers, postgres, say, tidy};

pub(crate) const TEST_HELP: &str = "\
Usage: cargo xtask test [--fast]

  format      cargo fmt --check
  lints       clippy on all targets, warnings refused
  tidy        the rules of the tree, and the floors: who may use whom
  postgres    a private PostgreSQL on a unix socket in a temporary folder, stopped at the end
  peers       the real servers of tests/peers, installed into the target folder
  binaries    the released binaries, the demo and the bench
  suites      every test, on SQLite and on PostgreSQL (cargo nextest where it is installed, else cargo test)
  doctests    the documentation's examples, among them those that must not compile
  generated   generated files are what their binaries print

What is missing (PostgreSQL, Node.js, Python) is installed when this runs as root on a system with apt-get. What cannot be had
fails when CI is set, and is said and left out otherwise.

  --fast  without PostgreSQL and peers";

pub(crate) const CI_HELP: &str = "\
Usage: cargo xtask ci

Everything of `cargo xtask test`, and then:

  documents   cargo doc, warnings refused
  deny        cargo deny check bans licenses sources (deny.toml), cargo-deny installed when missing

Advisories need the network's advisory database: `cargo deny check advisories`.";

pub(crate) fn test(repo: &Repo, arguments: &[String]) -> Result<(), Trouble> {
    let fast = match arguments {
        [] => false,
        [only] if only == "--fast" => true,
        _ => {
            return Err(Trouble::new("test takes `--fast` or nothing", "run `cargo xtask test --help`"));
        }
    };
    let mut summary = Summary::default();
    test_steps(repo, fast, &mut summary)?;
    say::out(&format!("\n{}", summary.text()));
    summary.finish()
}

pub(crate) fn ci(repo: &Repo, arguments: &[String]) -> Result<(), Trouble> {
    if !arguments.is_empty() {
        return Err(Trouble::new("ci takes no arguments", "run `cargo xtask ci --help`"));
    }
    let mut summary = Summary::default();
    test_steps(repo, false, &mut summary)?;
    summary.step("documents", || {
        let mut doc = repo.cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
        run(doc.env("RUSTDOCFLAGS", "-D warnings"), None)
    });
    summary.step("deny", || deny(repo));
    say::out(&format!("\n{}", summary.text()));
    summary.finish()
}

fn test_steps(repo: &Repo, fast: bool, summary: &mut Summary) -> Result<(), Trouble> {
    // Dropped last: whatever a step started is undone when this function is left, on every path.
    let mut guard = Guard::start()?;
    let cargo = |arguments: &[&str], guard: &mut Guard| run(&mut repo.cargo(arguments), Some(guard));

    summary.step("format", || cargo(&["fmt", "--all", "--check"], &mut guard));
    summary.step("lints", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"], &mut guard)
    });
    summary.step("tidy", || tidy::check(repo));

    let mut given: Vec<(&'static str, OsString)> = Vec::new();
    if fast {
        summary.leave_out("postgres", "--fast");
        summary.leave_out("peers", "--fast");
    } else {
        if let Some(url) = summary.part("postgres", || postgres::start(&mut guard)) {
            given.push((postgres::VARIABLE, url));
        }
        if let Some(variables) = summary.part("peers", || peers::install(repo)) {
            given.extend(variables);
        }
    }

    let built = summary.step("binaries", || binaries::build(repo, &["demo", "bench"], Some(&mut guard)));
    if built {
        given.push((binaries::VARIABLE, repo.bin_dir().into_os_string()));
        summary.step("suites", || run(&mut suites(repo, &given), Some(&mut guard)));
        summary.step("doctests", || cargo(&["test", "--doc", "--quiet", "--workspace", "--locked"], &mut guard));
        summary.step("generated", || generated::check(repo));
    } else {
        for name in ["suites", "doctests", "generated"] {
            summary.cannot(name, "the released binaries did not build");
        }
    }
    Ok(())
}

/// The command that runs every test but the doctests.
fn suites(repo: &Repo, given: &[(&'static str, OsString)]) -> Command {
    let nextest = answers("cargo", &["nextest", "--version"]);
    let mut command = if nextest {
        repo.cargo(&["nextest", "run", "--workspace", "--locked"])
    } else {
        say::note("cargo nextest is not installed: using cargo test");
        repo.cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast", "--locked"])
    };
    // Only what this run prepared: a variable left over from another would name a server that is gone.
    for variable in [postgres::VARIABLE, binaries::VARIABLE].into_iter().chain(peers::variables()) {
        command.env_remove(variable);
    }
    command.envs(given.iter().map(|(name, value)| (name, value)));
    command
}

fn deny(repo: &Repo) -> Result<(), Trouble> {
    if which("cargo-deny").is_none() && !answers("cargo", &["deny", "--version"]) {
        say::note("cargo-deny is missing: installing it with `cargo install --locked cargo-deny` (some minutes)");
        run(&mut repo.cargo(&["install", "--locked", "--quiet", "cargo-deny"]), None)?;
    }
    say::note("advisories are not checked here: they need the network (`cargo deny check advisories`)");
    run(&mut repo.cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]), None)
}

/// What became of one step.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    LeftOut(String),
}

/// The steps so far, in order.
#[derive(Default)]
struct Summary {
    steps: Vec<(&'static str, Duration, Outcome)>,
}

impl Summary {
    /// Runs a step to its end and says whether it passed.
    fn step(&mut self, name: &'static str, body: impl FnOnce() -> Result<(), Trouble>) -> bool {
        self.timed(name, body, |trouble| Outcome::Failed(trouble.what)).is_some()
    }

    /// Prepares a part that a person's machine may lack; in CI it may not.
    fn part<T>(&mut self, name: &'static str, body: impl FnOnce() -> Result<T, Trouble>) -> Option<T> {
        self.timed(
            name,
            body,
            |trouble| {
                if in_ci() { Outcome::Failed(trouble.what) } else { Outcome::LeftOut(trouble.what) }
            },
        )
    }

    fn timed<T>(
        &mut self,
        name: &'static str,
        body: impl FnOnce() -> Result<T, Trouble>,
        otherwise: impl FnOnce(Trouble) -> Outcome,
    ) -> Option<T> {
        say::note(&format!("{name} …"));
        let watch = say::Watch::start();
        let (outcome, value) = match body() {
            Ok(value) => (Outcome::Passed, Some(value)),
            Err(trouble) => {
                say::trouble(&trouble);
                (otherwise(trouble), None)
            }
        };
        self.steps.push((name, watch.taken(), outcome));
        value
    }

    /// A step the person left out.
    fn leave_out(&mut self, name: &'static str, why: &str) {
        self.steps.push((name, Duration::ZERO, Outcome::LeftOut(why.to_owned())));
    }

    /// A step that could not be tried, which is a failure.
    fn cannot(&mut self, name: &'static str, why: &str) {
        self.steps.push((name, Duration::ZERO, Outcome::Failed(why.to_owned())));
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, taken, outcome) in &self.steps {
            let said = match outcome {
                Outcome::Passed => "passed".to_owned(),
                Outcome::Failed(why) => format!("FAILED    {}", first_line(why)),
                Outcome::LeftOut(why) => format!("left out  {}", first_line(why)),
            };
            text.push_str(&format!("  {name:<10} {:>10}  {said}\n", say::duration(*taken)));
        }
        let total: Duration = self.steps.iter().map(|(_, taken, _)| *taken).sum();
        text.push_str(&format!("  {:<10} {:>10}\n", "total", say::duration(total)));
        let passed = self.count(|outcome| *outcome == Outcome::Passed);
        let failed = self.count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let left_out = self.count(|outcome| matches!(outcome, Outcome::LeftOut(_)));
        text.push_str(&format!("steps: {passed} passed, {failed} failed"));
        if left_out > 0 {
            text.push_str(&format!(", {left_out} skipped"));
        }
        text
    }

    fn count(&self, wanted: impl Fn(&Outcome) -> bool) -> usize {
        self.steps.iter().filter(|(_, _, outcome)| wanted(outcome)).count()
    }

    /// Whether all is well. Prints nothing: the two commands show the text.
    fn finish(self) -> Result<(), Trouble> {
        let failed = self.steps.iter().filter(|(_, _, outcome)| matches!(outcome, Outcome::Failed(_)));
        let names: Vec<&str> = failed.map(|(name, _, _)| *name).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(Trouble::new(format!("failed: {}", names.join(", ")), "read the first failed step's own message above"))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failed_step_fails_the_run_and_the_others_still_run() {
        let mut summary = Summary::default();
        assert!(summary.step("one", || Ok(())));
        assert!(!summary.step("two", || Err(Trouble::new("it broke\nbadly", "mend it"))));
        summary.leave_out("three", "--fast");
        summary.cannot("four", "two is missing");
        let text = summary.text();
        assert!(text.contains("FAILED    it broke\n"), "{text}");
        assert!(text.ends_with("steps: 1 passed, 2 failed, 1 skipped"), "{text}");
        assert_eq!(summary.finish().expect_err("two steps failed").what, "failed: two, four");
    }

    #[test]
    fn a_run_without_failures_passes() {
        let mut summary = Summary::default();
        summary.step("one", || Ok(()));
        assert!(summary.text().ends_with("steps: 1 passed, 0 failed"));
        assert!(summary.finish().is_ok());
    }
}
