//! The questions of a review at the terminal: one for each group below commit, then corrections, then one yes. Asks nobody who cannot answer, and takes silence for no.

use super::table::{self, Heading};
use super::{Draft, decisions::Decisions};
use crate::error::CliError;
use crate::output::Output;
use crate::prompt;
use contract::{Code, Effect};

/// Whether questions are answered in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// A person is asked.
    Asked,
    /// `--yes`: the person said yes when they typed the command; nothing below commit is accepted without `--effect`.
    Given,
}

impl Consent {
    /// What the flag `--yes` means.
    #[must_use]
    pub const fn of_flag(yes: bool) -> Self {
        if yes { Self::Given } else { Self::Asked }
    }
}

/// Shows the draft and lets the person decide. Returns only with a yes.
pub fn settle(
    output: Output,
    heading: &Heading,
    draft: &mut Draft,
    decisions: &Decisions,
    consent: Consent,
    instead: &str,
) -> Result<(), CliError> {
    draft.decide(decisions)?;
    match consent {
        Consent::Given => {
            draft.raise_undecided();
            show(output, heading, draft);
            Ok(())
        }
        Consent::Asked => {
            show(output, heading, draft);
            let mut ask = |question: &str| prompt::ask_line(question, instead);
            decide_by_questions(draft, &mut ask, &mut |draft| show(output, heading, draft))
        }
    }
}

/// The questions themselves; `ask` puts one to the person, `show` prints the table again after a correction.
pub fn decide_by_questions(
    draft: &mut Draft,
    ask: &mut impl FnMut(&str) -> Result<String, CliError>,
    show: &mut impl FnMut(&Draft),
) -> Result<(), CliError> {
    for effect in [Effect::Act, Effect::Prepare, Effect::Observe] {
        let names: Vec<String> =
            draft.undecided().filter(|tool| tool.effect == effect).map(|tool| tool.name.clone()).collect();
        if names.is_empty() {
            continue;
        }
        let question = format!("Do you confirm {effect} ({}) for: {}? [y/N]", table::meaning(effect), names.join(", "));
        if is_yes(&ask(&question)?) { draft.confirm(effect) } else { draft.doubt(effect) }
    }
    draft.raise_undecided();
    loop {
        let answer = ask("Share it like this? [y]es, [n]o, or a correction: TOOL=EFFECT, TOOL.KIND=/pointer, -TOOL")?;
        match answer.as_str() {
            "" | "n" | "N" | "no" => {
                return Err(CliError::new(Code::Canceled, "not shared; nothing changed"));
            }
            yes if is_yes(yes) => return Ok(()),
            line => match draft.decide_line(line) {
                Ok(()) => show(draft),
                // The mistake is said in place of the table, and the question is put again.
                Err(error) => {
                    let _ = ask(&format!("{error}. Press Enter to go on"))?;
                }
            },
        }
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes")
}

fn show(output: Output, heading: &Heading, draft: &Draft) {
    for line in table::lines(heading, draft) {
        output.say(&line);
    }
}
