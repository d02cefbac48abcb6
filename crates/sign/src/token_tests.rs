//! Tests of `token`; nothing here is product code.
