//! Takes the credential out of what a server sent, in every form that it can be written in. Never tells which form it was, and never keeps the original.

use crate::forms::Forms;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::Json;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// What stands in the place of a credential.
pub const MARKER: &str = "[credential removed]";

/// Knows one credential, and the parts of it that are secret on their own.
pub(crate) struct Redactor {
    forms: Vec<Forms>,
}

impl Redactor {
    /// For a credential that is the value of a header, such as a token, `token abc` or `Basic …`. Without one, nothing is ever redacted.
    pub(crate) fn new(credential: &[u8]) -> Self {
        let mut forms: Vec<Forms> = Vec::new();
        let scheme_end = credential.iter().position(|byte| *byte == b' ');
        let token = scheme_end.and_then(|at| credential.get(at + 1..)).unwrap_or_default().trim_ascii();
        forms.extend(Forms::new(credential.trim_ascii()));
        forms.extend(Forms::new(token));
        let is_basic = credential.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"basic "));
        if let Some(pair) = is_basic.then(|| STANDARD.decode(token).ok()).flatten().map(Zeroizing::new) {
            forms.extend(Forms::new(&pair));
            let password = pair.iter().position(|byte| *byte == b':').and_then(|at| pair.get(at + 1..));
            forms.extend(password.and_then(Forms::new));
        }
        Self { forms }
    }

    /// `text` without the credential, if it held it.
    pub(crate) fn text(&self, text: &str) -> Option<String> {
        let mut found: Option<String> = None;
        for forms in &self.forms {
            let redacted = replace(forms, found.as_deref().unwrap_or(text));
            found = redacted.or(found);
        }
        found
    }

    /// `json` without the credential in any string, member name or number, and whether it held it.
    pub(crate) fn json(&self, json: Json) -> (Json, bool) {
        if self.forms.is_empty() {
            return (json, false);
        }
        let mut redacted = false;
        let json = self.walk(json, &mut redacted);
        (json, redacted)
    }

    fn walk(&self, json: Json, redacted: &mut bool) -> Json {
        match json {
            Json::Null | Json::Bool(_) => json,
            Json::Number(number) => match self.text(number.as_str()) {
                Some(_) => {
                    *redacted = true;
                    MARKER.into()
                }
                None => Json::Number(number),
            },
            Json::String(text) => Json::String(self.string(text, redacted)),
            Json::Array(items) => Json::Array(items.into_iter().map(|item| self.walk(item, redacted)).collect()),
            Json::Object(members) => {
                let mut kept = BTreeMap::new();
                for (name, value) in members {
                    let mut name = self.string(name, redacted);
                    // Two names that held the credential must not become one.
                    while kept.contains_key(&name) {
                        name.push('\'');
                    }
                    kept.insert(name, self.walk(value, redacted));
                }
                Json::Object(kept)
            }
        }
    }

    fn string(&self, text: String, redacted: &mut bool) -> String {
        match self.text(&text) {
            Some(clean) => {
                *redacted = true;
                clean
            }
            None => text,
        }
    }
}

fn replace(forms: &Forms, text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut from = 0;
    while let Some(range) = forms.find(text.as_bytes(), from) {
        // A match of bytes can begin or end inside a character; the whole character goes.
        let start = (from..=range.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(from);
        let end = (range.end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        clean.push_str(text.get(from..start).unwrap_or_default());
        clean.push_str(MARKER);
        from = end;
    }
    if from == 0 {
        return None;
    }
    clean.push_str(text.get(from..).unwrap_or_default());
    Some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::cjson;

    const TOKEN: &str = "tok-Zm9vYmFy/12345";

    fn clean(credential: &str, text: &str) -> (String, bool) {
        let json = cjson::parse(text.as_bytes(), 10_000).expect("JSON");
        let (json, redacted) = Redactor::new(credential.as_bytes()).json(json);
        (json.canonical_string(), redacted)
    }

    #[test]
    fn strings_names_and_numbers_are_cleaned() {
        assert_eq!(
            clean(TOKEN, r#"{"a":["x tok-Zm9vYmFy/12345 y tok-Zm9vYmFy\u002f12345"],"tok-Zm9vYmFy/12345":1}"#),
            (format!(r#"{{"[credential removed]":1,"a":["x {MARKER} y {MARKER}"]}}"#), true)
        );
        assert_eq!(clean("12345678", r#"{"pin":12345678}"#), (format!(r#"{{"pin":"{MARKER}"}}"#), true));
        assert_eq!(
            clean(TOKEN, r#"{"a":[1.50,"tok-Zm9",null]}"#),
            (r#"{"a":[1.50,"tok-Zm9",null]}"#.to_owned(), false)
        );
        assert_eq!(clean("", r#"{"a":""}"#), (r#"{"a":""}"#.to_owned(), false));
    }

    #[test]
    fn names_that_become_equal_stay_two() {
        let (text, redacted) = clean("aaaa", r#"{"aaaa":1,"61616161":2}"#);
        assert!(redacted);
        assert_eq!(text, format!(r#"{{"{MARKER}":2,"{MARKER}'":1}}"#));
    }

    #[test]
    fn the_parts_of_a_header_value_are_secret_on_their_own() {
        // user:hunter22
        let basic = "Basic dXNlcjpodW50ZXIyMg==";
        for text in [r#"["dXNlcjpodW50ZXIyMg=="]"#, r#"["user:hunter22"]"#, r#"["the password is hunter22"]"#] {
            let (cleaned, redacted) = clean(basic, text);
            assert!(redacted && !cleaned.contains("hunter22") && !cleaned.contains("dXNl"), "{cleaned}");
        }
        assert!(clean("Token abcdef", r#"["abcdef"]"#).1);
    }

    #[test]
    fn nothing_of_the_credential_is_left_between_characters() {
        assert_eq!(clean("é", r#"["caféé!"]"#).0, format!(r#"["caf{MARKER}{MARKER}!"]"#));
        // The second byte of a character alone: the whole character goes.
        let redactor = Redactor::new(&[0xa9]);
        assert_eq!(redactor.text("café!").as_deref(), Some(&*format!("caf{MARKER}!")));
    }
}
