//! Searches bytes for secrets in every spelling a leak could have. Reports which secret, in which spelling and where, and never the secret.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A spelling of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spelling {
    /// As it is; also eight bytes of it.
    Raw,
    /// Hexadecimal, lower case.
    HexLower,
    /// Hexadecimal, upper case.
    HexUpper,
    /// Base64 of the standard alphabet, wherever it starts in a group of three.
    Base64Standard,
    /// Base64 of the URL-safe alphabet, wherever it starts in a group of three.
    Base64Url,
    /// `%XX` for each byte, upper case.
    PercentUpper,
    /// `%xx` for each byte, lower case.
    PercentLower,
    /// `\u00xx` for each byte.
    JsonEscaped,
    /// As `{:?}` prints bytes: `1, 2, 3`.
    DebugList,
    /// Turned round.
    Reversed,
}

impl Spelling {
    /// Every spelling.
    pub const ALL: [Self; 10] = [
        Self::Raw,
        Self::HexLower,
        Self::HexUpper,
        Self::Base64Standard,
        Self::Base64Url,
        Self::PercentUpper,
        Self::PercentLower,
        Self::JsonEscaped,
        Self::DebugList,
        Self::Reversed,
    ];

    /// How `bytes` are written. For base64 see [`aligned`].
    #[must_use]
    pub fn write(self, bytes: &[u8]) -> Vec<u8> {
        let each = |write: fn(u8) -> String| bytes.iter().map(|byte| write(*byte)).collect::<String>().into_bytes();
        match self {
            Self::Raw => bytes.to_vec(),
            Self::HexLower => each(|byte| format!("{byte:02x}")),
            Self::HexUpper => each(|byte| format!("{byte:02X}")),
            Self::Base64Standard => STANDARD_NO_PAD.encode(bytes).into_bytes(),
            Self::Base64Url => URL_SAFE_NO_PAD.encode(bytes).into_bytes(),
            Self::PercentUpper => each(|byte| format!("%{byte:02X}")),
            Self::PercentLower => each(|byte| format!("%{byte:02x}")),
            Self::JsonEscaped => each(|byte| format!("\\u{byte:04x}")),
            Self::DebugList => bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(", ").into_bytes(),
            Self::Reversed => bytes.iter().rev().copied().collect(),
        }
    }
}

/// Bytes of a secret that give it away: any eight in a row.
const PIECE_BYTES: usize = 8;

/// Characters of base64 that carry at least sixty bits.
const BASE64_PIECE: usize = 10;

/// A set of secrets to search for.
#[derive(Default)]
pub struct Canary {
    names: Vec<String>,
    /// By their first eight bytes: the whole needle, whose it is and how it is written.
    needles: HashMap<[u8; 8], Vec<Needle>>,
    /// Which first bytes any needle has, by two.
    first: Vec<bool>,
}

struct Needle {
    bytes: Vec<u8>,
    secret: usize,
    spelling: Spelling,
}

/// A secret found where it must not be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Which secret, by name.
    pub secret: String,
    /// How it was written.
    pub spelling: Spelling,
    /// Where.
    pub place: String,
    /// At which byte.
    pub offset: usize,
}

/// Somewhere to search.
#[derive(Debug, Clone)]
pub struct Place {
    /// What it is.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Place {
    /// A place by its name and bytes.
    #[must_use]
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }
}

impl Canary {
    /// Adds a secret: random bytes or a random text, without any prefix that everybody knows.
    ///
    /// # Panics
    /// If it is shorter than sixteen bytes: what short secrets look like, other things look like too.
    pub fn add(&mut self, name: &str, secret: &[u8]) {
        assert!(secret.len() >= 16, "`{name}` is too short to be searched for");
        let index = self.names.len();
        self.names.push(name.to_owned());
        self.first.resize(1 << 16, false);
        for spelling in Spelling::ALL {
            for piece in pieces(spelling, secret) {
                self.insert(index, spelling, piece);
            }
        }
    }

