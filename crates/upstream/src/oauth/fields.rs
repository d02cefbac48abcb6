//! The members of a JSON answer, wiped on drop whatever becomes of them. Never printed.

use contract::{Json, limits};
use sign::Secret;
use std::collections::BTreeMap;
use zeroize::Zeroize as _;

pub(crate) struct Fields(BTreeMap<String, Json>);

impl Drop for Fields {
    fn drop(&mut self) {
        self.0.values_mut().for_each(wipe);
    }
}

fn wipe(json: &mut Json) {
    match json {
        Json::String(text) => text.zeroize(),
        Json::Array(items) => items.iter_mut().for_each(wipe),
        Json::Object(members) => members.values_mut().for_each(wipe),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

impl Fields {
    pub(crate) fn new(json: Json) -> Option<Self> {
        if let Json::Object(members) = json { Some(Self(members)) } else { None }
    }

    /// A member; `null` is none.
    pub(crate) fn find(&self, name: &str) -> Option<&Json> {
        self.0.get(name).filter(|value| **value != Json::Null)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.find(name)?.as_str()
    }

    /// Takes a text out, into custody; the allocation moves and is not copied.
    pub(crate) fn take_secret(&mut self, name: &str) -> Option<Secret<String>> {
        match self.0.remove(name)? {
            Json::String(text) => Some(Secret::new(text)),
            other @ (Json::Array(_) | Json::Object(_)) => {
                self.0.insert(name.to_owned(), other);
                None
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => None,
        }
    }
}

/// Whether a text from elsewhere can stand in one header line as a token.
pub(crate) fn is_token_text(text: &str) -> bool {
    (1..=limits::CREDENTIAL_SECRET_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// RFC 6749 3.3: `scope-token`.
pub(crate) fn is_scope(text: &str) -> bool {
    (1..=limits::OAUTH_ITEM_CHARS_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}
