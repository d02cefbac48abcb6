//! Tests of `request`; nothing here is product code.
