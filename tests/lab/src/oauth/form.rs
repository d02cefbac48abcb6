//! Parameters of a query or a form, each at most once. Never decodes a value twice.

use std::collections::BTreeMap;

/// Named values as they came.
#[derive(Clone, Default)]
pub(crate) struct Form {
    values: BTreeMap<String, Vec<String>>,
}

impl Form {
    pub(crate) fn read(bytes: &[u8]) -> Form {
        let mut values = BTreeMap::<String, Vec<String>>::new();
        for (name, value) in url::form_urlencoded::parse(bytes) {
            values.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        Form { values }
    }

    /// The value of a name that was given exactly once and not empty (RFC 6749, 3.1).
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        match self.all(name) {
            [only] if !only.is_empty() => Some(only),
            _ => None,
        }
    }

    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether a name other than `resource` came twice.
    pub(crate) fn repeats(&self) -> bool {
        self.values.iter().any(|(name, values)| name != "resource" && values.len() > 1)
    }

    /// The words of a scope.
    pub(crate) fn words(&self, name: &str) -> Vec<String> {
        self.one(name).map(words).unwrap_or_default()
    }
}

/// The words of a text, each once, in order.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::<String>::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

/// A query or form of these pairs.
pub(crate) fn write(pairs: &[(&str, String)]) -> String {
    let mut writer = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        writer.append_pair(name, value);
    }
    writer.finish()
}

/// `address` with these pairs in its query.
pub(crate) fn with_query(address: &str, pairs: &[(&str, String)]) -> String {
    let joint = if address.contains('?') { '&' } else { '?' };
    format!("{address}{joint}{}", write(pairs))
}
