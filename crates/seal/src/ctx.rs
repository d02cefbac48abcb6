//! The canonical context CTX (2.a.3): one length-prefixed encoding of what a blob belongs to. Never stored, and never read back from a blob.

use contract::{blob::Tag, labels, limits};
use std::collections::BTreeMap;

/// A value does not fit a context: too long, or it holds a control character where text was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a value does not fit the sealing context")]
pub struct ContextError;

/// Encoded context bytes: `"collie.ctx.v2\0" ‖ u8 len ‖ domain ‖ { tag u8 ‖ len u32 ‖ value }*`, tags ascending.
#[derive(Clone, PartialEq, Eq)]
pub struct Ctx(Vec<u8>);

impl Ctx {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Collects the tags of one context. A tag is there once and in order by construction; only the rows of [`crate::context`] can make one.
pub struct CtxBuilder {
    domain: &'static str,
    tags: BTreeMap<Tag, Vec<u8>>,
}

impl CtxBuilder {
    pub(crate) const fn new(domain: &'static str) -> Self {
        Self { domain, tags: BTreeMap::new() }
    }

    /// Bytes as they are; present with length 0 where there is no value.
    pub(crate) fn bytes(mut self, tag: Tag, value: &[u8]) -> Self {
        self.tags.insert(tag, value.to_vec());
        self
    }

    /// Text that people or servers chose: refused when it holds a control character, NUL above all (A7).
    pub(crate) fn text(self, tag: Tag, value: &str) -> Result<Self, ContextError> {
        if value.chars().any(char::is_control) {
            return Err(ContextError);
        }
        Ok(self.bytes(tag, value.as_bytes()))
    }

    /// A big-endian number.
    pub(crate) fn u32(self, tag: Tag, value: u32) -> Self {
        self.bytes(tag, &value.to_be_bytes())
    }

    /// `count u32 ‖ { len u32 ‖ item }*`, sorted bytewise, without repetition.
    pub(crate) fn list(self, tag: Tag, items: &[impl AsRef<[u8]>]) -> Result<Self, ContextError> {
        let mut sorted: Vec<&[u8]> = items.iter().map(AsRef::as_ref).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut value = length(sorted.len())?.to_vec();
        for item in sorted {
            push_prefixed(&mut value, item)?;
        }
        Ok(self.bytes(tag, &value))
    }

    pub(crate) fn build(self) -> Result<Ctx, ContextError> {
        let mut bytes = labels::CTX.to_vec();
        bytes.push(u8::try_from(self.domain.len()).map_err(|_| ContextError)?);
        bytes.extend_from_slice(self.domain.as_bytes());
        for (tag, value) in &self.tags {
            bytes.push(tag.number());
            push_prefixed(&mut bytes, value)?;
        }
        Ok(Ctx(bytes))
    }
}

fn push_prefixed(bytes: &mut Vec<u8>, value: &[u8]) -> Result<(), ContextError> {
    bytes.extend_from_slice(&length(value.len())?);
    bytes.extend_from_slice(value);
    Ok(())
}

fn length(length: usize) -> Result<[u8; 4], ContextError> {
    if length > limits::CONTEXT_VALUE_BYTES_MAX {
        return Err(ContextError);
    }
    u32::try_from(length).map(u32::to_be_bytes).map_err(|_| ContextError)
}

#[cfg(test)]
#[path = "ctx_tests.rs"]
mod tests;
