//! How a wrapped wrapping key is stored (2.a.4): `provider ‖ kek_id ‖ version ‖ blob`, each with its length. Reads structure only.

use contract::limits;

/// A wrapped wrapping key with the name of the key that wraps it. What it says proves nothing until it opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KekRecord {
    /// Kind of provider.
    pub provider: String,
    /// Full name of the key.
    pub kek_id: String,
    /// Its version, or nothing.
    pub version: String,
    /// What the provider gave.
    pub blob: Vec<u8>,
}

/// The bytes are no record, or a part is larger than it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a record of a wrapped key")]
pub struct RecordError;

impl KekRecord {
    /// `{ len u16 ‖ value } × 4`.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordError> {
        if self.blob.is_empty() || self.blob.len() > limits::KEK_BLOB_BYTES_MAX {
            return Err(RecordError);
        }
        let names = [&self.provider, &self.kek_id, &self.version];
        if names.iter().any(|name| !is_name(name)) {
            return Err(RecordError);
        }
        let mut bytes = Vec::new();
        for value in [names[0].as_bytes(), names[1].as_bytes(), names[2].as_bytes(), &self.blob] {
            bytes.extend_from_slice(&u16::try_from(value.len()).map_err(|_| RecordError)?.to_be_bytes());
            bytes.extend_from_slice(value);
        }
        Ok(bytes)
    }

    /// Takes a record apart; nothing may be missing or follow.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut rest = bytes;
        let record = Self {
            provider: take_name(&mut rest)?,
            kek_id: take_name(&mut rest)?,
            version: take_name(&mut rest)?,
            blob: take(&mut rest, limits::KEK_BLOB_BYTES_MAX)?.to_vec(),
        };
        if rest.is_empty() && !record.blob.is_empty() { Ok(record) } else { Err(RecordError) }
    }
}

fn is_name(text: &str) -> bool {
    text.len() <= limits::KEK_NAME_CHARS_MAX && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn take_name(rest: &mut &[u8]) -> Result<String, RecordError> {
    let text = std::str::from_utf8(take(rest, limits::KEK_NAME_CHARS_MAX)?).map_err(|_| RecordError)?;
    if is_name(text) { Ok(text.to_owned()) } else { Err(RecordError) }
}

fn take<'a>(rest: &mut &'a [u8], bytes_max: usize) -> Result<&'a [u8], RecordError> {
    let (length, tail) = rest.split_first_chunk::<2>().ok_or(RecordError)?;
    let length = usize::from(u16::from_be_bytes(*length));
    if length > bytes_max {
        return Err(RecordError);
    }
    let (value, tail) = tail.split_at_checked(length).ok_or(RecordError)?;
    *rest = tail;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(blob: Vec<u8>) -> KekRecord {
        KekRecord { provider: "file".to_owned(), kek_id: "kek-2026".to_owned(), version: String::new(), blob }
    }

    #[test]
    fn a_record_is_taken_apart_exactly() {
        let bytes = record(vec![5; 9]).to_bytes().expect("bytes");
        assert_eq!(bytes, b"\0\x04file\0\x08kek-2026\0\0\0\x09\x05\x05\x05\x05\x05\x05\x05\x05\x05");
        assert_eq!(KekRecord::parse(&bytes), Ok(record(vec![5; 9])));
        for length in 0..bytes.len() {
            assert_eq!(KekRecord::parse(&bytes[..length]), Err(RecordError), "prefix {length}");
        }
        assert_eq!(KekRecord::parse(&[&bytes[..], &[0]].concat()), Err(RecordError), "appended");
    }

    #[test]
    fn a18_nothing_larger_than_its_maximum_is_taken() {
        let max = limits::KEK_BLOB_BYTES_MAX;
        assert!(KekRecord::parse(&record(vec![1; max]).to_bytes().expect("bytes")).is_ok());
        assert_eq!(record(vec![1; max + 1]).to_bytes(), Err(RecordError));
        assert_eq!(record(Vec::new()).to_bytes(), Err(RecordError));
        let length = u16::try_from(max + 1).expect("u16").to_be_bytes();
        let bomb = [b"\0\x04file\0\x01k\0\0", &length[..], &vec![1; max + 1]].concat();
        assert_eq!(KekRecord::parse(&bomb), Err(RecordError));
        assert_eq!(KekRecord { kek_id: "a b".to_owned(), ..record(vec![1]) }.to_bytes(), Err(RecordError));
        assert_eq!(KekRecord::parse(b"\0\x04fi\0e\0\x01k\0\0\0\x01x"), Err(RecordError));
    }

    proptest! {
        #[test]
        fn every_record_comes_back(provider in "[a-z-]{1,12}", kek_id in "[!-~]{0,80}", version in "[!-~]{0,40}", blob in proptest::collection::vec(any::<u8>(), 1..200)) {
            let record = KekRecord { provider, kek_id, version, blob };
            prop_assert_eq!(KekRecord::parse(&record.to_bytes().expect("bytes")), Ok(record));
        }

        #[test]
        fn arbitrary_bytes_never_panic_and_have_one_spelling(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(record) = KekRecord::parse(&bytes) {
                prop_assert_eq!(record.to_bytes(), Ok(bytes));
            }
        }
    }
}
