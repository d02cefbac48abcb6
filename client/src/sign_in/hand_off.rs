//! Handing an address to the person's browser and taking back what they paste. No shell; only http and https, and only what is one plain word.

use crate::app::App;
use crate::error::CliError;
use crate::prompt;
use std::process::{Command, Stdio};

/// Who brings an address to a browser.
pub trait HandOff {
    /// Shows the address and, where that is wanted, opens it.
    fn hand_over(&self, app: &App, url: &str, open: Open) -> Result<(), CliError>;
    /// The address at which the browser ended.
    fn pasted(&self) -> Result<String, CliError>;
}

/// Whether a browser is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// On Enter, where somebody sits at a terminal.
    OnEnter,
    /// The person does it.
    Never,
}

/// The person at the terminal.
#[derive(Debug, Clone, Copy)]
pub struct Person;

impl HandOff for Person {
    fn hand_over(&self, app: &App, url: &str, open: Open) -> Result<(), CliError> {
        app.output.say("Sign in at this address:");
        app.output.say(&format!("  {url}"));
        if open == Open::OnEnter && app.output.is_for_a_person() && prompt::can_ask() && is_openable(url) {
            prompt::ask_line("Press Enter to open it in your browser (Ctrl-C ends, nothing is changed)", "")?;
            let opened = opener(url).spawn();
            if opened.is_err() {
                app.output.say("No browser could be opened; open the address yourself.");
            }
        }
        Ok(())
    }

    fn pasted(&self) -> Result<String, CliError> {
        prompt::ask_line("Paste the address at which the browser ended:", "run it at a terminal, or without `--paste`")
    }
}

/// The browser's opener, started without a shell.
fn opener(url: &str) -> Command {
    let mut command = Command::new("xdg-open");
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// One word that begins with a scheme of the web: never an option, a file or another program's scheme.
fn is_openable(url: &str) -> bool {
    let web = url.starts_with("https://") || url.starts_with("http://");
    web && url.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'`$\\<>|;".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_of_the_web_are_opened_and_by_no_shell() {
        assert!(is_openable("https://as.example/authorize?a=b&c=d%20e"));
        for other in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "--help",
            "https://h/$(x)",
            "https://h/a b",
            "https://h/`x`",
            "HTTPS://h",
            "",
        ] {
            assert!(!is_openable(other), "{other}");
        }
        let command = opener("https://h/&x");
        assert_eq!((command.get_program().to_str(), command.get_args().count()), (Some("xdg-open"), 1));
    }
}
