//! Text that came from elsewhere, made safe to show: hidden, bidirectional and control characters become visible escapes. Never changes what is stored or digested.

/// Makes every character that could hide or reorder text visible as `\u{…}`; line feeds and tabs too.
#[must_use]
pub fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if is_hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    })
}

/// Drops control characters, for strings that the public client prints raw.
#[must_use]
pub fn without_controls(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Whether `text` holds a character that [`visible`] would escape.
#[must_use]
pub fn has_hidden(text: &str) -> bool {
    text.chars().any(is_hidden)
}

/// Controls, zero-width and invisible characters, bidirectional controls, tags, variation selectors, private use, exotic spaces.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(u32::from(c),
            0x00ad | 0x034f | 0x061c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x202a..=0x202e
            | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1bca0..=0x1bca3
            | 0x1d173..=0x1d17a | 0xe000..=0xf8ff | 0xe0000..=0xe0fff | 0xf0000..=0x10_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_visible() {
        assert_eq!(visible("safe\u{202e}txt\u{200b}\u{1b}[31m é 🐶"), "safe\\u{202e}txt\\u{200b}\\u{1b}[31m é 🐶");
        assert!(has_hidden("a\u{e0041}"));
        assert!(!has_hidden("plain text, é"));
        assert_eq!(without_controls("a\u{7}b\nc"), "abc");
    }
}
