//! The strict tokenizer: one pass over bounded bytes; refuses duplicate keys, lone surrogates, deep nesting and long numbers instead of guessing.

use super::{Json, JsonError, Number};
use crate::limits;
use std::collections::BTreeMap;

/// Reads one JSON document of at most `bytes_max` bytes and at most [`limits::JSON_DEPTH_MAX`] levels.
pub fn parse(bytes: &[u8], bytes_max: usize) -> Result<Json, JsonError> {
    parse_with_depth(bytes, bytes_max, limits::JSON_DEPTH_MAX)
}

/// As [`parse`], with a smaller maximum depth.
pub fn parse_with_depth(bytes: &[u8], bytes_max: usize, depth_max: usize) -> Result<Json, JsonError> {
    if bytes.len() > bytes_max {
        return Err(JsonError::TooLarge { actual: bytes.len(), max: bytes_max });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::NotUnicode { at: error.valid_up_to() })?;
    let mut reader = Reader { bytes: text.as_bytes(), text, at: 0, depth_max };
    reader.skip_space();
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < reader.bytes.len() {
        return Err(reader.syntax("nothing may follow the document"));
    }
    Ok(value)
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    depth_max: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            Some(_) | None => Err(self.syntax("a value was expected")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.open(depth)?;
        let mut members = BTreeMap::new();
        self.skip_space();
        if self.eat(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            let key_at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.syntax("a key was expected"));
            }
            let key = self.string()?;
            self.skip_space();
            if !self.eat(b':') {
                return Err(self.syntax("`:` was expected"));
            }
            self.skip_space();
            let value = self.value(depth + 1)?;
            if members.insert(key, value).is_some() {
                return Err(JsonError::DuplicateKey { at: key_at });
            }
            self.skip_space();
            if self.eat(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.eat(b',') {
                return Err(self.syntax("`,` or `}` was expected"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.open(depth)?;
        let mut items = Vec::new();
        self.skip_space();
        if self.eat(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            self.skip_space();
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.eat(b']') {
                return Ok(Json::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.syntax("`,` or `]` was expected"));
            }
        }
    }

    fn open(&mut self, depth: usize) -> Result<(), JsonError> {
        if depth >= self.depth_max {
            return Err(JsonError::TooDeep { at: self.at, max: self.depth_max });
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte != b'"' && byte != b'\\' && byte >= 0x20) {
                self.at += 1;
            }
            out.push_str(self.text.get(start..self.at).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(_) => return Err(self.syntax("a control character stands raw in a string")),
                None => return Err(self.syntax("the string does not end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let letter = self.peek();
        self.at += 1;
        Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            Some(_) | None => return Err(self.syntax("unknown escape")),
        })
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let at = self.at;
        let first = self.four_hex()?;
        if (0xd800..0xdc00).contains(&first) {
            if !(self.eat(b'\\') && self.eat(b'u')) {
                return Err(JsonError::NotUnicode { at });
            }
            let second = self.four_hex()?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(JsonError::NotUnicode { at });
            }
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return char::from_u32(code).ok_or(JsonError::NotUnicode { at });
        }
        char::from_u32(first).ok_or(JsonError::NotUnicode { at })
    }

    fn four_hex(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.syntax("four hexadecimal digits were expected"))?;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<Number, JsonError> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        if self.at - start > limits::JSON_NUMBER_CHARS_MAX {
            return Err(JsonError::NumberTooLong { at: start, max: limits::JSON_NUMBER_CHARS_MAX });
        }
        Ok(Number(self.text.get(start..self.at).unwrap_or_default().to_owned()))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.syntax("a digit was expected")) } else { Ok(()) }
    }

    fn word(&mut self, word: &'static str, value: Json) -> Result<Json, JsonError> {
        if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.syntax("a value was expected"))
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn syntax(&self, what: &'static str) -> JsonError {
        JsonError::Syntax { at: self.at, what }
    }
}
