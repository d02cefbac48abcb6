//! Names that people give to workspaces, projects and connections. Checked once where they enter and kept byte for byte: a name is part of what a v1 credential is bound to.

use crate::http::error::ApiError;
use contract::limits;

/// 1 to [`limits::NAME_CHARS_MAX`] characters, not only spaces, no control characters: the public client prints names raw.
pub(crate) fn check_name(name: &str) -> Result<(), ApiError> {
    let length = name.chars().count();
    if !(1..=limits::NAME_CHARS_MAX).contains(&length) || name.trim().is_empty() {
        return Err(ApiError::field("name", &format!("1 to {} characters are needed", limits::NAME_CHARS_MAX)));
    }
    if name.chars().any(char::is_control) {
        return Err(ApiError::field("name", "control characters are not allowed"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_printable() {
        for good in ["Mail", "Postfach „Büro“ 🐶", &"é".repeat(200)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "  ", "a\nb", "a\u{1b}[31m", "a\0b", "a\u{9b}b", &"é".repeat(201)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