    /// Names of the secrets.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Every secret found in `place`, each spelling once.
    #[must_use]
    pub fn search(&self, place: &Place) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        for (offset, window) in place.bytes.windows(8).enumerate() {
            if !self.first.get(pair(window)).copied().unwrap_or_default() {
                continue;
            }
            let Some(needles) = window.try_into().ok().and_then(|start: [u8; 8]| self.needles.get(&start)) else {
                continue;
            };
            for needle in needles
                .iter()
                .filter(|needle| place.bytes.get(offset..).is_some_and(|rest| rest.starts_with(&needle.bytes)))
            {
                let secret = self.names.get(needle.secret).cloned().unwrap_or_default();
                if !hits.iter().any(|hit| hit.secret == secret && hit.spelling == needle.spelling) {
                    hits.push(Hit { secret, spelling: needle.spelling, place: place.name.clone(), offset });
                }
            }
        }
        hits
    }

    fn insert(&mut self, secret: usize, spelling: Spelling, bytes: Vec<u8>) {
        let Some(start) = bytes.first_chunk::<8>().copied() else { return };
        if let Some(known) = self.first.get_mut(pair(&start)) {
            *known = true;
        }
        self.needles.entry(start).or_default().push(Needle { bytes, secret, spelling });
    }
}

fn pair(window: &[u8]) -> usize {
    match window {
        [a, b, ..] => usize::from(*a) << 8 | usize::from(*b),
        _ => 0,
    }
}

/// Everything that gives a secret away in one spelling.
fn pieces(spelling: Spelling, secret: &[u8]) -> Vec<Vec<u8>> {
    match spelling {
        Spelling::Base64Standard | Spelling::Base64Url => {
            let texts = (0..3).map(|shift| aligned(spelling, secret, shift));
            texts.flat_map(|text| text.windows(BASE64_PIECE).map(<[u8]>::to_vec).collect::<Vec<_>>()).collect()
        }
        Spelling::Raw
        | Spelling::HexLower
        | Spelling::HexUpper
        | Spelling::PercentUpper
        | Spelling::PercentLower
        | Spelling::JsonEscaped
        | Spelling::DebugList
        | Spelling::Reversed => {
            secret.windows(PIECE_BYTES).filter(|piece| is_telling(piece)).map(|piece| spelling.write(piece)).collect()
        }
    }
}

/// The characters that `secret` alone decides, when it starts `shift` bytes after the start of a group of three.
#[must_use]
pub fn aligned(spelling: Spelling, secret: &[u8], shift: usize) -> Vec<u8> {
    let text = spelling.write(&[&vec![0; shift], secret].concat());
    let whole = (shift + secret.len()) * 8 / 6;
    let start = (shift * 8).div_ceil(6);
    text.get(start..whole).unwrap_or_default().to_vec()
}

/// Eight bytes of one letter are in every file.
fn is_telling(piece: &[u8]) -> bool {
    piece.iter().enumerate().filter(|(at, byte)| !piece.get(..*at).unwrap_or_default().contains(byte)).count() >= 5
}

/// What is secret of a `collie-seal-v2:` text: the text behind the head, the same without dashes, and the key's bytes. The head, which names the key, is no secret.
#[must_use]
pub fn key_text_secrets(text: &str) -> Option<[Vec<u8>; 3]> {
    /// Symbols of version, kind and key id: ten bytes.
    const HEAD_SYMBOLS: usize = 16;
    /// Bytes of the key behind them.
    const KEY_BYTES: usize = 32;
    const ALPHABET: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let written = text.trim().strip_prefix("collie-seal-v2:")?;
    let symbols: Vec<u8> = written.bytes().filter(|byte| *byte != b'-').collect();
    let secret = symbols.get(HEAD_SYMBOLS..)?;
    // A dash after every fifth symbol.
    let written = written.as_bytes().get(HEAD_SYMBOLS + HEAD_SYMBOLS / 5..)?;
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0_u32);
    for symbol in secret {
        let value = ALPHABET.iter().position(|known| known.eq_ignore_ascii_case(symbol))?;
        held = (held << 5 | u32::try_from(value).ok()?) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    bytes.truncate(KEY_BYTES);
    Some([written.to_vec(), secret.to_vec(), bytes])
}

