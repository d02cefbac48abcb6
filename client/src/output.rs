//! The only printer. Every line is made harmless before it is shown: what comes from elsewhere can hide nothing and command no terminal. Never sees a secret, but for [`Output::reveal`].

use crate::error::CliError;
use contract::problem::Exit;
use contract::{Json, text};
use std::io::{IsTerminal as _, Write as _};

/// What a command that succeeded says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// For people: one entry, one line.
    pub lines: Vec<String>,
    /// For machines; an object.
    pub data: Json,
    /// Said beside the result.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// A result with its data and no words yet.
    #[must_use]
    pub const fn new(data: Json) -> Self {
        Self { lines: Vec::new(), data, warnings: Vec::new() }
    }

    /// Adds a line for people.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Adds lines for people.
    #[must_use]
    pub fn lines(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// Adds a warning.
    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }
}

/// How this run prints.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
    quiet: bool,
    color: bool,
}

impl Output {
    /// A printer: `--json`, `--quiet`, `--no-color`.
    #[must_use]
    pub fn new(json: bool, quiet: bool, no_color: bool) -> Self {
        Self { json, quiet, color: !no_color && !json && std::io::stderr().is_terminal() }
    }

    /// Whether machines read standard output.
    #[must_use]
    pub const fn is_json(self) -> bool {
        self.json
    }

    /// Whether a person looks at what is printed.
    #[must_use]
    pub fn is_for_a_person(self) -> bool {
        !self.json && std::io::stdout().is_terminal()
    }

    /// Says something that a person must read while the command goes on. With `--json` it goes to standard error.
    pub fn say(self, line: &str) {
        if self.json { to_stderr(&text::visible(line)) } else { to_stdout(&text::visible(line)) }
    }

    /// Says something on the way that nobody needs; `--quiet` leaves it out.
    pub fn note(self, line: &str) {
        if !self.quiet {
            to_stderr(&text::visible(line));
        }
    }

    /// Prints the result: lines for people, or exactly one document.
    #[must_use]
    pub fn finish(self, outcome: &Outcome) -> Exit {
        if self.json {
            let warnings = outcome.warnings.iter().map(|warning| Json::from(warning.as_str())).collect::<Vec<_>>();
            to_stdout(&plain_json(&Json::from_members([
                ("ok", true.into()),
                ("data", outcome.data.clone()),
                ("warnings", warnings.into()),
            ])));
            return Exit::Done;
        }
        if !self.quiet {
            for line in &outcome.lines {
                to_stdout(&text::visible(line));
            }
        }
        for warning in &outcome.warnings {
            to_stderr(&format!("{} {}", self.paint("33", "warning:"), text::visible(warning)));
        }
        Exit::Done
    }

    /// Prints an error: two lines on standard error, or exactly one document on standard output.
    #[must_use]
    pub fn fail(self, error: &CliError) -> Exit {
        if self.json {
            to_stdout(&plain_json(&Json::from_members([
                ("ok", false.into()),
                (
                    "error",
                    Json::from_members([
                        ("code", error.code.as_str().into()),
                        ("message", error.message.as_str().into()),
                        ("hint", error.hint.as_deref().unwrap_or_default().into()),
                        ("retryable", error.retryable().into()),
                        ("details", error.details.clone()),
                    ]),
                ),
            ])));
        } else {
            for line in &error.lines {
                to_stdout(&text::visible(line));
            }
            to_stderr(&format!("{} {}", self.paint("31", "Collie Online error:"), text::visible(&error.message)));
            if let Some(hint) = &error.hint {
                to_stderr(&format!("hint: {}", text::visible(hint)));
            }
        }
        error.code.exit()
    }

    /// Prints a text of our own, such as help, as it is.
    #[must_use]
    pub fn print_text(text: &str) -> Exit {
        to_stdout(text.trim_end_matches('\n'));
        Exit::Done
    }

    /// Prints the one secret that may be printed: the output of `key-export`.
    pub fn reveal(self, secret: &str) {
        to_stdout(secret);
    }

    fn paint(self, color: &str, word: &str) -> String {
        if self.color { format!("\u{1b}[{color}m{word}\u{1b}[0m") } else { word.to_owned() }
    }
}

/// Canonical JSON in which characters that could hide or command are `\u` escapes: another spelling of the same value.
fn plain_json(value: &Json) -> String {
    value.canonical_string().chars().fold(String::new(), |mut out, c| {
        if c != ' ' && !c.is_ascii_graphic() && text::has_hidden(c.encode_utf8(&mut [0; 4])) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
        out
    })
}

// A closed pipe ends nothing: the command's own work is done or not, whoever listens.
fn to_stdout(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_hides_nothing_and_keeps_its_value() {
        let value = Json::from_members([("name", "a\u{202e}b\u{9b}31m\u{e0041}é \u{7f}".into())]);
        let printed = plain_json(&value);
        assert_eq!(printed, "{\"name\":\"a\\u202eb\\u009b31m\\udb40\\udc41é \\u007f\"}");
        assert_eq!(contract::cjson::parse(printed.as_bytes(), printed.len()), Ok(value));
    }
}
