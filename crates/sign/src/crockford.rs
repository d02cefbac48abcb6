//! Crockford base32 for what people type: upper case, without I, L, O and U; reads what people confuse. Never guesses a length.

const ALPHABET: [char; 32] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K', 'M', 'N', 'P',
    'Q', 'R', 'S', 'T', 'V', 'W', 'X', 'Y', 'Z',
];

/// Appends the symbols of `bytes` to `out`, most significant bits first, the last symbol padded with zero bits.
pub fn encode_into(bytes: &[u8], out: &mut String) {
    let (mut window, mut bits) = (0_u32, 0_u32);
    for byte in bytes {
        window = (window << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            out.push(symbol(window >> bits));
        }
    }
    if bits > 0 {
        out.push(symbol(window << (5 - bits)));
    }
}

/// Fills `out` from exactly as many symbols as it needs; lower case and the look-alikes O, I and L are read. `None` for any other character, length or non-zero padding.
pub fn decode_into(symbols: impl IntoIterator<Item = char>, out: &mut [u8]) -> Option<()> {
    let (mut window, mut bits) = (0_u32, 0_u32);
    let mut slots = out.iter_mut();
    for c in symbols {
        // A symbol after the last byte was filled would be one too many.
        if slots.len() == 0 {
            return None;
        }
        window = (window << 5) | value(c)?;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            *slots.next()? = u8::try_from((window >> bits) & 0xff).ok()?;
        }
    }
    let padding = window & ((1 << bits) - 1);
    (slots.len() == 0 && padding == 0).then_some(())
}

fn symbol(bits: u32) -> char {
    ALPHABET.iter().copied().cycle().nth((bits & 31) as usize).unwrap_or('0')
}

fn value(c: char) -> Option<u32> {
    let c = match c.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    ALPHABET.iter().position(|symbol| *symbol == c).and_then(|at| u32::try_from(at).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(bytes: &[u8]) -> String {
        let mut text = String::new();
        encode_into(bytes, &mut text);
        text
    }

    fn decode(text: &str, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        decode_into(text.chars(), &mut bytes).map(|()| bytes)
    }

    #[test]
    fn reads_what_people_confuse_and_nothing_else() {
        assert_eq!(encode(&[0xff; 5]), "ZZZZZZZZ");
        assert_eq!(encode(&[0x08, 0x42]), "1110");
        assert_eq!(decode("IlL o".replace(' ', "").as_str(), 2), Some(vec![0x08, 0x42]));
        for bad in ["111", "11100", "111U", "111-", "1111", "", "é110"] {
            assert_eq!(decode(bad, 2), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn encoding_and_decoding_are_inverse(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let text = encode(&bytes);
            prop_assert_eq!(text.len(), (bytes.len() * 8).div_ceil(5));
            prop_assert_eq!(decode(&text, bytes.len()), Some(bytes));
        }

        #[test]
        fn arbitrary_text_never_panics(text in ".{0,40}", length in 0_usize..20) {
            let _ = decode(&text, length);
        }
    }
}
