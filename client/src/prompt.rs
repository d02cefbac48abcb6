//! Questions to the person at the terminal. Nothing is assumed where nobody can answer: without a terminal every question is a refusal that says what to do instead.

use crate::error::CliError;
use contract::{Code, text};
use sign::Secret;
use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};
use zeroize::Zeroizing;

/// Whether a person can be asked.
#[must_use]
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal()
}

/// Asks a question that is answered by yes or no; only `y` and `yes` mean yes. `instead` says what to do without a terminal.
pub fn ask_yes(question: &str, instead: &str) -> Result<bool, CliError> {
    let answer = ask_line(&format!("{question} [y/N]"), instead)?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Asks for a line of text.
pub fn ask_line(question: &str, instead: &str) -> Result<String, CliError> {
    show(question, instead)?;
    let mut line = String::new();
    let read = std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line);
    match read {
        Ok(0) => Err(CliError::new(Code::Canceled, "no answer was given; nothing changed")),
        Ok(_) => Ok(line.trim().to_owned()),
        Err(error) => Err(CliError::internal(format!("standard input: {error}"))),
    }
}

/// Asks for a secret without showing it.
pub fn ask_secret(question: &str, instead: &str) -> Result<Secret<String>, CliError> {
    show(question, instead)?;
    let typed = rpassword::read_password()
        .map(Zeroizing::new)
        .map_err(|error| CliError::internal(format!("standard input: {error}")))?;
    Ok(Secret::new(typed.trim().to_owned()))
}

/// Reads a secret from standard input to its end: for flags that end in `-stdin`. At a terminal it is asked for.
pub fn read_secret(question: &str, bytes_max: usize) -> Result<Secret<String>, CliError> {
    if can_ask() {
        return ask_secret(question, "");
    }
    // One allocation, so that no copy stays behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(bytes_max + 1));
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::internal(format!("standard input: {error}")))?;
    if bytes.len() > bytes_max {
        return Err(CliError::usage(format!("standard input holds more than {bytes_max} bytes")));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| CliError::usage("standard input is not text"))?;
    Ok(Secret::new(text.trim().to_owned()))
}

/// Reads standard input to its end: for arguments, which are no secret.
pub fn read_text(bytes_max: usize) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    let read = std::io::stdin().lock().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| CliError::internal(format!("standard input: {error}")))?;
    if bytes.len() > bytes_max {
        return Err(CliError::usage(format!("standard input holds more than {bytes_max} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| CliError::usage("standard input is not text"))
}

const LINE_BYTES_MAX: u64 = 4096;

fn show(question: &str, instead: &str) -> Result<(), CliError> {
    if !can_ask() {
        let refusal = CliError::new(
            Code::ApprovalPending,
            format!("{question}: nobody can be asked, standard input is not a terminal"),
        );
        return Err(refusal.hint(instead));
    }
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "{} ", text::visible(question)).and_then(|()| stderr.flush());
    Ok(())
}
