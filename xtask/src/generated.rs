//! Files printed by our own binaries: what is generated, by whom, and whether it is up to date. Writes nothing else.

use std::path::Path;
use std::process::Command;

use crate::binaries;
use crate::process::{Repo, Trouble, output_of};
use crate::say;

pub(crate) const HELP: &str = "\
Usage: cargo xtask gen [--check]

Writes the generated files again: each is what a hidden `print-…` command of one of our released binaries prints.

  --check  write nothing; say which file differs, and at which line, and fail";

/// One generated file.
struct Generated {
    /// From the checkout's root.
    file: &'static str,
    /// The released binary that prints it.
    binary: &'static str,
    arguments: &'static [&'static str],
}

/// Everything that is generated. A new one is a line here and a `print-…` command.
const GENERATED: &[Generated] = &[
    Generated { file: "docs/configuration.md", binary: "collie-broker", arguments: &["print-config-reference"] },
    Generated { file: "docs/cli.md", binary: "collie", arguments: &["print-help"] },
    Generated { file: "docs/limits.md", binary: "collie-broker", arguments: &["print-limits"] },
    Generated { file: "docs/routes.md", binary: "collie-broker", arguments: &["print-routes"] },
];

pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<(), Trouble> {
    let check = match arguments {
        [] => false,
        [only] if only == "--check" => true,
        _ => {
            return Err(Trouble::new("gen takes `--check` or nothing", "run `cargo xtask gen --help`"));
        }
    };
    binaries::build(repo, &[], None)?;
    if check { self::check(repo) } else { write(repo) }
}

/// Compares each file with what its binary prints. The binaries are built already.
pub(crate) fn check(repo: &Repo) -> Result<(), Trouble> {
    let mut wrong = Vec::new();
    for generated in GENERATED {
        let printed = print(repo, generated)?;
        let kept = std::fs::read_to_string(repo.root.join(generated.file)).unwrap_or_default();
        if let Some(difference) = first_difference(&kept, &printed) {
            wrong.push(format!("{} {difference}", generated.file));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Trouble::new(
        format!("generated files are not what their binaries print:\n{}", wrong.join("\n")),
        "run `cargo xtask gen` and commit what it writes",
    ))
}

fn write(repo: &Repo) -> Result<(), Trouble> {
    for generated in GENERATED {
        let printed = print(repo, generated)?;
        let file = repo.root.join(generated.file);
        if std::fs::read_to_string(&file).is_ok_and(|kept| kept == printed) {
            say::out(&format!("{} is up to date", generated.file));
            continue;
        }
        std::fs::create_dir_all(file.parent().unwrap_or(&repo.root))
            .and_then(|()| std::fs::write(&file, printed))
            .map_err(|error| {
                Trouble::new(format!("cannot write {}: {error}", file.display()), "look at its permissions")
            })?;
        say::out(&format!("{} written", generated.file));
    }
    Ok(())
}

/// What the binary prints, in an environment that holds none of this machine's own settings.
fn print(repo: &Repo, generated: &Generated) -> Result<String, Trouble> {
    let mut command = Command::new(repo.bin_dir().join(generated.binary));
    command
        .args(generated.arguments)
        .env_clear()
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .current_dir(Path::new("/"));
    let printed = output_of(&mut command)?;
    if printed.trim().is_empty() {
        return Err(Trouble::new(
            format!("`{} {}` printed nothing", generated.binary, generated.arguments.join(" ")),
            format!("it has to print {}", generated.file),
        ));
    }
    Ok(printed)
}

fn first_difference(kept: &str, printed: &str) -> Option<String> {
    if kept == printed {
        return None;
    }
    if kept.is_empty() {
        return Some("is missing".to_owned());
    }
    let same = kept.lines().zip(printed.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
    Some(format!("differs at line {}:\n  kept:    {}\n  printed: {}", same + 1, line(kept), line(printed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_its_line() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("", "a\n").as_deref(), Some("is missing"));
        let said = first_difference("a\nb\n", "a\nc\n").expect("they differ");
        assert!(said.contains("line 2") && said.contains("kept:    b") && said.contains("printed: c"), "{said}");
        assert!(first_difference("a\n", "a\n\n").is_some_and(|said| said.contains("(the end)")));
    }
}
