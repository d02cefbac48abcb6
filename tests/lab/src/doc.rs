//! A JSON value that remembers how it is to be written: member order and number tokens stay as given. Never reads JSON text.

use serde_json::Value;
use std::fmt::Write as _;

/// One JSON value; a number is the token that will be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Doc {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Doc>),
    Map(Vec<(String, Doc)>),
}

/// How a [`Doc`] is written. No style changes what the document means.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    /// Line breaks and blanks between tokens.
    pub(crate) spaced: bool,
    /// Members in reverse order.
    pub(crate) reversed_keys: bool,
    /// Every letter of every string as a `\uXXXX` escape.
    pub(crate) escaped: bool,
}

impl Doc {
    /// An object from its members, in this order.
    pub(crate) fn map<const N: usize>(members: [(&str, Doc); N]) -> Doc {
        Doc::Map(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Sets the member at `path`, making objects on the way.
    pub(crate) fn set(&mut self, path: &[&str], value: Doc) {
        let Some((name, rest)) = path.split_first() else {
            *self = value;
            return;
        };
        if !matches!(self, Doc::Map(_)) {
            *self = Doc::Map(Vec::new());
        }
        let Doc::Map(members) = self else { return };
        if let Some((_, member)) = members.iter_mut().find(|(known, _)| known == name) {
            member.set(rest, value);
        } else {
            let mut member = Doc::Null;
            member.set(rest, value);
            members.push(((*name).to_owned(), member));
        }
    }

    /// The text at `path`, or an empty one.
    pub(crate) fn text_at(&self, path: &[&str]) -> &str {
        match (self, path.split_first()) {
            (Doc::Text(text), None) => text,
            (Doc::Map(members), Some((name, rest))) => {
                members.iter().find(|(known, _)| known == name).map_or("", |(_, member)| member.text_at(rest))
            }
            _ => "",
        }
    }

    /// Adds one element to the list at `path`.
    pub(crate) fn push_at(&mut self, path: &[&str], value: Doc) {
        match (self, path.split_first()) {
            (Doc::List(items), None) => items.push(value),
            (Doc::Map(members), Some((name, rest))) => {
                if let Some((_, member)) = members.iter_mut().find(|(known, _)| known == name) {
                    member.push_at(rest, value);
                }
            }
            _ => {}
        }
    }

    /// The document as text.
    pub(crate) fn render(&self, style: Style) -> String {
        let mut out = String::new();
        self.write(&mut out, style, 0);
        out
    }

    fn write(&self, out: &mut String, style: Style, depth: usize) {
        match self {
            Doc::Null => out.push_str("null"),
            Doc::Bool(true) => out.push_str("true"),
            Doc::Bool(false) => out.push_str("false"),
            Doc::Number(token) => out.push_str(token),
            Doc::Text(text) => write_text(text, out, style),
            Doc::List(items) => {
                let write_item = |item: &Doc, out: &mut String| item.write(out, style, depth + 1);
                write_sequence(['[', ']'], items.iter(), out, style, depth, write_item);
            }
            Doc::Map(members) => {
                let write_member = |(name, value): &(String, Doc), out: &mut String| {
                    write_text(name, out, style);
                    out.push_str(if style.spaced { " : " } else { ":" });
                    value.write(out, style, depth + 1);
                };
                if style.reversed_keys {
                    write_sequence(['{', '}'], members.iter().rev(), out, style, depth, write_member);
                } else {
                    write_sequence(['{', '}'], members.iter(), out, style, depth, write_member);
                }
            }
        }
    }
}

fn write_sequence<'a, T: 'a>(
    [open, close]: [char; 2],
    items: impl Iterator<Item = &'a T>,
    out: &mut String,
    style: Style,
    depth: usize,
    write_item: impl Fn(&T, &mut String),
) {
    out.push(open);
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        break_line(out, style, depth + 1);
        write_item(item, out);
    }
    break_line(out, style, depth);
    out.push(close);
}

fn break_line(out: &mut String, style: Style, depth: usize) {
    if style.spaced {
        out.push('\n');
        for _ in 0..depth {
            out.push_str("\t ");
        }
    }
}

fn write_text(text: &str, out: &mut String, style: Style) {
    out.push('"');
    for letter in text.chars() {
        let must = matches!(letter, '"' | '\\') || u32::from(letter) < 0x20;
        // Markers stay readable until the answer is assembled.
        if must || (style.escaped && !text.contains(crate::answer::MARK)) {
            let mut units = [0u16; 2];
            for unit in letter.encode_utf16(&mut units) {
                write!(out, "\\u{unit:04x}").expect("writing to a String cannot fail");
            }
        } else {
            out.push(letter);
        }
    }
    out.push('"');
}

impl From<&str> for Doc {
    fn from(text: &str) -> Doc {
        Doc::Text(text.to_owned())
    }
}

impl From<String> for Doc {
    fn from(text: String) -> Doc {
        Doc::Text(text)
    }
}

impl From<Value> for Doc {
    fn from(value: Value) -> Doc {
        match value {
            Value::Null => Doc::Null,
            Value::Bool(flag) => Doc::Bool(flag),
            Value::Number(number) => Doc::Number(number.to_string()),
            Value::String(text) => Doc::Text(text),
            Value::Array(items) => Doc::List(items.into_iter().map(Doc::from).collect()),
            Value::Object(members) => {
                Doc::Map(members.into_iter().map(|(name, value)| (name, Doc::from(value))).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_style_means_the_same_document() {
        let value = json!({"a": [1, {"ü\"\\\n": "zwei 🐑"}], "b": null, "c": {"x": true, "y": []}});
        let doc = Doc::from(value.clone());
        for spaced in [false, true] {
            for reversed_keys in [false, true] {
                for escaped in [false, true] {
                    let text = doc.render(Style { spaced, reversed_keys, escaped });
                    let back: Value = serde_json::from_str(&text).expect("rendered text is JSON");
                    assert_eq!(back, value, "{text}");
                }
            }
        }
    }

    #[test]
    fn number_tokens_are_written_as_given() {
        let doc = Doc::map([("n", Doc::Number("12345678901234567890.123456789".to_owned()))]);
        assert_eq!(doc.render(Style::default()), r#"{"n":12345678901234567890.123456789}"#);
    }
}
