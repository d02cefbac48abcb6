//! Arguments that a tool wants mirrored into headers (`x-mcp-header`, MCP 2026-07-28). Never mirrors an argument that the tool's schema does not name, and refuses a tool that asks for it in a wrong way.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::{Json, limits};
use egress::HeaderName;
use std::collections::BTreeSet;

const ANNOTATION: &str = "x-mcp-header";

/// The `Mcp-Param-…` headers for a call of the tool with these arguments, or why there cannot be any.
pub(crate) fn param_headers(tool: &Json, arguments: &Json) -> Result<Vec<(HeaderName, String)>, &'static str> {
    let mut found = Vec::new();
    if let Some(schema) = tool.find("inputSchema") {
        if schema.find(ANNOTATION).is_some() {
            return Err("the tool wants all its arguments in one header");
        }
        collect(schema, &mut Vec::new(), &mut found)?;
    }
    let mut names = BTreeSet::new();
    let mut headers = Vec::new();
    for (name, path) in found {
        let name = format!("mcp-param-{}", name.to_ascii_lowercase());
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "the tool names a header that cannot be")?;
        if !names.insert(name) {
            return Err("the tool wants two arguments in one header");
        }
        let value = path.iter().try_fold(arguments, |value, step| value.find(step));
        if let Some(text) = value.map(spell).transpose()?.flatten() {
            headers.push((header, encode(&text)?));
        }
    }
    Ok(headers)
}

/// Plain when it can be, else `=?base64?…?=`; also for the `Mcp-Name` header.
pub(crate) fn encode(text: &str) -> Result<String, &'static str> {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim_matches(' ').len() == text.len()
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let value = if plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) };
    if value.len() > limits::PARAM_HEADER_BYTES_MAX { Err("an argument is too long for its header") } else { Ok(value) }
}

/// Finds annotated properties that a chain of `properties` alone reaches; an annotation anywhere else is an error.
fn collect<'a>(
    schema: &'a Json,
    path: &mut Vec<&'a str>,
    found: &mut Vec<(&'a str, Vec<&'a str>)>,
) -> Result<(), &'static str> {
    let Some(members) = schema.as_object() else { return Ok(()) };
    for (key, value) in members {
        match key.as_str() {
            ANNOTATION => {
                let name =
                    value.as_str().filter(|name| !name.is_empty()).ok_or("the tool names a header that cannot be")?;
                if !matches!(schema.find_str("type"), Some("string" | "integer" | "boolean")) {
                    return Err("the tool wants something in a header that is no text, integer or boolean");
                }
                found.push((name, path.clone()));
            }
            "properties" => {
                for (name, property) in value.as_object().into_iter().flatten() {
                    path.push(name);
                    collect(property, path, found)?;
                    path.pop();
                }
            }
            _ if mentions(value) => return Err("the tool wants an argument in a header that has no fixed place"),
            _ => {}
        }
    }
    Ok(())
}

fn mentions(json: &Json) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(key, value)| key == ANNOTATION || mentions(value)),
        Json::Array(items) => items.iter().any(mentions),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

fn spell(value: &Json) -> Result<Option<String>, &'static str> {
    match value {
        Json::Null => Ok(None),
        Json::Bool(value) => Ok(Some(value.to_string())),
        Json::String(text) => Ok(Some(text.clone())),
        Json::Number(number) => match number.as_i64() {
            Some(value) if value.unsigned_abs() <= limits::SIGNED_INTEGER_MAX => Ok(Some(value.to_string())),
            Some(_) | None => Err("an argument for a header is a number other than a plain integer"),
        },
        Json::Array(_) | Json::Object(_) => Err("an argument for a header is a list or an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::cjson;

    fn json(text: &str) -> Json {
        cjson::parse(text.as_bytes(), 10_000).expect("JSON")
    }

    fn headers(schema: &str, arguments: &str) -> Result<Vec<(String, String)>, &'static str> {
        let tool = Json::from_members([("name", "t".into()), ("inputSchema", json(schema))]);
        let headers = param_headers(&tool, &json(arguments))?;
        Ok(headers.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }

    #[test]
    fn annotated_arguments_are_mirrored() {
        let schema = r#"{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Deep-N"}}},
            "flag":{"type":"boolean","x-mcp-header":"flag"},
            "absent":{"type":"string","x-mcp-header":"Absent"},
            "x-mcp-header":{"type":"string"},
            "free":{"type":"string"}}}"#;
        let arguments = r#"{"region":" é","deep":{"n":-7},"flag":true,"absent":null,"free":"x"}"#;
        let mut found = headers(schema, arguments).expect("a good schema");
        found.sort();
        let wanted = [("mcp-param-deep-n", "-7"), ("mcp-param-flag", "true"), ("mcp-param-region", "=?base64?IMOp?=")];
        assert_eq!(found, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn wrong_annotations_refuse_the_tool() {
        for schema in [
            r#"{"x-mcp-header":"All","type":"object"}"#,
            r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":1}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
            r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
            r#"{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
            r#"{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}"#,
        ] {
            assert!(headers(schema, "{}").is_err(), "{schema}");
        }
    }

    #[test]
    fn values_that_cannot_stand_in_a_header_are_refused_or_encoded() {
        let schema = r#"{"properties":{"a":{"type":"integer","x-mcp-header":"A"}}}"#;
        for arguments in [r#"{"a":1.5}"#, r#"{"a":9007199254740992}"#, r#"{"a":[1]}"#, r#"{"a":{}}"#] {
            assert!(headers(schema, arguments).is_err(), "{arguments}");
        }
        for (text, value) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encode(text).as_deref(), Ok(value), "{text}");
        }
        assert!(encode(&"x".repeat(limits::PARAM_HEADER_BYTES_MAX + 1)).is_err());
    }
}
