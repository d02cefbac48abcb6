//! The request target before any routing: only the plain form passes, so that what was signed, what is routed and what a proxy saw are one text.

use contract::limits;
use http::Uri;

/// Why a request target is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    /// Absolute, authority or asterisk form (RFC 9112 3.2).
    #[error("the request target must start with `/`")]
    NotOriginForm,
    /// Longer than the maximum.
    #[error("the request target is longer than {} bytes", limits::TARGET_BYTES_MAX)]
    TooLong,
    /// An empty segment.
    #[error("the path has an empty segment")]
    EmptySegment,
    /// `.` or `..`, also percent-encoded.
    #[error("the path has a dot segment")]
    DotSegment,
    /// A slash, backslash, NUL or percent sign behind a percent-encoding.
    #[error("the path hides a separator")]
    HiddenSeparator,
    /// A backslash, a control character or a byte outside ASCII.
    #[error("the request target has a character that must be percent-encoded")]
    RawCharacter,
    /// `%` without two hexadecimal digits.
    #[error("the request target has a broken percent-encoding")]
    BrokenEncoding,
}

/// Checks the target as it was received and returns it: path and query, percent-encoding untouched.
///
/// The fragment that RFC 9112 does not allow in a target is cut off by the HTTP reader before anything sees it; it takes part in nothing.
pub(crate) fn check(uri: &Uri) -> Result<&str, TargetError> {
    if uri.scheme().is_some() || uri.authority().is_some() {
        return Err(TargetError::NotOriginForm);
    }
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    if !target.starts_with('/') {
        return Err(TargetError::NotOriginForm);
    }
    if target.len() > limits::TARGET_BYTES_MAX {
        return Err(TargetError::TooLong);
    }
    if target.bytes().any(|byte| !byte.is_ascii_graphic() || byte == b'\\') {
        return Err(TargetError::RawCharacter);
    }
    check_encoding(target)?;
    check_path(uri.path())?;
    Ok(target)
}

fn check_encoding(target: &str) -> Result<(), TargetError> {
    let mut rest = target;
    while let Some((_, after)) = rest.split_once('%') {
        let digits = after.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        if digits.is_none() {
            return Err(TargetError::BrokenEncoding);
        }
        rest = after;
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), TargetError> {
    let lower = path.to_ascii_lowercase();
    if ["%2f", "%5c", "%00", "%25"].iter().any(|hidden| lower.contains(hidden)) {
        return Err(TargetError::HiddenSeparator);
    }
    if path == "/" {
        return Ok(());
    }
    for segment in lower.split('/').skip(1) {
        match segment.replace("%2e", ".").as_str() {
            "" => return Err(TargetError::EmptySegment),
            "." | ".." => return Err(TargetError::DotSegment),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(target: &str) -> Result<(), TargetError> {
        check(&target.parse().expect("the HTTP reader takes it")).map(|_| ())
    }

    #[test]
    fn plain_targets_pass_untouched() {
        for good in [
            "/",
            "/v1/sync/pull?cursor=0&limit=100",
            "/v1/connections/conn_%3A1/review",
            "/v1/connections/a:b/review",
            "/x?next=../y//",
        ] {
            assert_eq!(check(&good.parse().expect("URI")), Ok(good));
        }
    }

    #[test]
    fn every_other_form_is_refused() {
        let long = format!("/v1/{}", "x".repeat(limits::TARGET_BYTES_MAX));
        for (bad, why) in [
            ("http://127.0.0.1/v1/whoami", TargetError::NotOriginForm),
            ("*", TargetError::NotOriginForm),
            ("example.test:443", TargetError::NotOriginForm),
            ("//v1/whoami", TargetError::EmptySegment),
            ("/v1//whoami", TargetError::EmptySegment),
            ("/v1/whoami/", TargetError::EmptySegment),
            ("/v1/../whoami", TargetError::DotSegment),
            ("/v1/./whoami", TargetError::DotSegment),
            ("/v1/%2E%2e/whoami", TargetError::DotSegment),
            ("/v1/.%2e/whoami", TargetError::DotSegment),
            ("/v1/connections/a%2Fb/review", TargetError::HiddenSeparator),
            ("/v1/connections/a%5cb/review", TargetError::HiddenSeparator),
            ("/v1/connections/a%252fb/review", TargetError::HiddenSeparator),
            ("/v1/connections/a%00/review", TargetError::HiddenSeparator),
            ("/v1\\whoami", TargetError::RawCharacter),
            ("/v1/whoami?x=\\", TargetError::RawCharacter),
            ("/v1/%zz", TargetError::BrokenEncoding),
            ("/v1/whoami?x=%1", TargetError::BrokenEncoding),
            (long.as_str(), TargetError::TooLong),
        ] {
            assert_eq!(verdict(bad), Err(why), "{bad}");
        }
    }
}
