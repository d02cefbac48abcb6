//! Measures of the released service and of the parts that carry it, each beside its bound. Judges release builds only.

mod engine;
mod load;
mod manifest;
mod measure;
mod process;

use crate::processes::Binaries;
use crate::trouble::Trouble;
use clap::Parser as _;
use measure::{Measure, Table};
use std::process::ExitCode;

/// Measures the released programs; exit code 1 when a bound is not met.
#[derive(Debug, clap::Parser)]
#[command(name = "bench", version)]
struct Flags {
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
    /// Measure only what has this word in its name.
    #[arg(long, value_name = "WORD", default_value = "")]
    only: String,
}

/// One group of measures.
struct Group {
    name: &'static str,
    run: fn(&Binaries) -> Result<Vec<Measure>, Trouble>,
}

const GROUPS: [Group; 4] = [
    Group { name: "process", run: process::measure },
    Group { name: "load", run: load::measure },
    Group { name: "engine", run: |_| engine::measure() },
    Group { name: "manifest", run: |_| manifest::measure() },
];

/// Runs the bench as its own command line says.
#[must_use]
pub fn run() -> ExitCode {
    let flags = Flags::parse();
    match measure_all(&flags) {
        Ok(table) => {
            table.print(flags.json);
            if table.is_met() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(trouble) => {
            measure::note(&format!("error: {}\n  do: {}", trouble.what, trouble.then));
            ExitCode::FAILURE
        }
    }
}

fn measure_all(flags: &Flags) -> Result<Table, Trouble> {
    let binaries = Binaries::find()?;
    let mut table = Table::default();
    for group in GROUPS.iter().filter(|group| group.name.contains(&flags.only)) {
        measure::note(&format!("measuring: {}", group.name));
        table.add((group.run)(&binaries).map_err(|trouble| trouble.during(group.name))?);
    }
    if table.is_empty() {
        return Err(Trouble::new(format!("no measure has `{}` in its name", flags.only), "leave `--only` out"));
    }
    Ok(table)
}