/// Every file below `folder`, with its path from there.
#[must_use]
pub fn files_below(folder: &Path) -> Vec<(PathBuf, Place)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
                folders.push(path);
            } else if kind.is_ok_and(|kind| kind.is_file()) {
                let place = Place::new(path.display().to_string(), std::fs::read(&path).unwrap_or_default());
                found.push((path, place));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bearer with every class of character, and bytes as a key has them.
    const SECRETS: [(&str, &[u8]); 2] = [
        ("bearer", b"q8Zr+5tY/w2Kx-V7_mP0.dLhE3=uGsJ4"),
        ("seed", &[0, 255, 3, 250, 9, 128, 77, 31, 200, 1, 64, 190, 33, 92, 240, 15, 2, 251, 17, 88, 163, 29, 111, 6]),
    ];

    fn canary() -> Canary {
        let mut canary = Canary::default();
        SECRETS.iter().for_each(|(name, secret)| canary.add(name, secret));
        canary
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 12_345_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        (0..length).map(|_| next()).collect()
    }

    /// The must-fail control: each planted spelling of each secret is found, wherever it lies.
    #[test]
    fn every_spelling_is_found_anywhere() {
        let canary = canary();
        for (name, secret) in SECRETS {
            for spelling in Spelling::ALL {
                for before in [0, 1, 2, 7, 4_095] {
                    let bytes = [noise(before), spelling.write(secret), noise(100)].concat();
                    let hits = canary.search(&Place::new("here", bytes));
                    assert!(
                        hits.iter().any(|hit| hit.secret == name && hit.spelling == spelling),
                        "{name} {spelling:?} after {before}"
                    );
                }
            }
        }
    }

    #[test]
    fn base64_is_found_inside_a_larger_text_that_was_encoded_whole() {
        let canary = canary();
        for (name, secret) in SECRETS {
            for spelling in [Spelling::Base64Standard, Spelling::Base64Url] {
                for before in 0..6 {
                    let larger = [noise(before), secret.to_vec(), noise(5)].concat();
                    let hits = canary.search(&Place::new("here", spelling.write(&larger)));
                    assert!(
                        hits.iter().any(|hit| hit.secret == name && hit.spelling == spelling),
                        "{name} {spelling:?} at {before}"
                    );
                }
            }
        }
    }

    #[test]
    fn eight_bytes_are_enough_and_seven_are_not() {
        let canary = canary();
        for (name, secret) in SECRETS {
            for start in 0..=secret.len() - 8 {
                let piece = secret.get(start..start + 8).expect("eight bytes");
                let bytes = [noise(33), piece.to_vec(), noise(33)].concat();
                assert!(
                    canary.search(&Place::new("here", bytes)).iter().any(|hit| hit.secret == name),
                    "{name} from {start}"
                );
            }
            let seven = secret.get(..7).expect("seven bytes");
            assert_eq!(canary.search(&Place::new("here", [seven, b"........"].concat())), []);
        }
    }

    #[test]
    fn noise_has_none_of_them() {
        assert_eq!(canary().search(&Place::new("noise", noise(200_000))), []);
    }

    #[test]
    fn a_key_text_is_taken_apart_as_it_was_put_together() {
        let key: [u8; 32] = std::array::from_fn(|at| u8::try_from(at * 7 % 251 + 1).expect("a byte"));
        let sealing = seal::UserSealingKey::new(1, sign::Secret::new(key)).expect("a key");
        let text = seal::recovery::encode_usk(&sealing).expect("a text").with(String::clone);
        let [written, symbols, bytes] = key_text_secrets(&text).expect("a key text");
        assert_eq!((symbols.len(), bytes), (60, key.to_vec()));
        let without: Vec<u8> = written.iter().copied().filter(|byte| *byte != b'-').collect();
        assert!(text.as_bytes().ends_with(&written) && without == symbols);
        assert_eq!(key_text_secrets("collie-seal-v1:x"), None);
    }

    #[test]
    fn a_hit_does_not_tell_the_secret() {
        let hits = canary().search(&Place::new("log", SECRETS[0].1));
        let shown = format!("{hits:?}");
        assert!(shown.contains("bearer") && shown.contains("log") && !shown.contains("q8Zr"), "{shown}");
    }
}
