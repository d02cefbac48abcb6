//! Tests of `key`; nothing here is product code.
