//! JSON as Python's `json` module reads and prints it: last key wins, integers of any size, floats by `repr`. Shares no code with the product's canonical JSON, so that the two can disagree.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A Python value that JSON can hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Py {
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// `int`, in plain decimal.
    Int(String),
    /// `float`
    Float(f64),
    /// `str`
    Str(String),
    /// `list`
    List(Vec<Py>),
    /// `dict`; sorted by code point, as `sort_keys` prints it.
    Dict(BTreeMap<String, Py>),
}

impl Py {
    /// A `dict` of the given members.
    #[must_use]
    pub fn dict<const N: usize>(members: [(&str, Py); N]) -> Self {
        Self::Dict(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// A list of strings.
    #[must_use]
    pub fn strings(items: &[&str]) -> Self {
        Self::List(items.iter().map(|item| Self::from(*item)).collect())
    }

    /// `self[key]`, where this is a `dict` that has it.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<&Py> {
        self.as_dict()?.get(key)
    }

    /// A string member.
    #[must_use]
    pub fn find_str(&self, key: &str) -> Option<&str> {
        self.find(key)?.as_str()
    }

    /// The members, if this is a `dict`.
    #[must_use]
    pub const fn as_dict(&self) -> Option<&BTreeMap<String, Py>> {
        if let Self::Dict(members) = self { Some(members) } else { None }
    }

    /// The items, if this is a `list`.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Py]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// The text, if this is a `str`.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Str(text) = self { Some(text) } else { None }
    }

    /// The number, if this is an `int` that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Int(digits) = self { digits.parse().ok() } else { None }
    }

    /// `bool(self)`
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(digits) => digits != "0",
            Self::Float(value) => *value != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Dict(members) => !members.is_empty(),
        }
    }

    /// `json.dumps(self, ensure_ascii=False, separators=(",", ":"), sort_keys=True)`
    #[must_use]
    pub fn dumps(&self) -> String {
        let mut out = String::new();
        self.print(&mut out);
        out
    }

    /// `json.loads(text)`; a text that is no JSON is `None`.
    #[must_use]
    pub fn loads(text: &str) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value()?;
        reader.skip_space();
        (reader.at == text.len()).then_some(value)
    }

    fn print(&self, out: &mut String) {
        match self {
            Self::None => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Int(digits) => out.push_str(digits),
            Self::Float(value) => out.push_str(&repr(*value)),
            Self::Str(text) => quote(text, out),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    item.print(out);
                }
                out.push(']');
            }
            Self::Dict(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    quote(key, out);
                    out.push(':');
                    value.print(out);
                }
                out.push('}');
            }
        }
    }
}

impl From<&str> for Py {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<String> for Py {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

impl From<i64> for Py {
    fn from(value: i64) -> Self {
        Self::Int(value.to_string())
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Python's `repr(float)`: shortest digits that read back; positional while 1e-4 ≤ |x| < 1e16, then with a sign and at least two digits of exponent.
fn repr(value: f64) -> String {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        return format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    let plain = format!("{value}");
    if plain.contains('.') { plain } else { format!("{plain}.0") }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, word: &str) -> Option<()> {
        self.text.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn value(&mut self) -> Option<Py> {
        self.skip_space();
        match self.peek()? {
            b'n' => self.take("null").map(|()| Py::None),
            b't' => self.take("true").map(|()| Py::Bool(true)),
            b'f' => self.take("false").map(|()| Py::Bool(false)),
            b'"' => self.string().map(Py::Str),
            b'[' => self.list(),
            b'{' => self.dict(),
            _ => self.number(),
        }
    }

    fn list(&mut self) -> Option<Py> {
        self.take("[")?;
        let mut items = Vec::new();
        self.skip_space();
        if self.take("]").is_some() {
            return Some(Py::List(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_space();
            if self.take("]").is_some() {
                return Some(Py::List(items));
            }
            self.take(",")?;
        }
    }

    fn dict(&mut self) -> Option<Py> {
        self.take("{")?;
        let mut members = BTreeMap::new();
        self.skip_space();
        if self.take("}").is_some() {
            return Some(Py::Dict(members));
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            self.skip_space();
            self.take(":")?;
            let value = self.value()?;
            members.insert(key, value);
            self.skip_space();
            if self.take("}").is_some() {
                return Some(Py::Dict(members));
            }
            self.take(",")?;
        }
    }

    fn number(&mut self) -> Option<Py> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        let token = self.text.get(start..self.at)?;
        if token.contains(['.', 'e', 'E']) {
            return token.parse().ok().map(Py::Float);
        }
        let digits = token.strip_prefix('-').unwrap_or(token);
        let plain = !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
            && (digits == "0" || !digits.starts_with('0'));
        plain.then(|| Py::Int(if token == "-0" { "0".to_owned() } else { token.to_owned() }))
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut text = String::new();
        loop {
            let c = self.text.get(self.at..)?.chars().next()?;
            self.at += c.len_utf8();
            match c {
                '"' => return Some(text),
                '\\' => text.push(self.escape()?),
                c if u32::from(c) < 0x20 => return None,
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(match c {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.four()?;
                if !(0xd800..0xdc00).contains(&high) {
                    return char::from_u32(high);
                }
                self.take("\\u")?;
                let low = self.four()?;
                char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low.checked_sub(0xdc00)?)?
            }
            _ => return None,
        })
    }

    fn four(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vector_comes_out_byte_by_byte() {
        let mut value = Py::dict([
            ("Z", Py::Bool(true)),
            ("é", Py::None),
            ("\u{ff5e}", Py::from(1)),
            ("🐶", Py::from(2)),
            ("a", Py::from("é\"\\/\u{8}\u{c}\n\r\t\u{1f}\u{7f}\u{2028}🐶")),
        ]);
        if let Py::Dict(members) = &mut value {
            members.insert(
                "b".to_owned(),
                Py::List(vec![
                    Py::from(1),
                    Py::Float(1.0),
                    Py::Float(-0.0),
                    Py::Float(1e16),
                    Py::Float(1e-5),
                    Py::Float(0.1),
                    Py::Int("12345678901234567890123".to_owned()),
                ]),
            );
        }
        let hex = "7b225a223a747275652c2261223a22c3a95c225c5c2f5c625c665c6e5c725c745c75303031667fe280a8f09f90b6222c2262223a5b312c312e302c2d302e302c31652b31362c31652d30352c302e312c31323334353637383930313233343536373839303132335d2c22c3a9223a6e756c6c2c22efbd9e223a312c22f09f90b6223a327d";
        assert_eq!(contract::digest::hex(value.dumps().as_bytes()), hex, "as printed");
        assert_eq!(Py::loads(&value.dumps()), Some(value), "reads back");
    }

    #[test]
    fn floats_follow_repr() {
        for (value, text) in [
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (0.0001, "0.0001"),
            (12345.678, "12345.678"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(Py::Float(value).dumps(), text);
        }
        assert_eq!(Py::loads("1E5").map(|v| v.dumps()).as_deref(), Some("100000.0"));
    }
}
