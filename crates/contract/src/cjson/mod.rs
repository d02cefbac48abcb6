//! Canonical JSON (CJ): a strict reader and one printer for every body, digest and signature. Number tokens are kept verbatim; nothing is ever rounded, re-spelled or silently dropped.

mod decode;
mod parse;
mod print;
mod respell;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub use decode::{from_slice, from_slice_lenient, to_canonical, to_json};
pub use parse::{parse, parse_with_depth};
pub use respell::respell_numbers;

/// A JSON value whose objects are sorted by Unicode code point and whose numbers are the bytes that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, verbatim.
    Number(Number),
    /// A string without lone surrogates.
    String(String),
    /// An array in its own order.
    Array(Vec<Json>),
    /// An object; keys are unique, and iterate sorted by code point (which is the order of their UTF-8 bytes).
    Object(BTreeMap<String, Json>),
}

/// A JSON number token, kept as it was written (≤ 64 characters): `5`, `5.0` and `5e0` are three different numbers here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(String);

impl Number {
    /// The token.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, when the token is a plain integer that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(value.to_string())
    }
}

/// Why bytes are not acceptable JSON. `at` is a byte offset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Longer than the caller's maximum; nothing was read.
    #[error("body is {actual} bytes, the maximum is {max}")]
    TooLarge {
        /// Bytes that arrived.
        actual: usize,
        /// The named maximum.
        max: usize,
    },
    /// Not JSON (RFC 8259) at this offset.
    #[error("not JSON at byte {at}: {what}")]
    Syntax {
        /// Byte offset.
        at: usize,
        /// What was expected or found.
        what: &'static str,
    },
    /// Nested deeper than the maximum.
    #[error("nested deeper than {max} levels at byte {at}")]
    TooDeep {
        /// Byte offset.
        at: usize,
        /// The named maximum.
        max: usize,
    },
    /// An object has the same key twice (after unescaping).
    #[error("duplicate key at byte {at}")]
    DuplicateKey {
        /// Byte offset of the second key.
        at: usize,
    },
    /// Not UTF-8, or a string holds half of a surrogate pair.
    #[error("not Unicode text at byte {at}")]
    NotUnicode {
        /// Byte offset.
        at: usize,
    },
    /// A number token longer than 64 characters.
    #[error("number longer than {max} characters at byte {at}")]
    NumberTooLong {
        /// Byte offset.
        at: usize,
        /// The named maximum.
        max: usize,
    },
    /// Well-formed, but not the shape that was asked for.
    #[error("field `{field}`: {what}")]
    Shape {
        /// Path of the field to blame, `.` for the whole.
        field: String,
        /// What is wrong with it.
        what: String,
    },
    /// A signed body breaks one of the rules of 2.c.2.
    #[error("field `{field}` is not allowed in a signed object: {what}")]
    NotSignable {
        /// Path of the field to blame.
        field: String,
        /// The rule that it breaks.
        what: &'static str,
    },
}

impl JsonError {
    /// The field to blame, where one is.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Shape { field, .. } | Self::NotSignable { field, .. } => Some(field),
            Self::TooLarge { .. }
            | Self::Syntax { .. }
            | Self::TooDeep { .. }
            | Self::DuplicateKey { .. }
            | Self::NotUnicode { .. }
            | Self::NumberTooLong { .. } => None,
        }
    }
}

impl Json {
    /// An empty object.
    #[must_use]
    pub fn object() -> Self {
        Self::Object(BTreeMap::new())
    }

    /// An object of the given members; a later member of the same name wins.
    #[must_use]
    pub fn from_members<const N: usize>(members: [(&str, Json); N]) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// CJ bytes: sorted keys, no white space, number tokens verbatim, non-ASCII raw.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        print::canonical(self).into_bytes()
    }

    /// CJ as text.
    #[must_use]
    pub fn canonical_string(&self) -> String {
        print::canonical(self)
    }

    /// A member of an object.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<&Json> {
        self.as_object()?.get(key)
    }

    /// A string member of an object.
    #[must_use]
    pub fn find_str(&self, key: &str) -> Option<&str> {
        self.find(key)?.as_str()
    }

    /// RFC 6901 pointer lookup.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Json> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, raw| {
            let token = raw.replace("~1", "/").replace("~0", "~");
            match value {
                Self::Object(members) => members.get(&token),
                Self::Array(items) => items.get(token.parse::<usize>().ok()?),
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => None,
            }
        })
    }

    /// The members, if this is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&BTreeMap<String, Json>> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The items, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The truth value, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The value, if this is a plain integer that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Number(number) = self { number.as_i64() } else { None }
    }

    /// Checks the rules for a signed body (2.c.2): plain integers within ±(2^53−1), strings without control characters, no null, depth ≤ 8, ≤ 64 KiB.
    pub fn check_signable(&self) -> Result<(), JsonError> {
        decode::check_signable(self)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Self {
        Self::Array(items)
    }
}

// Through `RawValue` a member of this type keeps its bytes inside a typed body. It works with serde_json's own readers and writers only, which is what this module uses.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.canonical_string()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        parse(raw.get().as_bytes(), raw.get().len()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
