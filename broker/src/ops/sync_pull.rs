//! Events after a cursor: there are none, and the cursor stays where the caller has it, because a lower one ends the public client's sync for good.

use crate::http::error::ApiError;
use contract::{limits, sync::PullAnswer};

/// Reads `cursor` and `limit` of the query and answers the empty page.
pub(crate) fn sync_pull(query: &str) -> Result<PullAnswer, ApiError> {
    let cursor = find_number(query, "cursor")?.unwrap_or(0);
    let limit = find_number(query, "limit")?.unwrap_or(limits::PULL_EVENTS_MAX);
    if !(1..=limits::PULL_EVENTS_MAX).contains(&limit) {
        return Err(ApiError::field("limit", &format!("1 to {} was expected", limits::PULL_EVENTS_MAX)));
    }
    if cursor > limits::SIGNED_INTEGER_MAX {
        return Err(ApiError::field("cursor", "a number below 2^53 was expected"));
    }
    Ok(PullAnswer { events: Vec::new(), cursor })
}

/// A plain decimal number; a second one of the same name is refused, because two readers could take different ones.
fn find_number(query: &str, name: &'static str) -> Result<Option<u64>, ApiError> {
    let mut values = query.split('&').filter_map(|pair| pair.split_once('=')).filter(|(key, _)| *key == name);
    let Some((_, text)) = values.next() else { return Ok(None) };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && values.next().is_none() => Ok(Some(number)),
        Ok(_) | Err(_) => Err(ApiError::field(name, "one plain decimal number was expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_never_goes_back() {
        for (query, cursor) in
            [("", 0), ("cursor=0&limit=100", 0), ("limit=1&cursor=9007199254740991", 9_007_199_254_740_991)]
        {
            assert_eq!(sync_pull(query).expect("a page").cursor, cursor);
        }
    }

    #[test]
    fn strange_numbers_are_refused() {
        for query in [
            "cursor=-1",
            "cursor=",
            "cursor=+1",
            "cursor=1&cursor=2",
            "cursor=18446744073709551616",
            "cursor=9007199254740992",
            "limit=0",
            "limit=501",
            "limit=1e2",
        ] {
            assert!(sync_pull(query).is_err(), "{query}");
        }
    }
}
