//! Between canonical JSON and typed bodies: the strict tokenizer runs first, so serde only ever sees documents with one meaning.

use super::{Json, JsonError, parse};
use crate::limits;
use serde::{Serialize, de::DeserializeOwned};

/// Decodes a body of at most `bytes_max` bytes into a type, naming the field to blame.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8], bytes_max: usize) -> Result<T, JsonError> {
    parse(bytes, bytes_max)?;
    typed(bytes)
}

/// As [`from_slice`], for an empty body too, which reads as `{}`.
pub fn from_slice_lenient<T: DeserializeOwned>(bytes: &[u8], bytes_max: usize) -> Result<T, JsonError> {
    from_slice(if bytes.is_empty() { b"{}" } else { bytes }, bytes_max)
}

/// CJ bytes of a typed body.
pub fn to_canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, JsonError> {
    to_json(value).map(|json| json.canonical())
}

/// A typed body as a JSON value.
pub fn to_json<T: Serialize>(value: &T) -> Result<Json, JsonError> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| JsonError::Shape { field: ".".to_owned(), what: error.to_string() })?;
    parse(&bytes, bytes.len())
}

fn typed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let what = strip_position(&error.inner().to_string());
        JsonError::Shape { field: field_of(&error.path().to_string(), &what), what }
    })
}

/// serde names a missing or unknown field in its message, not in the path; the refusal must name it.
fn field_of(path: &str, what: &str) -> String {
    let named =
        ["missing field `", "unknown field `"].iter().find_map(|start| what.strip_prefix(start)?.split('`').next());
    match named {
        Some(name) if path == "." => name.to_owned(),
        Some(name) if !path.ends_with(name) => format!("{path}.{name}"),
        Some(_) | None => path.to_owned(),
    }
}

fn strip_position(message: &str) -> String {
    message.split(" at line ").next().unwrap_or(message).to_owned()
}

/// See [`Json::check_signable`].
pub(super) fn check_signable(value: &Json) -> Result<(), JsonError> {
    if value.canonical().len() > limits::SIGNED_BODY_BYTES_MAX {
        return Err(refuse("", "larger than 64 KiB"));
    }
    walk(value, "", 0)
}

fn walk(value: &Json, path: &str, depth: usize) -> Result<(), JsonError> {
    if depth > limits::SIGNED_BODY_DEPTH_MAX {
        return Err(refuse(path, "nested deeper than 8 levels"));
    }
    match value {
        Json::Null => Err(refuse(path, "null")),
        Json::Bool(_) => Ok(()),
        Json::Number(number) => match number.as_i64() {
            Some(value)
                if value.unsigned_abs() <= limits::SIGNED_INTEGER_MAX && value.to_string() == number.as_str() =>
            {
                Ok(())
            }
            Some(_) | None => Err(refuse(path, "not a plain integer within ±(2^53−1)")),
        },
        Json::String(text) if text.chars().any(char::is_control) => Err(refuse(path, "a control character")),
        Json::String(_) => Ok(()),
        Json::Array(items) => {
            items.iter().enumerate().try_for_each(|(index, item)| walk(item, &format!("{path}/{index}"), depth + 1))
        }
        Json::Object(members) => members.iter().try_for_each(|(key, item)| {
            if key.chars().any(char::is_control) {
                return Err(refuse(path, "a control character in a key"));
            }
            walk(item, &format!("{path}/{key}"), depth + 1)
        }),
    }
}

fn refuse(path: &str, what: &'static str) -> JsonError {
    JsonError::NotSignable { field: if path.is_empty() { ".".to_owned() } else { path.to_owned() }, what }
}
