//! Tests of `signed`; nothing here is product code.
